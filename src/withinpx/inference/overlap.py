"""Which objects are seen by themselves, and which pixels belong to none of the others."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from withinpx.inference.observation import Observations

MARGIN = 0.25  # of the rendered size, and
MARGIN_PX = 2.0  # of the network's input: how much further the object may reach than its rendering

AROUND_PX = 4.0  # of the network's input, around a box: what an object's edges are measured in (certificate/ends.py)

Boxes = NDArray[np.intp]  # (k, 4): left, top, right and bottom, px


def overlapping(seen: Observations) -> NDArray[np.bool_]:
    """Is another object's box so near that the two could be mixed up? (f, n)"""
    apart = np.abs(seen.centre[:, :, None] - seen.centre[:, None])  # (f, n, n, 2)
    reach = (0.5 + MARGIN) * (seen.box[:, :, None] + seen.box[:, None]) + 2 * MARGIN_PX
    near = (apart < reach).all(axis=-1) & seen.present[:, None]
    return np.asarray((near & ~np.eye(near.shape[1], dtype=bool)).any(axis=-1))


def changed_around(seen: Observations, changed: Iterable[NDArray[np.bool_]]) -> NDArray[np.float64]:
    """How many pixels near each object changed (f, n), those of its own box left out; NaN where it is absent.

    ``changed`` is a mask (h, w) for each frame.
    """
    counts = np.full(seen.present.shape, np.nan)
    middles, halves = seen.centre + seen.offset, seen.box / 2
    for frame, mask in enumerate(changed):
        total = np.pad(mask.cumsum(axis=0, dtype=np.int64).cumsum(axis=1), ((1, 0), (1, 0)))
        for index in np.flatnonzero(seen.present[frame]):
            middle, half = middles[frame, index], halves[frame, index]
            wide, own = (_pixels_of(total, middle, half + more) for more in (AROUND_PX, 0.0))
            counts[frame, index] = wide - own
    return counts


def _pixels_of(total: NDArray[np.int64], middle: NDArray[np.float64], half: NDArray[np.float64]) -> int:
    """How many pixels of a mask a box has; ``total`` is that of all pixels above and to the left."""
    limit = np.array(total.shape[::-1]) - 1
    left, top = np.floor(middle - half).astype(int).clip(0, limit)
    right, bottom = np.ceil(middle + half).astype(int).clip(0, limit)
    return int(total[bottom, right] - total[top, right] - total[bottom, left] + total[top, left])


def covered_share(seen: Observations) -> NDArray[np.float64]:
    """The largest share of each object's box that one other object's box holds: (f, n)."""
    low, high = seen.centre - seen.box / 2, seen.centre + seen.box / 2
    shared = np.minimum(high[:, :, None], high[:, None]) - np.maximum(low[:, :, None], low[:, None])  # (f, n, n, 2)
    area = shared.clip(0).prod(axis=-1) / np.maximum(seen.box.prod(axis=-1), 1e-12)[:, :, None]
    others = seen.present[:, None] & ~np.eye(area.shape[1], dtype=bool)
    return np.asarray(np.where(others, np.nan_to_num(area), 0).max(axis=-1, initial=0))


def free_pixels(left: int, top: int, shape: tuple[int, int], others: Boxes) -> NDArray[np.bool_]:
    """Which pixels of a part of a frame no other object's box holds."""
    free = np.ones(shape, bool)
    for first_x, first_y, last_x, last_y in others - np.array([left, top, left, top]):
        free[max(first_y, 0) : max(last_y, 0), max(first_x, 0) : max(last_x, 0)] = False
    return free
