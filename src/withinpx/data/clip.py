"""A Clip: frames of one recording in memory, in the order they were taken."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import length_hint

import numpy as np
from numpy.typing import NDArray

from withinpx.data.selection import Frame, Selection
from withinpx.errors import InputError

MOST_PIXELS = 100_000_000  # per frame, 300 MB in colour; 8K has a third of that


@dataclass(frozen=True, eq=False)
class Clip:
    """Frames of one size from one camera.

    >>> Clip(np.zeros((4, 120, 160, 3), np.uint8))
    Clip(array: 4 frames of 160x120 px, colour)
    """

    frames: NDArray[np.uint8]  # (frames, height, width, colours), colours 1 or 3
    times_s: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # (frames,), NaN without a clock
    source: str = "array"  # for messages
    selection: Selection = field(default_factory=Selection)  # which part of the recording this is
    lost: tuple[str, ...] = ()  # what could not be decoded, one sentence per gap
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))  # (frames,), in the recording
    size: tuple[int, int] = (0, 0)  # width and height of the recording's frames, px
    complete: bool = True  # does it hold every selected frame, or a sample of them?

    def __post_init__(self) -> None:
        if self.frames.ndim != 4 or len(self.frames) == 0 or self.colours not in (1, 3):
            raise InputError(f"{self.source} holds no frames: frames are (frames, height, width, 1 or 3 colours).")
        if not len(self.times_s):
            object.__setattr__(self, "times_s", np.full(len(self.frames), np.nan))
        if not len(self.numbers):
            object.__setattr__(self, "numbers", np.arange(len(self.frames)))
        if self.size == (0, 0):
            object.__setattr__(self, "size", (self.width, self.height))
        if len(self.times_s) != len(self.frames):
            raise InputError(f"{self.source} has {len(self.frames)} frames but {len(self.times_s)} times.")

    def __len__(self) -> int:
        return len(self.frames)

    def __repr__(self) -> str:
        colours = "grey" if self.colours == 1 else "colour"
        return f"Clip({self.source}: {len(self)} frames of {self.width}x{self.height} px, {colours})"

    @property
    def height(self) -> int:
        return int(self.frames.shape[1])

    @property
    def width(self) -> int:
        return int(self.frames.shape[2])

    @property
    def colours(self) -> int:
        return int(self.frames.shape[3])

    @classmethod
    def of(
        cls, frames: Iterable[Frame], source: str, selection: Selection, lost: list[str], *, complete: bool = True
    ) -> "Clip":
        """The frames of a recording, which may be decoded and add to ``lost`` as they are iterated over."""
        stack = FrameStack(length_hint(frames))
        for frame in frames:
            stack.add(frame)
        return stack.clip(source, selection, lost, complete=complete)

    def scaled(self, by: float) -> "Clip":
        """The same frames at another size."""
        if by == 1:
            return self
        resize = Selection(scale=by)
        frames = np.stack([resize.apply(frame) for frame in self.frames])
        return replace(self, frames=frames, selection=replace(self.selection, scale=self.selection.scale * by))

    def stream(self) -> Iterator[Frame]:
        for pixels, time_s, number in zip(self.frames, self.times_s.tolist(), self.numbers.tolist(), strict=True):
            yield Frame(pixels, time_s, number, self.size)


class FrameStack:
    """Frames in one array as they are decoded: to stack them at the end would take as long again as to decode them."""

    def __init__(self, expected: int = 0) -> None:
        self._expected, self._size = expected, (0, 0)
        self._pixels = np.empty((0, 0, 0, 0), np.uint8)  # with room for more frames
        self._times_s: list[float] = []
        self._numbers: list[int] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, frame: Frame) -> None:
        count = len(self)
        if count == len(self._pixels):
            larger = np.empty((max(1, self._expected, 2 * count), *frame.pixels.shape), np.uint8)
            if count:
                larger[:count] = self._pixels
            self._pixels = larger
        self._pixels[count] = frame.pixels
        self._times_s.append(frame.time_s)
        self._numbers.append(frame.number)
        self._size = frame.size

    def halve(self) -> None:
        """Keep every other frame."""
        self._times_s, self._numbers = self._times_s[::2], self._numbers[::2]
        for index in range(len(self)):
            self._pixels[index] = self._pixels[2 * index]

    def clip(self, source: str, selection: Selection, lost: list[str], *, complete: bool) -> Clip:
        if not len(self):
            raise InputError(nothing_selected(source, selection))
        return Clip(
            self._pixels[: len(self)],
            np.array(self._times_s),
            source,
            selection.selection,
            tuple(lost),
            np.array(self._numbers),
            self._size,
            complete,
        )


def nothing_selected(source: str, selection: Selection) -> str:
    """Why there is no frame, and what to do."""
    if selection.frames is not None:
        first, last = selection.frames
        return f"{source} has no frame that can be decoded from {first} to {last}: choose frames within it (--frames)."
    return f"{source} has no frame that can be decoded in the selected part."
