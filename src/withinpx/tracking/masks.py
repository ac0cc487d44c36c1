"""Which pixels of the recording are an object's: where its rendering has at least half of its peak strength."""

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from withinpx.inference.rendering import object_difference
from withinpx.tracking.detector import Detector
from withinpx.tracking.tracks import Tracks

Mask = NDArray[np.bool_]  # (height, width)


def object_mask(detector: Detector, tracks: Tracks, row: int, index: int) -> Mask:
    """The mask of one object in one tracked frame, of the recording's size."""
    model = detector.model
    device, heatmap = next(model.parameters()).device, detector.certificate.objects[tracks.certificate_of[index]].object
    position = detector.selection.from_recording(tracks.z[row, index])
    z = torch.tensor(position, dtype=torch.float32, device=device).expand(1, model.config.objects, 2)
    background = torch.from_numpy(detector.background.images[:1]).permute(0, 3, 1, 2).to(device)
    codes = torch.tensor(tracks.codes[row, index], dtype=torch.float32, device=device)
    difference = object_difference(
        model,
        z,
        torch.tensor([heatmap], device=device),
        backgrounds=background,
        codes=codes.expand(1, model.config.objects, -1),
    )
    strength = difference.abs().amax(dim=1)[0]
    return _in_recording((strength >= 0.5 * strength.amax()).cpu().numpy(), detector)


def _in_recording(mask: Mask, detector: Detector) -> Mask:
    width, height = detector.recording
    left, top, crop_width, crop_height = detector.selection.crop or (0, 0, width, height)
    cropped = Image.fromarray(mask).resize((crop_width, crop_height), Image.Resampling.NEAREST)
    complete = np.zeros((height, width), dtype=np.bool_)
    complete[top : top + crop_height, left : left + crop_width] = np.asarray(cropped)
    return complete
