"""A Clip: pictures in the order they were taken. Everything in this room yields one."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from withinpx.data.selection import Selection
from withinpx.errors import InputError

MOST_PIXELS = 100_000_000  # of one picture, which is 300 MB in colour; 8K has a third


@dataclass(frozen=True)
class Clip:
    """Frames of one size from one camera."""

    frames: NDArray[np.uint8]  # (frames, height, width, colours), colours 1 or 3
    times_s: NDArray[np.float64]  # (frames,), when each was taken
    source: str  # where they came from, for messages
    selection: Selection = field(default_factory=Selection)  # which part of the recording this is
    lost: tuple[str, ...] = ()  # what could not be decoded, one sentence a stretch

    def __post_init__(self) -> None:
        if self.frames.ndim != 4 or len(self.frames) == 0 or self.colours not in (1, 3):
            raise InputError(f"{self.source} holds no pictures: frames are (frames, height, width, 1 or 3 colours).")
        if len(self.times_s) != len(self.frames):
            raise InputError(f"{self.source} has {len(self.frames)} frames but {len(self.times_s)} times.")

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def height(self) -> int:
        """Px."""
        return int(self.frames.shape[1])

    @property
    def width(self) -> int:
        """Px."""
        return int(self.frames.shape[2])

    @property
    def colours(self) -> int:
        """1 for grey, 3 for colour."""
        return int(self.frames.shape[3])

    @cached_property
    def images(self) -> NDArray[np.float32]:
        """What a network sees: (frames, colours, height, width), from 0 to 1."""
        return np.ascontiguousarray(self.frames.transpose(0, 3, 1, 2)).astype(np.float32) / np.float32(255)
