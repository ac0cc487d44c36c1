"""A detector over footage of any length: frames are streamed, each position gets its verdict."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from withinpx.data.clip import nothing_selected
from withinpx.data.recording import Recording, prefetch
from withinpx.data.selection import Frame
from withinpx.discovery.background import ByteImages, FloatImages
from withinpx.discovery.camera import camera_path, nearby_background
from withinpx.discovery.exposure import in_light_of
from withinpx.errors import InputError
from withinpx.inference.run import Encoder
from withinpx.tracking.detector import Detector
from withinpx.tracking.direction import Directions
from withinpx.tracking.progress import Event, Report, silent
from withinpx.tracking.tracks import TRACKS, Tracks, TracksWriter

OVERLAY = "overlay.mp4"
CHUNK = 32  # frames that are processed together
CONTEXT = 30  # frames before and after a chunk, from which a moving camera's background is estimated
ANOTHER_SCENE = 0.5  # of the frame: footage that differs from the background by more is of another scene


@dataclass(frozen=True)
class Chunk:
    """Consecutive frames with their tracks, in which angles are not known yet."""

    tracks: Tracks
    frames: list[Frame]  # as ``Detector.observe`` takes them
    elongations: NDArray[np.float64]  # (f, n, 2), of each object's outline (inference/outline.py)


class Collected:
    """The tracks of all chunks as one."""

    def __init__(self) -> None:
        self._parts: list[Tracks] = []
        self._directions = Directions()

    def add(self, chunk: Chunk) -> None:
        self._parts.append(chunk.tracks)
        self._directions.add(chunk.tracks, chunk.elongations)

    def tracks(self) -> Tracks:
        return replace(Tracks.joined(self._parts), angles_deg=self._directions.angles_deg())


OnChunk = Callable[[Chunk], None]


@dataclass
class Counts:
    """Positions of a whole recording, counted as they are found."""

    frames: int = 0
    positions: int = 0
    certified: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, tracks: Tracks) -> None:
        self.frames += len(tracks)
        self.positions += int(tracks.present.sum())
        self.certified += int(tracks.certified.sum())
        self.reasons.update(tracks.reasons[tracks.reasons != ""].tolist())

    def __str__(self) -> str:
        text = f"{self.certified} of {self.positions} positions are certified"
        refused = ", ".join(f"{reason} {count}" for reason, count in self.reasons.most_common())
        return f"{text}; refused: {refused}" if refused else text


def detect(
    detector: Detector,
    recording: Recording,
    folder: Path | None = None,
    *,
    overlay: bool = True,
    report: Report = silent,
    losses: list[str] | None = None,
    encoder: Encoder | None = None,
    on_chunk: OnChunk | None = None,
    frames: Iterator[Frame] | None = None,
    sets: bool = True,
    step_px: float | None = None,
    mm_per_px: float | None = None,
) -> Counts:
    """Stream a recording through a detector; with a folder, write tracks.csv and overlay.mp4 into it.

    ``on_chunk`` receives every part in turn. ``frames`` are the recording's frames if they are decoded already. Without
    ``sets`` the bound is the theorem's only. ``step_px``: the largest step of objects that look alike, None if unknown.
    ``mm_per_px``: the scale that the tracks get.
    """
    counts, directions = Counts(), Directions()
    with ExitStack() as stack:
        receivers: list[OnChunk] = [] if on_chunk is None else [on_chunk]
        table = None if folder is None else stack.enter_context(TracksWriter(folder / TRACKS))
        for part in chunks(detector, recording, losses, encoder, frames, sets=sets, step_px=step_px, report=report):
            chunk = replace(part, tracks=replace(part.tracks, mm_per_px=mm_per_px))
            if folder is not None and overlay and not counts.frames:
                receivers.append(stack.enter_context(_overlay(detector, chunk.tracks, folder)).add_chunk)
            for receive in receivers:
                receive(chunk)
            if table is not None:
                table.add(chunk.tracks)
            counts.add(chunk.tracks)
            directions.add(chunk.tracks, chunk.elongations)
            report(Event("detecting", counts.frames))
        if table is not None and counts.frames:
            table.finish(directions.angles_deg())
    if not counts.frames:
        raise InputError(nothing_selected(recording.source, detector.watched))
    return counts


def _overlay(detector: Detector, tracks: Tracks, folder: Path) -> "OverlayWriter":  # type: ignore[name-defined]
    from withinpx.tracking.colours import object_colours  # noqa: PLC0415
    from withinpx.tracking.overlay import OverlayWriter  # noqa: PLC0415  (PyAV is needed for videos only)

    return OverlayWriter(folder / OVERLAY, tracks.objects, detector.watched, object_colours(detector, tracks))


def chunks(
    detector: Detector,
    recording: Recording,
    losses: list[str] | None = None,
    encoder: Encoder | None = None,
    frames: Iterator[Frame] | None = None,
    *,
    sets: bool = True,
    step_px: float | None = None,
    report: Report = silent,
) -> Iterator[Chunk]:
    """The recording a few frames at a time; memory does not grow with its length.

    Objects that look alike are followed through all of it first, and only what was found of them is held.
    """
    if detector.classes is not None:
        yield from _alike_chunks(detector, recording, losses, frames, sets=sets, step_px=step_px, report=report)
        return
    if frames is None:
        frames = prefetch(recording.stream(detector.watched, losses=losses), CHUNK)
    first = True
    for part, images, backgrounds in _with_backgrounds(detector, _checked(detector, frames, recording)):
        if first and not detector.moving_camera:
            _check_scene(detector, images, recording)
        first = False
        seen = detector.observe(images, backgrounds, encoder, sets=sets)
        numbers, times_s = np.array([frame.number for frame in part]), np.array([frame.time_s for frame in part])
        yield Chunk(detector.tracks(seen, numbers, times_s), part, detector.elongations(seen))


def _alike_chunks(
    detector: Detector,
    recording: Recording,
    losses: list[str] | None,
    frames: Iterator[Frame] | None,
    *,
    sets: bool,
    step_px: float | None,
    report: Report,
) -> Iterator[Chunk]:
    from withinpx.tracking.views import Recorded  # noqa: PLC0415  (needs Detector)

    held = None if frames is None else list(frames)

    def parts(losses: list[str] | None) -> Iterator[list[Frame]]:
        again = prefetch(recording.stream(detector.watched, losses=losses), CHUNK) if held is None else iter(held)
        checked = _checked(detector, again, recording)
        while part := list(islice(checked, CHUNK)):
            yield part

    recorded, done = Recorded(detector), 0
    for part in parts(losses):
        images = _stack(part)
        if not done:
            _check_scene(detector, images, recording)
        recorded.add(images, [frame.number for frame in part], [frame.time_s for frame in part], sets=sets)
        done += len(part)
        report(Event("detecting", done))
    if not done:
        return
    (tracks, elongations), start = recorded.tracks(step_px), 0
    for part in parts(None):
        own = slice(start, start + len(part))
        yield Chunk(tracks[own], part, elongations[own])
        start += len(part)


def _with_backgrounds(
    detector: Detector, frames: Iterator[Frame]
) -> Iterator[tuple[list[Frame], ByteImages, FloatImages | None]]:
    """Chunks of frames, their images, and a moving camera's backgrounds, estimated from the frames around."""
    if not detector.moving_camera:
        while part := list(islice(frames, CHUNK)):
            yield part, _stack(part), None
        return
    before: list[Frame] = []
    waiting: list[Frame] = []
    ended = False
    while not ended:
        more = list(islice(frames, CHUNK))
        ended = len(more) < CHUNK
        waiting += more
        while waiting and (ended or len(waiting) >= CHUNK + CONTEXT):
            part = waiting[:CHUNK]
            around = _stack([*before, *waiting[: CHUNK + CONTEXT]])
            backgrounds = nearby_background(around, camera_path(around)).images
            here = slice(len(before), len(before) + len(part))
            yield part, around[here], backgrounds[here]
            before = [*before, *part][-CONTEXT:]
            waiting = waiting[CHUNK:]


def _stack(frames: list[Frame]) -> ByteImages:
    return np.stack([frame.pixels for frame in frames])


def _checked(detector: Detector, frames: Iterator[Frame], recording: Recording) -> Iterator[Frame]:
    """Frames of the detector's size, converted between grey and colour where needed."""
    colours = detector.model.config.colours
    for frame in frames:
        if frame.size != detector.recording:
            width, height = detector.recording
            raise InputError(
                f"{recording.source} is {frame.size[0]}x{frame.size[1]} px, and the detector was made for "
                f"{width}x{height} px: use footage of the same camera, or track this clip anew."
            )
        if frame.pixels.shape[-1] == colours:
            yield frame
        elif colours == 3:
            yield replace(frame, pixels=np.repeat(frame.pixels, 3, axis=-1))
        else:
            yield replace(frame, pixels=frame.pixels.mean(axis=-1, keepdims=True).round().astype(np.uint8))


def _check_scene(detector: Detector, images: ByteImages, recording: Recording) -> None:
    images = in_light_of(detector.background, detector.scaled(images))
    share = float(np.median(detector.background.changed(images).mean(axis=(1, 2))))
    if share > ANOTHER_SCENE:
        raise InputError(
            f"{recording.source} does not show the detector's scene: {share:.0%} of the frame differs from its "
            f"background. Use footage of the same camera, or track this clip anew."
        )


def check_first_frames(detector: Detector, recording: Recording) -> None:
    """Refuse footage of another camera or scene before anything is written."""
    frames = list(islice(_checked(detector, recording.stream(detector.watched), recording), CHUNK))
    if frames and not detector.moving_camera:
        _check_scene(detector, _stack(frames), recording)
