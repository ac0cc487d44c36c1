"""A sample of a long video without decoding all of it: seek to a key frame, decode from there."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from withinpx.data.clip import MOST_PIXELS, Clip, FrameStack
from withinpx.data.missing_frames import MissingFrames
from withinpx.data.selection import Frame, OnFrame, Selection, thinning_step
from withinpx.data.video import ALL_CORES, STRICT, Converter, decodable, is_shown, opened, promised_end, rate_of

SEEK_COST = 4  # frames that could be decoded in the time of a seek
WORTHWHILE = 2  # seeking has to save this factor in decoded frames
CHECKED_FRAMES = 16  # at the start of a video, whose times must be those of its index
Numbers = NDArray[np.int64]


class SeekError(Exception):
    """The video does not behave as its index says: decode all of it."""


@dataclass(frozen=True)
class FrameIndex:
    """The frames of a video, known without decoding them."""

    times: Numbers  # of all frames in the order they are shown, in ticks
    keys: Numbers  # numbers of the frames at which decoding can start

    def starts(self, numbers: Numbers) -> Numbers:
        """The latest key frame up to each of these frames."""
        found = np.searchsorted(self.keys, numbers, side="right") - 1
        if len(found) and found.min() < 0:
            raise SeekError
        return self.keys[found]

    def cost(self, numbers: Numbers) -> int:
        """How many frames to decode for these, counting a seek as some."""
        starts = self.starts(numbers)
        last_of_start = np.append(starts[1:] != starts[:-1], True)
        return int((numbers - starts + 1 + SEEK_COST)[last_of_start].sum())


def sample_by_seeking(path: Path, selection: Selection, most: int, on_frame: OnFrame | None = None) -> Clip | None:
    """At most ``most`` of the selected frames, or None where it is faster or safer to decode the whole video."""
    for index_of in (index_from_header, index_by_reading):
        losses: list[str] = []
        try:
            with opened(path) as (container, stream):
                index = index_of(container, stream, losses)
                tick_s = stream.time_base
            selected = selection.indices(index.times * tick_s.numerator / tick_s.denominator)
            step = thinning_step(len(selected), most)
            numbers = near_key_frames(index, selected, step)
            if not len(numbers) or WORTHWHILE * index.cost(numbers) > selected[-1]:
                return None
            _check_start(path, index)
            frames = FrameStack(len(numbers))
            for frame in _frames(path, index, numbers, selection, on_frame):
                frames.add(frame)
        except (SeekError, FFmpegError, IndexError):  # IndexError: a packet of a stream that does not exist
            continue
        return frames.clip(str(path), selection, losses, complete=step == 1)
    return None


def index_from_header(container: Any, stream: Any, losses: list[str]) -> FrameIndex:
    """MP4 and MOV list all frames in the header. At a constant rate, their times follow from it."""
    entries = list(getattr(stream, "index_entries", ()))  # since PyAV 16
    if "mp4" not in container.format.name or len(entries) < 2 or len(entries) != stream.frames:
        raise SeekError
    steps = np.diff([entry.timestamp for entry in entries])
    if steps.min() < 1 or steps.max() != steps.min() or any(entry.is_discard for entry in entries):
        raise SeekError
    first = stream.start_time or 0
    keys = [number for number, entry in enumerate(entries) if entry.is_keyframe]
    return FrameIndex(first + steps[0] * np.arange(len(entries)), np.array(keys, np.int64))


def index_by_reading(container: Any, stream: Any, losses: list[str]) -> FrameIndex:
    """The times of all packets, which takes reading the file but no decoding."""
    packets = [
        (packet.pts, packet.duration or 0, packet.is_keyframe)
        for packet in container.demux(stream)
        if packet.size and is_shown(packet)
    ]
    if not packets or any(time is None for time, _, _ in packets):
        raise SeekError
    packets.sort()
    times = np.array([time for time, _, _ in packets], np.int64)
    if (np.diff(times) < 1).any():
        raise SeekError
    missing = MissingFrames(stream.time_base, int(1 / rate_of(stream) / stream.time_base))
    for time, duration, _ in packets:
        missing.add_frame(time, duration)
    missing.finish(promised_end(container, stream, int(times[0])))
    losses += missing.messages()
    return FrameIndex(times, np.flatnonzero([key for _, _, key in packets]))


def near_key_frames(index: FrameIndex, selected: Numbers, step: int) -> Numbers:
    """Every ``step``-th of the selected frames, or a frame by a key frame where one is closer than half a step."""
    targets = selected[::step]
    if step == 1 or not len(index.keys):
        return targets
    spacing = step * (selected[1] - selected[0])
    after = np.searchsorted(index.keys, targets).clip(0, len(index.keys) - 1)
    before = (after - 1).clip(0)
    keys = np.where(targets - index.keys[before] <= index.keys[after] - targets, index.keys[before], index.keys[after])
    nearby = selected[np.searchsorted(selected, keys).clip(0, len(selected) - 1)]
    return np.unique(np.where(2 * np.abs(nearby - targets) < spacing, nearby, targets))


def _check_start(path: Path, index: FrameIndex) -> None:
    """Frame numbers are right only if every packet of the index becomes a frame."""
    with closing(decodable(path, [])) as frames:
        times = [frame.pts for frame, _ in islice(frames, CHECKED_FRAMES)]
    if times != index.times[:CHECKED_FRAMES].tolist():
        raise SeekError


def _frames(
    path: Path, index: FrameIndex, numbers: Numbers, selection: Selection, on_frame: OnFrame | None
) -> Iterator[Frame]:
    convert, size = Converter(), None
    starts = dict(zip(numbers.tolist(), index.starts(numbers).tolist(), strict=True))
    with opened(path) as (container, stream):
        decoder = stream.codec_context
        decoder.thread_type, decoder.thread_count = "AUTO", ALL_CORES
        decoder.options = {"max_pixels": str(MOST_PIXELS)} | STRICT
        for start, group in groupby(numbers.tolist(), starts.__getitem__):
            wanted = {int(index.times[number]): number for number in group}
            for decoded in _decoded(container, stream, int(index.times[start]), set(wanted)):
                pixels = convert(decoded)
                if size is not None and pixels.shape != size:
                    raise SeekError
                size = pixels.shape
                time_s = float(decoded.pts * stream.time_base)
                frame = Frame(selection.apply(pixels), time_s, wanted[decoded.pts], (size[1], size[0]))
                if on_frame is not None:
                    on_frame(frame)
                yield frame


def _decoded(container: Any, stream: Any, start: int, wanted: set[int]) -> Iterator[Any]:
    """The frames at the wanted times, decoded from the key frame at the time ``start``."""
    found = []
    for packet in [*_packets(container, stream, start, wanted), None]:  # None: frames held back come out
        for frame in stream.codec_context.decode(packet):
            if frame.is_corrupt:
                raise SeekError
            if frame.pts in wanted:
                found.append(frame.pts)
                yield frame
    if found != sorted(wanted):
        raise SeekError


def _packets(container: Any, stream: Any, start: int, wanted: set[int]) -> Iterator[Any]:
    """From the key frame on until all wanted frames are among them: a frame needs no packet that follows its own."""
    missing = set(wanted)
    for packet in _seek(container, stream, start):
        if packet.pts is None:
            raise SeekError
        if packet.pts >= start:  # frames shown before the key frame may need those before it
            yield packet
        missing.discard(packet.pts)
        if not missing:
            return
    raise SeekError


def _seek(container: Any, stream: Any, start: int) -> Iterator[Any]:
    """Packets from the key frame at the time ``start`` on."""
    second = int(1 / stream.time_base)
    for time in (start, start - second):  # some formats go by decoding times, which are earlier
        container.seek(time, stream=stream)
        packets = container.demux(stream)
        for packet in packets:
            if packet.pts == start:
                return chain([packet], packets)
            if packet.pts is None or packet.pts > start:
                break
    raise SeekError
