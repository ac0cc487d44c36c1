"""Which of two attempts is the better one, without labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from withinpx.certificate.certificate import refusal_reasons
from withinpx.data.selection import Selection
from withinpx.discovery.background import difference
from withinpx.discovery.inspection import Inspection
from withinpx.discovery.objects import MovingObject
from withinpx.tracking.attempt import Attempt
from withinpx.tracking.tracks import Tracks

SIDE = 256  # samples along the longer side of a frame, of which change is measured
DIGITS = 2  # shares of the change that are equal to so many digits are equal


@dataclass(frozen=True, eq=False)
class Change:
    """How much each frame differs from the background, at a grid of its pixels."""

    contrast: NDArray[np.float32]  # (frames, rows, columns); 0 where the difference is noise
    step: int  # px between two samples
    selection: Selection  # of the frames

    @classmethod
    def of(cls, inspection: Inspection) -> "Change":
        clip, background = inspection.clip, inspection.background
        step = math.ceil(max(clip.height, clip.width) / SIDE)
        contrast = difference(clip.frames[:, ::step, ::step], background.images[:, ::step, ::step])
        return cls(np.where(contrast > background.threshold[::step, ::step], contrast, 0), step, clip.selection)

    def within(self, corners: NDArray[np.float64], chosen: NDArray[np.bool_]) -> float:
        """The share of all change in the chosen boxes (frames, objects), whose corners are (frames, objects, 2, 2).

        Corners are (x, y), px of the recording.
        """
        first = np.ceil((self.selection.from_recording(corners) - 0.5) / self.step)  # samples are centres of pixels
        samples = first.clip(0).astype(int)
        inside = 0.0
        for frame, contrast in enumerate(self.contrast):
            counted = np.zeros(contrast.shape, np.bool_)
            for (left, top), (right, bottom) in samples[frame, chosen[frame]]:
                counted[top:bottom, left:right] = True
            inside += float(contrast[counted].sum())
        return inside / max(float(self.contrast.sum()), 1e-12)

    def of_certified(self, tracks: Tracks) -> float:
        """The share of all change within the boxes of certified positions."""
        corners = tracks.positions[:, :, None] + np.array([[-0.5], [0.5]]) * tracks.sizes[:, :, None]
        return self.within(np.nan_to_num(corners), tracks.certified)

    def of_detections(self, objects: Sequence[MovingObject]) -> float:
        """The share of all change within the boxes of what inspection followed."""
        corners = np.zeros((len(self.contrast), len(objects), 2, 2))
        for index, obj in enumerate(objects):
            corners[obj.frames, index] = obj.boxes.reshape(-1, 2, 2)
        found: NDArray[np.bool_] = np.all(corners[..., 1, :] > corners[..., 0, :], axis=-1)
        return self.within(self.selection.to_recording(corners), found)


def explained_change(attempt: Attempt, change: Change) -> float:
    """The share of all change in the frames that lies within the boxes of certified positions."""
    seen, detector = attempt.seen, attempt.detector
    middle = (seen.centre + np.where(seen.present[..., None], seen.offset, 0))[:, :, None]
    corners = middle + np.array([[-0.5], [0.5]]) * seen.box[:, :, None]
    return change.within(detector.selection.to_recording(corners), refusal_reasons(seen, detector.certificate) == "")


def merit(attempt: Attempt, change: Change) -> tuple[float, ...]:
    """The better of two attempts has more: change explained by certified objects, fewer refused, smaller residuals.

    Certified objects are not counted: a hypothesis that cuts one object into two would win by that. Change is that of
    the recording, the same for all hypotheses, and can be explained only once.
    """
    certificate, seen = attempt.detector.certificate, attempt.seen
    refused = sum(not obj.certified for obj in certificate.objects)
    residual = float(np.nanmedian(seen.residual)) if seen.present.any() else math.inf
    return round(explained_change(attempt, change), DIGITS), -float(refused), -residual
