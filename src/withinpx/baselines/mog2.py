"""What a person would try first: OpenCV's mixture of Gaussians for the background, contours for what is not it."""

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.baselines.detections import NOTHING, Found, Pixels
from withinpx.errors import InputError

FOREGROUND = 255  # shadows are 127
BACKGROUND_SHARE = 0.5  # a pixel shows it in half of the images at least; OpenCV's 0.9 takes frequent objects for it
OPENING = 3  # px: specks smaller than this are noise


class Mog2:
    """A background that was learned once, from all images; each is then compared with it on its own."""

    def __init__(self, images: Iterable[Pixels]) -> None:
        try:
            self._cv2: Any = importlib.import_module("cv2")
        except ImportError:
            raise InputError("MOG2 needs OpenCV: pip install 'withinpx[baselines]'.") from None
        self._subtractor = self._cv2.createBackgroundSubtractorMOG2(detectShadows=True)
        self._subtractor.setBackgroundRatio(BACKGROUND_SHARE)
        for image in images:
            self._subtractor.apply(image)

    def __call__(self, image: Pixels) -> Found:
        """The boxes of all blobs, the largest first; the score is a blob's share of the image."""
        cv2 = self._cv2
        mask = self._subtractor.apply(image, learningRate=0) == FOREGROUND
        # Holes first: an object the background has half learned is a thin ring, which an opening would wipe out.
        kernel = np.ones((OPENING, OPENING), np.uint8)
        opened = cv2.morphologyEx(self._filled(mask.astype(np.uint8)), cv2.MORPH_OPEN, kernel)
        _, _, statistics, _ = cv2.connectedComponentsWithStats(opened)
        blobs = np.asarray(statistics[1:], np.float64)  # left, top, width, height, area; the first is what is no blob
        if not len(blobs):
            return NOTHING
        blobs = blobs[np.argsort(-blobs[:, 4], kind="stable")]
        return Found(blobs[:, :4], blobs[:, 4] / mask.size)

    def _filled(self, mask: NDArray[np.uint8]) -> NDArray[np.uint8]:
        cv2 = self._cv2
        contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        return np.asarray(cv2.drawContours(np.zeros_like(mask), contours, -1, 1, cv2.FILLED), np.uint8)
