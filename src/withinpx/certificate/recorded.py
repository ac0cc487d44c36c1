"""Where an object's body is in the recording's own pictures, when the network works on smaller ones.

A car drawn 25 px long from a picture of 110 px has lost its windscreen against the road. The shift between z and the
centre is a property of the recording, so it is measured there: once per frame looked at, and smoothed by the fit.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from withinpx.discovery.background import ByteImages, Pictures, to_float
from withinpx.inference.masks import middle_and_box, soft_mask, strength_of_body
from withinpx.inference.observation import Observations

AROUND = 0.25  # of what is drawn, and
AROUND_PX = 2.0  # of the network's pictures: how much farther the body may reach
GAP = 0.04  # of its size: parts of a body are no farther apart than this


@dataclass(frozen=True)
class Recorded:
    """The frames looked at as they were recorded."""

    frames: ByteImages  # (f, h, w, c)
    behind: Pictures  # one for all, or one for each
    zoom: float  # px of these per px of the network's pictures

    def bodies(self, seen: Observations) -> NDArray[np.float64]:
        """The middle of each body (f, n, 2), px of the network's pictures; not a number where it is not to be seen."""
        middles = np.full(seen.centre.shape, np.nan)
        for frame, each in zip(*np.nonzero(seen.present & ~seen.cut & ~_overlapping(seen)), strict=True):
            middle = seen.centre[frame, each] + seen.offset[frame, each]
            reach = (0.5 + AROUND) * seen.box[frame, each] + AROUND_PX
            left, top = np.floor((middle - reach) * self.zoom).clip(0).astype(int)
            right, bottom = np.ceil((middle + reach) * self.zoom).astype(int)
            shown, behind = (
                _planes(pictures[frame if len(pictures) > 1 else 0, top:bottom, left:right])
                for pictures in (self.frames, self.behind)
            )
            mask = _largest(soft_mask(strength_of_body(shown, behind)), GAP * float(seen.size[frame, each]) * self.zoom)
            middles[frame, each] = ((middle_and_box(mask)[0] + torch.tensor([left, top])) / self.zoom).numpy()
        return middles


def _planes(picture: ByteImages | Pictures) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(to_float(picture), -1, 0)))


def _overlapping(seen: Observations) -> NDArray[np.bool_]:
    """Is another object's box so near that the two cannot be told apart by their place alone? (f, n)"""
    apart = np.abs(seen.centre[:, :, None] - seen.centre[:, None])  # (f, n, n, 2)
    reach = (0.5 + AROUND) * (seen.box[:, :, None] + seen.box[:, None]) + 2 * AROUND_PX
    near = (apart < reach).all(axis=-1) & seen.present[:, None]
    return np.asarray((near & ~np.eye(near.shape[1], dtype=bool)).any(axis=-1))


def _largest(mask: Tensor, gap: float) -> Tensor:
    """The largest part of a mask alone, with what lies near it."""
    width = max(1, round(gap))
    together = ndimage.binary_closing(np.pad(mask.numpy() > 0, width), iterations=width)
    labels, _ = ndimage.label(together[width:-width, width:-width], structure=np.ones((3, 3)))
    masses = np.bincount(labels.ravel(), weights=mask.numpy().ravel())
    return mask * torch.from_numpy(labels == 1 + masses[1:].argmax()) if len(masses) > 1 else mask
