"""What stands at each frame and object of tracks under review, and where it is from. Operations change it in place."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from withinpx.errors import InputError
from withinpx.tracking.tracks import Array, Tracks

EMPTY, DELETED = -1, -2  # values of ``origin``: nothing was ever here, or a person deleted it


@dataclass
class Cells:
    """For f frames and m objects; objects keep their number for ever, also those that are merged or deleted."""

    tracks: Tracks  # the network's
    origin: NDArray[np.int64]  # (f, m): the network's object whose position this is; EMPTY, DELETED
    person: Array  # (f, m, 2): the position that a person set, which counts before the network's; NaN
    checked: NDArray[np.bool_]  # (f, m): a person accepted it as it is
    names: list[str]
    gone: dict[int, str] = field(default_factory=dict)  # objects that are no more, and what became of them

    @classmethod
    def of(cls, tracks: Tracks) -> Self:
        shape = tracks.present.shape
        names = [usual_name(number) for number in range(tracks.objects)]
        origin = np.tile(np.arange(tracks.objects), (len(tracks), 1))
        return cls(tracks, origin, np.full((*shape, 2), np.nan), np.zeros(shape, np.bool_), names)

    @property
    def objects(self) -> int:
        return len(self.names)

    def present(self, number: int, rows: slice = slice(None)) -> NDArray[np.bool_]:
        origin = self.origin[rows, number]
        network = np.take_along_axis(self.tracks.present[rows], np.maximum(origin, 0)[:, None], axis=1)[:, 0]
        return np.asarray((network & (origin >= 0)) | np.isfinite(self.person[rows, number, 0]))

    def check_object(self, number: int) -> None:
        if number >= self.objects:
            raise InputError(f"There is no object {number}: the objects are 0 to {self.objects - 1}.")
        if number in self.gone:
            raise InputError(f"There is no object {number} any more, it was {self.gone[number]}: undo that first.")

    def check_two(self, number: int, other: int) -> None:
        self.check_object(number)
        self.check_object(other)
        if number == other:
            raise InputError(f"Object {number} was named twice: name two objects.")

    def row(self, frame: int) -> int:
        row = int(np.searchsorted(self.tracks.frames, frame))
        if row == len(self.tracks) or self.tracks.frames[row] != frame:
            first, last = self.tracks.frames[[0, -1]]
            raise InputError(f"Frame {frame} is not tracked: name one of the tracked frames from {first} to {last}.")
        return row

    def rows(self, first: int | None, last: int | None) -> slice:
        """The rows of frames ``first`` to ``last``; None is the first or the last frame of all."""
        start = 0 if first is None else self.row(first)
        end = len(self.tracks) - 1 if last is None else self.row(last)
        if start > end:
            raise InputError(f"The range of frames {first} to {last} is backwards: name the earlier frame first.")
        return slice(start, end + 1)

    def exchange(self, number: int, other: int, rows: slice) -> None:
        for layer in (self.origin, self.person, self.checked):
            layer[rows, [number, other]] = layer[rows, [other, number]]

    def clear(self, number: int, rows: slice, origin: int) -> None:
        """Leave nothing there."""
        self.origin[rows, number], self.person[rows, number], self.checked[rows, number] = origin, np.nan, False

    def add_object(self) -> int:
        """A new object without positions; returns its number."""
        frames = len(self.tracks)
        self.origin = np.column_stack([self.origin, np.full(frames, EMPTY)])
        self.person = np.concatenate([self.person, np.full((frames, 1, 2), np.nan)], axis=1)
        self.checked = np.column_stack([self.checked, np.zeros(frames, np.bool_)])
        number = self.objects
        self.names.append(self._free_name(usual_name(number)))
        return number

    def _free_name(self, name: str) -> str:
        while plain(name) in map(plain, self.names):
            name += "+"
        return name


def usual_name(number: int) -> str:
    return f"object {number}"


def plain(name: str) -> str:
    """Names that differ in blanks and capitals only are one: exports write `object 0` as `object0`."""
    return "".join(name.split()).casefold()
