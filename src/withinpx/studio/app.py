"""The server application: the page, its static files and its API."""

import logging
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape
from http import HTTPStatus
from pathlib import Path
from threading import Event, Timer
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from withinpx import __version__
from withinpx.errors import InputError
from withinpx.files import locked_folder
from withinpx.studio.api import Studio, router
from withinpx.studio.inspection import Inspector
from withinpx.studio.queue import Queue, Work, train
from withinpx.studio.review_api import router as review_router
from withinpx.studio.reviews import Reviews
from withinpx.studio.runs import OUT, Runs
from withinpx.studio.security import COOKIE, RequestLimits, TrustedHosts, is_token, require_token

HERE = Path(__file__).parent
STATIC, DEMO = HERE / "static", HERE / "demo"
UPLOAD_LIMIT = 4_096_000_000  # bytes
PRELOAD_AFTER_S = 1.5  # so that importing torch does not delay the first page
ERRORS = (HTTPException, RequestValidationError, ValidationError, InputError, ClientDisconnect, OSError, Exception)
LOCKED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>withinpx studio</title>
<h1>This page needs its key</h1>
<p>Open the address that <code>withinpx studio</code> printed when it started. It ends in <code>?token=</code> and a
random word.</p></html>"""
DOCS = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>withinpx studio: API</title></head><body>
<h1>withinpx studio: API</h1><p>Send <code>Authorization: Bearer TOKEN</code>, or the page's cookie. An error is
<code>{{"error": "One sentence."}}</code>. Parameters: <a href="/openapi.json">openapi.json</a>.</p>
<dl>{routes}</dl></body></html>"""


def create_app(
    home: Path, token: str, *, host: str = "127.0.0.1", upload_limit: int = UPLOAD_LIMIT, work: Work = train
) -> FastAPI:
    """A studio that keeps its runs in ``home``; ``work`` is what the process of a training does."""
    runs, closing = Runs(home, DEMO), Event()
    studio = Studio(runs, Queue(runs, work), Inspector(runs, closing), upload_limit, closing)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with locked_folder(home):
            studio.queue.open()
            preload = Timer(PRELOAD_AFTER_S, studio.renderer.preload, [DEMO / OUT])
            preload.start()
            yield
            preload.cancel()
            studio.inspector.close()
            studio.renderer.close()
            studio.queue.close()

    app = FastAPI(
        title="withinpx studio",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,  # served below, with the token
        redirect_slashes=False,
        exception_handlers=dict.fromkeys(ERRORS, _error_response),
    )
    app.state.studio, app.state.token = studio, token
    app.state.reviews = Reviews(runs)
    app.include_router(review_router)  # first: its download is computed on request
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_api_route("/", _page, include_in_schema=False)
    for path, endpoint in {"/docs": _docs, "/openapi.json": _openapi}.items():
        app.add_api_route(path, endpoint, include_in_schema=False, dependencies=[Depends(require_token)])
    app.add_middleware(TrustedHosts, host=host)
    app.add_middleware(RequestLimits, upload_limit=upload_limit)
    return app


def _page(request: Request, token: str = "") -> Response:
    """The printed address exchanges its token for a cookie, so that the token does not stay in the address bar."""
    if is_token(request, token):
        redirect = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        redirect.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return redirect
    if is_token(request, request.cookies.get(COOKIE, "")):
        return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})
    return HTMLResponse(LOCKED, HTTPStatus.UNAUTHORIZED)


def _docs(request: Request) -> HTMLResponse:
    """Swagger's page loads scripts from elsewhere, which the content security policy forbids."""
    routes = "".join(
        f"<dt><code>{method.upper()} {escape(path)}</code></dt><dd>{escape(known['description'])}</dd>"
        for path, methods in request.app.openapi()["paths"].items()
        for method, known in methods.items()
    )
    return HTMLResponse(DOCS.format(routes=routes))


def _openapi(request: Request) -> dict[str, Any]:
    schema: dict[str, Any] = request.app.openapi()
    return schema


async def _error_response(request: Request, error: Exception) -> Response:
    """Every error is one sentence without paths of this machine."""
    status, message = _status_and_message(error)
    root = request.app.state.studio.runs.root
    for folder in (root.resolve(), root, root.parent.resolve(), root.parent, HERE, Path(tempfile.gettempdir())):
        message = message.replace(f"{folder}/", "").replace(str(folder), "the studio's folder")
    return JSONResponse({"error": message.rstrip(".") + "."}, status)


def _status_and_message(error: Exception) -> tuple[int, str]:
    match error:
        case HTTPException():
            return error.status_code, error.detail
        case RequestValidationError() | ValidationError():
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
            return HTTPStatus.UNPROCESSABLE_ENTITY, f"{field or 'The request'}: {first['msg']}"
        case InputError():
            return HTTPStatus.UNPROCESSABLE_ENTITY, str(error)
        case ClientDisconnect():
            return HTTPStatus.BAD_REQUEST, "The upload was interrupted."
        case OSError():
            logging.getLogger(__name__).error("%s", error)
            return HTTPStatus.INSUFFICIENT_STORAGE, f"The disk reported an error: {error.strerror or 'unknown'}"
    return HTTPStatus.INTERNAL_SERVER_ERROR, "An error occurred in the server: see what it printed."
