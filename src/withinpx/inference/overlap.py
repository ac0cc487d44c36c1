"""Which objects are seen by themselves."""

import numpy as np
from numpy.typing import NDArray

from withinpx.inference.observation import Observations

MARGIN = 0.25  # of the rendered size, and
MARGIN_PX = 2.0  # of the network's input: how much further the object may reach than its rendering


def overlapping(seen: Observations) -> NDArray[np.bool_]:
    """Is another object's box so near that the two could be mixed up? (f, n)"""
    apart = np.abs(seen.centre[:, :, None] - seen.centre[:, None])  # (f, n, n, 2)
    reach = (0.5 + MARGIN) * (seen.box[:, :, None] + seen.box[:, None]) + 2 * MARGIN_PX
    near = (apart < reach).all(axis=-1) & seen.present[:, None]
    return np.asarray((near & ~np.eye(near.shape[1], dtype=bool)).any(axis=-1))
