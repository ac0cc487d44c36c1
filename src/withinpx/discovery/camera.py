"""How the camera moves: the shift of the whole picture from frame to frame, by phase correlation."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from withinpx.discovery.background import LEVEL, BackgroundModel, Pictures, difference, noise_threshold

MOVING_PX = 0.75  # a camera that moves the picture by less than this is called still
NEAREST = 6  # frames: a nearer one shows the movers at nearly the same place
FURTHER = 1.5  # each of the others is this many times as far away as the one before
NEARBY = 9  # frames that a backdrop is put together from
STANDS_OUT = 4.0  # times what nineteen in twenty pixels of the backdrops stay below
DETAIL_PX = 3.0  # details larger than this say little about where the picture is


def camera_path(images: Pictures) -> NDArray[np.float64]:
    """Where the scene lies in each frame relative to the first: (frames, 2), (x, y), px."""
    details = [_details(image) for image in images]
    steps = [_shift_between(one, other) for one, other in pairwise(details)]
    return np.vstack([np.zeros((1, 2)), np.cumsum(steps, axis=0)]) if steps else np.zeros((1, 2))


def is_moving(path: NDArray[np.float64]) -> bool:
    """Does the picture as a whole go anywhere?"""
    return bool(np.ptp(path, axis=0).max() > MOVING_PX)


def nearby_background(images: Pictures, path: NDArray[np.float64]) -> BackgroundModel:
    """For each frame, the median of frames nearby in time, moved to where the camera was looking."""
    pictures = without_resting(np.stack([_from_nearby(images, path, frame) for frame in range(len(images))]))
    typical = np.median(difference(images, pictures), axis=0)
    return BackgroundModel(pictures, noise_threshold(np.full_like(typical, np.quantile(typical, 0.5))))


def without_resting(pictures: Pictures) -> Pictures:
    """Without what rested on the scene for so long that frames nearby show it too.

    What the camera usually sees at a place of its picture varies as the scene varies; what stands out of that by far
    is no scene.
    """
    usual = np.median(pictures, axis=0)
    off = difference(pictures, usual)
    stands_out = off > STANDS_OUT * max(float(np.quantile(off, 0.95)), 2 * LEVEL)
    rests = ndimage.binary_dilation(stands_out, np.ones((1, 3, 3)), iterations=2)
    return np.where(rests[..., None], usual, pictures)


def _from_nearby(images: Pictures, path: NDArray[np.float64], frame: int) -> NDArray[np.float32]:
    moved, known = [], []
    for other in _neighbours(frame, len(images)):
        dx, dy = path[frame] - path[other]
        moved.append(ndimage.shift(images[other], (dy, dx, 0), order=1, mode="nearest"))
        known.append(ndimage.shift(np.ones(images.shape[1:3], np.float32), (dy, dx), order=1, mode="constant") > 0.5)
    pixels = np.ma.masked_array(np.stack(moved), ~np.repeat(np.stack(known)[..., None], images.shape[-1], axis=-1))
    middle = np.ma.median(pixels, axis=0).filled(0)  # type: ignore[no-untyped-call]
    return np.asarray(np.where(np.ma.getmaskarray(pixels).all(axis=0), images[frame], middle), np.float32)


def _neighbours(frame: int, count: int) -> list[int]:
    """The frames that show what is behind the movers of this one: near in time, but not too near."""
    steps = [round(NEAREST * FURTHER**power) for power in range(NEARBY)]
    away = [sign * step for step in steps for sign in (-1, 1)]
    return [frame + step for step in away if 0 <= frame + step < count][:NEARBY] or [(frame + 1) % count]


def _details(image: NDArray[np.float32]) -> NDArray[np.complex128]:
    """The spectrum of the picture's fine structure, faint and strong alike."""
    grey = image.mean(axis=-1)
    fine = grey - ndimage.gaussian_filter(grey, DETAIL_PX)
    strength = np.sqrt(ndimage.gaussian_filter(fine**2, 4 * DETAIL_PX)) + 2 / 255
    window = np.outer(np.hanning(grey.shape[0]), np.hanning(grey.shape[1]))
    return np.asarray(np.fft.rfft2(window * fine / strength))


def _shift_between(one: NDArray[np.complex128], other: NDArray[np.complex128]) -> NDArray[np.float64]:
    """By how much the second picture's scene lies further right and down, px."""
    cross = other * one.conj()
    shape = (one.shape[0], 2 * (one.shape[1] - 1))
    peaks = np.fft.irfft2(cross / (np.abs(cross) + 1e-9), s=shape)
    peaks = ndimage.gaussian_filter(peaks, 0.7, mode="wrap")
    row, column = np.unravel_index(int(peaks.argmax()), shape)
    dy = _between(peaks[(row + np.arange(-1, 2)) % shape[0], column])
    dx = _between(peaks[row, (column + np.arange(-1, 2)) % shape[1]])
    return np.array([_signed(column + dx, shape[1]), _signed(row + dy, shape[0])])


def _between(three: NDArray[np.float64]) -> float:
    """Where the top of the parabola through three neighbours lies, from the middle one."""
    bend = three[0] - 2 * three[1] + three[2]
    return 0.0 if bend >= 0 else float(0.5 * (three[0] - three[2]) / bend)


def _signed(value: float, period: int) -> float:
    return float(value - period if value > period / 2 else value)
