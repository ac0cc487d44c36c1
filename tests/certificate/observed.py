"""Observations made by hand: what a network would say that sees everything right, to be spoiled where a test says."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.inference.observation import Observations


def seen_at(centre: NDArray[np.float64], size: float | tuple[float, float] = 8.0, **others: Any) -> Observations:
    """Things drawn at these places (f, n, 2), each present, whole and with z in its middle unless ``others`` say so."""
    flat = centre.shape[:2]
    said: dict[str, Any] = {
        "z": centre,
        "centre": centre,
        "body": centre,
        "box": np.broadcast_to(np.asarray(size, np.float64), centre.shape).copy(),
        "offset": np.zeros_like(centre),
        "explained": np.ones(flat),
        "leakage": np.zeros(flat),
        "outside_mass": np.zeros(flat),
        "cut": np.zeros(flat, np.bool_),
        "present": np.ones(flat, np.bool_),
        "unexplained": np.zeros((flat[0], 1)),
    }
    return Observations(**(said | others))
