"""What a certified position proves about a foreign one in the same frame."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from withinpx.auditing.foreign import ForeignTracks
from withinpx.tracking.tracks import Tracks

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDING_PX = 2e-4  # tables have four decimals: rounding makes no position wrong
NEAR_PX = 5.0  # a position is near an object within this distance, or half of its size


@dataclass(frozen=True)
class Offset:
    """The range of the constant offsets from an object's centre to the point that another program reports."""

    middle: tuple[float, float]
    half: tuple[float, float]
    positions: int  # that it was measured on


@dataclass(frozen=True, eq=False)
class Evidence:
    """Foreign positions (r) against all objects (n) of their frames.

    In a certified row the object's centre is in the box ``tracks.positions`` ± ``tracks.bounds``. With offsets, the
    box is that of the reported point: moved by the middle of the offsets' range and widened by half of it.
    """

    foreign: ForeignTracks
    tracks: Tracks
    offsets: tuple[Offset, ...] = ()  # of each object; () if the point is the centre itself

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(r,): the tracks' row of each position's frame, -1 where the frame was not tracked."""
        frames = self.tracks.frames
        found = np.searchsorted(frames, self.foreign.frames).clip(max=len(frames) - 1)
        return np.where(frames[found] == self.foreign.frames, found, -1)

    @property
    def tracked(self) -> Flags:
        return np.asarray(self.rows >= 0)

    @cached_property
    def certified(self) -> Flags:
        """(r, n): is the object's position certified in that frame?"""
        return np.asarray(self.tracks.certified[self.rows] & self.tracked[:, None])

    @cached_property
    def present(self) -> Flags:
        return np.asarray(self.tracks.present[self.rows] & self.tracked[:, None])

    @cached_property
    def distances(self) -> Array:
        """(r, n, 2): how far each position is from the middle of each object's box; NaN where that is unknown."""
        middles = self.tracks.positions[self.rows]
        if self.offsets:
            middles = middles + np.array([offset.middle for offset in self.offsets])
        known = self.present[..., None]
        return np.abs(np.where(known, self.foreign.positions[:, None] - middles, np.nan))

    @cached_property
    def halves(self) -> Array:
        """(r, n, 2): half of each box's width and height; NaN where nothing is proved."""
        bounds = np.where(self.certified, self.tracks.bounds[self.rows], np.nan)
        widened = np.array([offset.half for offset in self.offsets]) if self.offsets else 0.0
        return np.asarray(bounds[..., None] + widened)

    @cached_property
    def at_most(self) -> Array:
        """(r, n): proved, the position's error is at most this, larger axis."""
        return np.asarray((self.distances + self.halves).max(axis=-1))

    @cached_property
    def at_least(self) -> Array:
        """(r, n): proved, its error is at least this along some axis; 0 where it may be right."""
        return np.asarray(np.maximum((self.distances - self.halves).max(axis=-1) - ROUNDING_PX, 0))

    @cached_property
    def inside(self) -> Flags:
        """(r, n): can it be the object's point?"""
        return np.asarray(self.certified & (self.at_least == 0))

    @cached_property
    def outside(self) -> Flags:
        """(r, n): is it proved not to be?"""
        return np.asarray(self.certified & (self.at_least > 0))

    @cached_property
    def nearest(self) -> NDArray[np.int64]:
        """(r,): the object that each position is near, certified or not; -1 where it is near none."""
        distances = self.distances.max(axis=-1, initial=0.0)
        sizes = np.where(self.present, self.tracks.sizes[self.rows].max(axis=-1), np.nan)
        far = ~(distances <= np.maximum(NEAR_PX, sizes / 2))
        distances = np.where(far, np.inf, distances)
        return np.where(far.all(axis=1), -1, distances.argmin(axis=1))

    def single(self) -> NDArray[np.int64]:
        """(r,): the one object whose box each position is in; -1 where there is none, or several."""
        return np.where(self.inside.sum(axis=1) == 1, self.inside.argmax(axis=1), -1)


def measured_offsets(evidence: Evidence) -> tuple[Offset, ...]:
    """The offsets of each object that at least half of the certified positions near it agree with.

    If half of them or more are right, they show one point at c + d with a constant d, and each of them has d in an
    interval: foreign - (x, y) ± bound. Along each axis d is therefore no less than the median of the intervals' lower
    ends, and no more than the median of their upper ends.
    """
    return tuple(_offset(evidence, index) for index in range(evidence.tracks.objects))


def _offset(evidence: Evidence, index: int) -> Offset:
    own = (evidence.nearest == index) & evidence.certified[:, index]
    count = int(own.sum())
    if not count:
        return Offset((0.0, 0.0), (0.0, 0.0), 0)
    shifts = evidence.foreign.positions[own] - evidence.tracks.positions[evidence.rows[own], index]
    half = evidence.halves[own, index]
    rank = -(-count // 2) - 1  # at least half of the lower ends are no larger than d
    low, high = np.sort(shifts - half, axis=0)[rank], np.sort(shifts + half, axis=0)[count - 1 - rank]
    middle, width = (low + high) / 2, (high - low) / 2
    return Offset(_pair(middle), _pair(width), count)


def _pair(values: Array) -> tuple[float, float]:
    return float(values[0]), float(values[1])
