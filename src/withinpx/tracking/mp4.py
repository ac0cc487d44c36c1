"""H.264 videos that every player shows, frame by frame, whole or not there."""

from contextlib import ExitStack, suppress
from fractions import Fraction
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import av
import numpy as np
from numpy.typing import NDArray

from withinpx.errors import InputError
from withinpx.files import atomic_file, naming_file, writable_folder

CLOCK = Fraction(1, 90_000)
LONGER_SIDE = 640  # px; smaller pictures are enlarged to at least this
Pixels = NDArray[np.uint8]  # (height, width, colours)


class Mp4Writer:
    """An .mp4 with times of its frames' own; the first frame is shown at 0 s."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = writable_folder(path.parent) / path.name, name  # the name is for messages
        self._stack = ExitStack()
        self._stream: Any = None
        self._start_s, self._last_pts = 0.0, -1

    def __enter__(self) -> Self:
        with naming_file(self._path):
            beside = str(self._stack.enter_context(atomic_file(self._path)))
            self._container: Any = av.open(beside, "w", format="mp4", options={"movflags": "+faststart"})
        self._stack.enter_context(self._container)
        return self

    def add(self, picture: Pixels, time_s: float) -> None:
        """The next frame (height, width, 3), both sides even, which the codec needs."""
        size = (picture.shape[1], picture.shape[0])
        if self._stream is None:
            self._stream, self._start_s = _h264(self._container, size), time_s
        if size != (self._stream.width, self._stream.height):
            raise InputError(f"The picture changes its size at {time_s:.3f} s: the {self._name} cannot go on.")
        frame: Any = av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame = frame.reformat(format="yuv420p", dst_colorspace="ITU709")
        # two frames at one instant cannot be told apart by a player: the second follows a tick later
        frame.pts = max(round((time_s - self._start_s) / CLOCK), self._last_pts + 1)
        frame.time_base = CLOCK
        frame.duration = frame.pts - self._last_pts if frame.pts else round(Fraction(1, 25) / CLOCK)
        self._last_pts = frame.pts
        with naming_file(self._path):
            self._container.mux(self._stream.encode(frame))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            with suppress(OSError):  # what came first is told
                self._stack.__exit__(kind, error, trace)
            return
        with naming_file(self._path), self._stack:
            if self._stream is None:
                raise InputError(f"The {self._name} {self._path} has no frame.")
            self._container.mux(self._stream.encode())


def enlargement(pixels: Pixels) -> int:
    """The whole factor by which a small picture is enlarged to be looked at."""
    longer = int(max(pixels.shape[:2]))
    return max(1, ceil(LONGER_SIDE / longer))


def enlarged(pixels: Pixels, factor: int) -> Pixels:
    """In colour, with every pixel as a block: what the network saw, not a smoothed version of it."""
    colour = np.broadcast_to(pixels, (*pixels.shape[:2], 3))
    return colour.repeat(factor, axis=0).repeat(factor, axis=1)


def even_sided(pixels: Pixels) -> Pixels:
    """With its last row or column once more where a side is odd."""
    height, width = pixels.shape[:2]
    return np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _h264(container: Any, size: tuple[int, int]) -> Any:
    stream = container.add_stream("libx264", rate=25, options={"crf": "18", "bf": "0"})
    stream.width, stream.height = size
    stream.pix_fmt = "yuv420p"
    context = stream.codec_context
    context.time_base = CLOCK
    context.flags |= av.codec.context.Flags.frame_duration
    context.colorspace = context.color_primaries = context.color_trc = 1  # BT.709, in FFmpeg's numbering
    return stream
