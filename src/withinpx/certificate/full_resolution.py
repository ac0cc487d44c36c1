"""Object centres in full-resolution frames, for networks that work on smaller ones.

The shift from z to the centre is a property of the recording, so it is measured where the recording is sharpest: once
per inspected frame.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from withinpx.discovery.background import ByteImages, FloatImages
from withinpx.inference.masks import box_centre_and_size, object_strength, planes, soft_mask
from withinpx.inference.observation import Observations
from withinpx.inference.overlap import MARGIN, MARGIN_PX, overlapping

GAP = 0.04  # of its size: parts of an object are no further apart than this


def object_centres(
    seen: Observations, frames: ByteImages, backgrounds: FloatImages, zoom: float
) -> NDArray[np.float64]:
    """The centre of each object without its shadow (f, n, 2), px of the network's input; NaN where it is not isolated.

    ``zoom`` is the number of px of ``frames`` (f, h, w, c) per px of the network's input.
    """
    centres = np.full(seen.centre.shape, np.nan)
    for frame, index in zip(*np.nonzero(seen.present & ~seen.at_border & ~overlapping(seen)), strict=True):
        middle = seen.centre[frame, index] + seen.offset[frame, index]
        reach = (0.5 + MARGIN) * seen.box[frame, index] + MARGIN_PX
        left, top = np.floor((middle - reach) * zoom).clip(0).astype(int)
        right, bottom = np.ceil((middle + reach) * zoom).astype(int)
        image, background = (
            planes(images[frame if len(images) > 1 else 0, top:bottom, left:right]) for images in (frames, backgrounds)
        )
        mask = soft_mask(object_strength(image, background))
        mask = _largest_part(mask, GAP * float(seen.size[frame, index]) * zoom)
        centres[frame, index] = ((box_centre_and_size(mask)[0] + torch.tensor([left, top])) / zoom).numpy()
    return centres


def _largest_part(mask: Tensor, gap: float) -> Tensor:
    """The strongest connected part of a mask, with what lies within the gap."""
    width = max(1, round(gap))
    closed = ndimage.binary_closing(np.pad(mask.numpy() > 0, width), iterations=width)
    labels, _ = ndimage.label(closed[width:-width, width:-width], structure=np.ones((3, 3)))
    masses = np.bincount(labels.ravel(), weights=mask.numpy().ravel())
    return mask * torch.from_numpy(labels == 1 + masses[1:].argmax()) if len(masses) > 1 else mask
