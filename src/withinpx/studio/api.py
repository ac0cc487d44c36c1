"""The HTTP API of the page. Every route needs the token."""

from asyncio import wrap_future
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, BeforeValidator, Field, FiniteFloat
from starlette.exceptions import HTTPException

from withinpx import __version__
from withinpx.studio import motion, results, uploads
from withinpx.studio.bound import bound_json
from withinpx.studio.events import run_events
from withinpx.studio.frames import OpenClips, jpeg
from withinpx.studio.inspection import Inspector
from withinpx.studio.options import change_options
from withinpx.studio.queue import Queue
from withinpx.studio.rendering import Renderer
from withinpx.studio.runs import OUT, PREVIEW, Run, Runs
from withinpx.studio.scale import NONE, read_scale, remove_scale, scale_of, write_scale
from withinpx.studio.security import require_token
from withinpx.theory import SizeRange

Json = dict[str, Any]
CACHED = {"Cache-Control": "private, max-age=3600"}
NOT_CACHED = {"Cache-Control": "no-store"}


@dataclass
class Studio:
    """The parts that the routes work with."""

    runs: Runs
    queue: Queue
    inspector: Inspector
    upload_limit: int  # bytes
    closing: Event  # set when the server is about to end
    renderer: Renderer = field(default_factory=Renderer)
    clips: OpenClips = field(default_factory=OpenClips)


async def get_studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio


async def get_run(run_id: str, studio: Annotated[Studio, Depends(get_studio)]) -> Run:
    return studio.runs[run_id]


async def get_results(run: Annotated[Run, Depends(get_run)], studio: Annotated[Studio, Depends(get_studio)]) -> Path:
    """The folder with what the training of a finished run wrote."""
    if run.state != "finished":
        raise HTTPException(HTTPStatus.CONFLICT, "This run is not finished yet.")
    return studio.runs.folder(run.id) / OUT


OfStudio = Annotated[Studio, Depends(get_studio)]
OfRun = Annotated[Run, Depends(get_run)]
Results = Annotated[Path, Depends(get_results)]
Position = tuple[FiniteFloat, FiniteFloat] | None
Appearance = list[int | None] | None  # for each object, the frame that shows how it appears; null: as usual

router = APIRouter(prefix="/api", dependencies=[Depends(require_token)])


@router.get("/state")
def state(studio: OfStudio) -> Json:
    """All runs, newest first, and what the page needs to know about the server."""
    runs = [studio.runs.to_json(run) for run in studio.runs]
    return {
        "version": __version__,
        "upload_limit_bytes": studio.upload_limit,
        "demo": studio.runs.demo,
        "runs": runs,
    }


@router.post("/runs", status_code=HTTPStatus.CREATED)
async def upload_video(request: Request, studio: OfStudio, name: str) -> Json:
    """Create a run from the video in the body."""
    return studio.runs.to_json(await uploads.receive_video(studio.runs, name, request))


@router.post("/runs/images", status_code=HTTPStatus.CREATED)
async def upload_images(request: Request, studio: OfStudio, name: str = "images") -> Json:
    """Create a run from images: multipart/form-data with one field `images` per file."""
    return studio.runs.to_json(await uploads.receive_images(studio.runs, name, request))


@router.post("/demo/copy", status_code=HTTPStatus.CREATED)
def copy_demo(studio: OfStudio) -> Json:
    """Create a run from the demo's clip."""
    return studio.runs.to_json(uploads.copy_demo(studio.runs))


@router.get("/bound")
def bound(  # noqa: PLR0917  (query parameters)
    encoder_rf: int,
    decoder_rf: int,
    size_min: float,
    size_max: float,
    sigma: Annotated[float, Query(ge=0, le=100)] = 0.8,
    n_sigma: Annotated[float, Query(ge=0, le=100)] = 2.0,
    support: Annotated[float | None, BeforeValidator(lambda value: value or None)] = None,
) -> Json:
    """Theorem 4.1 for one network, and its curves."""
    sizes = SizeRange(size_min, size_max)
    return bound_json(encoder_rf, decoder_rf, sizes, sigma, n_sigma=n_sigma, support=support)


@router.get("/runs/{run_id}")
def show_run(run: OfRun, studio: OfStudio) -> Json:
    """One run."""
    return studio.runs.to_json(run)


@router.delete("/runs/{run_id}", status_code=HTTPStatus.NO_CONTENT)
def delete_run(run: OfRun, studio: OfStudio) -> None:
    """Delete a run and all its files."""
    studio.queue.check_idle(run.id)
    studio.clips.close(studio.runs.clip(run.id))
    studio.renderer.unload(studio.runs.folder(run.id) / OUT)
    studio.runs.delete(run.id)


@router.put("/runs/{run_id}/options")
def set_options(run: OfRun, studio: OfStudio, changes: Json) -> Json:
    """Change some options: `objects`, `crop`, `frames`, `background`, `target`, `seed`, `quick`."""
    studio.queue.check_idle(run.id)
    options = change_options(run.options, changes, run.clip)
    return studio.runs.to_json(studio.runs.change(run.id, options=options))


@router.get("/runs/{run_id}/frames/{number}", response_class=Response)
def frame(
    run: OfRun,
    studio: OfStudio,
    number: int,
    crop: bool = False,
    max_side: Annotated[int, Query(alias="max", ge=16, le=4096)] = 960,
) -> Response:
    """A frame of the clip as a JPEG."""
    pixels = studio.clips.frame(studio.runs.clip(run.id), number)
    content = jpeg(pixels, run.options.crop if crop else None, max_side)
    return Response(content, media_type="image/jpeg", headers=CACHED)


@router.get("/runs/{run_id}/inspection")
async def inspection(run: OfRun, studio: OfStudio) -> Json:
    """What moves in the clip; a long clip takes minutes."""
    return await studio.inspector.inspection(run.id)


@router.post("/runs/{run_id}/start", status_code=HTTPStatus.ACCEPTED)
def start(run: OfRun, studio: OfStudio) -> Json:
    """Train a run, or resume it."""
    queued = studio.queue.add(run.id)
    studio.renderer.unload(studio.runs.folder(run.id) / OUT)
    return studio.runs.to_json(queued)


@router.post("/runs/{run_id}/stop", status_code=HTTPStatus.ACCEPTED)
def stop(run: OfRun, studio: OfStudio) -> Json:
    """Stop a training; it can be resumed."""
    return studio.runs.to_json(studio.queue.stop(run.id))


@router.get("/runs/{run_id}/events", response_class=EventSourceResponse)
async def events(run: OfRun, studio: OfStudio) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `run`, `inspecting`, `epoch` and `preview`."""
    async for event in run_events(studio.runs, run.id, studio.closing):
        yield event


@router.get("/runs/{run_id}/preview", response_class=Response)
def preview(run: OfRun, studio: OfStudio) -> Response:
    """The latest frame, reconstruction and heatmaps of a training as a PNG."""
    path = studio.runs.folder(run.id) / PREVIEW
    if not path.exists():
        raise HTTPException(HTTPStatus.NOT_FOUND, "There is no preview yet: training has not begun.")
    return Response(path.read_bytes(), media_type="image/png", headers=NOT_CACHED)


@router.get("/runs/{run_id}/tracks")
def tracks(run: OfRun, out: Results) -> Json:
    """The position of every object in every frame."""
    return results.tracks_json(run, out)


@router.get("/runs/{run_id}/certificate")
def certificate(out: Results) -> Json:
    """Every assumption of the theorem with its measurement."""
    return results.certificate_json(out)


@router.get("/runs/{run_id}/download/{name}", response_class=Response)
def download(out: Results, name: str) -> Response:
    """A file of a finished run."""
    return results.download(out, name)


@router.get("/runs/{run_id}/scale")
def show_scale(run: OfRun, studio: OfStudio) -> Json:
    """How long a pixel is in the scene; nulls where that is unknown."""
    scale = read_scale(studio.runs.notes_folder(run.id), run)
    return NONE if scale is None else scale.to_json()


@router.put("/runs/{run_id}/scale")
def set_scale(run: OfRun, studio: OfStudio, order: Json) -> Json:
    """Set `mm_per_px`, or two `points` (px of the recording), their `length`, its `unit` (mm, cm, m) and `click_px`."""
    scale = scale_of(order, run)
    write_scale(studio.runs.notes_folder(run.id), scale)
    return scale.to_json()


@router.delete("/runs/{run_id}/scale", status_code=HTTPStatus.NO_CONTENT)
def delete_scale(run: OfRun, studio: OfStudio) -> None:
    """Remove the scale; the tracks are in px all along."""
    remove_scale(studio.runs.notes_folder(run.id))


def mm_per_px_of(run: Run, studio: Studio) -> float | None:
    scale = read_scale(studio.runs.notes_folder(run.id), run)
    return None if scale is None else scale.mm_per_px


@router.get("/runs/{run_id}/motion")
def show_motion(run: OfRun, out: Results, studio: OfStudio, unit: motion.Unit = "px", over: int = 1) -> Json:
    """Speed, acceleration and distance of every object with proved limits, between frames `over` rows apart."""
    return motion.motion_json(out, unit, over, mm_per_px_of(run, studio) if unit == "mm" else None)


@router.get("/runs/{run_id}/motion/{name}", response_class=Response)
def download_motion(run: OfRun, out: Results, studio: OfStudio, name: str, over: int = 1) -> Response:
    """A file that `withinpx measure` writes: `motion.csv`, `motion.png`, or `tracks_mm.csv`."""
    return motion.download(out, name, over, mm_per_px_of(run, studio))


class Scene(BaseModel):
    """The position of each object, px of the recording; null hides it."""

    positions: list[Position]
    appearance: Appearance = None


class Video(BaseModel):
    """The positions of all objects in each frame."""

    trajectories: list[list[Position]]
    fps: Annotated[FiniteFloat, Field(ge=1, le=240)] = 25.0
    appearance: Appearance = None


@router.post("/runs/{run_id}/render", response_class=Response)
async def render(out: Results, studio: OfStudio, scene: Scene) -> Response:
    """A PNG of the crop with the objects at these positions, rendered by the decoder."""
    content = await wrap_future(studio.renderer.image(out, scene.positions, scene.appearance))
    return Response(content, media_type="image/png", headers=NOT_CACHED)


@router.post("/runs/{run_id}/video", response_class=Response)
async def video(out: Results, studio: OfStudio, order: Video) -> Response:
    """An .mp4 with the objects on these trajectories, rendered by the decoder."""
    content = await wrap_future(studio.renderer.video(out, order.trajectories, order.fps, order.appearance))
    attached = {"Content-Disposition": 'attachment; filename="video.mp4"'}
    return Response(content, media_type="video/mp4", headers=attached)
