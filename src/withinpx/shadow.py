"""What a shadow looks like: what lies behind, darker, in the same hue, and not as dark as the thing itself may be.

A grey thing may be a darker grey than its backdrop, and is told from its shadow by that alone. A coloured thing is told
by its hue: what has the backdrop's hue beside it is shadow, down to the darkness where it touches the ground.
"""

import numpy as np
from numpy.typing import NDArray

DARKER, LIGHTER = 0.4, 0.6  # of the light behind: below the first no shadow, above the second a full one
DEEPER = 0.25  # both are so much less beside a coloured thing
GREY, COLOURED = 0.06, 0.12  # of full contrast: how far a thing's colours are from the backdrop's hue
SAME_HUE = 0.04  # of full contrast: what a shadow's colours may be off
LITTLE = 0.25  # of an object's area: if less is left without its shadow, it was none


def light_and_hue(
    picture: NDArray[np.float32], behind: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Of each pixel (height, width, colours): the share of the light behind, and how far it is from being just that."""
    light = (picture * behind).sum(axis=-1) / np.maximum((behind**2).sum(axis=-1), 1e-4)
    return light, np.abs(picture - light[..., None] * behind).max(axis=-1)


def is_shadow(
    picture: NDArray[np.float32], behind: NDArray[np.float32], things: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Which pixels show what lies behind in a shadow; ``things`` numbers what may cast it, from 1, with its shadow."""
    light, off = light_and_hue(picture, behind)
    strength = np.abs(picture - behind).max(axis=-1)
    every = np.arange(things.max(initial=0) + 1)
    total = np.bincount(things.ravel(), strength.ravel(), len(every))
    hue = np.bincount(things.ravel(), (strength * off).ravel(), len(every)) / np.maximum(total, 1e-12)
    coloured = np.clip((hue - GREY) / (COLOURED - GREY), 0, 1)
    darkest = (DARKER + LIGHTER) / 2 - DEEPER * coloured[things]
    return np.asarray((light > darkest) & (light <= 1) & (off < SAME_HUE))
