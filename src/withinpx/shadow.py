"""What a shadow looks like: what lies behind, darker, in the same hue, and not as dark as a thing may be."""

import numpy as np
from numpy.typing import NDArray

DARKER, LIGHTER = 0.4, 0.6  # of the light behind: below the first no shadow, above the second a full one
SAME_HUE = 0.04  # of full contrast: what a shadow's colours may be off
LITTLE = 0.25  # of an object's area: if less is left without its shadow, it was none


def is_shadow(picture: NDArray[np.float32], behind: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which pixels (height, width, colours) of a picture show what lies behind in the shadow of something."""
    light = (picture * behind).sum(axis=-1) / np.maximum((behind**2).sum(axis=-1), 1e-4)
    off = np.abs(picture - light[..., None] * behind).max(axis=-1)
    return np.asarray((light > (DARKER + LIGHTER) / 2) & (light <= 1) & (off < SAME_HUE))
