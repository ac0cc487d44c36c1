"""Which part of a recording to use: a span of frames or of time, every n-th frame, a crop, a scale."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from withinpx.errors import InputError


@dataclass(frozen=True)
class Frame:
    """One frame of a recording, or the selected part of it."""

    pixels: NDArray[np.uint8]  # (height, width, colours)
    time_s: float  # NaN where the recording has no clock
    number: int  # in decoding order, from 0
    size: tuple[int, int]  # width and height of the recording's frames, px


OnFrame = Callable[[Frame], None]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A part of a recording. Positions found in it are converted to the recording's own pixels.

    >>> part = Selection(crop=(100, 50, 320, 240), scale=0.5)
    >>> part.to_recording(np.array([10.0, 20.0])).tolist()
    [120.0, 90.0]
    """

    start: float | None = None
    """Skip frames before this time, s."""
    end: float | None = None
    """Skip frames after this time, s."""
    frames: tuple[int, int] | None = None
    """Use the frames from this number to that one only, both included, counted from 0. Frames keep their numbers and
    times."""
    every: int = 1
    """Use one frame in this many."""
    crop: tuple[int, int, int, int] | None = None
    """Use this part of the frame only: left, top, width, height, px."""
    scale: float = 1.0
    """Resize the frames by this factor first; positions stay in pixels of the recording."""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"Every {self.every}th frame cannot be kept: give 1 for all, 2 for every other one.")
        if not 0 < self.scale <= 8:
            raise InputError(
                f"The scale is {self.scale:g}: give a factor above 0 (and at most 8); 0.5 halves the size."
            )
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise InputError(f"The start ({self.start:g} s) is not before the end ({self.end:g} s).")
        if self.frames is not None and not 0 <= self.frames[0] < self.frames[1]:
            first, last = self.frames
            raise InputError(
                f"The frames {first} to {last} are no span: give the first and a later last frame, counted from 0."
            )
        if self.crop is not None and (min(self.crop[:2]) < 0 or min(self.crop[2:]) < 1):
            crop = " ".join(map(str, self.crop))
            raise InputError(f"The crop {crop} is empty: give left, top, width and height in px.")

    @property
    def selection(self) -> "Selection":
        """The selection alone, for classes that add options to it."""
        return Selection(**{item.name: getattr(self, item.name) for item in fields(Selection)})

    @property
    def whole(self) -> bool:
        """Is every frame of the recording selected?"""
        return self.start is None and self.end is None and self.frames is None and self.every == 1

    def within(self, other: "Selection") -> "Selection":
        """Another selection's frames, with the crop and the scale of this one."""
        return replace(other.selection, crop=self.crop, scale=self.scale)

    def is_before(self, number: int, time_s: float) -> bool:
        return (self.start is not None and time_s < self.start) or (self.frames is not None and number < self.frames[0])

    def is_after(self, number: int, time_s: float) -> bool:
        return (self.end is not None and time_s > self.end) or (self.frames is not None and number > self.frames[1])

    def indices(self, times_s: NDArray[np.float64], numbers: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Which of the frames at these times are selected; they are numbered from 0 if ``numbers`` are not given.

        >>> Selection(start=1, end=4, every=2).indices(np.arange(9.0)).tolist()
        [1, 3]
        >>> Selection(frames=(5, 7)).indices(np.arange(9.0)).tolist()
        [5, 6, 7]
        """
        start = -np.inf if self.start is None else self.start
        end = np.inf if self.end is None else self.end
        inside = (start <= times_s) & (times_s <= end)
        if self.frames is not None:
            numbers = np.arange(len(times_s)) if numbers is None else numbers
            inside &= (self.frames[0] <= numbers) & (numbers <= self.frames[1])
        return np.flatnonzero(inside)[:: self.every]

    def apply(self, frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Crop and scale a frame (height, width, colours).

        Scaling is exact: pixel (i, j) of the result covers [i / scale, (i + 1) / scale) of the crop.
        """
        if self.crop is not None:
            left, top, width, height = self.crop
            if left + width > frame.shape[1] or top + height > frame.shape[0]:
                raise InputError(
                    f"The crop {left} {top} {width} {height} reaches outside the frame of "
                    f"{frame.shape[1]}x{frame.shape[0]} px."
                )
            frame = frame[top : top + height, left : left + width]
        if self.scale == 1:
            return frame
        height, width = (max(1, int(side * self.scale + 1e-6)) for side in frame.shape[:2])
        resampling = Image.Resampling.BOX if self.scale < 1 else Image.Resampling.BICUBIC
        source = (0, 0, min(width / self.scale, frame.shape[1]), min(height / self.scale, frame.shape[0]))
        planes = [
            np.asarray(Image.fromarray(np.ascontiguousarray(plane)).resize((width, height), resampling, box=source))
            for plane in np.moveaxis(frame, -1, 0)
        ]
        return np.stack(planes, axis=-1)

    def to_recording(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert positions (x, y) in the selected part to pixels of the recording."""
        return np.asarray(positions / self.scale + np.array(self._origin), np.float64)

    def from_recording(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert positions (x, y) in the recording to pixels of the selected part."""
        return np.asarray((positions - np.array(self._origin)) * self.scale, np.float64)

    @property
    def _origin(self) -> tuple[int, int]:
        return self.crop[:2] if self.crop is not None else (0, 0)


EVERYTHING = Selection()


def thinning_step(count: int, most: int) -> int:
    """The smallest power of two, so that every so-many-th of ``count`` frames are at most ``most``.

    >>> thinning_step(240, 240), thinning_step(241, 240), thinning_step(2000, 240)
    (1, 2, 16)
    """
    step = 1
    while -(-count // step) > most:
        step *= 2
    return step
