"""Every request that the page makes; each is a few lines that call somebody else."""

from asyncio import wrap_future
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from withinpx import __version__
from withinpx.studio import downloads, uploads
from withinpx.studio.bound_view import bound_json
from withinpx.studio.drawing import Drawer
from withinpx.studio.events import events
from withinpx.studio.frames import OpenClips, jpeg
from withinpx.studio.looking import Looker
from withinpx.studio.queue import Queue
from withinpx.studio.refusal import Refusal
from withinpx.studio.requests import DrawOrder, FilmOrder, OptionsChange
from withinpx.studio.runs import OUT, PREVIEW, Runs
from withinpx.studio.views import certificate_json, check_finished, tracks_json
from withinpx.theory import SizeRange

Json = dict[str, Any]
CACHED = {"Cache-Control": "private, max-age=3600"}
FRESH = {"Cache-Control": "no-store"}


@dataclass(frozen=True)
class Studio:
    """All that the requests are about."""

    runs: Runs
    queue: Queue
    looker: Looker
    upload_limit: int  # bytes
    ending: Event  # set when the server is about to
    drawer: Drawer = field(default_factory=Drawer)
    clips: OpenClips = field(default_factory=OpenClips)

    def out(self, each: str) -> Path:
        """What a finished run's training wrote."""
        check_finished(self.runs[each])
        return self.runs.folder(each) / OUT


def routes(studio: Studio) -> APIRouter:
    """The whole of ``/api``."""
    router = APIRouter(prefix="/api")
    for part in (_all_runs, _one_run, _training, _result, _editing):
        part(router, studio)
    return router


def _all_runs(router: APIRouter, studio: Studio) -> None:
    runs = studio.runs

    @router.get("/state")
    def state() -> Json:
        """All runs, the newest first, and what a page needs to know of the server."""
        told = [runs.told(run) for run in runs]
        return {"version": __version__, "upload_limit_bytes": studio.upload_limit, "demo": runs.demo, "runs": told}

    @router.post("/runs", status_code=HTTPStatus.CREATED)
    async def upload(request: Request, name: str) -> Json:
        """A new run of the video in the body."""
        return runs.told(await uploads.receive_video(runs, name, uploads.Body.of(request), studio.upload_limit))

    @router.post("/runs/pictures", status_code=HTTPStatus.CREATED)
    async def upload_pictures(request: Request, name: str = "pictures") -> Json:
        """A new run of the images in the body: multipart, a field `pictures` each."""
        return runs.told(await uploads.receive_pictures(runs, name, uploads.Body.of(request), studio.upload_limit))

    @router.post("/demo/copy", status_code=HTTPStatus.CREATED)
    def copy_demo() -> Json:
        """The demo's clip as a new run, to be trained for real."""
        return runs.told(uploads.copy_of_demo(runs))

    @router.get("/bound")
    def bound(  # noqa: PLR0917  (each is a parameter of the address)
        encoder_rf: int,
        decoder_rf: int,
        size_min: float,
        size_max: float,
        sigma: Annotated[float, Query(ge=0, le=100)] = 0.8,
        n_sigma: Annotated[float, Query(ge=0, le=100)] = 2.0,
        support: str = "",
    ) -> Json:
        """Theorem 4.1 for one network, and its curves."""
        try:
            radius = float(support) if support else None
        except ValueError:
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "The support is no number: give its radius in px.") from None
        sizes = SizeRange(size_min, size_max)
        return bound_json(encoder_rf, decoder_rf, sizes, sigma, n_sigma=n_sigma, support=radius)


def _one_run(router: APIRouter, studio: Studio) -> None:
    runs = studio.runs

    @router.get("/runs/{each}")
    def run(each: str) -> Json:
        """One run."""
        return runs.told(runs[each])

    @router.delete("/runs/{each}", status_code=HTTPStatus.NO_CONTENT)
    def delete(each: str) -> None:
        """Remove a run and all its files."""
        _not_the_demo(studio, each, "deleted")
        studio.queue.check_idle(each, "before you delete it")
        studio.clips.close(runs.clip(each))
        studio.drawer.forget(runs.folder(each) / OUT)
        runs.delete(each)

    @router.put("/runs/{each}/options")
    def options(each: str, change: OptionsChange) -> Json:
        """Choose some options anew."""
        _not_the_demo(studio, each, "changed")
        run = studio.queue.check_idle(each, "before you change it")
        return runs.told(runs.change(each, options=change.applied(run.options, run.clip)))

    @router.get("/runs/{each}/frames/{number}", response_class=Response)
    def frame(
        each: str,
        number: int,
        crop: bool = False,
        longest: Annotated[int, Query(alias="max", ge=16, le=4096)] = 960,
    ) -> Response:
        """A frame of the clip as a JPEG."""
        part = runs[each].options.crop if crop else None
        picture = studio.clips.frame(runs.clip(each), number)
        return Response(jpeg(picture, part, longest), media_type="image/jpeg", headers=CACHED)

    @router.get("/runs/{each}/inspection")
    async def inspection(each: str) -> Json:
        """What moves in the clip; a long one takes minutes."""
        return await studio.looker.inspection(each)


def _training(router: APIRouter, studio: Studio) -> None:
    runs = studio.runs

    @router.post("/runs/{each}/start", status_code=HTTPStatus.ACCEPTED)
    def start(each: str) -> Json:
        """Train, or go on with what was stopped."""
        run = studio.queue.add(each)
        studio.drawer.forget(runs.folder(each) / OUT)
        return runs.told(run)

    @router.post("/runs/{each}/stop", status_code=HTTPStatus.ACCEPTED)
    def stop(each: str) -> Json:
        """Stop the training; it can go on later."""
        return runs.told(studio.queue.stop(each))

    @router.get("/runs/{each}/events", response_class=StreamingResponse)
    async def story(each: str) -> StreamingResponse:
        """What happens, as it happens: server-sent events `run`, `looking`, `epoch` and `preview`."""
        runs.folder(each)  # refuses what is not there before the stream begins
        return StreamingResponse(events(runs, each, studio.ending), media_type="text/event-stream", headers=FRESH)

    @router.get("/runs/{each}/preview", response_class=Response)
    def preview(each: str) -> Response:
        """The newest look into the network as a PNG."""
        path = runs.folder(each) / PREVIEW
        if not path.exists():
            raise Refusal(HTTPStatus.NOT_FOUND, "There is nothing to see yet: training has not begun.")
        return Response(path.read_bytes(), media_type="image/png", headers=FRESH)


def _result(router: APIRouter, studio: Studio) -> None:
    runs = studio.runs

    @router.get("/runs/{each}/tracks")
    def tracks(each: str) -> Json:
        """Where everything is in every frame."""
        return tracks_json(runs[each], runs.folder(each))

    @router.get("/runs/{each}/certificate")
    def certificate(each: str) -> Json:
        """Each assumption and its number."""
        return certificate_json(runs[each], runs.folder(each))

    @router.get("/runs/{each}/download/{what}", response_class=Response)
    def download(each: str, what: str) -> Response:
        """A file of the finished run."""
        out = studio.out(each)
        if what == downloads.DETECTOR:
            attached = {"Content-Disposition": f'attachment; filename="{what}"'}
            return Response(downloads.zipped_detector(out), media_type="application/zip", headers=attached)
        path, kind = downloads.find(out, what)
        return FileResponse(path, media_type=kind, filename=what)


def _editing(router: APIRouter, studio: Studio) -> None:
    @router.post("/runs/{each}/draw", response_class=Response)
    async def draw(each: str, order: DrawOrder) -> Response:
        """The decoder's picture with objects where they never were, as a PNG of the crop."""
        picture = await wrap_future(studio.drawer.drawing(studio.out(each), order.positions))
        return Response(picture, media_type="image/png", headers=FRESH)

    @router.post("/runs/{each}/film", response_class=Response)
    async def render(each: str, order: FilmOrder) -> Response:
        """Objects along paths they never took, as an .mp4."""
        content = await wrap_future(studio.drawer.filming(studio.out(each), order.paths, order.fps))
        attached = {"Content-Disposition": 'attachment; filename="film.mp4"'}
        return Response(content, media_type="video/mp4", headers=attached)


def _not_the_demo(studio: Studio, each: str, what: str) -> None:
    if studio.runs[each].demo:
        raise Refusal(HTTPStatus.FORBIDDEN, f"The demo cannot be {what}: make a copy of it.")
