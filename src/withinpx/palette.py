"""The colour of each object's marks, the same in every image and page, distinguishable for colour-blind readers too."""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

# Okabe & Ito's colours, without yellow (invisible on paper) and black (invisible in dark footage)
BASE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
CYCLE = 3 * len(BASE)  # colours before they repeat
REFUSED = "#9A9A9A"
ALARM = "#C8352B"

RGB = tuple[int, int, int]
PAPER: RGB = (255, 255, 255)
Array = NDArray[np.float32]

ALIKE = 25.0  # objects nearer than this in CIELAB get colours of the palette
GREY = 14.0  # a colour of less chroma has no hue
CONTRAST = 16.0  # of a mark to its object, the background, paper and the other marks; see _contrast
LIGHTNESS, CHROMA = range(38, 75, 4), range(36, 101, 8)  # of the shades of an object's own hue
# how a deuteranope sees linear RGB (Machado et al. 2009)
DEUTERANOPIA = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]], np.float32)


def colour_of(index: int) -> str:
    """The palette's colour for an object, #RRGGBB: six base colours, then lighter, then darker ones, then again."""
    base, cycle = np.array(rgb(BASE[index % len(BASE)])), index // len(BASE) % 3
    red, green, blue = (base, 255 - 0.5 * (255 - base), 0.55 * base)[cycle].round().astype(int)
    return f"#{red:02X}{green:02X}{blue:02X}"


def rgb(colour: str) -> RGB:
    """#RRGGBB as three numbers from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def luma(colour: RGB) -> float:
    """How bright a colour appears, from 0 to 255."""
    return float(np.dot(colour, (0.299, 0.587, 0.114)))


def mark_colours(objects: Sequence[RGB], background: RGB) -> list[str]:
    """A mark colour, #RRGGBB, for each object of these mean colours over a background of this mean colour.

    An object whose colour no other object shares gets a shade of its own hue. Objects alike in colour get the nearest
    colours of the palette, grey objects the next ones. Every mark contrasts with its object, the background, paper and
    the other marks; where that is impossible, the colour with the most contrast is taken.
    """
    if not objects:
        return []
    own = _lab(objects)
    palette = [rgb(colour_of(number)) for number in range(CYCLE)]
    coloured = np.hypot(own[:, 1], own[:, 2]) > GREY
    alone = coloured & ((np.linalg.norm(own[:, None] - own, axis=-1) < ALIKE).sum(axis=1) == 1)
    chosen: dict[int, RGB] = {}
    for index in np.argsort(~alone, kind="stable").tolist():
        candidates = _nearest_first(palette, own[index]) if coloured[index] else palette
        if alone[index]:
            candidates = _shades(own[index]) + candidates
        contrast = _contrast(candidates, [objects[index], background, PAPER, *chosen.values()]).min(axis=1)
        enough = contrast >= CONTRAST
        chosen[index] = candidates[int(enough.argmax() if enough.any() else contrast.argmax())]
    return ["#{:02X}{:02X}{:02X}".format(*chosen[index]) for index in range(len(own))]


def _shades(own: Array) -> list[RGB]:
    """Colours of the same hue, nearest first."""
    hue = np.arctan2(own[2], own[1])
    lightness, chroma = (grid.ravel() for grid in np.meshgrid(LIGHTNESS, CHROMA))
    lab = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=-1).astype(np.float32)
    levels = (cv2.cvtColor(lab[None], cv2.COLOR_Lab2RGB)[0] * 255).round().astype(int)
    levels = levels[np.linalg.norm(_lab(levels) - lab, axis=-1) < 3]  # others are out of gamut: clipped, of another hue
    return _nearest_first([(red, green, blue) for red, green, blue in levels.tolist()], own)


def _nearest_first(colours: Sequence[RGB], own: Array) -> list[RGB]:
    return [colours[index] for index in np.linalg.norm(_lab(colours) - own, axis=-1).argsort()]


def _contrast(colours: Sequence[RGB], others: Sequence[RGB]) -> Array:
    """(colours, others): CIELAB distance with half the weight on hue and chroma, which thin lines hardly show.

    What a deuteranope sees may have half the contrast: the palette's own colours have no more.
    """
    weights, contrasts = np.array([1, 0.5, 0.5], np.float32), []
    for matrix in (np.eye(3, dtype=np.float32), DEUTERANOPIA):
        first, second = (weights * _lab(values, matrix) for values in (colours, others))
        contrasts.append(np.linalg.norm(first[:, None] - second[None], axis=-1))
    normal, deuteranopic = contrasts
    return np.asarray(np.minimum(normal, 2 * deuteranopic))


def _lab(colours: Sequence[RGB] | NDArray[np.int_], matrix: Array | None = None) -> Array:
    levels = np.asarray(colours, np.float32) / 255
    linear = np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)
    seen = linear if matrix is None else (linear @ matrix.T).clip(0, 1)
    return np.asarray(cv2.cvtColor(seen.astype(np.float32)[None], cv2.COLOR_LRGB2Lab)[0])
