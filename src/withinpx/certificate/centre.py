"""Assumption 5: how far the object's centre can be from the reported position, measured without labels.

The centre is the middle of the box around the object. Where its edges are is known only so far: they are blurred, an
object may be dim or pointed at one side, and it may have a shadow. The outer box holds all that differs from the
background by a small part of the object's strength, the inner box what differs by half of it and is no shadow. The
object's own box lies between the two.

Edges are measured on the mean of all frames around the reported positions, on a grid finer than a pixel: the frames'
noise averages out, and the object is seen at many fractions of a pixel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from withinpx.certificate.ends import FINE, MARGIN_PX, RING, ends_along_axes, full_strength
from withinpx.discovery.background import ByteImages, FloatImages, to_float
from withinpx.inference.masks import object_strength
from withinpx.inference.outline import INNER
from withinpx.inference.overlap import Boxes, free_pixels
from withinpx.shadow import SAME_HUE, off_hue

LUMA = (0.299, 0.587, 0.114)  # of red, green and blue
BRIGHT = 1 / 3  # of an object's strength is in its brightness at least, if that says where the object ends
PAIRED = 0.25  # of the steps of hue between pairs of pixels, those within are at most, where hues have half the
# resolution: 0 to 0.04 in H.264, 0.7 and more in frames that are not compressed

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Centre:
    """Along x and y, in px of the frames that were measured."""

    middle: tuple[float, float]  # the middle of where the centre can be, from the reported position
    tolerance: tuple[float, float]  # g: how far from it the centre can be

    @property
    def furthest(self) -> float:
        """The largest distance of the centre from the reported position, along an axis."""
        return max(abs(middle) + g for middle, g in zip(self.middle, self.tolerance, strict=True))

    def scaled(self, factor: float) -> "Centre":
        (x, y), (g_x, g_y) = self.middle, self.tolerance
        return Centre((factor * x, factor * y), (factor * g_x, factor * g_y))


@dataclass(frozen=True, eq=False)
class Portrait:
    """The mean of many frames around an object, on a fine grid whose middle is the reported position.

    Its strength is how much it differs from the background, beyond noise; NaN where nothing is known.
    """

    colour: Array  # (h, w): strength in the colour that differs most
    luma: Array  # (h, w): in brightness, which videos keep at full resolution, and hues at half of it
    hue: Array  # (h, w): in what is left of the colours without it
    paired: tuple[bool, bool]  # along x and y: are the hues of every two pixels one?
    lit: Array  # (h, w): 0 in the object's shadow, else 1
    off_hue: Array  # (h, w): how far the colours are from the background's hue


def take_portrait(
    frames: ByteImages,
    backgrounds: FloatImages,
    positions: Array,
    reach: Array,
    *,
    sizes: Array | None = None,
    others: Sequence[Boxes] = (),
) -> Portrait | None:
    """From positions (f, 2) in frames (f, h, w, c); None if there are none.

    The object's ``sizes`` (f,) there are made equal, and what ``others`` hold of each frame is left out.
    """
    sizes = np.ones(len(frames)) if sizes is None else sizes
    half = np.ceil(reach).astype(int)
    width, height = (2 * half * FINE + 1).tolist()
    sums = np.zeros((height, width, 3 * frames.shape[-1] + 1))  # of the difference, its square, the background, and 1
    steps = np.zeros((2, 2))  # of hue, along x and y, to the right or down from even and from odd pixels
    weights = _phase_weights(positions)
    for frame, position in enumerate(positions):
        seen = np.ceil(half * sizes[frame]).astype(int)
        left, top = np.floor(position).astype(int) - seen
        right, bottom = min(left + 2 * seen[0] + 1, frames.shape[2]), min(top + 2 * seen[1] + 1, frames.shape[1])
        left, top = max(left, 0), max(top, 0)
        background = backgrounds[frame if len(backgrounds) > 1 else 0][top:bottom, left:right]
        difference = to_float(frames[frame, top:bottom, left:right]) - background
        free = (
            free_pixels(left, top, difference.shape[:2], others[frame])
            if len(others)
            else np.ones(difference.shape[:2], bool)
        )
        steps += _hue_steps(difference, left, top)
        one = np.ones((*free.shape, 1))
        values = np.concatenate([difference, difference**2, background, one], axis=-1) * free[..., None]
        columns, rows = (
            np.floor(((np.arange(first, last) + 0.5 - position[axis]) / sizes[frame] + half[axis]) * FINE).astype(int)
            for axis, first, last in ((0, left, right), (1, top, bottom))
        )
        for down, across in product((0, 1), repeat=2):  # a pixel counts for the nodes within a quarter of a pixel of it
            in_rows, in_columns = (
                np.flatnonzero((nodes >= 0) & (nodes < length))
                for nodes, length in ((rows + down, height), (columns + across, width))
            )
            at_nodes = np.ix_(rows[in_rows] + down, columns[in_columns] + across)
            sums[at_nodes] += weights[frame] * values[np.ix_(in_rows, in_columns)]
    counts = sums[..., -1:]
    known = counts[..., 0] > 0
    if not known.any():
        return None
    difference, square, background = np.split(sums[..., :-1] / np.where(counts > 0, counts, 1), 3, axis=-1)
    across, down = (bool(own.min() < PAIRED * own.max()) for own in steps)
    return _portrait(difference, square, background, known, paired=(across, down))


def may_be_coded(frames: ByteImages, backgrounds: FloatImages, positions: Array, box: Array) -> bool:
    """Do hues around an object have half the resolution of the frames, as in a video, or is there no hue to tell by?"""
    steps = np.zeros((2, 2))
    for frame, position in enumerate(positions):
        first, last = (np.round(position + side * box / 2).astype(int) for side in (-1, 1))
        left, top = first.clip(0)
        part = slice(top, max(last[1], top + 2)), slice(left, max(last[0], left + 2))
        background = backgrounds[frame if len(backgrounds) > 1 else 0]
        steps += _hue_steps(to_float(frames[frame][part]) - background[part], left, top)
    return any(own.max() == 0 or own.min() < PAIRED * own.max() for own in steps)


def _hue_steps(difference: Array, left: int, top: int) -> Array:
    """Squares of the steps of hue from pixel to pixel of a part of a frame, as ``steps``."""
    hue = difference - _luma(difference)[..., None]
    sums = []
    for axis, first in ((1, left), (0, top)):
        squares = (np.diff(hue, axis=axis) ** 2).sum(axis=(1 - axis, 2))
        odd = (np.arange(len(squares)) + first) % 2 == 1
        sums.append((squares[~odd].sum(), squares[odd].sum()))
    return np.array(sums)


def _luma(values: Array) -> Array:
    """Of colours (h, w, c)."""
    return np.asarray(values @ LUMA if values.shape[-1] == len(LUMA) else values[..., 0])


def _phase_weights(positions: Array) -> Array:
    """Weights of frames such that all fractions of a pixel count alike: an object that rests is always at the same."""
    phases = np.floor(positions % 1 * FINE).clip(0, FINE - 1) @ (FINE, 1)
    return np.asarray(1 / (phases[:, None] == phases).sum(axis=1))


def _portrait(
    difference: Array, square: Array, background: Array, known: NDArray[np.bool_], *, paired: tuple[bool, bool]
) -> Portrait:
    ring = known.copy()
    ring[RING:-RING, RING:-RING] = False
    beyond = np.sqrt(np.maximum(square - np.median(square[ring], axis=0), 0)).max(axis=-1)
    brighter = _luma(difference)
    tinted = np.abs(difference - brighter[..., None]).max(axis=-1)
    colour, luma, hue = (np.where(known, values, np.nan) for values in (beyond, np.abs(brighter), tinted))
    image, still = (torch.from_numpy(np.moveaxis(values, -1, 0)) for values in (background + difference, background))
    lit = object_strength(image, still) / (image - still).abs().amax(dim=0).clamp(min=1e-12)
    return Portrait(colour, luma, hue, paired, lit.numpy(), np.where(known, off_hue(image, still).numpy(), np.nan))


def measure_centre(portrait: Portrait, box: Array) -> Centre | None:
    """The centre of an object of this width and height; None if its edges cannot be seen against the noise.

    It is the object's without its shadow. The tolerance allows for the shadow being a part of it, unless the object is
    known by its hue, which no shadow has, and hues have the resolution of the frames.
    """
    intervals = [_interval(portrait, lit, box) for lit in (portrait.lit, np.ones_like(portrait.lit))]
    low, high = np.min(intervals, axis=0)[0], np.max(intervals, axis=0)[1]
    middle = np.mean(intervals[0], axis=0)
    g = np.nan_to_num(np.maximum(high - middle, middle - low), nan=np.inf)
    if _is_coloured(portrait, box):
        without_shadow = np.fmax(portrait.off_hue, portrait.colour * portrait.lit)
        for axis, ends in enumerate(ends_along_axes(without_shadow, box)):
            own, smaller = ends.centre()
            if smaller < g[axis] and not portrait.paired[axis]:
                middle[axis], g[axis] = own, smaller
    if not np.isfinite(g).all():
        return None
    (x, y), (g_x, g_y) = middle.tolist(), g.tolist()
    return Centre((x, y), (g_x, g_y))


def _is_coloured(portrait: Portrait, box: Array) -> bool:
    """Is all that is surely the object's of another hue than any shadow?"""
    strength = portrait.colour * portrait.lit
    sure = strength > INNER * full_strength(strength, box)
    return bool(sure.any() and (portrait.off_hue[sure] > 2 * SAME_HUE).all())


def _interval(portrait: Portrait, lit: Array, box: Array) -> Array:
    """The smallest and the largest (x, y) that the centre can have; NaN if the edges are hidden by the noise.

    By colour, or by luma, if that has enough of the object's strength, along an axis on which it is more definite
    and its inner box is no smaller. A part of the object may be no brighter or darker than the background: luma does
    not show it, but its hue does, whose inner box then reaches further. In a video whose hues have half the resolution
    it does so for other reasons.
    """
    seen = [ends_along_axes(strength * lit, box) for strength in (portrait.colour, portrait.luma, portrait.hue)]
    in_colour, in_luma, _ = (along_x.strength for along_x, _ in seen)
    bright = in_luma >= BRIGHT * in_colour
    ends = []
    for colour, luma, hue, paired in zip(*seen, portrait.paired, strict=True):
        middle, g = colour.centre()
        (near, far), (luma_near, luma_far), (hue_near, hue_far) = colour.inner, luma.inner, hue.inner
        complete = paired or not (hue_near < luma_near - 1 / FINE or hue_far > luma_far + 1 / FINE)
        if bright and complete and luma_near <= near + 1 / FINE and luma_far >= far - 1 / FINE:
            other, smaller = luma.centre()
            middle, g = (other, smaller) if smaller < g or np.isnan(g) else (middle, g)
        ends.append((middle - g, middle + g))
    return np.array(ends).T


def centre_of(
    frames: ByteImages,
    backgrounds: FloatImages,
    positions: Array,
    box: Array,
    zoom: float = 1.0,
    *,
    sizes: Array | None = None,
    others: Sequence[Boxes] = (),
) -> Centre | None:
    """The centre of an object around its reported positions (f, 2) in frames (f, h, w, c).

    ``zoom`` is how many px of these frames are one px of the network's input, by which the object's box is measured.
    ``sizes`` (f,) are over the usual one, for which the centre is. What ``others`` hold of each frame is left out.
    """
    reach = box / 2 + MARGIN_PX * max(1.0, zoom)
    portrait = take_portrait(frames, backgrounds, positions, reach, sizes=sizes, others=others)
    return None if portrait is None else measure_centre(portrait, box)
