"""The classical baseline: OpenCV's Gaussian mixture background model (MOG2) and connected components."""

from collections.abc import Iterable

import cv2
import numpy as np

from withinpx.baselines.detections import NO_DETECTIONS, Detections, Pixels

FOREGROUND = 255  # shadows are 127
BACKGROUND_RATIO = 0.5  # a pixel shows the background in half of the images; OpenCV's 0.9 absorbs frequent objects
OPENING = 3  # px: smaller specks are noise


class Mog2:
    """A background model learned once from all images; each image is then compared with it."""

    def __init__(self, images: Iterable[Pixels]) -> None:
        self._subtractor = cv2.createBackgroundSubtractorMOG2(detectShadows=True)
        self._subtractor.setBackgroundRatio(BACKGROUND_RATIO)
        for image in images:
            self._subtractor.apply(image)

    def __call__(self, image: Pixels) -> Detections:
        """The boxes of all blobs, the largest first; the score is a blob's area as a fraction of the image."""
        mask = (self._subtractor.apply(image, learningRate=0) == FOREGROUND).astype(np.uint8)
        # Fill holes first: an object that is partly absorbed by the background is a thin ring, which an opening erases.
        contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        filled = cv2.drawContours(np.zeros_like(mask), contours, -1, 1, cv2.FILLED)
        opened = cv2.morphologyEx(filled, cv2.MORPH_OPEN, np.ones((OPENING, OPENING), np.uint8))
        _, _, statistics, _ = cv2.connectedComponentsWithStats(opened)
        blobs = np.asarray(statistics[1:], np.float64)  # left, top, width, height, area; the first row is background
        if not len(blobs):
            return NO_DETECTIONS
        blobs = blobs[np.argsort(-blobs[:, 4], kind="stable")]
        return Detections(blobs[:, :4], blobs[:, 4] / mask.size)
