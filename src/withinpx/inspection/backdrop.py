"""What lies behind the movers: one still for a fixed camera, or a picture per frame put together from frames nearby."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Pictures = NDArray[np.float32]  # (pictures, height, width, colours), from 0 to 1

LEVEL = 1 / 255  # of an eight-bit picture
SMALLEST_NOISE = 1.5 * LEVEL  # rounding and compression alone
NOISE_FACTOR = 5.0  # a pixel this many times its usual difference from the backdrop is something else
UNSURE_SHARE = 0.1  # of the frames: a pixel that differs from its median this often may be covered most of the time
CLEARLY = 0.5  # a colour seen at one end of the clip is the backdrop's if it is this much nearer to what lies around
NEIGHBOURS = 4  # of the nine pixels around a changed one, itself included, that must have changed as well


@dataclass(frozen=True)
class Backdrop:
    """The picture without its movers, and by how much a pixel may differ from it and still be it."""

    pictures: Pictures  # one for all frames, or one per frame
    threshold: NDArray[np.float32]  # (height, width), from 0 to 1

    @property
    def is_still(self) -> bool:
        """Is it one picture for all frames?"""
        return len(self.pictures) == 1

    def of(self, chosen: NDArray[np.intp]) -> Pictures:
        """The backdrops of these frames; one picture if it is the same for all."""
        return self.pictures if self.is_still else self.pictures[chosen]

    def changed(self, images: Pictures, backdrops: Pictures | None = None) -> NDArray[np.bool_]:
        """Which pixels of each picture show something else than the backdrop: (pictures, height, width).

        A lone pixel is noise: it counts if enough of its neighbours changed too. So this looks one pixel far, which
        adds two to the receptive field of an encoder that is shown changed pixels only.
        """
        beyond = difference(images, self.pictures if backdrops is None else backdrops) > self.threshold
        counts = ndimage.uniform_filter(beyond.astype(np.float32), (0, 3, 3), mode="constant") * 9
        return np.asarray(beyond & (counts > NEIGHBOURS - 0.5))


def still_backdrop(images: Pictures) -> Backdrop:
    """The backdrop of a fixed camera: the median, mended where something rested for most of the time."""
    median = np.median(images, axis=0).astype(np.float32)
    typical = usual_difference(images, median)
    still = mended(images, median, noise_threshold(typical))
    return Backdrop(still[None], noise_threshold(np.minimum(typical, usual_difference(images, still))))


def difference(images: Pictures, backdrops: Pictures) -> NDArray[np.float32]:
    """How far each pixel is from the backdrop, in the colour that differs most: (pictures, height, width)."""
    return np.asarray(np.abs(images - backdrops).max(axis=-1))


def usual_difference(images: Pictures, backdrop: NDArray[np.float32]) -> NDArray[np.float32]:
    """What each pixel differs from the backdrop by in half of the frames: noise, where movers pass and do not stay."""
    return np.asarray(np.median(difference(images, backdrop), axis=0))


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
