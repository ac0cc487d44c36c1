"""The server: the page, its files and its requests, for those who may ask."""

import logging
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from threading import Event, Timer

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.staticfiles import StaticFiles

from withinpx import __version__
from withinpx.errors import InputError
from withinpx.files import locked_folder
from withinpx.studio.access import Access, refused
from withinpx.studio.api_page import api_page
from withinpx.studio.body_limit import TOO_MUCH, TOO_SLOW, BodyLimit
from withinpx.studio.looking import Looker
from withinpx.studio.process import Work, train
from withinpx.studio.queue import Queue
from withinpx.studio.refusal import Refusal
from withinpx.studio.routes import Studio, routes
from withinpx.studio.runs import OUT, Runs

HERE = Path(__file__).parent
STATIC, DEMO = HERE / "static", HERE / "demo"
UPLOAD_LIMIT = 4_096_000_000  # bytes
PREPARE_AFTER_S = 1.5  # when the page is there, torch may take its time
WHY_NOT = {
    HTTPStatus.BAD_REQUEST: "The request cannot be read.",
    HTTPStatus.METHOD_NOT_ALLOWED: "That cannot be done here.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: TOO_MUCH,
    HTTPStatus.REQUEST_TIMEOUT: TOO_SLOW,
}


def create_app(
    home: Path, token: str, *, host: str = "127.0.0.1", upload_limit: int = UPLOAD_LIMIT, work: Work = train
) -> FastAPI:
    """A studio that keeps its runs in ``home``; ``work`` is what a training's process does."""
    runs = Runs(home, DEMO)
    ending = Event()
    studio = Studio(runs, Queue(runs, work), Looker(runs, ending), upload_limit, ending)

    @asynccontextmanager
    async def open_studio(_: FastAPI) -> AsyncIterator[None]:
        with locked_folder(home):
            studio.queue.open()
            soon = Timer(PREPARE_AFTER_S, studio.drawer.prepare, [DEMO / OUT])
            soon.start()
            yield
            soon.cancel()
            studio.looker.close()
            studio.drawer.close()
            studio.queue.close()

    app = FastAPI(
        title="withinpx studio",
        version=__version__,
        lifespan=open_studio,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # an address that is not there leads nowhere else
    )
    app.state.studio = studio
    app.include_router(routes(studio))
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False), name="static")
    _add_pages(app)
    _add_refusals(app, home)
    app.add_middleware(BodyLimit)
    app.add_middleware(Access, token=token, host=host)
    return app


def _add_pages(app: FastAPI) -> None:
    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def page() -> HTMLResponse:
        return HTMLResponse((STATIC / "index.html").read_bytes(), headers={"Cache-Control": "no-cache"})

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    def described() -> HTMLResponse:
        return HTMLResponse(api_page(app.openapi()))


def _add_refusals(app: FastAPI, home: Path) -> None:
    """Whatever goes wrong is one sentence, and none tells where something lies on this machine."""

    @app.exception_handler(Refusal)
    def refuse(_: Request, refusal: Refusal) -> Response:
        return refused(refusal.status, _without_paths(refusal.sentence, home))

    @app.exception_handler(InputError)
    def unusable(_: Request, error: InputError) -> Response:
        return refused(HTTPStatus.UNPROCESSABLE_ENTITY, _without_paths(str(error), home))

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        return refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"{where}: {first['msg']}.")

    @app.exception_handler(HTTPException)
    def unknown(_: Request, error: HTTPException) -> Response:
        status = HTTPStatus(error.status_code)
        return refused(status, WHY_NOT.get(status, f"{status.phrase}: there is nothing like that here."))

    @app.exception_handler(ClientDisconnect)
    def gone(_: Request, __: ClientDisconnect) -> Response:
        return refused(HTTPStatus.BAD_REQUEST, "The upload broke off.")

    @app.exception_handler(OSError)
    def no_room(_: Request, error: OSError) -> Response:
        logging.getLogger(__name__).error("%s", error)
        return refused(
            HTTPStatus.INSUFFICIENT_STORAGE, f"The disk refused: {error.strerror or 'it cannot be written'}."
        )

    @app.exception_handler(Exception)
    def broken(_: Request, __: Exception) -> Response:
        said = "Something broke in the server: what it printed says more."
        return refused(HTTPStatus.INTERNAL_SERVER_ERROR, said)


def _without_paths(sentence: str, home: Path) -> str:
    for folder in (home.resolve(), home, HERE, Path(tempfile.gettempdir())):
        sentence = sentence.replace(f"{folder}/", "").replace(str(folder), "the studio's folder")
    return sentence
