"""A recording: a video file, a folder of images, or frames in memory; streamed, sampled or read whole."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray

from withinpx.data.clip import Clip
from withinpx.data.images import stream_images
from withinpx.data.selection import EVERYTHING, Frame, Selection
from withinpx.errors import InputError

OnFrame = Callable[[Frame], None]


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
        for frame in self._decoded(selection, losses):
            if on_frame is not None:
                on_frame(frame)
            yield frame

    def _decoded(self, selection: Selection, losses: list[str] | None) -> Iterator[Frame]:
        if self.clip is not None:
            return _select(self.clip, selection)
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
        return Clip.of(list(self.stream(selection, losses=losses)), self.source, selection, losses)

    def sample(self, selection: Selection, most: int, *, on_frame: OnFrame | None = None) -> Clip:
        """At most ``most`` of the selected frames: all of a short recording, every n-th of a long one."""
        kept: list[Frame] = []
        losses: list[str] = []
        step = 1
        for count, frame in enumerate(self.stream(selection, losses=losses, on_frame=on_frame)):
            if count % step:
                continue
            kept.append(frame)
            if len(kept) > most:
                kept, step = kept[::2], 2 * step
        return Clip.of(kept, self.source, selection, losses, complete=step == 1)


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


def _select(clip: Clip, selection: Selection) -> Iterator[Frame]:
    selected = 0
    for frame in clip.stream():
        time_s = frame.number if np.isnan(frame.time_s) else frame.time_s
        if selection.is_before(time_s) or selection.is_after(time_s):
            continue
        if selected % selection.every == 0:
            yield Frame(selection.apply(frame.pixels), frame.time_s, frame.number, frame.size)
        selected += 1


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
