"""What a person would pick instead: blobs that differ from the background, by three well-known ways.

Each gives, for every frame, the places of all its blobs in corner coordinates. None says which blob is which object:
whoever compares picks the blob nearest to the truth, which no user can do.
"""

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import cv2
import numpy as np
from numpy.typing import NDArray

Frames = NDArray[np.uint8]  # (frames, height, width, colours)
Points = NDArray[np.float64]  # (n, 2) unless said otherwise, x and y
Mask = NDArray[np.uint8]  # (height, width), 0 or 255
Baseline = Callable[[Frames, float], list[Points]]  # of the frames and the object's size, px

FIXED_THRESHOLD = 25  # of 255
PIXEL_CENTRE = 0.5  # OpenCV and trackpy put (0, 0) at the centre of the first pixel


def baselines() -> dict[str, Baseline]:
    """All of them, by name; trackpy only where it is installed."""
    found: dict[str, Baseline] = {
        f"median {FIXED_THRESHOLD}/255": partial(median_blobs, threshold=FIXED_THRESHOLD),
        "median Otsu": partial(median_blobs, threshold=None),
        "MOG2": mog2_blobs,
    }
    return found | ({"trackpy": trackpy_blobs} if find_spec("trackpy") else {})


def median_blobs(frames: Frames, _size: float, threshold: int | None) -> list[Points]:
    """Blobs of what differs from the median frame by more than the threshold; without one, by Otsu's of the clip."""
    differences = from_median(frames)
    if threshold is None:
        pixels = differences.reshape(len(differences), -1)
        threshold = int(cv2.threshold(pixels, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)[0])
    return [centroids(np.where(difference > threshold, 255, 0).astype(np.uint8)) for difference in differences]


def mog2_blobs(frames: Frames, _size: float) -> list[Points]:
    """Blobs of OpenCV's mixture of Gaussians, shadows left out; the first pass only learns the background."""
    subtractor = cv2.createBackgroundSubtractorMOG2(detectShadows=True)
    for frame in frames:
        subtractor.apply(frame)
    return [centroids(np.where(subtractor.apply(frame) == 255, 255, 0).astype(np.uint8)) for frame in frames]


def trackpy_blobs(frames: Frames, size: float) -> list[Points]:
    """trackpy's features of about the object's size in the difference from the median frame."""
    import trackpy  # type: ignore[import-untyped]  # noqa: PLC0415  (optional)

    diameter = max(3, int(size) // 2 * 2 + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a frame without a feature is no news, nor is what pandas deprecates
        found = [trackpy.locate(difference, diameter) for difference in from_median(frames)]
    return [table[["x", "y"]].to_numpy(np.float64) + PIXEL_CENTRE for table in found]


def nearest(blobs: Points, place: Points) -> Points:
    """The blob (2,) nearest to a place (2,); nan when there is none."""
    if len(blobs) == 0:
        return np.full(2, np.nan)
    return np.asarray(blobs[np.linalg.norm(blobs - place, axis=-1).argmin()], np.float64)


def from_median(frames: Frames) -> NDArray[np.uint8]:
    """How far each pixel is from the clip's median, in the colour that is farthest: (frames, height, width)."""
    background = np.median(frames, axis=0).astype(np.uint8)
    return np.stack([cv2.absdiff(frame, background).reshape(frame.shape).max(axis=-1) for frame in frames])


def centroids(mask: Mask) -> Points:
    """The centre of each blob, holes filled, that survives a 3 x 3 opening.

    Holes first: a slow object the background has half learned is a thin ring, which an opening would wipe out.
    """
    opened = cv2.morphologyEx(_filled(mask), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    count, _, _, centres = cv2.connectedComponentsWithStats(opened)
    return np.asarray(centres[1:count] + PIXEL_CENTRE, np.float64)  # number 0 is what is no blob


def _filled(mask: Mask) -> Mask:
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return np.asarray(cv2.drawContours(np.zeros_like(mask), contours, -1, 255, cv2.FILLED), np.uint8)
