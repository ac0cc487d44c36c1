"""Objects that touch: where each can be, by what one object by itself changes. Masks of pixels, no torch.

An object whose position is in pixel p surely changes the pixels p + S, and none but p + P by more than a level l: its
silhouette, measured on frames that show it by itself. Let M be the changed pixels of a frame.

- Inside: other objects can only change more, so p + S lies in M.
- Cover: a pixel that changed by more than ``SHARED`` times l was changed by one object by more than l, if no more than
  ``SHARED`` objects share it. That object has this pixel in p + P.

So for every such pixel w there is an object at one of the places F(w) = {p : p + S in M, w in p + P}. At the end of a
chain of objects F(w) is small. A pixel that no place of F(w) can cover belongs to another object
(docs/theory.md, "Objects that touch").
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

SHARED = 3  # objects, at most, that share a pixel

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Silhouette:
    """Which pixels an object changes, around the pixel of its position, in the middle of the masks (side, side)."""

    sure: Mask  # always
    possible: Mask  # by more than the level
    faint: Mask  # at all
    level: float

    @property
    def reach(self) -> int:
        """Px to either side of the middle."""
        return len(self.possible) // 2


def inside(changed: Mask, sure: Mask) -> Mask:
    """The places p of a window at which all of p + S changed. What is beyond the window may have changed.

    >>> inside(np.array([[0, 1, 1, 1, 0, 1]], bool), np.ones((1, 3), bool)).astype(int)
    array([[0, 0, 1, 0, 0, 0]])
    """
    return np.asarray(_count(~changed, sure[::-1, ::-1]) == 0)


def covered(places: Mask, possible: Mask) -> Mask:
    """The pixels that an object at one of these places may change."""
    return np.asarray(_count(places, possible) > 0)


def covering(places: Mask, possible: Mask, pixel: tuple[int, int]) -> Mask:
    """The places p with this pixel (row, column) in p + P: F of the pixel."""
    at = np.zeros_like(places)
    at[pixel] = True
    return places & covered(at, possible[::-1, ::-1])


def fewest_places(places: Sequence[Mask], silhouettes: Sequence[Silhouette], unexplained: Mask) -> list[Mask]:
    """Where the object of an unexplained pixel can be, by class; of the pixel that leaves it the fewest places."""
    counts = sum(_count(own, some.possible) for own, some in zip(places, silhouettes, strict=True))
    row, column = np.unravel_index(np.where(unexplained, counts, np.inf).argmin(), unexplained.shape)
    pixel = int(row), int(column)
    return [covering(own, some.possible, pixel) for own, some in zip(places, silhouettes, strict=True)]


def _count(values: Mask, kernel: Mask) -> NDArray[np.float64]:
    """For each pixel w, how many k of the kernel (its middle is 0) have w - k in the values."""
    return np.asarray(np.rint(fftconvolve(values.astype(np.float64), kernel.astype(np.float64), mode="same")))
