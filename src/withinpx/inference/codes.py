"""The appearance codes that objects showed, and how each of them is rendered."""

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from withinpx.inference.observation import Observations
from withinpx.inference.rendering import nearest_to_centre, position_in, render_alone
from withinpx.model.autoencoder import Autoencoder

APPEARANCES = 8  # of an object, at most, that stand for all that it showed


def appearances(model: Autoencoder, seen: Observations) -> list[Float[Tensor, "m c h w"]]:
    """Each object alone, with a spread sample of its codes, at its z nearest the frame's centre."""
    rendered = []
    for index, frame in enumerate(nearest_to_centre(model, seen.z, seen.present)):
        sample = spread_codes(seen.codes[seen.present[:, index], index])
        at = np.tile(position_in(model, seen.z, frame, index), (len(sample), 1))
        rendered.append(render_alone(model, at, [index] * len(sample), sample))
    return rendered


def shown_codes(seen: Observations) -> tuple[NDArray[np.float64], ...]:
    """A spread sample of the codes that each object showed (m, k); empty if there is no code."""
    if not seen.has_codes:
        return ()
    return tuple(spread_codes(seen.codes[seen.present[:, index], index]) for index in range(seen.codes.shape[1]))


def spread_codes(codes: NDArray[np.float64], count: int = APPEARANCES) -> NDArray[np.float64]:
    """At most ``count`` of these codes (f, k): the most usual one, then always the one furthest from those before.

    >>> spread_codes(np.array([[-1.0], [0.1], [0.0], [0.2], [1.0]]), 3).ravel().tolist()
    [0.1, -1.0, 1.0]
    """
    if not len(codes):
        return np.zeros((1, codes.shape[-1]))
    chosen = [int(np.linalg.norm(codes - np.median(codes, axis=0), axis=1).argmin())]
    away = np.linalg.norm(codes - codes[chosen[0]], axis=1)
    while len(chosen) < count and away.max() > 0:
        chosen.append(int(away.argmax()))
        away = np.minimum(away, np.linalg.norm(codes - codes[chosen[-1]], axis=1))
    return np.asarray(codes[chosen])
