"""Tukey's fences: between which values a measurement is usual."""

import numpy as np
from numpy.typing import NDArray

FENCE = 1.5  # interquartile ranges beyond the quartiles are outliers


def fences(values: NDArray[np.float64], least: float) -> tuple[float, float]:
    """Beyond which values are outliers: ``FENCE`` interquartile ranges from the quartiles, ``least`` at least.

    NaN is unknown.

    >>> fences(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 0.5)
    (-1.0, 7.0)
    """
    lower, upper = np.nanquantile(values, (0.25, 0.75)).tolist()
    apart = max(FENCE * (upper - lower), least)
    return lower - apart, upper + apart
