"""Which pixels of the recording are an object's: where its drawing is at least half as strong as at its peak."""

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from withinpx.inference.observation import reconstruct
from withinpx.tracking.detector import Detector
from withinpx.tracking.exports import MaskOf
from withinpx.tracking.tracks import Tracks, in_picture


def masks_of(detector: Detector, tracks: Tracks) -> MaskOf:
    """(row of the tracks, object) -> mask of the recording's size; none where the object is not present."""

    def mask_of(row: int, each: int) -> NDArray[np.bool_] | None:
        if not tracks.present[row, each]:
            return None
        raw = in_picture(tracks.z[row, each], detector.selection)
        return in_recording(mask_at(detector, raw, detector.certificate.objects[each].object), detector)

    return mask_of


@torch.no_grad()
def mask_at(detector: Detector, raw: NDArray[np.float64], heatmap: int) -> NDArray[np.bool_]:
    """Which pixels of the network's picture a heatmap draws for z."""
    config = detector.model.config
    positions = torch.tensor(raw, dtype=torch.float32).expand(1, config.objects, 2)
    present = torch.zeros(1, config.objects, dtype=torch.bool)
    still = torch.from_numpy(detector.background.images[:1]).permute(0, 3, 1, 2)
    device = next(detector.model.parameters()).device
    without = reconstruct(detector.model, positions.to(device), present.to(device), still.to(device))
    present[0, heatmap] = True
    drawn = reconstruct(detector.model, positions.to(device), present.to(device), still.to(device))
    strength = (drawn - without).abs().amax(dim=1)[0]
    return np.asarray((strength >= 0.5 * strength.amax()).cpu().numpy())


def in_recording(mask: NDArray[np.bool_], detector: Detector) -> NDArray[np.bool_]:
    """A mask of the network's picture, laid where it belongs in the recording's."""
    width, height = detector.recording
    left, top, part_width, part_height = detector.selection.crop or (0, 0, width, height)
    part = Image.fromarray(mask).resize((part_width, part_height), Image.Resampling.NEAREST)
    whole = np.zeros((height, width), dtype=bool)
    whole[top : top + part_height, left : left + part_width] = np.asarray(part)
    return whole
