"""Set membership: how far within theorem 4.1's bound a frame says that an object is. Pixels throughout, no torch.

The theorem bounds where to search; the residual of the frame excludes most of it (docs/theory.md). Notation: the object
is rendered at q, the frame differs from that rendering by e(q), and its residual is R(q) = |e(q)|.

- Assumption 4 (bounded mismatch): rendered where it belongs, at u, the object leaves a residual of at most ``eps``.
- Assumption 5 (centre): the object's centre is within g of u along each axis.

The feasible set {q : |q - z| <= theorem + g, R(q) <= eps} contains u, so the centre is within g of the set.
"""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def cell_residual(corner_products: Array, mean_square: Array) -> Array:
    """A lower bound on the residual of every rendering in a cell of the search grid.

    A cell's renderings are the weighted means of those at its corners, so their differences e from the frame are
    weighted means of e_1 ... e_4. With m the mean of the four, |e| >= <e, m> / |m| >= min_i <e_i, m> / |m|: the corners
    lie beyond a plane, and so does all that is between them. ``corner_products`` are <e_i, m> (..., 4), ``mean_square``
    is <m, m> (...).

    >>> cell_residual(np.array([[3.0, 4.0, 4.0, 5.0]]), np.array([4.0]))
    array([1.5])
    """
    length = np.sqrt(np.maximum(mean_square, 1e-300))
    return np.asarray(corner_products.min(axis=-1) / length)


def half_width(low: Array, high: Array, position: Array) -> Array:
    """The largest distance along each axis from a position (..., 2) to a set that lies between two corners.

    >>> half_width(np.array([9.5, 19.8]), np.array([10.25, 20.1]), np.array([10.0, 20.0])).round(6)
    array([0.5, 0.2])
    """
    return np.maximum(position - low, high - position)


def centre_interval(outer: tuple[float, float], inner: tuple[float, float]) -> tuple[float, float]:
    """Where the middle of a box lies along one axis, whose edges are between an outer and an inner box: middle and g.

    The near edge is between ``outer[0]`` and ``inner[0]``, the far one between ``inner[1]`` and ``outer[1]``; so the
    middle is within (near gap + far gap) / 4 of the mean of the two boxes' middles.

    >>> centre_interval(outer=(0.0, 10.0), inner=(1.0, 9.5))
    (5.125, 0.375)
    """
    (first, last), (near, far) = outer, inner
    return (first + near + far + last) / 4, ((near - first) + (last - far)) / 4


def alike_interval(near: Array, far: Array, near_levels: Array, far_levels: Array, ratio: float) -> tuple[float, float]:
    """Where the middle of a box can lie along one axis if its two ends are alike: the least and the greatest position.

    Each edge is where the object's strength has fallen to one of its end's levels (k,), from the least to the greatest
    position at which it does: ``near`` (k, 2) and ``far`` (k, 2). The levels of the two edges differ by no more than
    the factor ``ratio``. Without that, the interval is that of ``centre_interval``.

    >>> near, far = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[10.0, 10.0], [9.5, 9.5]])
    >>> levels = np.array([0.1, 0.5])
    >>> alike_interval(near, far, levels, levels, ratio=2.0)
    (5.0, 5.25)
    >>> alike_interval(near, far, levels, levels, ratio=np.inf)
    (4.75, 5.5)
    """
    apart = np.abs(np.log(near_levels[:, None] / far_levels[None, :]))
    one, other = np.nonzero(apart <= np.log(ratio) + 1e-9)
    return float((near[one, 0] + far[other, 0]).min()) / 2, float((near[one, 1] + far[other, 1]).max()) / 2


def position_bound(set_px: Array, centre_px: Array, theorem_px: Array, distance: Array) -> Array:
    """The proved half-width around a position, larger axis: by set membership or by the theorem, the smaller of both.

    ``set_px`` (..., 2) is the half-width of the feasible set around the position, NaN where there is none;
    ``centre_px`` (..., 2) is g; ``distance`` (...) is from the position to z, to which the theorem applies.

    >>> position_bound(np.array([[0.4, 0.2]]), np.array([0.3, 0.4]), np.array([6.0]), np.array([1.0])).round(6)
    array([0.7])
    """
    return np.asarray(np.fmin((set_px + centre_px).max(axis=-1), theorem_px + distance))


def cramer_rao(slope: float, noise: float) -> float:
    """The smallest standard deviation of an unbiased position, px: a floor, never a bound.

    ``slope`` is by how much the rendering changes per px, as a norm over its pixels; ``noise`` is the standard
    deviation of the frame's noise along that direction, which includes its correlation between pixels.

    >>> cramer_rao(slope=2.0, noise=0.1)
    0.05
    """
    return noise / slope if slope > 0 else math.inf
