"""Baselines: blobs that differ from the background, by three well-known methods.

Each returns, for every frame, the centres of all its blobs (the origin is the corner of the first pixel). None of them
identifies objects: the comparison takes the blob nearest to the truth, which no user can do.
"""

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import cv2
import numpy as np
from numpy.typing import NDArray

Frames = NDArray[np.uint8]  # (frames, height, width, colours)
Points = NDArray[np.float64]  # (n, 2) unless stated otherwise, x and y
Baseline = Callable[[Frames, float], list[Points]]  # of the frames and the object's size, px

FIXED_THRESHOLD = 25  # of 255
PIXEL_CENTRE = 0.5  # the origin of OpenCV and trackpy is the centre of the first pixel


def baselines() -> dict[str, Baseline]:
    """All baselines by name; trackpy only if it is installed."""
    found: dict[str, Baseline] = {
        f"median {FIXED_THRESHOLD}/255": partial(median_blobs, threshold=FIXED_THRESHOLD),
        "median Otsu": partial(median_blobs, threshold=None),
        "MOG2": mog2_blobs,
    }
    return found | ({"trackpy": trackpy_blobs} if find_spec("trackpy") else {})


def median_blobs(frames: Frames, _size: float, threshold: int | None) -> list[Points]:
    """Blobs that differ from the median frame by more than the threshold; Otsu's of the clip if None."""
    differences = difference_from_median(frames)
    if threshold is None:
        pixels = differences.reshape(len(differences), -1)
        threshold = int(cv2.threshold(pixels, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)[0])
    return [centroids(difference > threshold) for difference in differences]


def mog2_blobs(frames: Frames, _size: float) -> list[Points]:
    """Blobs of OpenCV's mixture of Gaussians without shadows; a first pass learns the background."""
    subtractor = cv2.createBackgroundSubtractorMOG2(detectShadows=True)
    for frame in frames:
        subtractor.apply(frame)
    return [centroids(subtractor.apply(frame) == 255) for frame in frames]


def trackpy_blobs(frames: Frames, size: float) -> list[Points]:
    """trackpy's features of about the object's size in the difference from the median frame."""
    import trackpy  # type: ignore[import-untyped]  # noqa: PLC0415  (optional)

    diameter = max(3, int(size) // 2 * 2 + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # frames without a feature; deprecations of pandas
        found = [trackpy.locate(difference, diameter) for difference in difference_from_median(frames)]
    return [table[["x", "y"]].to_numpy(np.float64) + PIXEL_CENTRE for table in found]


def nearest(blobs: Points, position: Points) -> Points:
    """The blob (2,) nearest to a position (2,); NaN if there is none."""
    if len(blobs) == 0:
        return np.full(2, np.nan)
    return np.asarray(blobs[np.linalg.norm(blobs - position, axis=-1).argmin()], np.float64)


def difference_from_median(frames: Frames) -> NDArray[np.uint8]:
    """(frames, height, width): the largest difference from the median frame over the colours."""
    background = np.median(frames, axis=0).astype(np.uint8)
    return np.stack([cv2.absdiff(frame, background).reshape(frame.shape).max(axis=-1) for frame in frames])


def centroids(foreground: NDArray[np.bool_]) -> Points:
    """The centre of each blob that survives a 3 x 3 opening, holes filled.

    Holes first: of a slow object that the background model has half absorbed, only a thin ring is left, which an
    opening would remove.
    """
    mask = np.where(foreground, 255, 0).astype(np.uint8)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    filled = cv2.drawContours(np.zeros_like(mask), contours, -1, 255, cv2.FILLED)
    opened = cv2.morphologyEx(filled, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    count, _, _, centres = cv2.connectedComponentsWithStats(opened)
    return np.asarray(centres[1:count] + PIXEL_CENTRE, np.float64)  # component 0 is the background
