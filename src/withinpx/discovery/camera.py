"""A moving camera: the shift of the image from frame to frame, and a background for each frame from nearby frames."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import fft, ndimage

from withinpx.discovery.background import (
    LEVEL,
    BackgroundModel,
    FloatImages,
    Images,
    difference,
    noise_threshold,
    temporal_median,
    to_float,
    usual_difference,
)

MOVING_PX = 0.75  # a camera that shifts the image by less than this is fixed
AGREES = 0.75  # of the difference of two frames remains when the camera's motion is undone
LOOKS = 9  # frames in which a moving camera must show itself
NEAREST = 6  # frames: nearer frames show the objects at nearly the same position
FURTHER = 1.5  # each of the others is this many times as far away as the one before
NEARBY = 9  # frames that a background is made from
STANDS_OUT = 4.0  # times the difference that 95 % of the background pixels stay below
DETAIL_PX = 3.0  # larger details say little about where the image is


def camera_path(frames: Images) -> NDArray[np.float64]:
    """Where the scene is in each frame relative to the first: (frames, 2), (x, y), px."""
    spectra = (_spectrum(to_float(image)) for image in frames)
    steps = [_shift_between(one, other) for one, other in pairwise(spectra)]
    return np.vstack([np.zeros((1, 2)), np.cumsum(steps, axis=0)]) if steps else np.zeros((1, 2))


def is_shown_to_move(frames: Images) -> bool:
    """Does the scene lie elsewhere in most of a few frames than in the first one, or than a few frames before?"""
    looks = np.unique(np.linspace(0, len(frames) - 1, LOOKS).round().astype(int))[1:]
    pairs = [[(int(look), 0), (int(look), max(0, int(look) - NEAREST // 2))] for look in looks]
    moved = [any(_is_shifted(to_float(frames[one]), to_float(frames[other])) for one, other in pair) for pair in pairs]
    return sum(moved) > len(moved) / 2


def _is_shifted(one: FloatImages, other: FloatImages) -> bool:
    """Does one image agree with the other when it is shifted, and only then?"""
    shift = _shift_between(_spectrum(other), _spectrum(one))
    if np.abs(shift).max() <= MOVING_PX:
        return False
    back, inside = _shifted(one, -shift)
    apart, unshifted = (float(np.abs(image - other)[inside].mean()) for image in (back, one))
    return inside.mean() > 0.5 and apart < AGREES * unshifted


def nearby_background(frames: Images, path: NDArray[np.float64]) -> BackgroundModel:
    """For each frame, the median of frames nearby in time, shifted to where the camera was looking."""
    images = without_resting(np.stack([_from_nearby(frames, path, frame) for frame in range(len(frames))]))
    typical = usual_difference(frames, images)
    return BackgroundModel(images, noise_threshold(np.full_like(typical, np.quantile(typical, 0.5))))


def without_resting(backgrounds: FloatImages) -> FloatImages:
    """Without objects that rested for so long that nearby frames show them too.

    A pixel of a moving camera varies as the scene varies; what stands out far from that is not the scene.
    """
    usual = temporal_median(backgrounds)
    off = difference(backgrounds, usual)
    stands_out = off > STANDS_OUT * max(float(np.quantile(off, 0.95)), 2 * LEVEL)
    resting = ndimage.binary_dilation(stands_out, np.ones((1, 3, 3)), iterations=2)
    return np.where(resting[..., None], usual, backgrounds)


def _from_nearby(frames: Images, path: NDArray[np.float64], frame: int) -> FloatImages:
    """The median of nearby frames where they show the same part of the scene; where none does, the frame itself."""
    moved = [_shifted(to_float(frames[other]), path[frame] - path[other]) for other in _neighbours(frame, len(frames))]
    known = np.stack([inside for _, inside in moved])[..., None]
    ordered = np.sort(np.where(known, np.stack([image for image, _ in moved]), np.inf), axis=0)
    count = known.sum(axis=0)
    lower, upper = (np.take_along_axis(ordered, at.clip(0)[None], axis=0)[0] for at in ((count - 1) // 2, count // 2))
    return np.where(count > 0, (lower + upper) / 2, to_float(frames[frame]))


def _neighbours(frame: int, count: int) -> list[int]:
    """The frames that show the background of this one: near in time, but not so near that objects have hardly moved."""
    steps = [round(NEAREST * FURTHER**power) for power in range(NEARBY)]
    away = [sign * step for step in steps for sign in (-1, 1)]
    return [frame + step for step in away if 0 <= frame + step < count][:NEARBY] or [(frame + 1) % count]


def _shifted(image: FloatImages, shift: NDArray[np.float64]) -> tuple[FloatImages, NDArray[np.bool_]]:
    """The image moved by (x, y), and which of its pixels come from inside the frame."""
    import cv2  # noqa: PLC0415  (detection imports this module, and runs without OpenCV)

    height, width, _ = image.shape
    moved = cv2.warpAffine(image, np.column_stack([np.eye(2), shift]), (width, height), borderMode=cv2.BORDER_REPLICATE)
    columns, rows = (np.arange(side) - by for side, by in zip((width, height), shift, strict=True))
    inside = ((rows >= 0) & (rows <= height - 1))[:, None] & ((columns >= 0) & (columns <= width - 1))
    return np.asarray(moved, np.float32).reshape(image.shape), inside


def _spectrum(image: FloatImages) -> NDArray[np.complex64]:
    """The spectrum of the image's fine structure, faint and strong alike."""
    import cv2  # noqa: PLC0415  (detection imports this module, and runs without OpenCV)

    grey = image.mean(axis=-1)
    fine = grey - cv2.GaussianBlur(grey, (0, 0), DETAIL_PX)
    strength = np.sqrt(cv2.GaussianBlur(fine**2, (0, 0), 4 * DETAIL_PX)) + 2 / 255
    window = np.outer(np.hanning(grey.shape[0]), np.hanning(grey.shape[1])).astype(np.float32)
    return np.asarray(fft.rfft2(window * fine / strength))


def _shift_between(one: NDArray[np.complex64], other: NDArray[np.complex64]) -> NDArray[np.float64]:
    """By how much the second image's scene lies further right and down, px, by phase correlation."""
    cross = other * one.conj()
    shape = (one.shape[0], 2 * (one.shape[1] - 1))
    peaks = fft.irfft2(cross / (np.abs(cross) + 1e-9), s=shape)
    peaks = ndimage.gaussian_filter(peaks, 0.7, mode="wrap")
    row, column = np.unravel_index(int(peaks.argmax()), shape)
    return np.array([_subpixel_peak(peaks[row], int(column)), _subpixel_peak(peaks[:, column], int(row))])


def _subpixel_peak(line: NDArray[np.float64], at: int) -> float:
    """Where the peak of a periodic line is, by a parabola through three values; negative in the second half."""
    before, middle, after = line[(at + np.arange(-1, 2)) % len(line)]
    bend = before - 2 * middle + after
    peak = at + (0.5 * (before - after) / bend if bend < 0 else 0.0)
    return float(peak - len(line) if peak > len(line) / 2 else peak)
