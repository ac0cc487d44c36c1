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
UNSURE_SHARE = 0.1  # of the frames: a pixel that differs from its median this often may be covered most of the time
CLEARLY = 0.5  # a colour seen at only one end of the clip must be this much nearer to the surroundings than the median
BLOCK = 4_000_000  # values of a clip that are held as floats at once


@dataclass(frozen=True, eq=False)
class BackgroundModel:
    """The scene without its moving objects, and by how much its pixels may differ from it."""

    images: FloatImages  # one for all frames, or one per frame
    threshold: NDArray[np.float32]  # (height, width), from 0 to 1

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
    def limit(self) -> NDArray[np.float32]:
        """The threshold in levels."""
        return np.asarray(self.threshold / np.float32(LEVEL), np.float32)

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


def noise_threshold(typical: NDArray[np.float32]) -> NDArray[np.float32]:
    """By how much each pixel may differ and still be background: by its own noise, and by that of most pixels."""
    common = max(float(np.quantile(typical, 0.9)) if typical.size else 0.0, SMALLEST_NOISE)
    noisy = ndimage.maximum_filter(np.minimum(typical, 4 * common), 3)  # an edge that flickers does so on both sides
    return np.asarray(NOISE_FACTOR * np.maximum(noisy, common), np.float32)


def fixed_background(frames: Images, still: FloatImages | None = None) -> BackgroundModel:
    """The background of a fixed camera: the median, repaired where an object rested for most of the clip.

    If ``still`` is given, only its noise is measured.
    """
    median = temporal_median(frames)
    typical = usual_difference(frames, median)  # where an object rested, this is the noise
    still = repaired(frames, median, noise_threshold(typical)) if still is None else still
    return BackgroundModel(still, noise_threshold(np.minimum(typical, usual_difference(frames, still))))


def repaired(frames: Images, median: FloatImages, threshold: NDArray[np.float32]) -> FloatImages:
    """The median, and where an object rested for most of the clip, the colour seen when it was away.

    Which of a pixel's two colours is the background's follows from time and space: a colour seen at both ends of the
    clip but not in between is the background, and the background resembles the surely empty pixels around.
    """
    unsure = ndimage.binary_opening(share_beyond(frames, median, threshold) > UNSURE_SHARE)
    if not unsure.any() or unsure.mean() > 0.5:
        return median
    filled = filled_in(median[0], ndimage.binary_dilation(unsure, iterations=3))
    pixels, usual, around = frames[:, unsure], median[:, unsure], filled[None, unsure]
    other = by_rows(_mean_of_nearest, pixels, around)[None]
    end = -(-len(frames) // 20)
    shows_other = (difference(part, other) < difference(part, usual) for part in (pixels[:end], pixels[-end:]))
    ends = sum(shown.mean(axis=0).round() for shown in shows_other)  # of the clip that show the other colour
    nearness = np.array([0.0, CLEARLY, 1.0])[np.asarray(ends, int)]
    off = difference(usual, around)[0]
    wrong = _placed((off > threshold[unsure]) & (difference(other, around)[0] < nearness * off), unsure)
    wrong = ndimage.binary_opening(wrong)
    never_uncovered = ndimage.binary_closing(wrong, iterations=3) & unsure
    uncovered = ndimage.binary_dilation(wrong, iterations=2, mask=_placed(np.asarray(ends) > 0, unsure))
    image = np.where(never_uncovered[..., None], filled, median[0])
    image[uncovered] = other[0, uncovered[unsure]]
    return image[None]


def _placed(values: NDArray[np.bool_], pixels: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A mask of the image from values at some of its pixels."""
    mask = np.zeros_like(pixels)
    mask[pixels] = values
    return mask


def _mean_of_nearest(pixels: Any, wanted: FloatImages) -> FloatImages:
    """Each pixel's mean over the tenth of the frames in which it is nearest to the wanted colour."""
    count = max(2, len(pixels) // 10)
    order = np.argpartition(difference(pixels, wanted), count - 1, axis=0)[:count]
    return np.asarray(to_float(np.take_along_axis(pixels, order[..., None], axis=0)).mean(axis=0), np.float32)


def filled_in(image: NDArray[np.float32], hole: NDArray[np.bool_], rounds: int = 400) -> NDArray[np.float32]:
    """The image (height, width, colours) with its hole filled smoothly from the rim."""
    import cv2  # noqa: PLC0415  (detection imports this module, and runs without OpenCV)

    nearest = ndimage.distance_transform_edt(hole, return_distances=False, return_indices=True)
    filled, mask = image[tuple(nearest)], hole.astype(np.uint8)
    for _ in range(rounds):
        filled = cv2.copyTo(cv2.blur(filled, (3, 3), borderType=cv2.BORDER_REPLICATE), mask, filled)
    return np.asarray(filled, np.float32).reshape(image.shape)
