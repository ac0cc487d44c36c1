"""Assumption 5: how far the object's centre can be from the reported position, measured without labels.

The centre is the middle of the box around the object. Where its edges are is known only so far: they are blurred, an
object may be dim or pointed at one side, and it may have a shadow. The outer box holds all pixels that differ from the
background by an eighth of the object's strength (or by more than noise), the inner box those that differ by half of it
and are no shadow. The object's own box lies between the two.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from withinpx.certificate.full_resolution import planes
from withinpx.discovery.background import ByteImages, FloatImages
from withinpx.inference.masks import object_strength
from withinpx.theory.set_membership import centre_interval

INNER = 0.5  # of the object's strength: beyond it a pixel surely shows the object; half of a pixel at a sharp edge
OUTER = 0.125  # below it a pixel surely does not: less than a pixel at the tip of a triangle or at a dim edge
FULL_SHARE = 0.25  # of the object's box: its strength is what so much of it exceeds
MARGIN_PX = 4  # around the rendered box


@dataclass(frozen=True)
class Centre:
    """Along x and y, in px of the frames that were measured."""

    middle: tuple[float, float]  # the most likely centre, from the reported position
    tolerance: tuple[float, float]  # g: how far from it the centre can be
    visibility: float  # the object's strength over the noise threshold


@dataclass(frozen=True, eq=False)
class View:
    """One frame around an object."""

    image: Tensor  # (c, h, w)
    background: Tensor
    position: NDArray[np.float64]  # of the object in the window, (x, y)


def views(
    frames: ByteImages, backgrounds: FloatImages, positions: NDArray[np.float64], reach: NDArray[np.float64]
) -> Iterable[View]:
    """Windows around positions (f, 2) in frames (f, h, w, c); those beyond the border are left out."""
    for frame, (x, y) in enumerate(positions):
        left, top = int(np.floor(x - reach[0])), int(np.floor(y - reach[1]))
        right, bottom = int(np.ceil(x + reach[0])), int(np.ceil(y + reach[1]))
        image = frames[frame]
        if left < 0 or top < 0 or right > image.shape[1] or bottom > image.shape[0]:
            continue
        background = backgrounds[frame if len(backgrounds) > 1 else 0]
        yield View(
            planes(image[top:bottom, left:right]),
            planes(background[top:bottom, left:right]),
            np.array([x - left, y - top]),
        )


def measure_centre(seen: Iterable[View], box: NDArray[np.float64], threshold: float) -> Centre | None:
    """From all views of an object of this width and height; None if there are none, or it is hardly visible."""
    seen = list(seen)
    if not seen:
        return None
    kinds = [[(view.image - view.background).abs().amax(dim=0) for view in seen]]
    kinds.append([object_strength(view.image, view.background) for view in seen])
    intervals, visibility = [], np.inf
    for strengths in kinds:  # with the shadow and without it: both are covered
        full = float(np.median([_full_strength(strength, box) for strength in strengths]))
        visibility = min(visibility, full / threshold)
        outer, inner = max(OUTER * full, threshold), INNER * full
        if outer >= inner:
            return None
        positions = [view.position for view in seen]
        edges = {level: _edges(strengths, positions, level) for level in (outer, inner)}
        if not all(np.isfinite(values).all() for values in edges.values()):
            return None
        intervals.append([centre_interval(tuple(edges[outer][axis]), tuple(edges[inner][axis])) for axis in (0, 1)])
    low, high = (np.array([[middle + sign * g for middle, g in axes] for axes in intervals]) for sign in (-1, 1))
    low, high = low.min(axis=0), high.max(axis=0)
    (x, y), (g_x, g_y) = ((low + high) / 2).tolist(), ((high - low) / 2).tolist()
    return Centre((x, y), (g_x, g_y), visibility)


def _full_strength(strength: Tensor, box: NDArray[np.float64]) -> float:
    share = min(0.5, FULL_SHARE * float(box.prod()) / strength.numel())
    return float(torch.quantile(strength.flatten(), 1 - share))


def _edges(strengths: list[Tensor], positions: list[NDArray[np.float64]], level: float) -> NDArray[np.float64]:
    """From the position to the edges of the region stronger than a level, median over views: (x or y, near or far)."""
    found = [
        [_crossings(strength.amax(dim=axis).numpy(), position[axis], level) for axis in (0, 1)]
        for strength, position in zip(strengths, positions, strict=True)
    ]
    with np.errstate(all="ignore"):
        return np.asarray(np.nanmedian(np.array(found), axis=0))


def _crossings(profile: NDArray[np.float32], position: float, level: float) -> tuple[float, float]:
    """Where a profile falls below a level on both sides of the position, with sub-pixel precision."""
    above = np.flatnonzero(profile > level)
    if not len(above):
        return np.nan, np.nan
    start = int(above[np.abs(above + 0.5 - position).argmin()])
    below = np.flatnonzero(profile <= level)
    before, after = below[below < start], below[below > start]
    if not len(before) or not len(after):
        return np.nan, np.nan
    ends = []
    for outside, step in ((int(before[-1]), 1), (int(after[0]), -1)):
        inside = outside + step
        part = (profile[inside] - level) / (profile[inside] - profile[outside])
        ends.append(inside + 0.5 - step * float(part) - position)
    return ends[0], ends[1]
