"""Which part of a recording is wanted: a stretch of time, every n-th frame, a crop, a scale."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from withinpx.errors import InputError


@dataclass(frozen=True)
class Frame:
    """One picture of a recording, or the wanted part of it."""

    pixels: NDArray[np.uint8]  # (height, width, colours)
    time_s: float
    number: int  # in the order they were decoded, from 0
    whole: tuple[int, int]  # width and height of the recording's picture, px


@dataclass(frozen=True)
class Selection:
    """What to keep. Positions found in what is kept can be told in the recording's own pixels."""

    start_s: float | None = None
    end_s: float | None = None
    every: int = 1  # keep one frame of this many
    crop: tuple[int, int, int, int] | None = None  # left, top, width, height, px
    scale: float = 1.0  # of what is left after the crop

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"Every {self.every}th frame cannot be kept: give 1 for all, 2 for every other one.")
        if not 0 < self.scale <= 8:
            raise InputError(
                f"The scale is {self.scale:g}: give a factor above 0 (and at most 8); 0.5 halves the size."
            )
        if self.start_s is not None and self.end_s is not None and self.start_s >= self.end_s:
            raise InputError(f"The start ({self.start_s:g} s) is not before the end ({self.end_s:g} s).")
        if self.crop is not None and (min(self.crop[:2]) < 0 or min(self.crop[2:]) < 1):
            raise InputError(
                f"The crop {' '.join(map(str, self.crop))} is none: give left, top, width and height in px."
            )

    def keeps(self, place: int) -> bool:
        """Is this frame of the stretch wanted? The first one has place 0."""
        return place % self.every == 0

    def is_before(self, time_s: float) -> bool:
        """Does this time come before the stretch?"""
        return self.start_s is not None and time_s < self.start_s

    def is_after(self, time_s: float) -> bool:
        """Does this time come after the stretch?"""
        return self.end_s is not None and time_s > self.end_s

    def of(self, frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The wanted part of a frame (height, width, colours)."""
        if self.crop is not None:
            left, top, width, height = self.crop
            if left + width > frame.shape[1] or top + height > frame.shape[0]:
                raise InputError(
                    f"The crop {left} {top} {width} {height} reaches outside the picture of "
                    f"{frame.shape[1]}x{frame.shape[0]} px."
                )
            frame = frame[top : top + height, left : left + width]
        if self.scale == 1:
            return frame
        height, width = (max(1, int(side * self.scale + 1e-6)) for side in frame.shape[:2])
        filter_ = Image.Resampling.BOX if self.scale < 1 else Image.Resampling.BICUBIC
        part = (0, 0, min(width / self.scale, frame.shape[1]), min(height / self.scale, frame.shape[0]))  # exactly
        planes = [
            np.asarray(Image.fromarray(np.ascontiguousarray(plane)).resize((width, height), filter_, box=part))
            for plane in np.moveaxis(frame, -1, 0)
        ]
        return np.stack(planes, axis=-1)

    def to_recording(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions (x, y) in the recording's own pixels."""
        left, top = self.crop[:2] if self.crop is not None else (0, 0)
        return np.asarray(positions / self.scale + np.array([left, top]), np.float64)


EVERYTHING = Selection()
