"""A video as a Clip, frame by frame, with the times its own clock gives. The header's promises are not believed."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.error import FFmpegError
from av.stream import Disposition
from numpy.typing import NDArray

from withinpx.data.clip import MOST_PIXELS, Clip
from withinpx.data.missing_frames import MissingFrames
from withinpx.data.selection import EVERYTHING, Frame, Selection
from withinpx.errors import InputError

AS_MANY_AS_THERE_ARE = 0  # threads, in FFmpeg's words
STRICT = {"err_detect": "explode"}  # whatever a decoder would conceal is an error
VP8_SHOWN = 0x10  # a flag in a packet's first byte


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

    What cannot be decoded is noted in ``losses``, a sentence a stretch, and left out; what follows is kept.
    """
    lost: list[str] = [] if losses is None else losses
    size: tuple[int, ...] | None = None
    place, stray_s = 0, None
    with closing(_shown(path, lost)) as shown:
        for number, (decoded, time_s) in enumerate(shown):
            if selection.is_after(time_s):
                return
            if selection.is_before(time_s):
                continue
            if selection.keeps(place):
                try:
                    pixels = pixels_of(decoded)
                except FFmpegError as error:
                    lost.append(f"the frame at {time_s:.3f} s cannot be shown: {error.strerror}")
                    continue
                if size is not None and pixels.shape != size:
                    change = f"from {size[1]}x{size[0]} to {pixels.shape[1]}x{pixels.shape[0]} px"
                    if stray_s is not None:
                        at = f"changes its picture size at {stray_s:.3f} s {change}"
                        raise InputError(f"{path} {at}: cut it there with --end or --start.")
                    stray_s = time_s
                    lost.append(f"the frame at {time_s:.3f} s is left out: the picture size changes {change}")
                    continue
                size, stray_s = pixels.shape, None
                yield Frame(selection.of(pixels), time_s, number, (pixels.shape[1], pixels.shape[0]))
            place += 1


def _shown(path: Path, losses: list[str]) -> Generator[tuple[Any, float]]:
    """Every frame that can be decoded, with its time.

    Many threads are fast, but there a broken frame takes others with it, and not the same ones every time: at the
    first doubt, one goes on alone.
    """
    given = 0
    for threads in (AS_MANY_AS_THERE_ARE, 1):
        with _opened(path) as (container, stream):
            missing = MissingFrames(stream.time_base, int(1 / _rate(stream) / stream.time_base))
            try:
                for each in islice(_decoded(container, stream, missing, threads), given, None):
                    if missing.suspected and threads != 1:
                        break
                    yield each
                    given += 1
            finally:
                if threads == 1 or not missing.suspected:
                    losses += missing.messages()
        if not missing.suspected:
            return


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """The file and its pictures; the cover of a song is none."""
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    try:
        container = av.open(str(path), metadata_errors="replace")
    except FFmpegError as error:
        raise InputError(f"{path} cannot be read as a video ({error.strerror}).") from None
    with container:
        streams = [each for each in container.streams.video if not each.disposition & Disposition.attached_pic]
        if not streams:
            raise InputError(f"{path} has no pictures in it (no video stream).")
        if streams[0].codec_context is None or not streams[0].time_base:
            raise InputError(f"{path} cannot be read as a video (no decoder knows its pictures).")
        yield container, streams[0]


def _decoded(container: Any, stream: Any, missing: MissingFrames, threads: int) -> Iterator[tuple[Any, float]]:
    """All frames with their times; where the file has none, the number over the average rate."""
    decoder = stream.codec_context
    decoder.thread_type, decoder.thread_count = "AUTO", threads
    decoder.options = {"max_pixels": str(MOST_PIXELS)} | (STRICT if threads != 1 else {})
    number = 0
    for packet in _packets(container, stream, missing):
        if packet is not None and _is_to_be_shown(packet):
            missing.add_packet(packet.pts)
        try:
            frames = decoder.decode(packet)
        except FFmpegError:
            missing.suspected = True
            continue
        for frame in frames:
            missing.add_frame(frame.pts, frame.duration)
            missing.suspected |= frame.is_corrupt
            yield frame, float(number / _rate(stream) if frame.pts is None else frame.pts * stream.time_base)
            number += 1
    missing.finish(_promised(container, stream, missing.first or 0))


def _packets(container: Any, stream: Any, missing: MissingFrames) -> Iterator[Any]:
    """All that can be read, and None when there is no more."""
    try:
        yield from (packet for packet in container.demux(stream) if packet.size)
    except (FFmpegError, IndexError):  # the latter where a packet says that it is of a stream that is not there
        missing.add_message(f"what follows after {missing.progress()} cannot be read")
    yield None


def _is_to_be_shown(packet: Any) -> bool:
    """Some are only there for others to build on: those that were cut away, those that VP8 hides."""
    hidden = packet.stream.codec_context.name == "vp8" and not memoryview(packet)[0] & VP8_SHOWN
    return not packet.is_discard and not hidden


def _promised(container: Any, stream: Any, first: int) -> int:
    """When the last frame is over, in ticks, by the header; 0 if that does not say."""
    if container.format.name == "avi":  # FFmpeg makes the duration of one that is cut shorter
        return int(first + stream.frames / _rate(stream) / stream.time_base)
    if stream.duration is not None:
        return int(first + stream.duration)
    if container.duration is None or len(container.streams) > 1:  # it would be that of the longest stream
        return 0
    return int(container.duration / av.time_base / stream.time_base)


def _rate(stream: Any) -> Fraction:
    return stream.average_rate or Fraction(1)


def pixels_of(frame: Any) -> NDArray[np.uint8]:
    """Upright, eight bits a colour, one colour where the file has one."""
    if frame.format.name.startswith("gray"):
        deep = frame.to_ndarray(format="gray16le")
        pixels = np.round(deep / 257).astype(np.uint8)[..., None]
    else:
        pixels = frame.to_ndarray(format="rgb24")
    turns = round(getattr(frame, "rotation", 0) / 90) % 4
    return np.ascontiguousarray(np.rot90(pixels, turns))
