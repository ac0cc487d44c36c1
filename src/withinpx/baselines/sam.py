"""Segment Anything (Kirillov et al. 2023) without user prompts: a grid of points, then the reliable masks among theirs.

The same for every model of the family; ``mobilesam.py`` and ``hub_sam.py`` load the models. Thresholds and the order of
the masks are those of SAM's automatic mask generator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from withinpx.baselines.detections import NO_DETECTIONS, Detections, Pixels
from withinpx.baselines.nms import nms
from withinpx.errors import InputError
from withinpx.training.device import choose_device

POINT_BYTES = 80_000_000  # approximate memory for the masks of one point


class PromptableModel(Protocol):
    device: torch.device

    def set_image(self, image: Pixels) -> None: ...

    def predict(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """For points (n, 2: x, y in px of the image): mask logits (n, 3, height, width) and their quality (n, 3)."""


@dataclass(frozen=True)
class MaskSettings:
    """Which masks count. The defaults are SAM's."""

    grid: int = 32  # points along each side
    quality: float = 0.88  # the model's own estimate of a mask's IoU must be above this
    stability: float = 0.95  # smallest IoU of the masks at the logit thresholds +offset and -offset
    offset: float = 1.0
    overlap: float = 0.7  # largest IoU of two boxes; of two that overlap more, the better one is kept
    at_once: int | None = None  # points per batch; None: as many as the device's memory allows

    def __post_init__(self) -> None:
        if self.grid < 1:
            raise InputError(f"The grid of points is {self.grid} wide: give 1 or more; SAM's own is 32.")

    def points_at_once(self, device: torch.device) -> int:
        if self.at_once is not None or device.type != "cuda":
            return self.at_once or 16
        free, _ = torch.cuda.mem_get_info(device)
        return max(16, min(256, free // POINT_BYTES))


def exact_device(name: str) -> torch.device:
    """The device by name, with full-precision matrix products: a baseline must not lose a mask to rounding."""
    device = choose_device(name)
    torch.set_float32_matmul_precision("highest")
    return device


@torch.no_grad()
def find_masks(model: PromptableModel, image: Pixels, settings: MaskSettings) -> Detections:
    """The boxes of all masks in SAM's own order, the best first.

    SAM measures a box from the first to the last pixel *index* of its mask, and suppresses overlaps of those; the box
    that the pixels fill is 1 px wider and higher, and that one is returned.
    """
    model.set_image(image)
    height, width = image.shape[:2]
    device = model.device
    points = grid_points(settings.grid, device) * torch.tensor([width, height], device=device)
    batches = [_reliable(*model.predict(batch), settings) for batch in points.split(settings.points_at_once(device))]
    boxes, qualities = (torch.cat(parts) for parts in zip(*batches, strict=True))
    if not len(boxes):
        return NO_DETECTIONS
    kept = nms(boxes, qualities, settings.overlap)
    corners, scores = boxes[kept].double().cpu().numpy(), qualities[kept].double().cpu().numpy()
    return Detections(np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2] + 1], axis=1), scores)


def grid_points(side: int, device: torch.device) -> Tensor:
    """(side * side, 2): the centres of equal tiles of the unit square, row by row."""
    centres = (torch.arange(side, device=device) + 0.5) / side
    y, x = torch.meshgrid(centres, centres, indexing="ij")
    return torch.stack([x.flatten(), y.flatten()], dim=-1)


def resized_points(points: Tensor, original: Sequence[int], resized: Sequence[int]) -> Tensor:
    """Points (n, 2: x, y) of an image in the resized image; sizes are (height, width)."""
    scale = [new / old for new, old in zip(resized, original, strict=True)]
    return points * torch.tensor(scale[::-1], device=points.device)


def _reliable(logits: Tensor, qualities: Tensor, settings: MaskSettings) -> tuple[Tensor, Tensor]:
    """Boxes (m, 4) and qualities (m,) of the masks that are good and stable."""
    logits, qualities = logits.flatten(0, 1), qualities.flatten()
    good = qualities > settings.quality
    logits, qualities = logits[good], qualities[good]
    inner, outer = ((logits > level).sum(dim=(-2, -1)).float() for level in (settings.offset, -settings.offset))
    stable = inner / outer >= settings.stability
    return _index_boxes(logits[stable] > 0), qualities[stable]


def _index_boxes(masks: Tensor) -> Tensor:
    """Left, top, right, bottom of masks (m, height, width), as the indices of their outermost pixels: (m, 4)."""
    columns, rows = masks.any(dim=-2).float(), masks.any(dim=-1).float()
    first = [side.argmax(dim=-1) for side in (columns, rows)]
    last = [side.shape[-1] - 1 - side.flip(-1).argmax(dim=-1) for side in (columns, rows)]
    return torch.stack([*first, *last], dim=-1).float()
