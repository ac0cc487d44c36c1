"""Whatever a person points at: frame by frame, as a whole Clip, or as an even sample of it."""

from collections.abc import Iterator
from pathlib import Path

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
