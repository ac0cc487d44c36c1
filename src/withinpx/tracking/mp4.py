"""H.264 videos that every player shows, written atomically."""

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, Self

import av
import cv2
import numpy as np
from av.video.reformatter import Colorspace, VideoReformatter
from numpy.typing import NDArray

from withinpx.errors import InputError
from withinpx.files import atomic_file, naming_file, writable_folder

CLOCK = Fraction(1, 90_000)
FRAMES_PER_SECOND = 25
LONGER_SIDE = 640  # px; smaller images are enlarged to at least this
Pixels = NDArray[np.uint8]  # (height, width, colours)


class Mp4Writer:
    """An .mp4 whose frames have times of their own; the first frame is shown at 0 s."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = writable_folder(path.parent) / path.name, name  # the name is for error messages
        self._stack = ExitStack()
        self._stream: Any = None
        self._reformatter = VideoReformatter()  # a frame's own would be set up anew for every frame
        self._start_s, self._last_pts = 0.0, -1

    def __enter__(self) -> Self:
        with naming_file(self._path):
            part = str(self._stack.enter_context(atomic_file(self._path)))
            self._container: Any = av.open(part, "w", format="mp4", options={"movflags": "+faststart"})
        self._stack.enter_context(self._container)
        return self

    def add(self, image: Pixels, time_s: float) -> None:
        """Append a frame (height, width, 3) with even sides, which the codec needs."""
        size = (image.shape[1], image.shape[0])
        if self._stream is None:
            self._stream, self._start_s = _h264(self._container, size), time_s
        if size != (self._stream.width, self._stream.height):
            raise InputError(f"The frame changes its size at {time_s:.3f} s: the {self._name} cannot be continued.")
        frame: Any = av.VideoFrame.from_ndarray(image, format="rgb24")
        frame = self._reformatter.reformat(frame, format="yuv420p", dst_colorspace=Colorspace.ITU709)
        # a player shows only one of two frames with the same time: the second is put a tick later
        frame.pts = max(round((time_s - self._start_s) / CLOCK), self._last_pts + 1)
        frame.time_base = CLOCK
        frame.duration = frame.pts - self._last_pts if frame.pts else round(1 / (FRAMES_PER_SECOND * CLOCK))
        self._last_pts = frame.pts
        with naming_file(self._path):
            self._container.mux(self._stream.encode(frame))

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            with suppress(OSError):  # report the first error
                self._stack.__exit__(*error)
            return
        with naming_file(self._path), self._stack:
            if self._stream is None:
                raise InputError(f"The {self._name} {self._path} has no frame.")
            self._container.mux(self._stream.encode())


def write_video(path: Path, images: Iterable[Pixels], name: str, fps: float = FRAMES_PER_SECOND) -> Path:
    """Write images at a constant rate, enlarged by a whole factor if they are small."""
    with Mp4Writer(path, name) as video:
        for number, image in enumerate(images):
            video.add(even_sided(enlarged(image, enlargement(image))), number / fps)
    return path


def enlargement(pixels: Pixels) -> int:
    """The whole factor by which a small image is enlarged."""
    return max(1, ceil(LONGER_SIDE / int(max(pixels.shape[:2]))))


def enlarged(pixels: Pixels, factor: int) -> Pixels:
    """A copy in RGB, every pixel as a block: what the network was given, not a smoothed version of it."""
    colour = np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))
    height, width = (factor * side for side in pixels.shape[:2])
    return np.asarray(cv2.resize(colour, (width, height), interpolation=cv2.INTER_NEAREST_EXACT), np.uint8)


def even_sided(pixels: Pixels) -> Pixels:
    """Repeat the last row or column where a side is odd."""
    height, width = pixels.shape[:2]
    return np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _h264(container: Any, size: tuple[int, int]) -> Any:
    # the usual preset takes three times as long, for a file of about the same size
    options = {"crf": "18", "bf": "0", "preset": "veryfast"}
    stream = container.add_stream("libx264", rate=FRAMES_PER_SECOND, options=options)
    stream.width, stream.height = size
    stream.pix_fmt = "yuv420p"
    context = stream.codec_context
    context.time_base = CLOCK
    context.flags |= av.codec.context.Flags.frame_duration
    context.colorspace = context.color_primaries = context.color_trc = 1  # BT.709, in FFmpeg's numbering
    return stream
