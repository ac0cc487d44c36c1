"""Whatever a person points at: frame by frame, as a whole Clip, or as an even sample of it."""

from collections.abc import Iterator
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread

import numpy as np

from withinpx.data.clip import Clip
from withinpx.data.images import read_images, stream_images
from withinpx.data.selection import EVERYTHING, Frame, Selection
from withinpx.errors import InputError


def read_clip(path: Path, selection: Selection = EVERYTHING) -> Clip:
    """A folder of images, or a video file, in memory."""
    if path.is_dir():
        return read_images(path, selection=selection)
    check_exists(path)
    from withinpx.data.video import read_video  # noqa: PLC0415  (only those who read videos need PyAV)

    return read_video(path, selection)


def stream_clip(path: Path, selection: Selection = EVERYTHING, losses: list[str] | None = None) -> Iterator[Frame]:
    """Its frames one after the other; memory does not grow with their number."""
    if path.is_dir():
        yield from stream_images(path, selection=selection)
        return
    check_exists(path)
    from withinpx.data.video import stream_video  # noqa: PLC0415

    yield from stream_video(path, selection, losses)


def prefetch(frames: Iterator[Frame], most: int) -> Iterator[Frame]:
    """The same frames, decoded by a second thread while the first looks at earlier ones; at most so many wait."""
    waiting: Queue[Frame | BaseException | None] = Queue(most)
    stopped = Event()

    def decode() -> None:
        last: BaseException | None = None
        try:
            for frame in frames:
                while not stopped.is_set():
                    try:
                        waiting.put(frame, timeout=0.1)
                        break
                    except Full:
                        continue
                if stopped.is_set():
                    return
        except BaseException as error:
            last = error
        while not stopped.is_set():
            try:
                return waiting.put(last, timeout=0.1)
            except Full:
                continue

    thread = Thread(target=decode, daemon=True)
    thread.start()
    try:
        while (frame := waiting.get()) is not None:
            if isinstance(frame, BaseException):
                raise frame
            yield frame
    finally:
        stopped.set()
        thread.join()


def sample_clip(path: Path, selection: Selection, most: int) -> Clip:
    """At most ``most`` frames, evenly spread: every one of a short recording, every n-th of a long one."""
    kept: list[Frame] = []
    losses: list[str] = []
    every = 1
    for number, frame in enumerate(stream_clip(path, selection, losses)):
        if number % every:
            continue
        kept.append(frame)
        if len(kept) > most:
            kept, every = kept[::2], 2 * every
    if not kept:
        raise InputError(f"{path} has no frame that can be shown in the stretch asked for.")
    times = np.array([frame.time_s for frame in kept])
    return Clip(np.stack([frame.pixels for frame in kept]), times, str(path), selection, tuple(losses))


def check_exists(path: Path) -> None:
    """Is there anything of this name?"""
    if not path.exists():
        raise InputError(f"There is no file or folder {path}.")
