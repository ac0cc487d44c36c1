"""Any frame of a recording, by its number, without reading all that comes before it."""

from collections import OrderedDict
from collections.abc import Iterator
from http import HTTPStatus
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import av
import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray
from PIL import Image

from withinpx.data.images import image_paths, read_image
from withinpx.data.video import pixels_of, stream_video
from withinpx.errors import InputError
from withinpx.studio.frame_times import decoded, frame_times, noted, pictures_in
from withinpx.studio.refusal import Refusal
from withinpx.studio.runs import Footage

Pixels = NDArray[np.uint8]  # (height, width, colours)
NEAR = 24  # frames: one so little ahead is read on to, not sought
MOST_OPEN = 4  # recordings
MOST_PIXELS = 64_000_000  # of a picture; 8K has half as many
MOST_KEPT = 8  # frames of a recording, the latest


class Frames(Protocol):
    """What can be asked for frames."""

    def __len__(self) -> int: ...

    def read(self, number: int) -> Pixels:
        """A frame."""

    def close(self) -> None:
        """Let the file go."""


class PictureFrames:
    """A folder of images."""

    def __init__(self, folder: Path) -> None:
        self._paths = image_paths(folder)

    def __len__(self) -> int:
        return len(self._paths)

    def read(self, number: int) -> Pixels:
        """A frame."""
        return read_image(self._paths[number])

    def close(self) -> None:
        """Nothing is open."""


class VideoFrames:
    """A video, kept open where it was read last; the times of its frames say where the others are."""

    def __init__(self, path: Path, times: NDArray[np.int64]) -> None:
        self._path, self._times, self._lock = path, times, Lock()
        self._in_order = bool((np.diff(times) > 0).all())
        self._container: Any = None
        self._decoded: Iterator[Any] = iter(())
        self._at: int | None = None  # the frame read last; None if that is not known
        self._kept: OrderedDict[int, Pixels] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def read(self, number: int) -> Pixels:
        """A frame."""
        with self._lock:
            if number not in self._kept:
                self._keep(number, self._read(number) if self._in_order else self._read_through(number))
            return self._kept[number]

    def close(self) -> None:
        """Let the file go."""
        with self._lock:
            if self._container is not None:
                self._container.close()
            self._container, self._at = None, None

    def _keep(self, number: int, pixels: Pixels) -> None:
        self._kept[number] = pixels
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def _read(self, number: int) -> Pixels:
        if self._container is None:
            self._container = av.open(str(self._path), metadata_errors="replace")
            pictures_in(self._container).thread_type = "AUTO"
        wanted = int(self._times[number])
        if self._at is None or not self._at < number <= self._at + NEAR:
            stream = pictures_in(self._container)
            self._container.seek(wanted, stream=stream)
            self._decoded = decoded(self._container, stream)
        self._at = None
        for frame in self._decoded:
            if frame.pts is not None and frame.pts >= wanted:
                self._at = int(np.searchsorted(self._times, frame.pts))
                return pixels_of(frame)
        raise _no_frame(number)

    def _read_through(self, number: int) -> Pixels:
        """From the start: the file does not say when its frames are shown."""
        frame = next(islice(stream_video(self._path), number, None), None)
        if frame is None:
            raise _no_frame(number)
        return frame.pixels


class OpenClips:
    """The recordings looked at last, kept open."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: OrderedDict[Path, tuple[float, Frames]] = OrderedDict()

    def frame(self, clip: Path, number: int) -> Pixels:
        """One frame of a recording."""
        frames = self._of(clip)
        if not 0 <= number < len(frames):
            raise Refusal(HTTPStatus.NOT_FOUND, f"The clip has frames 0 to {len(frames) - 1}, and no frame {number}.")
        return frames.read(number)

    def close(self, clip: Path) -> None:
        """Let a recording go, so that it can be deleted."""
        with self._lock:
            _, frames = self._open.pop(clip, (0.0, None))
        if frames is not None:
            frames.close()

    def _of(self, clip: Path) -> Frames:
        with self._lock:
            known, frames = self._open.pop(clip, (0.0, None))
            newest = noted(clip)
            if frames is not None and known != newest:  # a reading has found that some frames cannot be decoded
                frames.close()
                frames = None
            if frames is None:
                frames = PictureFrames(clip) if clip.is_dir() else VideoFrames(clip, frame_times(clip))
            self._open[clip] = newest, frames
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)[1][1].close()
            return frames


def video_footage(clip: Path) -> Footage:
    """What is known of a video by its packets and its first frame; what cannot be shown is refused."""
    try:
        with av.open(str(clip), metadata_errors="replace") as container:
            stream = pictures_in(container)
            if stream is None:
                raise InputError(f"{clip.name} has no pictures in it (no video stream).")
            for each in chain([stream], islice(decoded(container, stream), 1)):  # what it says, and what it shows
                if each.width * each.height > MOST_PIXELS:
                    raise InputError(f"The pictures of {clip.name} are {each.width}x{each.height} px: scale them down.")
            tick_s, rate = float(stream.time_base or 0), float(stream.average_rate or 25)
        first = next(stream_video(clip), None)
    except FFmpegError as error:
        raise InputError(f"{clip.name} cannot be read as a video ({error.strerror}).") from None
    if first is None:
        raise InputError(f"{clip.name} has no frame that can be shown.")
    times = frame_times(clip)
    shown_s = float(times[-1] - times[0]) * tick_s + 1 / rate if len(times) > 1 else 1 / rate
    width, height = first.size
    return Footage(width, height, len(times), round(shown_s, 3))


def picture_footage(folder: Path) -> Footage:
    """What is known of a folder of images; the first one is read."""
    paths = image_paths(folder)
    height, width = read_image(paths[0]).shape[:2]
    return Footage(width, height, len(paths), float(len(paths)), pictures=True)


def jpeg(pixels: Pixels, crop: tuple[int, int, int, int] | None, longest: int) -> bytes:
    """A frame or a part of it, at most so many px along its longer side."""
    if crop is not None:
        left, top, width, height = crop
        pixels = pixels[top : top + height, left : left + width]
    picture = Image.fromarray(np.ascontiguousarray(pixels).squeeze(axis=-1) if pixels.shape[-1] == 1 else pixels)
    picture.thumbnail((longest, longest))
    content = BytesIO()
    picture.save(content, "JPEG", quality=90)
    return content.getvalue()


def _no_frame(number: int) -> Refusal:
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"Frame {number} cannot be decoded.")
