"""Is eps small enough? Where another object is, an object's template must leave a larger residual.

Else a frame in which the network found the other object in its place would be accepted.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from withinpx.certificate.case import Case
from withinpx.inference.feasible import Search

SAMPLE = 12  # frames that are compared first
SURELY = 2.0  # times eps: where the template leaves more than that in all of them, the others are not compared

Array = NDArray[np.float64]
Places = NDArray[np.intp]


def mistaken_frames(case: Case, search: Search, index: int, other: int, frames: Places) -> int:
    """In how many of these frames, which show an ``other`` object by itself, the template of one has a position there.

    ``index`` and ``other`` are the heatmaps of both.
    """
    some = frames[:: max(1, len(frames) // SAMPLE)]
    residual, _ = _searched_at(case, search, index, other, some)
    if not len(some) or residual.min() > SURELY * search.eps:
        return 0
    return int(_searched_at(case, search, index, other, frames)[1].sum())


def _searched_at(case: Case, search: Search, index: int, other: int, frames: Places) -> tuple[Array, NDArray[np.bool_]]:
    """The smallest residual of an object's template where another object is, and whether it is feasible there (f,)."""
    seen = case.seen.only(frames)
    present = seen.present.copy()
    present[:, other], present[:, index] = False, True
    z, centre, offset, box = (_moved(values, index, other) for values in (seen.z, seen.centre, seen.offset, seen.box))
    there = replace(seen, present=present, z=z, centre=centre, offset=offset, box=box)
    found = case.find_in(there, {index: search}, frames)
    return found.residual[:, index], np.asarray(np.isfinite(found.low[:, index]).all(axis=1))


def _moved(values: Array, index: int, other: int) -> Array:
    """One object's values (f, n, 2) replaced by another's."""
    values = values.copy()
    values[:, index] = values[:, other]
    return values
