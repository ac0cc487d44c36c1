"""Speed, acceleration and distance from positions with proved bounds: what follows for them in the worst case.

Two positions of an object are p and q, and its true displacement is q - p to within m along each axis. What is derived
from it then lies in an interval, as long as that holds. All of it is about the instants of the frames: a mean over the
time between two of them, never a value at one moment.

- The mean velocity over a time dt is (q - p) / dt to within m / dt per axis. Its magnitude, called speed here, lies in
  ``norm_limits``: the least and the greatest distance from the origin to a point of a square. An object that does not
  go straight covers more ground: its mean speed along its path is no less than the lower limit, and may be above the
  upper one.
- The change of the mean velocity from one interval to the next, over the time between their middles, is a weighted mean
  of the acceleration, with weights that rise linearly to the middle frame and fall again (``mean_acceleration``).
- The polyline through the true positions has a length between the sums of the limits of its parts.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def displacement_bound(before: Array, after: Array, shared: Array) -> Array:
    """How far a displacement can be off along each axis.

    At most by the bounds of both positions together, or by ``shared`` where that is known to be less: an error that
    both positions have in common cancels.
    """
    return np.fmin(before + after, shared)


def norm_limits(vector: Array, bound: Array) -> tuple[Array, Array]:
    """The least and the greatest length of a vector (..., 2) that is known to within ``bound`` (...) along each axis.

    Both are attained: at the point of the square that is nearest to the origin, and at its farthest corner.

    >>> low, high = norm_limits(np.array([3.0, 4.0]), np.array(1.0))
    >>> low.round(3).item(), high.round(3).item()
    (3.606, 6.403)
    >>> [limit.item() for limit in norm_limits(np.array([0.0, 4.0]), np.array(4.0))]
    [0.0, 8.94427190999916]
    """
    size, reach = np.abs(vector), bound[..., None]
    low, high = np.maximum(size - reach, 0.0), size + reach
    return np.asarray(np.hypot(low[..., 0], low[..., 1])), np.asarray(np.hypot(high[..., 0], high[..., 1]))


def mean_velocity(displacement: Array, bound: Array, seconds: Array) -> tuple[Array, Array]:
    """The mean velocity (..., 2) over a time, and its bound per axis."""
    return displacement / seconds[..., None], bound / seconds


def mean_acceleration(
    velocities: tuple[Array, Array], bounds: tuple[Array, Array], seconds: tuple[Array, Array]
) -> tuple[Array, Array]:
    """The weighted mean acceleration (..., 2) over two intervals that follow each other, and its bound per axis.

    Each argument is that of the first interval and of the second. The bound is never above that of the second
    difference of three positions, each with a bound of its own: (b0 + b1) / dt1 + (b1 + b2) / dt2 over the same time.
    """
    apart = (seconds[0] + seconds[1]) / 2  # from the middle of one interval to that of the other
    return (velocities[1] - velocities[0]) / apart[..., None], (bounds[0] + bounds[1]) / apart
