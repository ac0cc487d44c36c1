"""The background of a clip, and which pixels of a frame differ from it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

FloatImages = NDArray[np.float32]  # (images, height, width, colours), from 0 to 1
ByteImages = NDArray[np.uint8]  # the same, from 0 to 255
Images = FloatImages | ByteImages

LEVEL = 1 / 255  # one level of an eight-bit image
SMALLEST_NOISE = 1.5 * LEVEL  # rounding and compression alone
NOISE_FACTOR = 5.0  # a pixel that differs by more than this many times its noise shows an object
NEIGHBOURS = 4  # of the 3x3 pixels around a changed one, itself included, that must have changed as well
QUARTILE_TO_MEDIAN = 2.12  # of the absolute value of normal noise
FAINT = 0.5  # of the threshold: regions that are connected by pixels beyond this are one detection
BLOCK = 4_000_000  # values of a clip that are held as floats at once


@dataclass(frozen=True, eq=False)
class BackgroundModel:
    """The scene without its moving objects, and by how much its pixels may differ from it."""

    images: FloatImages  # one for all frames, or one per frame
    threshold: NDArray[np.float32]  # (height, width), from 0 to 1
    light_varies: bool = False  # must frames be brought to the background's light before they are compared with it?

    @property
    def is_still(self) -> bool:
        """Is one image the background of all frames?"""
        return len(self.images) == 1

    def of(self, frames: NDArray[np.intp] | slice) -> FloatImages:
        """The backgrounds of these frames; one image if it is the same for all."""
        return self.images if self.is_still else self.images[frames]

    def changed(self, images: Images, backgrounds: FloatImages | None = None) -> NDArray[np.bool_]:
        """Which pixels of each image differ from the background: (images, height, width).

        A single pixel is noise: a pixel counts if enough of its neighbours changed too. This looks one pixel far and
        adds two (GATE_PX) to the receptive field of an encoder that is shown changed pixels only.
        ``backgrounds`` replaces the model's own images: one for all, or one for each.
        """
        backgrounds = self.images if backgrounds is None else backgrounds
        if images.dtype == np.uint8 and self.is_still and backgrounds is self.images:
            lowest, span = self._levels
            beyond = images - lowest > span  # below the lowest level uint8 wraps around, to more than the span
            differs = np.logical_or.reduce([beyond[..., colour] for colour in range(beyond.shape[-1])])
        else:
            differs = difference(images, backgrounds) > self.threshold
        count, height, width = differs.shape
        padded = np.zeros((count, height + 2, width + 2), np.uint8)
        padded[:, 1:-1, 1:-1] = differs
        in_column = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
        around = in_column[..., :-2] + in_column[..., 1:-1] + in_column[..., 2:]
        return np.asarray(differs & (around >= NEIGHBOURS))

    @cached_property
    def bytes(self) -> ByteImages:
        """The images in levels."""
        return to_uint8(self.images)

    @cached_property
    def limit(self) -> NDArray[np.float32]:
        """The threshold in levels."""
        return np.asarray(self.threshold / np.float32(LEVEL), np.float32)

    @cached_property
    def sure_and_faint(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """The whole levels beyond which a pixel surely differs, and beyond which it differs faintly."""
        return whole_levels(self.threshold), whole_levels(np.float32(FAINT) * self.threshold)

    @cached_property
    def _levels(self) -> tuple[ByteImages, ByteImages]:
        """For each pixel and colour the lowest level that is background, and how many more are."""
        still, limit = self.images[0], self.threshold[..., None]

        def is_background(level: NDArray[np.float32]) -> NDArray[np.bool_]:
            return np.asarray((np.abs(level / np.float32(255) - still) <= limit) & (level >= 0) & (level <= 255))

        lowest, highest = (np.round((still + sign * limit) * 255).clip(0, 255) for sign in (-1, 1))
        # rounding may be off by one level either way
        lowest = np.where(is_background(lowest - 1), lowest - 1, lowest + ~is_background(lowest))
        highest = np.where(is_background(highest + 1), highest + 1, highest - ~is_background(highest))
        return lowest.astype(np.uint8), (highest - lowest).astype(np.uint8)


def to_float(images: Images) -> FloatImages:
    """From levels of 255 to values from 0 to 1."""
    return np.asarray(images / np.float32(255) if images.dtype == np.uint8 else images, np.float32)


def to_uint8(images: FloatImages) -> ByteImages:
    return (images * np.float32(255)).round().astype(np.uint8)


def whole_levels(threshold: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The largest level up to a threshold: whole levels beyond one are beyond the other, and bytes compare fast."""
    return np.asarray(np.minimum(threshold / np.float32(LEVEL), 255), np.uint8)


def difference(images: Images, backgrounds: FloatImages) -> NDArray[np.float32]:
    """How far each pixel is from the background, in the colour that differs most: the shape without its colours."""
    colours = range(backgrounds.shape[-1])  # numpy's max along an axis of three is many times slower than this
    apart = [np.abs(to_float(images[..., colour]) - backgrounds[..., colour]) for colour in colours]
    return np.asarray(np.maximum.reduce(apart))


def by_rows(statistic: Callable[..., Any], frames: Images, *others: NDArray[Any], block: int = BLOCK) -> NDArray[Any]:
    """A statistic over time of each pixel, computed in blocks of rows so that little is held as floats at once.

    All arrays are (frames or 1, rows, ...); the statistic has no frames axis.
    """
    step = max(1, block // frames[:, :1].size)
    blocks = (slice(top, top + step) for top in range(0, frames.shape[1], step))
    return np.concatenate([statistic(*(array[:, rows] for array in (frames, *others))) for rows in blocks])


def temporal_median(frames: Images) -> FloatImages:
    """The median of each pixel and colour: (1, height, width, colours)."""
    middle = [(len(frames) - 1) // 2, len(frames) // 2]  # uint8 is partitioned faster than float
    return by_rows(lambda block: to_float(np.partition(block, middle, axis=0)[middle]).mean(axis=0), frames)[None]


def usual_difference(frames: Images, backgrounds: FloatImages) -> NDArray[np.float32]:
    """By how much each pixel differs in half of the frames: its noise, where objects pass and do not stay."""
    return by_rows(lambda *block: np.median(difference(*block), axis=0), frames, backgrounds)


def quiet_difference(frames: Images, backgrounds: FloatImages) -> NDArray[np.float32]:
    """The same from the quarter of the frames in which each pixel differs least: where objects pass all the time."""
    quartile = by_rows(lambda *block: np.quantile(difference(*block), 0.25, axis=0), frames, backgrounds)
    return np.asarray(QUARTILE_TO_MEDIAN * quartile, np.float32)


def share_beyond(frames: Images, background: FloatImages, threshold: NDArray[Any]) -> NDArray[np.float64]:
    """The share of frames in which each pixel differs by more than a threshold."""
    arrays = frames, background, threshold[None]
    return by_rows(lambda block, image, limit: (difference(block, image) > limit).mean(axis=0), *arrays)


def noise_threshold(typical: NDArray[np.float32], most: float = 0.5) -> NDArray[np.float32]:
    """By how much each pixel may differ and still be background: by its own noise, and by that of most pixels."""
    common = max(float(np.quantile(typical, most)), SMALLEST_NOISE)
    noisy = ndimage.maximum_filter(np.minimum(typical, 4 * common), 3)  # an edge that flickers does so on both sides
    return np.asarray(NOISE_FACTOR * np.maximum(noisy, common), np.float32)
