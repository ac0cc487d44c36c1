"""Any frame of a recording by its number, without decoding all frames before it."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from av.error import FFmpegError
from av.stream import Disposition
from numpy.typing import NDArray
from PIL import Image
from starlette.exceptions import HTTPException

from withinpx.data.images import image_paths, read_image
from withinpx.data.video import open_container, pixels_of, stream_video
from withinpx.errors import InputError
from withinpx.files import write_atomically
from withinpx.studio.runs import Footage

Pixels = NDArray[np.uint8]  # (height, width, channels)
MAX_SKIP = 24  # frames that are decoded and dropped rather than sought over
MAX_OPEN = 4  # recordings
MAX_PIXELS = 64_000_000  # of a frame; 8K has half as many
INDEX = ".frames.npy"  # beside the clip
LARGE_FILE = 20_000_000  # bytes: the index of a larger file is kept on disk


def frame_times(clip: Path) -> NDArray[np.int64]:
    """The presentation time of each frame in the stream's time base, sorted."""
    index = clip.with_name(INDEX)
    with suppress(OSError, ValueError):
        return np.asarray(np.load(index), np.int64)
    times = _packet_times(clip)
    if clip.stat().st_size > LARGE_FILE:
        _save_times(index, times)
    return times


def save_decoded_times(clip: Path, times_s: Sequence[float]) -> None:
    """Drop the frames from the index that a complete reading could not decode: tracks do not count them either."""
    if clip.is_dir() or len(times_s) >= len(known := frame_times(clip)) or not (np.diff(known) > 0).all():
        return
    with open_container(clip) as container:
        tick_s = float(_video_stream(container).time_base or 1)
    _save_times(clip.with_name(INDEX), np.round(np.array(times_s) / tick_s).astype(np.int64))


class VideoFrames:
    """A video, kept open after the frame that was read last."""

    def __init__(self, path: Path, times: NDArray[np.int64]) -> None:
        self._path, self._times, self._lock = path, times, Lock()
        self._seekable = bool((np.diff(times) > 0).all())
        self._container: Any = None
        self._decoded: Iterator[Any] = iter(())
        self._last: int | None = None  # number of the frame decoded last, if known

    def __len__(self) -> int:
        return len(self._times)

    def read(self, number: int) -> Pixels:
        with self._lock:
            return self._seek(number) if self._seekable else self._read_from_start(number)

    def close(self) -> None:
        with self._lock:
            if self._container is not None:
                self._container.close()
            self._container, self._last = None, None

    def _seek(self, number: int) -> Pixels:
        if self._container is None:
            self._container = open_container(self._path)
            _video_stream(self._container).thread_type = "AUTO"
        time = int(self._times[number])
        if self._last is None or not self._last < number <= self._last + MAX_SKIP:
            stream = _video_stream(self._container)
            self._container.seek(time, stream=stream)
            self._decoded = _decode(self._container, stream)
        self._last = None
        for frame in self._decoded:
            if frame.pts is not None and frame.pts >= time:
                self._last = int(np.searchsorted(self._times, frame.pts))
                return pixels_of(frame)
        raise _undecodable(number)

    def _read_from_start(self, number: int) -> Pixels:
        """For files without usable timestamps."""
        frame = next(islice(stream_video(self._path), number, None), None)
        if frame is None:
            raise _undecodable(number)
        return frame.pixels


class OpenClips:
    """Frames of recordings; the videos used last are kept open."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._videos: OrderedDict[Path, tuple[float, VideoFrames]] = OrderedDict()

    def frame(self, clip: Path, number: int) -> Pixels:
        frames = image_paths(clip) if clip.is_dir() else self._open(clip)
        if not 0 <= number < len(frames):
            message = f"The clip has frames 0 to {len(frames) - 1}, and no frame {number}."
            raise HTTPException(HTTPStatus.NOT_FOUND, message)
        return frames.read(number) if isinstance(frames, VideoFrames) else read_image(frames[number])

    def close(self, clip: Path) -> None:
        """Close a recording, so that it can be deleted."""
        with self._lock:
            if clip in self._videos:
                self._videos.pop(clip)[1].close()

    def _open(self, clip: Path) -> VideoFrames:
        with self._lock:
            indexed, video = self._videos.pop(clip, (0.0, None))
            newest = _index_time(clip)
            if video is not None and indexed != newest:  # the index has lost undecodable frames
                video.close()
                video = None
            if video is None:
                video = VideoFrames(clip, frame_times(clip))
            self._videos[clip] = newest, video
            while len(self._videos) > MAX_OPEN:
                self._videos.popitem(last=False)[1][1].close()
            return video


def video_footage(clip: Path) -> Footage:
    """Size and length of a video by its packets and its first frame; headers are not trusted."""
    try:
        with open_container(clip) as container:
            stream = _video_stream(container)
            if stream is None:
                raise InputError(f"{clip.name} has no video stream.")
            for source in chain([stream], islice(_decode(container, stream), 1)):  # the header, then the first frame
                if source.width * source.height > MAX_PIXELS:
                    raise InputError(
                        f"The frames of {clip.name} are {source.width}x{source.height} px: scale them down."
                    )
            tick_s, rate = float(stream.time_base or 0), float(stream.average_rate or 25)
        first = next(stream_video(clip), None)
    except FFmpegError as error:
        raise InputError(f"{clip.name} cannot be read as a video ({error.strerror}).") from None
    if first is None:
        raise InputError(f"{clip.name} has no frame that can be decoded.")
    times = frame_times(clip)
    seconds = (float(times[-1] - times[0]) * tick_s if len(times) > 1 else 0.0) + 1 / rate
    width, height = first.size
    return Footage(width, height, len(times), round(seconds, 3))


def image_footage(folder: Path) -> Footage:
    paths = image_paths(folder)
    height, width = read_image(paths[0]).shape[:2]
    return Footage(width, height, len(paths), float(len(paths)), images=True)


def jpeg(pixels: Pixels, crop: tuple[int, int, int, int] | None, max_side: int) -> bytes:
    if crop is not None:
        left, top, width, height = crop
        pixels = pixels[top : top + height, left : left + width]
    image = Image.fromarray(np.ascontiguousarray(pixels).squeeze(axis=-1) if pixels.shape[-1] == 1 else pixels)
    image.thumbnail((max_side, max_side))
    content = BytesIO()
    image.save(content, "JPEG", quality=90)
    return content.getvalue()


def _video_stream(container: Any) -> Any:
    """The first video stream that is not a cover image."""
    streams = (stream for stream in container.streams.video if not stream.disposition & Disposition.attached_pic)
    return next(streams, None)


def _decode(container: Any, stream: Any) -> Iterator[Any]:
    """The frames from here on, without those that cannot be decoded."""
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets, None)
        except FFmpegError:  # the file is truncated
            return
        if packet is None:
            return
        with suppress(FFmpegError):
            yield from packet.decode()


def _packet_times(clip: Path) -> NDArray[np.int64]:
    times = []
    with open_container(clip) as container, suppress(FFmpegError):
        for packet in container.demux(_video_stream(container)):
            if packet.size and not packet.is_discard:
                times.append(0 if packet.pts is None else packet.pts)
    return np.sort(np.array(times, np.int64))


def _save_times(path: Path, times: NDArray[np.int64]) -> None:
    content = BytesIO()
    np.save(content, times)
    write_atomically(path, content.getvalue())


def _index_time(clip: Path) -> float:
    """When the index was written; 0 if there is none."""
    try:
        return clip.with_name(INDEX).stat().st_mtime
    except OSError:
        return 0.0


def _undecodable(number: int) -> HTTPException:
    return HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"Frame {number} cannot be decoded.")
