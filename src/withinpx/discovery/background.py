"""What lies behind the movers: one still for a fixed camera, or a picture per frame put together from frames nearby."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Pictures = NDArray[np.float32]  # (pictures, height, width, colours), from 0 to 1
ByteImages = NDArray[np.uint8]  # the same, from 0 to 255

LEVEL = 1 / 255  # of an eight-bit picture
SMALLEST_NOISE = 1.5 * LEVEL  # rounding and compression alone
NOISE_FACTOR = 5.0  # a pixel this many times its usual difference from the backdrop is something else
QUIET = 2.12  # what half of a normal noise stays below, in terms of what a quarter does
UNSURE_SHARE = 0.1  # of the frames: a pixel that differs from its median this often may be covered most of the time
CLEARLY = 0.5  # a colour seen at one end of the clip is the backdrop's if it is this much nearer to what lies around
WORD = 8  # pixels that are looked at together
NEIGHBOURS = 4  # of the nine pixels around a changed one, itself included, that must have changed as well


@dataclass(frozen=True)
class BackgroundModel:
    """The picture without its movers, and by how much a pixel may differ from it and still be it."""

    images: Pictures  # one for all frames, or one per frame
    threshold: NDArray[np.float32]  # (height, width), from 0 to 1

    @property
    def is_still(self) -> bool:
        """Is it one picture for all frames?"""
        return len(self.images) == 1

    def of(self, chosen: NDArray[np.intp]) -> Pictures:
        """The backdrops of these frames; one picture if it is the same for all."""
        return self.images if self.is_still else self.images[chosen]

    def changed(self, images: Pictures | ByteImages, backdrops: Pictures | None = None) -> NDArray[np.bool_]:
        """Which pixels of each picture show something else than the backdrop: (pictures, height, width).

        A lone pixel is noise: it counts if enough of its neighbours changed too. So this looks one pixel far, which
        adds two to the receptive field of an encoder that is shown changed pixels only.
        """
        if images.dtype == np.uint8 and self.is_still:
            lowest, span = self._levels
            beyond = _any_colour(images - lowest > span)  # below the lowest it wraps around, and is far beyond
        else:
            beyond = difference(to_float(images), self.images if backdrops is None else backdrops) > self.threshold
        return with_neighbours(beyond)

    @cached_property
    def _levels(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """For each pixel and colour the lowest level of 255 that is the backdrop, and how many more are."""
        still, limit = self.images[0], self.threshold[..., None]

        def is_backdrop(level: NDArray[np.float32]) -> NDArray[np.bool_]:
            return np.asarray((np.abs(level / np.float32(255) - still) <= limit) & (level >= 0) & (level <= 255))

        lowest, highest = (np.round((still + sign * limit) * 255).clip(0, 255) for sign in (-1, 1))
        # rounding may be one off either way
        lowest = np.where(is_backdrop(lowest - 1), lowest - 1, lowest + ~is_backdrop(lowest))
        highest = np.where(is_backdrop(highest + 1), highest + 1, highest - ~is_backdrop(highest))
        return lowest.astype(np.uint8), (highest - lowest).astype(np.uint8)


def _any_colour(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """``any`` along the last axis, which numpy is slow at when it is this short."""
    together = flags[..., 0]
    for colour in range(1, flags.shape[-1]):
        together = together | flags[..., colour]
    return np.asarray(together)


def with_neighbours(beyond: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those that have enough others among the nine pixels around, themselves included."""
    count, height, width = beyond.shape
    line = -(-(width + 2) // WORD) * WORD
    padded = np.zeros((count, height + 2, line), np.uint8)
    padded[:, 1:-1, 1 : width + 1] = beyond
    flat = padded.ravel()
    words = np.flatnonzero(flat.view(np.uint64))  # most hold nothing
    places = (words[:, None] * WORD + np.arange(WORD)).ravel()
    places = places[flat[places] > 0]
    around = [row * line + column for row in (-1, 0, 1) for column in (-1, 0, 1)]
    counts = sum((flat[places + step] for step in around), np.zeros(len(places), np.uint8))
    flat[places[counts < NEIGHBOURS]] = 0
    return np.asarray(padded[:, 1:-1, 1 : width + 1].view(np.bool_))


def fixed_background(images: Pictures) -> BackgroundModel:
    """The backdrop of a fixed camera: the median, mended where something rested for most of the time."""
    median = np.median(images, axis=0).astype(np.float32)
    typical = usual_difference(images, median)
    still = mended(images, median, noise_threshold(typical))
    return BackgroundModel(still[None], noise_threshold(np.minimum(typical, usual_difference(images, still))))


def to_float(images: Pictures | ByteImages) -> Pictures:
    """From 0 to 1."""
    return np.asarray(images / np.float32(255) if images.dtype == np.uint8 else images, np.float32)


def to_uint8(images: Pictures) -> ByteImages:
    """As they were recorded."""
    return (images * np.float32(255)).round().astype(np.uint8)


def difference(images: Pictures, backdrops: Pictures) -> NDArray[np.float32]:
    """How far each pixel is from the backdrop, in the colour that differs most: (pictures, height, width)."""
    return np.asarray(np.abs(images - backdrops).max(axis=-1))


def usual_difference(images: Pictures, backdrop: NDArray[np.float32]) -> NDArray[np.float32]:
    """What each pixel differs from the backdrop by in half of the frames: noise, where movers pass and do not stay."""
    return np.asarray(np.median(difference(images, backdrop), axis=0))


def quiet_difference(images: Pictures, backdrop: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same from the quarter of the frames in which each pixel differs least: where movers pass all the time."""
    return np.asarray(QUIET * np.quantile(difference(images, backdrop), 0.25, axis=0), np.float32)


def noise_threshold(typical: NDArray[np.float32]) -> NDArray[np.float32]:
    """By how much each pixel may differ and still be the backdrop: its own noise, and never less than most pixels'."""
    common = max(float(np.quantile(typical, 0.9)) if typical.size else 0.0, SMALLEST_NOISE)
    restless = ndimage.maximum_filter(np.minimum(typical, 4 * common), 3)  # a flickering edge flickers on both sides
    return np.asarray(NOISE_FACTOR * np.maximum(restless, common), np.float32)


def mended(images: Pictures, median: NDArray[np.float32], threshold: NDArray[np.float32]) -> NDArray[np.float32]:
    """The median, but where something rested for most of the time: there what was seen once it had left.

    Which of a pixel's two colours is the backdrop's is told by time and by space: what both ends of the clip show is
    the backdrop, what came between is not; and the backdrop looks like the surely empty pixels around.
    """
    differs = difference(images, median) > threshold
    unsure = ndimage.binary_opening(differs.mean(axis=0) > UNSURE_SHARE, iterations=1)
    if not unsure.any() or unsure.mean() > 0.5:
        return median
    around = filled_in(median, ndimage.binary_dilation(unsure, iterations=3))
    other = _nearest_to(around, images)
    shows_other = difference(images, other) < difference(images, median)
    end = -(-len(images) // 20)
    ends = shows_other[:end].mean(axis=0).round() + shows_other[-end:].mean(axis=0).round()
    nearness = np.choose(ends.astype(int), [0.0, CLEARLY, 1.0])  # how much nearer: never, clearly, at all
    off = np.abs(median - around).max(axis=-1)
    mend = unsure & (off > threshold) & (np.abs(other - around).max(axis=-1) < nearness * off)
    mend = ndimage.binary_opening(mend, iterations=1)
    inside = ndimage.binary_closing(mend, iterations=3) & unsure  # never uncovered, but in the middle of what was
    still = np.where(inside[..., None], around, median)
    return np.where(ndimage.binary_dilation(mend, iterations=2, mask=unsure & (ends > 0))[..., None], other, still)


def _nearest_to(wanted: NDArray[np.float32], images: Pictures) -> NDArray[np.float32]:
    """Each pixel's mean over the tenth of the frames in which it is nearest to what is wanted."""
    count = max(2, len(images) // 10)
    order = np.argpartition(difference(images, wanted), count - 1, axis=0)[:count]
    return np.asarray(np.take_along_axis(images, order[..., None], axis=0).mean(axis=0), np.float32)


def filled_in(picture: NDArray[np.float32], hole: NDArray[np.bool_], rounds: int = 400) -> NDArray[np.float32]:
    """The picture with its holes filled smoothly from their rims."""
    nearest = ndimage.distance_transform_edt(hole, return_distances=False, return_indices=True)
    filled = picture[tuple(nearest)]
    for _ in range(rounds):
        filled = np.where(hole[..., None], ndimage.uniform_filter(filled, (3, 3, 0), mode="nearest"), filled)
    return np.asarray(filled, np.float32)
