"""The direction in which each object points: the axis of its outline, and which end of it leads.

An estimate, never certified. The axis is that of the frame; which end leads is decided over the whole recording, by the
motion along the axis.
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from withinpx.tracking.tracks import Tracks

CHANCE = 0.01  # that a round object seems to have an axis in a frame

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Directions:
    """Collects what the directions of a recording are decided from, a few frames at a time."""

    def __init__(self) -> None:
        self._parts: list[tuple[Array, Array, Array]] = []

    def add(self, tracks: Tracks, elongations: Array) -> None:
        """The next frames, with the elongations (f, n, 2) of their objects' outlines (inference/outline.py)."""
        self._parts.append((elongations, tracks.positions, tracks.sizes))

    def angles_deg(self) -> Array:
        """The angle of every object in every frame (f, n); NaN where it is not known."""
        elongations, positions, sizes = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
        objects = range(positions.shape[1])
        return np.stack([object_angles(elongations[:, i], positions[:, i], sizes[:, i]) for i in objects], axis=-1)


def object_angles(elongations: Array, positions: Array, sizes: Array) -> Array:
    """The direction of one object (f,), degrees from x to y, -180 to 180; NaN where axis or leading end is not known.

    Elongations, positions and sizes are (f, 2). The end is known where it is the better choice by the object's length.
    """
    angles = np.full(len(elongations), np.nan)
    known = np.flatnonzero(has_axis(elongations))
    if not len(known):
        return angles
    doubled = np.arctan2(elongations[known, 1], elongations[known, 0])
    axes = np.stack([np.cos(doubled / 2), np.sin(doubled / 2)], axis=-1)
    length = float(np.median(sizes[known].max(axis=1)))
    follows = np.diff(known)[:, None] == 1
    ahead = evidence(axes, np.where(follows, np.diff(positions[known], axis=0), 0.0), length)
    directed = np.where(ahead[:, None] > 0, axes, -axes)
    angles[known] = np.where(np.abs(ahead) > length, np.degrees(np.arctan2(directed[:, 1], directed[:, 0])), np.nan)
    return angles


def has_axis(elongations: Array) -> Mask:
    """Which outlines (f,) are longer in one direction than noise makes a round one.

    The noise is measured by how far an elongation is from the mean of those of the frames before and after.
    """
    apart = elongations[1:-1] - (elongations[:-2] + elongations[2:]) / 2
    squares = (apart**2).sum(axis=1)[np.isfinite(apart).all(axis=1)]
    if not len(squares):
        return np.zeros(len(elongations), np.bool_)
    variance = squares.mean() / (2 * 1.5)  # two components, each with its own noise and half of it from the neighbours
    return np.asarray((elongations**2).sum(axis=1) > -2 * log(CHANCE) * variance)  # Rayleigh's distribution


def evidence(axes: Array, steps: Array, length: float) -> Array:
    """By how many px each axis (m, 2) is a better choice of direction than its opposite; ``steps`` are (m - 1, 2).

    A choice for all frames is as good as the object goes forward, less the way of its ends around its middle as it
    turns. Compared are the best choice with this direction and the best with its opposite: max-marginals of a chain.
    """
    turns = np.arccos(np.clip((axes[:-1] * axes[1:]).sum(axis=1), -1, 1))
    keeps, flips = -length / 2 * turns, -length / 2 * (np.pi - turns)
    before, after = (steps * axes[:-1]).sum(axis=1) / 2, (steps * axes[1:]).sum(axis=1) / 2
    gains = np.stack([keeps + before + after, flips + before - after, flips - before + after, keeps - before - after])
    past, future = _best_sums(gains), _best_sums(gains[[0, 2, 1, 3], ::-1])[::-1]
    return np.asarray((past + future)[:, 0] - (past + future)[:, 1])


def _best_sums(gains: Array) -> Array:
    """The largest sum of gains (4, m - 1) of all choices up to each frame that end with the axis, or its opposite.

    Gains are of keeping the axis, of leaving it, of returning to it, and of keeping the opposite. Returns (m, 2).
    """
    sums = [(0.0, 0.0)]
    for keep, leave, back, stay in gains.T.tolist():
        own, opposite = sums[-1]
        sums.append((max(own + keep, opposite + back), max(own + leave, opposite + stay)))
    return np.array(sums)
