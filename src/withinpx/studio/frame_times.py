"""When each frame of a video is shown, which says where it is in the file; and which frames there are at all."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.error import FFmpegError
from av.stream import Disposition
from numpy.typing import NDArray

from withinpx.files import write_atomically

INDEX = ".frames.npy"
LARGE = 20_000_000  # bytes


def frame_times(clip: Path) -> NDArray[np.int64]:
    """When each frame is shown, in the file's own ticks. A large file takes long to read: its answer is kept beside."""
    kept = clip.with_name(INDEX)
    with suppress(OSError, ValueError):
        return np.asarray(np.load(kept), np.int64)
    times = _measured_times(clip)
    if clip.stat().st_size > LARGE:
        _keep_times(kept, times)
    return times


def note_times(clip: Path, times_s: Sequence[float]) -> None:
    """What a whole reading found: frames that cannot be decoded do not count, here as in the tracks."""
    if clip.is_dir() or len(times_s) >= len(known := frame_times(clip)) or not (np.diff(known) > 0).all():
        return
    with av.open(str(clip), metadata_errors="replace") as container:
        tick_s = float(pictures_in(container).time_base or 1)
    _keep_times(clip.with_name(INDEX), np.round(np.array(times_s) / tick_s).astype(np.int64))


def noted(clip: Path) -> float:
    """When the times of its frames were last noted; 0 if never."""
    try:
        return clip.with_name(INDEX).stat().st_mtime
    except OSError:
        return 0.0


def pictures_in(container: Any) -> Any:
    """The stream of pictures; the cover of a song is none."""
    streams = (each for each in container.streams.video if not each.disposition & Disposition.attached_pic)
    return next(streams, None)


def decoded(container: Any, stream: Any) -> Iterator[Any]:
    """The frames from here on; one that cannot be decoded is left out."""
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets, None)
        except FFmpegError:  # the file breaks off
            return
        if packet is None:
            return
        with suppress(FFmpegError):
            yield from packet.decode()


def _measured_times(clip: Path) -> NDArray[np.int64]:
    """From the file's packets, none of which is decoded: a header's promises are not believed."""
    with av.open(str(clip), metadata_errors="replace") as container:
        times = []
        with suppress(FFmpegError):  # a file that breaks off has the frames that come before
            for packet in container.demux(pictures_in(container)):
                if packet.size and not packet.is_discard:
                    times.append(0 if packet.pts is None else packet.pts)
    return np.sort(np.array(times, np.int64))


def _keep_times(path: Path, times: NDArray[np.int64]) -> None:
    content = BytesIO()
    np.save(content, times)
    write_atomically(path, content.getvalue())
