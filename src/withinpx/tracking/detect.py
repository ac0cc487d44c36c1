"""Find a detector's objects in its camera's footage of any length: streaming, each frame with its verdict."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.certificate.certificate import reasons
from withinpx.data.recording import prefetch, stream_clip
from withinpx.data.selection import Frame, Selection
from withinpx.discovery.background import ByteImages, Pictures, to_float
from withinpx.discovery.camera import camera_path, nearby_background
from withinpx.errors import InputError
from withinpx.tracking.detector import Detector, Encoder
from withinpx.tracking.tracks import Tracks, TracksWriter

TRACKS = "tracks.csv"
OVERLAY = "overlay.mp4"
CHUNK = 32  # frames looked at together
CONTEXT = 30  # frames before and after a chunk, from which a moving camera's background is put together
ANOTHER_SCENE = 0.5  # of the picture: a frame that differs from the background by more shows something else

Progress = Callable[[int, str], None]  # frames done, what is going on
EachChunk = Callable[["Chunk"], None]


@dataclass(frozen=True)
class Chunk:
    """Some frames with what is known of them."""

    tracks: Tracks
    reasons: NDArray[np.str_]  # (f, n) of the objects in the tracks
    frames: list[Frame]  # as the network sees them


def detect(
    detector: Detector,
    path: Path,
    folder: Path,
    *,
    overlay: bool = True,
    progress: Progress | None = None,
    losses: list[str] | None = None,
    encoder: Encoder | None = None,
    each_chunk: EachChunk | None = None,
) -> tuple[Tracks, NDArray[np.str_]]:
    """Write ``tracks.csv`` and ``overlay.mp4`` of a recording; the answer is all of them, or an even sample.

    Who wants to see all of them is given ``each_chunk`` in turn.
    """
    kept: list[Chunk] = []
    every, done = 1, 0
    with ExitStack() as stack:
        table = stack.enter_context(TracksWriter(folder / TRACKS))
        video = stack.enter_context(overlay_writer(detector, folder)) if overlay else None
        for number, chunk in enumerate(chunks(detector, path, losses, encoder)):
            table.add(chunk.tracks)
            for row, frame in enumerate(chunk.frames if video else []):
                why = {each: str(word) for each, word in enumerate(chunk.reasons[row]) if word}
                video.add(frame.pixels, chunk.tracks, row, why)  # type: ignore[union-attr]
            if number % every == 0:
                kept.append(Chunk(chunk.tracks, chunk.reasons, []))
            if len(kept) > 64:
                kept, every = kept[::2], 2 * every
            done += len(chunk.frames)
            if progress:
                progress(done, "looking")
            if each_chunk:
                each_chunk(chunk)
    if not done:
        raise InputError(f"{path} has no frame that can be shown in the stretch asked for.")
    return joined([chunk.tracks for chunk in kept]), np.concatenate([chunk.reasons for chunk in kept])


def overlay_writer(detector: Detector, folder: Path) -> Any:
    """An open ``OverlayWriter``."""
    from withinpx.tracking.overlay import OverlayWriter  # noqa: PLC0415  (only those who write videos need PyAV)

    return OverlayWriter(folder / OVERLAY, len(detector.certificate.objects), detector.selection)


def chunks(
    detector: Detector, path: Path, losses: list[str] | None = None, encoder: Encoder | None = None
) -> Iterator[Chunk]:
    """The recording, a few frames at a time; memory does not grow with it."""
    first = True
    frames = prefetch(checked(detector, stream_clip(path, detector.selection, losses), path), CHUNK)
    for some, images, backdrops in backed(detector, frames):
        if first and not detector.moving_camera:
            check_scene(detector, images, path)
        first = False
        seen = detector.observe(images, backdrops, encoder)
        numbers = np.array([frame.number for frame in some])
        tracks = detector.tracks(seen, numbers, np.array([frame.time_s for frame in some]))
        used = [each.object for each in detector.certificate.objects]
        yield Chunk(tracks, reasons(seen, detector.certificate)[:, used], some)


def backed(detector: Detector, frames: Iterator[Frame]) -> Iterator[tuple[list[Frame], ByteImages, Pictures]]:
    """Chunks of frames with what lies behind their movers: frames, images, backdrops."""
    if not detector.moving_camera:
        while some := _next(frames):
            yield some, images_of(some), detector.background.images
        return
    before: list[Frame] = []
    waiting: list[Frame] = []
    ended = False
    while not ended:
        more = _next(frames)
        ended = len(more) < CHUNK
        waiting += more
        while waiting and (ended or len(waiting) >= CHUNK + CONTEXT):
            some = waiting[:CHUNK]
            around = images_of([*before, *waiting[: CHUNK + CONTEXT]])
            pictures = to_float(around)
            backdrops = nearby_background(pictures, camera_path(pictures)).images
            here = slice(len(before), len(before) + len(some))
            yield some, around[here], backdrops[here]
            before = [*before, *some][-CONTEXT:]
            waiting = waiting[CHUNK:]


def _next(frames: Iterator[Frame]) -> list[Frame]:
    return list(islice(frames, CHUNK))


def images_of(frames: list[Frame]) -> ByteImages:
    """All in one."""
    return np.stack([frame.pixels for frame in frames])


def checked(detector: Detector, frames: Iterator[Frame], path: Path) -> Iterator[Frame]:
    """Frames of the size and the colours that the detector knows; grey and colour are brought together."""
    colours = detector.model.config.colours
    for frame in frames:
        if frame.size != detector.recording:
            width, height = detector.recording
            raise InputError(
                f"{path} is {frame.size[0]}x{frame.size[1]} px, and the detector was made for {width}x{height} px: "
                f"use footage of the same camera, or track this clip anew."
            )
        if frame.pixels.shape[-1] == colours:
            yield frame
        elif colours == 3:
            yield Frame(np.repeat(frame.pixels, 3, axis=-1), frame.time_s, frame.number, frame.size)
        else:
            yield Frame(
                frame.pixels.mean(axis=-1, keepdims=True).round().astype(np.uint8),
                frame.time_s,
                frame.number,
                frame.size,
            )


def check_scene(detector: Detector, images: ByteImages, path: Path) -> None:
    """Is this the scene that the detector knows?"""
    share = float(np.median(detector.background.changed(images).mean(axis=(1, 2))))
    if share > ANOTHER_SCENE:
        raise InputError(
            f"{path} does not show the scene that the detector knows: {share:.0%} of the picture differs from its "
            f"background. Use footage of the same camera, or track this clip anew."
        )


def check_first_frames(detector: Detector, path: Path) -> None:
    """Refuse what is not the detector's camera or scene before anything is written."""
    frames = _next(checked(detector, stream_clip(path, detector.selection), path))
    if frames and not detector.moving_camera:
        check_scene(detector, images_of(frames), path)


def joined(parts: list[Tracks]) -> Tracks:
    """Tracks one after the other."""
    first = parts[0]
    names = ("frames", "times_s", "positions", "z", "sizes", "bound_px", "residual_px", "present", "certified")
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Tracks(**columns, width=first.width, height=first.height)


def footage(detector: Detector, asked: Selection) -> Selection:
    """The detector's own crop and scale, in the stretch of time that was asked for."""
    own = detector.selection
    return Selection(asked.start_s, asked.end_s, asked.every, own.crop, own.scale)
