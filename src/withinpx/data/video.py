"""A video as a Clip, frame by frame, with the times its own clock gives. The header's promises are not believed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from withinpx.data.clip import Clip
from withinpx.data.selection import EVERYTHING, Frame, Selection
from withinpx.errors import InputError


def read_video(path: Path, selection: Selection = EVERYTHING) -> Clip:
    """The wanted frames of a video, in memory."""
    losses: list[str] = []
    frames = list(stream_video(path, selection, losses))
    if not frames:
        raise InputError(f"{path} has no frame that can be shown in the stretch asked for.")
    pixels = np.stack([frame.pixels for frame in frames])
    times = np.array([frame.time_s for frame in frames])
    return Clip(pixels, times, str(path), selection, tuple(losses))


def stream_video(path: Path, selection: Selection = EVERYTHING, losses: list[str] | None = None) -> Iterator[Frame]:
    """The wanted frames one after the other; memory does not grow with the video.

    A packet that cannot be decoded is noted in ``losses``, a sentence a stretch, and left out; what follows is kept.
    """
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    try:
        container = av.open(str(path))
    except FFmpegError as error:
        raise InputError(f"{path} cannot be read as a video ({error.strerror}).") from None
    with container:
        if not container.streams.video:
            raise InputError(f"{path} has no pictures in it (no video stream).")
        size: tuple[int, ...] | None = None
        place = 0
        for number, decoded in enumerate(_decoded(container, [] if losses is None else losses)):
            time_s = _time(decoded, number, container.streams.video[0])
            if selection.is_after(time_s):
                return
            if selection.is_before(time_s):
                continue
            if selection.keeps(place):
                pixels = pixels_of(decoded)
                if size is not None and pixels.shape != size:
                    raise InputError(
                        f"{path} changes its picture size at {time_s:.3f} s from {size[1]}x{size[0]} to "
                        f"{pixels.shape[1]}x{pixels.shape[0]} px: cut it there with --end or --start."
                    )
                size = pixels.shape
                yield Frame(selection.of(pixels), time_s, number, (pixels.shape[1], pixels.shape[0]))
            place += 1


def _decoded(container: Any, losses: list[str]) -> Iterator[Any]:
    stream = container.streams.video[0]
    stream.thread_type = "AUTO"
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
        except StopIteration:
            return
        except FFmpegError as error:
            losses.append(f"the file breaks off: {error.strerror}")
            return
        try:
            yield from packet.decode()
        except FFmpegError as error:
            at = "at an unknown time" if packet.pts is None else f"at {float(packet.pts * packet.time_base):.3f} s"
            losses.append(f"a frame {at} cannot be decoded: {error.strerror}")


def _time(frame: Any, number: int, stream: Any) -> float:
    """The frame's own time; where the file has none, its number over the average rate."""
    if frame.time is not None:
        return float(frame.time)
    rate = float(stream.average_rate or 1)
    return number / rate


def pixels_of(frame: Any) -> NDArray[np.uint8]:
    """Upright, eight bits a colour, one colour where the file has one."""
    if frame.format.name.startswith("gray"):
        deep = frame.to_ndarray(format="gray16le")
        pixels = np.round(deep / 257).astype(np.uint8)[..., None]
    else:
        pixels = frame.to_ndarray(format="rgb24")
    turns = round(getattr(frame, "rotation", 0) / 90) % 4
    return np.ascontiguousarray(np.rot90(pixels, turns))
