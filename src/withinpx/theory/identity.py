"""When is an object the one of the frame before? Objects that look alike are distinguished by where they can be.

Let v be the largest step of any object along an axis, an assumption. Each candidate of a frame is a box that holds an
object's centre: its position and bound where that is proved, the whole of a region where not. Two candidates of
consecutive frames are in reach of each other if their boxes are at most v apart along both axes. A link is proved if it
is the only one possible for both: no other candidate of either frame is in reach, and not both of the two are where an
object can vanish and another appear (docs/theory.md, "Objects that look alike").
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def gaps(one: Array, other: Array) -> Array:
    """The distance between boxes (n, 4) and (m, 4), along the axis where it is larger: (n, m).

    A box is the smallest x and y and the largest x and y of a centre.
    """
    apart = np.maximum(other[None, :, :2] - one[:, None, 2:], one[:, None, :2] - other[None, :, 2:])
    return np.asarray(apart.max(axis=-1).clip(0))


def at_border(boxes: Array, step: float, width: float, height: float) -> Mask:
    """Which centres in boxes (n, 4) can be beyond the border of a frame of this size one step later or earlier."""
    low, high = boxes[:, :2] - step, boxes[:, 2:] + step
    return np.asarray((low < 0).any(axis=1) | (high > (width, height)).any(axis=1))


def proved_links(before: Array, after: Array, step: float, vanishing: Mask, appearing: Mask) -> Mask:
    """Which links from candidates of one frame (n, 4) to those of the next (m, 4) are the only ones possible: (n, m).

    ``vanishing`` (n,) are where an object can be out of sight in the next frame, ``appearing`` (m,) where one can have
    come into sight. If only one of a pair is such a place the other must be continued, and there is nothing else.
    """
    reach = gaps(before, after) <= step
    alone = (reach.sum(axis=1) == 1)[:, None] & (reach.sum(axis=0) == 1)[None]
    return np.asarray(reach & alone & ~(vanishing[:, None] & appearing[None]))
