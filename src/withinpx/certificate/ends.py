"""The two ends of an object along an axis: where its strength falls to which share, and how much they look alike."""

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from withinpx.inference.outline import INNER
from withinpx.theory.set_membership import alike_interval, centre_interval

OUTER = 1 / 16  # of it: so far an edge is followed, and then goes on as before to where nothing is left
FULL_SHARE = 0.25  # of the object's box: its strength is what so much of it exceeds
TIMES = 4  # the box is measured by the strength, and the strength by the box
FINE = 4  # nodes of the grid per pixel
MARGIN_PX = 4  # around the rendered box;
RING = MARGIN_PX * FINE // 2  # nodes: the outer half of it shows the noise
SHARES = 12  # from OUTER to INNER, in which edges are found
DEPTHS = np.linspace(-0.5, 1.0, 13)  # over the wider gap, from the inner box inwards: where the ends are compared
UNTOUCHED = 0.5  # of the inner box at most that is a part of a blurred edge, if its ends are to be compared

Array = NDArray[np.float64]
Pair = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Ends:
    """Of an object along one axis, in px from the middle of its portrait; NaN if the noise hides them."""

    near_levels: Array  # (k,): strengths; the first is half of the least that is seen, the last half of the end's own
    near: Array  # (k, 2): the least and the greatest position at which the near end falls to each of them
    far_levels: Array
    far: Array  # (k, 2)
    ratio: float = np.inf  # how unlike the ends are: by what factor the shares at which they end may differ
    strength: float = 0.0  # of the whole object

    @property
    def outer(self) -> Pair:
        return float(self.near[0, 0]), float(self.far[0, 1])

    @property
    def inner(self) -> Pair:
        return float(self.near[-1, 1]), float(self.far[-1, 0])

    @property
    def length(self) -> float:
        """Of the outer box; infinity if it is not known."""
        first, last = self.outer
        return float(np.nan_to_num(last - first, nan=np.inf))

    def centre(self) -> Pair:
        """The middle of where the centre can be, and how far from it: as the boxes say, and as ends that look alike.

        Positions on the grid are known to half the distance of two nodes.
        """
        middle, g = centre_interval(self.outer, self.inner)
        low, high = middle - g, middle + g
        if not (np.isnan(g) or np.isinf(self.ratio)):
            low, high = alike_interval(self.near, self.far, self.near_levels, self.far_levels, self.ratio)
        return (low + high) / 2, (high - low) / 2 + 0.5 / FINE


NOWHERE = Ends(np.ones(1), np.full((1, 2), np.nan), np.ones(1), np.full((1, 2), np.nan))  # of what shows nothing


def full_strength(strength: Array, box: Array) -> float:
    """The object's strength in a portrait (h, w), whose box is no larger than this one.

    A small object's rendering can be twice as large as the object: the box is that of what has half of the strength.
    """
    full = _strength_in(box, strength)
    for _ in range(TIMES):
        if full <= 0:
            break
        edges = [_edges(profile, INNER * full) for profile in _profiles(strength)]
        sides = np.array([far[0] - near[1] for near, far in edges])
        box = np.fmin(box, sides.clip(min=0))  # NaN if an edge is not seen
        full = _strength_in(box, strength)
    return full


def _strength_in(box: Array, strength: Array) -> float:
    share = min(0.5, FULL_SHARE * float(box.prod()) * FINE**2 / strength.size)
    return float(np.nanquantile(strength, 1 - share))


def _profiles(strength: Array) -> list[Array]:
    """The most that each line of a portrait (h, w) shows, along x and y; NaN of a line of which nothing is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return [np.nanmax(strength, axis=axis) for axis in (0, 1)]


def ends_along_axes(strength: Array, box: Array) -> list[Ends]:
    """The ends along x and y of what a portrait (h, w) shows; NaN if the noise hides them.

    The noise is what the grid shows where there is no object: the most of it, or what a line of it usually shows. With
    the latter, where a line beside the object shows more, the outer box is larger; the smaller of the two is taken.
    """
    full, profiles = full_strength(strength, box), _profiles(strength)
    most = float(np.nanmax(np.concatenate([_ring(profile) for profile in profiles])))
    found = []
    for axis, profile in enumerate(profiles):
        seen = [_ends(profile, full, noise) for noise in (most, float(np.nanmedian(_ring(profile))))]
        ends = min(seen, key=lambda one: one.length)
        area = np.nansum(strength.clip(0, full), axis=axis)
        ratio = _unlikeness(ends, profile, area - np.median(_ring(area)), full)
        found.append(replace(ends, ratio=ratio, strength=full))
    return found


def _ring(profile: Array) -> Array:
    return np.concatenate([profile[:RING], profile[-RING:]])


def _ends(profile: Array, full: float, noise: float) -> Ends:
    """From the outer to the inner box, in which an edge is seen to fall; first, where it goes on to nothing."""
    if full <= 0:
        return NOWHERE
    (near_levels, near), (far_levels, far) = (_end(profile, full, noise, side) for side in (0, 1))
    return Ends(near_levels, near, far_levels, far)


def _end(profile: Array, full: float, noise: float, side: int) -> tuple[Array, Array]:
    """The near end (side 0) or the far one: levels (k,), and where the profile falls to them (k, 2).

    An end that is stronger than the object shows half of the object's strength further out than it reaches: half of its
    own strength counts, and what noise may add to that.
    """
    seen = min(max(OUTER * full, noise), INNER * full)
    full = max(full, _own_strength(profile, seen, INNER * full, side))
    hidden = np.nan  # over what is seen of the edge beyond the inner box; unknown if the noise hides most of it
    if max(seen, noise) < INNER / 2 * full:
        hidden = seen / (INNER * full - seen)
    levels = np.geomspace(seen, INNER * full + noise, SHARES)
    edges = np.array([_edges(profile, float(level))[side] for level in levels])
    outer, inner = (edges[0, 0], edges[-1, 1]) if side == 0 else (edges[0, 1], edges[-1, 0])
    nothing = outer + hidden * (outer - inner)
    return np.concatenate([levels[:1] / 2, levels]), np.concatenate([[[nothing, nothing]], edges])


def _own_strength(profile: Array, seen: float, inner: float, side: int) -> float:
    """The most that an end shows, from its outer edge to as far within its inner edge as the outer one is beyond it."""
    first, last = (_edges(profile, level)[side] for level in (seen, inner))
    low, high = np.min([first, last]), np.max([first, last])
    gap = high - low
    if not np.isfinite(gap):
        return 0.0
    low, high = (low, high + gap) if side == 0 else (low - gap, high)
    middle = len(profile) // 2
    nodes = slice(max(0, math.floor(middle + FINE * low)), math.ceil(middle + FINE * high) + 1)
    return float(np.nanmax(profile[nodes]))


def _unlikeness(ends: Ends, profile: Array, area: Array, full: float) -> float:
    """The square of the largest ratio between the two ends, of what a line shows at most and in all.

    A pointed end falls to nothing at a smaller share of the strength than a flat one, and a shaded one at another than
    a bright one. Blur makes ends more alike, hence the square. Infinity if too little of the object is not blurred.
    """
    (first, last), (near, far) = ends.outer, ends.inner
    if not 2 * max(near - first, last - far) <= UNTOUCHED * (far - near):
        return np.inf
    (_, near), (far, _) = _edges(profile, INNER * full)
    gap = max(near - first, last - far)
    nodes, middle = np.arange(len(profile)), len(profile) // 2
    largest = 1.0
    for values in (np.nan_to_num(profile), area):
        one, other = (np.interp(middle + FINE * at, nodes, values) for at in (near + DEPTHS * gap, far - DEPTHS * gap))
        more, less = np.maximum(one, other), np.minimum(one, other)
        shown = more > OUTER * more.max()
        largest = max(largest, float((more[shown] / less[shown].clip(1e-9)).max()))
    return largest**2


def _edges(profile: Array, level: float) -> tuple[Pair, Pair]:
    """Where a profile falls below a level on both sides of its middle: the least and the greatest place of each.

    In px from the middle. The two are one between neighbouring nodes of the grid; where nodes between are unknown, the
    edge can be anywhere between those that are known, each of which is of pixels up to a quarter of a pixel away.
    """
    middle = len(profile) // 2
    above, below = np.flatnonzero(profile > level), np.flatnonzero(profile <= level)
    nowhere = (np.nan, np.nan)
    if not len(above):
        return nowhere, nowhere
    start = int(above[np.abs(above - middle).argmin()])
    before, after = below[below < start], below[below > start]
    if not len(before) or not len(after):
        return nowhere, nowhere
    ends = []
    for outside, step in ((int(before[-1]), 1), (int(after[0]), -1)):
        beyond = above[step * above > step * outside]
        inside = int(beyond[0] if step > 0 else beyond[-1])
        if abs(inside - outside) == 1:
            part = (profile[inside] - level) / (profile[inside] - profile[outside])
            place = inside - step * float(part)
            places = (place, place)
        else:
            places = (outside - step, inside + step)
        ends.append(((min(places) - middle) / FINE, (max(places) - middle) / FINE))
    return ends[0], ends[1]
