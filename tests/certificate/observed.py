"""Hand-made observations of a perfect network, to be changed where a test needs it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.inference.observation import Observations


def seen_at(centre: NDArray[np.float64], size: float | tuple[float, float] = 8.0, **changes: Any) -> Observations:
    """Objects rendered at these centres (f, n, 2), present, whole, with z at the centre, unless ``changes`` differ."""
    flat = centre.shape[:2]
    fields: dict[str, Any] = {
        "z": centre,
        "centre": centre,
        "body": centre,
        "box": np.broadcast_to(np.asarray(size, np.float64), centre.shape).copy(),
        "offset": np.zeros_like(centre),
        "explained": np.ones(flat),
        "leakage": np.zeros(flat),
        "outside_mass": np.zeros(flat),
        "at_border": np.zeros(flat, np.bool_),
        "present": np.ones(flat, np.bool_),
        "unexplained": np.zeros((flat[0], 1)),
    }
    return Observations(**(fields | changes))
