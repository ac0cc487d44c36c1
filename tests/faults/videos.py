"""Small videos of every kind, and the outcome of reading them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from withinpx.data.video import open_container, pixels_of, read_video
from withinpx.errors import InputError

HEIGHT, WIDTH, FRAMES, RATE = 64, 96, 40, 25
Pixels = NDArray[np.uint8]
FASTSTART = (("movflags", "+faststart"),)
GROUP = (("g", "12"),)


@dataclass(frozen=True)
class Kind:
    """How a video is stored."""

    name: str
    codec: str
    pixel_format: str = "yuv420p"
    options: tuple[tuple[str, str], ...] = ()
    container: tuple[tuple[str, str], ...] = ()


KINDS = (
    Kind("first.mp4", "libx264", options=GROUP, container=FASTSTART),  # the index comes first
    Kind("last.mp4", "libx264", options=GROUP),
    Kind("pieces.mp4", "libx264", options=GROUP, container=(("movflags", "frag_keyframe+empty_moov"),)),
    Kind("h264.mkv", "libx264", options=GROUP),
    Kind("vp9.webm", "libvpx-vp9", options=(("deadline", "realtime"), ("cpu-used", "8"))),
    Kind("mjpeg.avi", "mjpeg", "yuvj420p"),
    Kind("ffv1.mkv", "ffv1", "bgr0"),
    Kind("mpeg2.ts", "mpeg2video", options=(("bf", "2"),)),
)


def moving_square(count: int = FRAMES, height: int = HEIGHT, width: int = WIDTH) -> list[Pixels]:
    """Frames of a white square that moves over moving noise."""
    noise = np.random.default_rng(0).integers(0, 60, (height, width, 3), dtype=np.uint8)
    frames = []
    for index in range(count):
        frame = np.roll(noise, index, axis=1)
        frame[10:30, 2 + index : 14 + index] = 255
        frames.append(frame)
    return frames


def write(path: Path, kind: Kind, frames: list[Pixels] | None = None, times_ms: Iterable[int] | None = None) -> Path:
    frames = moving_square() if frames is None else frames
    clock = Fraction(1, RATE) if times_ms is None else Fraction(1, 1000)
    with av.open(str(path), "w", options=dict(kind.container)) as container:
        stream: Any = container.add_stream(kind.codec, rate=int(1 / clock), options=dict(kind.options))
        stream.height, stream.width, stream.pix_fmt = *frames[0].shape[:2], kind.pixel_format
        for pixels, time in zip(frames, times_ms or range(len(frames)), strict=True):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = time, clock
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@dataclass(frozen=True)
class Outcome:
    """The outcome of reading a video: its frames, or the message of a typed error."""

    times_s: tuple[float, ...] = ()
    pixels: tuple[str, ...] = ()  # a hash for each frame
    sizes: tuple[tuple[int, ...], ...] = ()
    lost: tuple[str, ...] = ()
    refused: str = ""


def hashed(pixels: Pixels) -> str:
    return sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()


def _outcome(frames: Iterable[tuple[float, Pixels]], lost: tuple[str, ...] = ()) -> Outcome:
    known = [(time_s, hashed(pixels), pixels.shape) for time_s, pixels in frames]
    times_s, pixels, sizes = zip(*known, strict=True) if known else ((), (), ())
    return Outcome(times_s, pixels, sizes, lost)


def read(path: Path) -> Outcome:
    """With withinpx."""
    try:
        clip = read_video(path)
    except InputError as error:
        return Outcome(refused=str(error))
    return _outcome(zip(clip.times_s.tolist(), clip.frames, strict=True), clip.lost)


def read_plainly(path: Path) -> tuple[Outcome, tuple[float, ...]]:
    """All that PyAV decodes, packet by packet, without threads; and the times of all packets that are to be shown."""
    frames: list[Any] = []
    times_s: list[float] = []
    try:
        with open_container(path) as container:
            stream = container.streams.video[0]
            stream.codec_context.thread_count = 1
            for packet in container.demux(stream):
                if packet.size and packet.pts is not None and packet.time_base and not packet.is_discard:
                    times_s.append(float(packet.pts * packet.time_base))
                try:
                    for frame in packet.decode():
                        number_s = float(len(frames) / (stream.average_rate or 1))
                        frames.append((number_s if frame.time is None else float(frame.time), pixels_of(frame)))
                except FFmpegError:
                    continue
    except (FFmpegError, IndexError, AttributeError):  # no video, no video stream, no decoder
        pass
    return _outcome(frames), tuple(times_s)


def central_levels(path: Path) -> list[int]:
    """The brightness of each frame at its centre."""
    return [int(frame[HEIGHT // 2, WIDTH // 2].mean()) for frame in read_video(path).frames]


def is_listed(time_s: float, lost: Iterable[str]) -> bool:
    """Whether one of these messages covers this time."""
    for message in lost:
        numbers = [float(number) for number in re.findall(r"(-?\d+\.\d+) s\b", message)]
        if "after the start" in message:
            return True
        if "after" in message:
            numbers = [numbers[0], np.inf]
        if numbers and min(numbers) - 0.001 <= time_s <= max(numbers) + 0.001:
            return True
    return False
