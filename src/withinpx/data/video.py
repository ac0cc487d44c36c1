"""Video files, frame by frame, with the timestamps of their own clock. The header's frame count is not trusted."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.error import FFmpegError
from av.stream import Disposition
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from withinpx.data.clip import MOST_PIXELS, Clip
from withinpx.data.missing_frames import MissingFrames
from withinpx.data.selection import EVERYTHING, Frame, Selection
from withinpx.errors import InputError

ALL_CORES = 0  # threads, in FFmpeg's numbering
STRICT = {"err_detect": "explode"}  # raise where the decoder would conceal an error
# PyAV 19 keeps metadata that is no UTF-8 as surrogates, and has no option for it
TOLERANT: dict[str, Any] = {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}
VP8_SHOWN = 0x10  # a flag in a packet's first byte


def read_video(path: Path, selection: Selection = EVERYTHING) -> Clip:
    """The selected frames of a video, in memory."""
    losses: list[str] = []
    return Clip.of(stream_video(path, selection, losses), str(path), selection, losses)


def stream_video(path: Path, selection: Selection = EVERYTHING, losses: list[str] | None = None) -> Iterator[Frame]:
    """The selected frames of a video one by one; memory does not grow with its length.

    Frames that cannot be decoded are skipped, with a sentence per gap in ``losses``.
    """
    return stream_wanted(path, selection, losses, lambda count: True)


def stream_wanted(
    path: Path, selection: Selection, losses: list[str] | None, wanted: Callable[[int], bool]
) -> Iterator[Frame]:
    """Those of the selected frames that are wanted, by their count from 0; the others are not converted to pixels."""
    lost: list[str] = [] if losses is None else losses
    convert = Converter()
    size: tuple[int, int, int] | None = None
    selected, odd_size_s = 0, None
    with closing(decodable(path, lost)) as frames:
        for number, (decoded, time_s) in enumerate(frames):
            if selection.is_after(number, time_s):
                return
            if selection.is_before(number, time_s):
                continue
            if selected % selection.every == 0:
                found = shape_of(decoded)
                if size is not None and found != size:
                    change = f"from {size[1]}x{size[0]} to {found[1]}x{found[0]} px"
                    if odd_size_s is not None:
                        raise InputError(
                            f"{path} changes its frame size at {odd_size_s:.3f} s {change}: cut it there with --end or "
                            f"--start."
                        )
                    odd_size_s = time_s
                    lost.append(f"the frame at {time_s:.3f} s is skipped: the frame size changes {change}")
                    continue
                if wanted(selected // selection.every):
                    try:
                        pixels = convert(decoded)
                    except FFmpegError as error:
                        lost.append(f"the frame at {time_s:.3f} s cannot be converted: {error.strerror}")
                        continue
                    yield Frame(selection.apply(pixels), time_s, number, (found[1], found[0]))
                size, odd_size_s = found, None
            selected += 1


def decodable(path: Path, losses: list[str]) -> Generator[tuple[Any, float]]:
    """Every frame that can be decoded, with its time.

    Decoding with several threads is fast, but a broken frame then corrupts others, and not always the same ones. At the
    first sign of damage decoding starts again with one thread, after the frames already yielded.
    """
    yielded = 0
    for threads in (ALL_CORES, 1):
        with opened(path) as (container, stream):
            missing = MissingFrames(stream.time_base, int(1 / rate_of(stream) / stream.time_base))
            try:
                for frame in islice(_decoded(container, stream, missing, threads), yielded, None):
                    if missing.suspected and threads != 1:
                        break
                    yield frame
                    yielded += 1
            finally:
                if threads == 1 or not missing.suspected:
                    losses += missing.messages()
        if not missing.suspected:
            return


def open_container(path: Path) -> Any:
    """A video file, whose metadata may hold anything."""
    return av.open(str(path), **TOLERANT)


@contextmanager
def opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """The file and its first video stream; cover art does not count."""
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    try:
        container = open_container(path)
    except FFmpegError as error:
        raise InputError(f"{path} cannot be read as a video ({error.strerror}).") from None
    with container:
        streams = [video for video in container.streams.video if not video.disposition & Disposition.attached_pic]
        if not streams:
            raise InputError(f"{path} has no video stream.")
        if streams[0].codec_context is None or not streams[0].time_base:
            raise InputError(f"{path} cannot be read as a video (no decoder for its codec).")
        yield container, streams[0]


def _decoded(container: Any, stream: Any, missing: MissingFrames, threads: int) -> Iterator[tuple[Any, float]]:
    """All frames with their times; where the file has none, the frame number over the average rate."""
    decoder = stream.codec_context
    decoder.thread_type, decoder.thread_count = "AUTO", threads
    decoder.options = {"max_pixels": str(MOST_PIXELS)} | (STRICT if threads != 1 else {})
    number = 0
    for packet in _packets(container, stream, missing):
        if packet is not None and is_shown(packet):
            missing.add_packet(packet.pts)
        try:
            frames = decoder.decode(packet)
        except FFmpegError:
            missing.suspected = True
            continue
        for frame in frames:
            missing.add_frame(frame.pts, frame.duration)
            missing.suspected |= frame.is_corrupt
            yield frame, float(number / rate_of(stream) if frame.pts is None else frame.pts * stream.time_base)
            number += 1
    missing.finish(promised_end(container, stream, missing.first or 0))


def _packets(container: Any, stream: Any, missing: MissingFrames) -> Iterator[Any]:
    """All packets that can be read, then None to flush the decoder."""
    try:
        yield from (packet for packet in container.demux(stream) if packet.size)
    except (FFmpegError, IndexError):  # IndexError: a packet of a stream that does not exist
        missing.add_message(f"what follows after {missing.progress()} cannot be read")
    yield None


def is_shown(packet: Any) -> bool:
    """Some packets only serve as references: those cut off by an edit list, and hidden frames of VP8."""
    hidden = packet.stream.codec_context.name == "vp8" and not memoryview(packet)[0] & VP8_SHOWN
    return not packet.is_discard and not hidden


def promised_end(container: Any, stream: Any, first: int) -> int:
    """When the last frame ends according to the header, in ticks; 0 if unknown."""
    if container.format.name == "avi":  # FFmpeg shortens the duration of a truncated file
        return int(first + stream.frames / rate_of(stream) / stream.time_base)
    if stream.duration is not None:
        return int(first + stream.duration)
    if container.duration is None or len(container.streams) > 1:  # the longest stream's
        return 0
    return int(container.duration / av.time_base / stream.time_base)


def rate_of(stream: Any) -> Fraction:
    return stream.average_rate or Fraction(1)


def shape_of(frame: Any) -> tuple[int, int, int]:
    """Height, width and colours of a decoded frame, once it is upright."""
    height, width = (frame.width, frame.height) if _turns(frame) % 2 else (frame.height, frame.width)
    return height, width, 1 if _is_grey(frame) else 3


class Converter:
    """Decoded frames to pixels; what it prepares for one frame serves the next."""

    def __init__(self) -> None:
        self._reformatter = VideoReformatter()

    def __call__(self, frame: Any) -> NDArray[np.uint8]:
        """A decoded frame as (height, width, 1 or 3), eight bits, rotated upright."""
        converted: Any = self._reformatter.reformat(frame, format="gray16le" if _is_grey(frame) else "rgb24")
        pixels = converted.to_ndarray()
        if pixels.dtype != np.uint8:
            pixels = np.round(pixels / 257).astype(np.uint8)[..., None]
        return np.ascontiguousarray(np.rot90(pixels, _turns(frame)))


def promised_frames(path: Path) -> int:
    """How many frames the header promises; 0 if it does not say."""
    with opened(path) as (_, stream):
        return int(stream.frames)


def pixels_of(frame: Any) -> NDArray[np.uint8]:
    """One decoded frame as (height, width, 1 or 3), eight bits, rotated upright."""
    return Converter()(frame)


def _is_grey(frame: Any) -> bool:
    return bool(frame.format.name.startswith("gray"))


def _turns(frame: Any) -> int:
    """Quarters of a turn to the upright frame."""
    return round(getattr(frame, "rotation", 0) / 90) % 4
