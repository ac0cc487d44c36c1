"""A recording: a video file, a folder of images, or frames in memory; streamed, sampled or read whole."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray

from withinpx.data.clip import Clip, FrameStack
from withinpx.data.images import select_images, stream_images
from withinpx.data.selection import EVERYTHING, Frame, OnFrame, Selection, thinning_step
from withinpx.errors import InputError

__all__ = ["OnFrame", "Recording", "Source", "open_recording", "prefetch", "read_clip"]


@dataclass(frozen=True)
class Recording:
    """Frames are decoded when they are iterated over, not before."""

    source: str  # the path as it was given, or "array"; for messages
    clip: Clip | None = None  # frames in memory

    @property
    def name(self) -> str:
        """The file's or folder's name without its path."""
        return Path(self.source).resolve().name if self.clip is None else self.source

    def stream(
        self, selection: Selection = EVERYTHING, *, losses: list[str] | None = None, on_frame: OnFrame | None = None
    ) -> Iterator[Frame]:
        """Selected frames one by one. Gaps that cannot be decoded are appended to ``losses``."""
        return _reported(self._decoded(selection, losses), on_frame)

    def _decoded(self, selection: Selection, losses: list[str] | None) -> Iterator[Frame]:
        if self.clip is not None:
            return _frames_of(self.clip, selection, _selected(self.clip, selection))
        path = Path(self.source)
        if path.is_dir():
            return stream_images(path, selection)
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.")
        from withinpx.data.video import stream_video  # noqa: PLC0415  (PyAV is needed for videos only)

        return stream_video(path, selection, losses)

    def read(self, selection: Selection = EVERYTHING) -> Clip:
        """All selected frames in memory."""
        losses: list[str] = []
        return Clip.of(self.stream(selection, losses=losses), self.source, selection, losses)

    def sample(self, selection: Selection, most: int, *, on_frame: OnFrame | None = None) -> Clip:
        """At most ``most`` of the selected frames: all of a short recording, every n-th of a long one.

        A long video is not decoded as a whole where it can be avoided; its frames are then evenly spread but for half
        the distance between two. ``on_frame`` receives the frames of the sample.
        """
        path = Path(self.source)
        if self.clip is None and not path.is_dir():
            return _sample_video(path, selection, most, on_frame)
        frames, step = self._every_nth(selection, most)
        return Clip.of(_reported(frames, on_frame), self.source, selection, [], complete=step == 1)

    def _every_nth(self, selection: Selection, most: int) -> tuple[Iterator[Frame], int]:
        """Frames of an array or a folder, where each can be had by itself, and the step between two."""
        if self.clip is not None:
            indices = _selected(self.clip, selection)
            step = thinning_step(len(indices), most)
            return _frames_of(self.clip, selection, indices[::step]), step
        images = select_images(Path(self.source), selection)
        step = thinning_step(len(images), most)
        return stream_images(Path(self.source), selection, step=step), step


def _sample_video(path: Path, selection: Selection, most: int, on_frame: OnFrame | None) -> Clip:
    if not path.exists():
        raise InputError(f"There is no file or folder {path}.")
    from withinpx.data.seeking import sample_by_seeking  # noqa: PLC0415  (PyAV is needed for videos only)
    from withinpx.data.video import promised_frames  # noqa: PLC0415

    found = sample_by_seeking(path, selection, most, on_frame)
    if found is not None:
        return found
    return _decode_sample(path, selection, most, on_frame, promised_frames(path) if selection.whole else 0)


def _decode_sample(path: Path, selection: Selection, most: int, on_frame: OnFrame | None, promised: int = 0) -> Clip:
    """Decode every frame of a video and keep every n-th. ``promised`` are the frames that its header promises."""
    from withinpx.data.video import stream_wanted  # noqa: PLC0415

    losses: list[str] = []
    thinned = _Thinned(most, promised)
    for frame in _reported(stream_wanted(path, selection, losses, thinned.wants), on_frame):
        thinned.add(frame)
    if promised and thinned.step > 1 and 2 * len(thinned.frames) <= most:  # fewer frames than promised
        return _decode_sample(path, selection, most, on_frame)
    return thinned.frames.clip(str(path), selection, losses, complete=thinned.step == 1)


class _Thinned:
    """Every n-th frame of a stream whose length is not known before its end; n doubles when they become too many."""

    def __init__(self, most: int, promised: int = 0) -> None:
        self._most, self.step = most, thinning_step(promised, most)
        self.frames = FrameStack(-(-promised // self.step))

    def wants(self, count: int) -> bool:
        return count % self.step == 0

    def add(self, frame: Frame) -> None:
        self.frames.add(frame)
        if len(self.frames) > self._most:
            self.frames.halve()
            self.step *= 2


Source = str | os.PathLike[str] | NDArray[np.uint8] | Clip | Recording


def open_recording(source: Source) -> Recording:
    """A recording from a path, from an array (frames, height, width[, 3]) of uint8, or from a Clip.

    >>> open_recording(np.zeros((5, 48, 64), np.uint8)).read()
    Clip(array: 5 frames of 64x48 px, grey)
    """
    if isinstance(source, Recording):
        return source
    if isinstance(source, Clip):
        return Recording(source.source, source)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.")
        return Recording(str(path))
    frames = np.asarray(source)
    if frames.dtype != np.uint8 or frames.ndim not in (3, 4):
        raise InputError(
            f"An array of {frames.dtype} with the shape {frames.shape} is no clip: give uint8 frames as "
            f"(frames, height, width) or (frames, height, width, 3)."
        )
    return Recording("array", Clip(frames if frames.ndim == 4 else frames[..., None]))


def read_clip(source: Source, selection: Selection = EVERYTHING) -> Clip:
    """All selected frames of a video, a folder of images or an array.

    >>> read_clip(np.zeros((5, 48, 64, 3), np.uint8), Selection(every=2))
    Clip(array: 3 frames of 64x48 px, colour)
    """
    return open_recording(source).read(selection)


def _reported(frames: Iterator[Frame], on_frame: OnFrame | None) -> Iterator[Frame]:
    for frame in frames:
        if on_frame is not None:
            on_frame(frame)
        yield frame


def _selected(clip: Clip, selection: Selection) -> list[int]:
    """Indices of the selected frames; without a clock, a frame counts as a second."""
    times_s = np.where(np.isnan(clip.times_s), clip.numbers, clip.times_s)
    return list(map(int, selection.indices(times_s, clip.numbers)))


def _frames_of(clip: Clip, selection: Selection, indices: list[int]) -> Iterator[Frame]:
    for index in indices:
        pixels = selection.apply(clip.frames[index])
        yield Frame(pixels, float(clip.times_s[index]), int(clip.numbers[index]), clip.size)


def prefetch(frames: Iterator[Frame], most: int) -> Iterator[Frame]:
    """The same frames, decoded in a second thread; at most ``most`` wait in its queue."""
    queue: Queue[Frame | BaseException | None] = Queue(most)
    stopped = Event()

    def put(item: Frame | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                return queue.put(item, timeout=0.1)
            except Full:
                continue

    def decode() -> None:
        try:
            for frame in frames:
                put(frame)
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    thread = Thread(target=decode, daemon=True)
    thread.start()
    try:
        while (frame := queue.get()) is not None:
            if isinstance(frame, BaseException):
                raise frame
            yield frame
    finally:
        stopped.set()
        thread.join()
