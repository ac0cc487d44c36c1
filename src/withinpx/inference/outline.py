"""An object's outline in one frame: where its centre can be, whatever the object looks like there.

An object that turns or deforms has no template to search for. But a layer of any shape leaves a residual at every pixel
that it should cover and does not, so the frame itself says which pixels the object covers: those that differ from the
background by half of its usual strength, and none but those that differ by more than noise. Its box, and its centroid,
lie between these two.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from withinpx.discovery.background import ByteImages, FloatImages, difference
from withinpx.inference.masks import object_strength, planes
from withinpx.inference.overlap import Boxes, free_pixels
from withinpx.theory.set_membership import centre_interval

INNER = 0.5  # of the object's strength: a sharp edge crosses it where the object ends
OUTER = 0.25  # of it: what is fainter is not counted as the object
LIMB = 1 / 3  # of the body's inscribed radius: what is narrower on both sides is a limb, a tail or a string,
CORNER = 2.0  # times as far from the body: nearer to it, it is a corner of the body
EDGE_PX, EDGE = 2.0, 1 / 20  # or of its side: a corner's tip is narrower than a pixel, and a codec shows edges late
HALF_PX = 0.5  # by which a centroid may be off: a pixel counts whole or not at all
MARGIN_PX = 8  # of a frame around the rendered box that are examined first
OTHER = 0.25  # of the pixels of half its strength: a region with as many that belongs to no object could be the object

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Outline:
    """What is known of an object's outlines."""

    strength: float  # by how much the object usually differs from the background, from 0 to 1
    noise: float  # by how much the background may differ from itself
    reach: float = 0.0  # px of the network's input: how far from what is rendered the object can be
    sizes: tuple[float, float] = (0.0, np.inf)  # px of the network's input: what the larger side of its outlines can be

    @property
    def level(self) -> float:
        """What differs by more may be the object."""
        return max(OUTER * self.strength, self.noise)

    def can_have(self, sizes: Array) -> Mask:
        """Which of these sizes, px of the network's input, its outlines can have; not NaN."""
        return np.asarray((sizes >= self.sizes[0]) & (sizes <= self.sizes[1]))

    @property
    def is_clear(self) -> bool:
        """Can its edges be seen against the noise?"""
        return self.noise < INNER / 2 * self.strength


@dataclass(frozen=True, eq=False)
class View:
    """A frame, its background, and what the network makes of it, px of the frame."""

    frame: ByteImages
    background: FloatImages
    middle: Array  # (2,): of the rendered object
    box: Array  # (2,): its width and height
    reach: float  # how far from its middle the object can be
    others: Boxes  # of all other objects


class CentreRange(NamedTuple):
    low: Array  # (2,): the smallest and
    high: Array  # (2,): the largest (x, y) that an object's centre can have
    size: float  # the larger side of its outline, midway between the inner and the outer one
    elongation: Array  # (2,): of its body, see ``elongation_of``
    whole: bool = True  # does no part of it, not even a limb, reach the frame's border?


def centre_range(outline: Outline, view: View) -> CentreRange | None:
    """Where the object's centre can be, px of the frame; None if the frame does not say.

    It does not if the object is cut off by the frame's border, touches another, or could be something else nearby.
    """
    found = _component(outline, view)
    if found is None:
        return None
    region, left, top = found
    rows, columns = slice(top, top + region.shape[0]), slice(left, left + region.shape[1])
    image, background = (planes(pixels[rows, columns]) for pixels in (view.frame, view.background))
    strengths = (image - background).abs().amax(dim=0).numpy(), object_strength(image, background).numpy()
    inner = region & (strengths[1] > INNER * outline.strength)
    body = _body(region, inner if inner.any() else region)
    if _is_cut_off(body[1], left, top, view.frame.shape[:2]):
        return None
    ranges = [_range(region, body, strength, outline) for strength in strengths]
    if ranges[0] is None or ranges[1] is None:
        return None
    corner = np.array([left, top], np.float64)
    low, high = np.minimum(ranges[0][0], ranges[1][0]), np.maximum(ranges[0][1], ranges[1][1])
    whole = not _is_cut_off(region, left, top, view.frame.shape[:2])
    return CentreRange(low + corner, high + corner, ranges[0][2], elongation_of(body[0]), whole)


def elongation_of(mask: Mask) -> Array:
    """How elongated a mask is, from 0 (round) to 1 (a line), as a vector (2,) at twice the angle of its longer axis.

    Angles go from x to y. Doubled, an axis has one angle, and the mean of several vectors has a meaning.
    """
    rows, columns = np.nonzero(mask)
    x, y = columns - columns.mean(), rows - rows.mean()
    xx, yy = (float(axis @ axis) / len(axis) + 1 / 12 for axis in (x, y))  # a pixel is a square
    xy = float(x @ y) / len(x)
    return np.array([xx - yy, 2 * xy]) / (xx + yy)


def _component(outline: Outline, view: View) -> tuple[Mask, int, int] | None:
    """The changed region that the rendered object is in, with the corner of its window."""
    height, width = view.frame.shape[:2]
    half = view.box / 2 + MARGIN_PX + view.reach
    while True:
        left, top = np.floor(view.middle - half).astype(int).clip(0).tolist()
        right, bottom = np.ceil(view.middle + half).astype(int).clip(0, (width, height)).tolist()
        if right - left < 3 or bottom - top < 3:
            return None
        part = slice(top, bottom), slice(left, right)
        contrast = difference(view.frame[part][None], view.background[part][None])[0]
        closed = ndimage.binary_closing(np.pad(contrast > outline.level, 2), np.ones((3, 3)))[2:-2, 2:-2]
        labels, _ = ndimage.label(closed, np.ones((3, 3)))
        corner = np.array([left, top])
        first, last = (
            (view.middle + sign * view.box / 4 - corner).round().astype(int).clip(0, closed.shape[::-1])
            for sign in (-1, 1)
        )
        own = np.unique(labels[first[1] : last[1] + 1, first[0] : last[0] + 1])
        region = np.isin(labels, own[own > 0])
        sides = (
            (region[:, 0], left, 0),
            (region[0], top, 0),
            (region[:, -1], right, width),
            (region[-1], bottom, height),
        )
        if not region.any():
            return None
        if not any(side.any() and at != limit for side, at, limit in sides):
            strong = contrast > INNER * outline.strength
            return None if _is_doubtful(labels, region, strong, view, corner) else _cropped(region, left, top)
        half = 2 * half


def _cropped(region: Mask, left: int, top: int) -> tuple[Mask, int, int]:
    """The part of a window that holds a region and the pixels beside it."""
    rows, columns = (np.flatnonzero(region.any(axis=axis)) for axis in (1, 0))
    first_row, first_column = max(int(rows[0]) - 1, 0), max(int(columns[0]) - 1, 0)
    return region[first_row : rows[-1] + 2, first_column : columns[-1] + 2], left + first_column, top + first_row


def _is_doubtful(labels: NDArray[np.intp], region: Mask, strong: Mask, view: View, corner: NDArray[np.intp]) -> bool:
    """Does the region touch another object, or could another one, by its strong pixels, be the object?"""
    left, top = corner.tolist()
    free = free_pixels(left, top, (region.shape[0], region.shape[1]), view.others)
    if (region & ~free).any():
        return True
    areas = np.bincount((labels * (free & strong & ~region)).ravel())[1:]
    return bool(len(areas) and areas.max() > OTHER * (region & strong).sum())


def _is_cut_off(mask: Mask, left: int, top: int, size: tuple[int, ...]) -> bool:
    """Does a part of a frame of this height and width reach the frame's border?"""
    rows, columns = np.nonzero(mask)
    first, last = (rows.min() + top, columns.min() + left), (rows.max() + top, columns.max() + left)
    return bool(min(first) <= 0 or last[0] >= size[0] - 1 or last[1] >= size[1] - 1)


def _body(region: Mask, inner: Mask) -> tuple[Mask, Mask]:
    """A region without its limbs, and with the corners of what is left. Limbs are narrow beside the inner mask."""
    region, inner = (np.asarray(ndimage.binary_fill_holes(mask)) for mask in (region, inner))
    narrow = LIMB * float(ndimage.distance_transform_edt(np.pad(inner, 1)).max())
    body = _opened(region, narrow)
    near = ndimage.distance_transform_edt(~body) <= CORNER * narrow
    return body, np.asarray(region & near)


def _range(
    region: Mask, body: tuple[Mask, Mask], strength: Array, outline: Outline
) -> tuple[Array, Array, float] | None:
    """Where the centre of a body can be that covers all of an inner mask and nothing beyond an outer one; its size."""
    trunk, with_corners = body
    outer = region & with_corners & (strength > outline.level)
    inner = _opened(region & trunk & (strength > INNER * outline.strength), 1.0)
    if not inner.any():
        return None
    outer |= inner
    inner_edges = _edges(inner, strength, INNER * outline.strength)
    outer_edges = _edges(outer, strength, outline.level)
    lows, highs, sides = [], [], []
    for axis, ((near, far), (before, after)) in enumerate(zip(inner_edges, outer_edges, strict=True)):
        first, last = min(before, near), max(after, far)
        edge = max(EDGE_PX, EDGE * (last - first))
        middle, g = centre_interval((first - edge, last + edge), (near, far))
        centroids = [_centroid(mask.sum(axis=axis)) for mask in (outer, inner)]
        lows.append(min(middle - g, min(centroids) - HALF_PX))
        highs.append(max(middle + g, max(centroids) + HALF_PX))
        sides.append((last + far - first - near) / 2)
    return np.array(lows), np.array(highs), max(sides)


def _edges(mask: Mask, strength: Array, level: float) -> list[tuple[float, float]]:
    """Along x and y, where the strength of a mask falls to a level at both ends, linear between the middles of pixels.

    A pixel that is half covered has half of the strength, so a sharp edge falls to half of it where the object ends.
    """
    beside = ndimage.binary_dilation(mask, np.ones((3, 3))) & ~mask
    seen = np.where(mask, strength, np.where(beside, np.minimum(strength, level), 0))
    edges = []
    for axis in (0, 1):
        profile = np.pad(seen.max(axis=axis), 1)
        (covered,) = np.nonzero(mask.any(axis=axis))
        ends = []
        for inside, step in ((int(covered[0]) + 1, -1), (int(covered[-1]) + 1, 1)):
            above, below = float(profile[inside]), float(profile[inside + step])
            ends.append(inside - 0.5 + step * (above - level) / max(above - below, 1e-12))
        edges.append((ends[0], ends[1]))
    return edges


def _opened(mask: Mask, radius: float) -> Mask:
    """All of a mask that a disc of this radius reaches from within it."""
    if radius < 1:
        return mask
    padded = np.pad(mask, 1)
    centres = ndimage.distance_transform_edt(padded) > radius
    return np.asarray(padded & (ndimage.distance_transform_edt(~centres) <= radius))[1:-1, 1:-1]


def _centroid(counts: NDArray[np.intp]) -> float:
    return float((counts * (np.arange(len(counts)) + 0.5)).sum() / counts.sum())
