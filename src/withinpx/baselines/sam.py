"""Segment Anything (Kirillov et al. 2023) without prompts: a grid of points, and the good ones of their masks.

The same for every model of the family; ``mobilesam.py`` and ``hub_sam.py`` hold the models. The numbers and the order
of the masks are those of SAM's own automatic mask generator.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from withinpx.baselines.detections import NOTHING, Found, Pixels
from withinpx.baselines.suppression import suppressed
from withinpx.errors import InputError
from withinpx.training.device import choose_device

POINT_BYTES = 80_000_000  # about what the masks of one point take on the way


class PromptedModel(Protocol):
    """Answers points with masks."""

    device: torch.device

    def see(self, image: Pixels) -> None:
        """From now on all points are of this image."""

    def ask(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """For points (n, 2: x, y in px of the image): logits (n, 3, height, width), and how good each is (n, 3)."""


@dataclass(frozen=True)
class MaskSettings:
    """Which masks count. The defaults are SAM's."""

    grid: int = 32  # points along each side
    quality: float = 0.88  # the model's own estimate of a mask's overlap with the truth must be above this
    stability: float = 0.95  # overlap of the masks at two thresholds, so far on both sides of the model's own:
    offset: float = 1.0
    overlap: float = 0.7  # of boxes; of two that overlap by more, the better one stays
    at_once: int | None = None  # points; by default what keeps a GPU busy, or what a CPU's memory is glad of

    def __post_init__(self) -> None:
        if self.grid < 1:
            raise InputError(f"The grid of points is {self.grid} wide: give 1 or more; SAM's own is 32.")

    def points_at_once(self, device: torch.device) -> int:
        """As many as fill a GPU's free memory, up to what keeps the largest busy; few on a CPU."""
        if self.at_once is not None or device.type != "cuda":
            return self.at_once or 16
        free, _ = torch.cuda.mem_get_info(device)
        return max(16, min(256, free // POINT_BYTES))


def exact_device(name: str) -> torch.device:
    """The device by name, with products of full precision: a baseline is not to lose a mask to rounding."""
    device = choose_device(name)
    torch.set_float32_matmul_precision("highest")
    return device


@torch.no_grad()
def find_masks(model: PromptedModel, image: Pixels, settings: MaskSettings) -> Found:
    """The boxes of all masks in SAM's own order, the best first.

    SAM measures a box from the first to the last pixel *index* of its mask, and looks for overlaps between those; the
    box that the pixels fill is 1 px wider and higher, and that one is returned.
    """
    model.see(image)
    height, width = image.shape[:2]
    device = model.device
    points = grid_points(settings.grid, device) * torch.tensor([width, height], device=device)
    parts = [_good_boxes(*model.ask(part), settings) for part in points.split(settings.points_at_once(device))]
    boxes, qualities = (torch.cat(part) for part in zip(*parts, strict=True))
    if not len(boxes):
        return NOTHING
    best = suppressed(boxes, qualities, settings.overlap)
    indices, scores = boxes[best].double().cpu().numpy(), qualities[best].double().cpu().numpy()
    filled = np.concatenate([indices[:, :2], indices[:, 2:] - indices[:, :2] + 1], axis=1)
    return Found(filled, scores)


def grid_points(side: int, device: torch.device) -> Tensor:
    """(side * side, 2): the middles of as many equal tiles of the unit square, row by row."""
    middles = (torch.arange(side, device=device) + 0.5) / side
    y, x = torch.meshgrid(middles, middles, indexing="ij")
    return torch.stack([x.flatten(), y.flatten()], dim=-1)


def _good_boxes(logits: Tensor, qualities: Tensor, settings: MaskSettings) -> tuple[Tensor, Tensor]:
    """First and last indices (m, 4) of the masks that are good and stable, and how good they are (m,)."""
    logits, qualities = logits.flatten(0, 1), qualities.flatten()
    good = qualities > settings.quality
    logits, qualities = logits[good], qualities[good]
    stable = _areas(logits > settings.offset) / _areas(logits > -settings.offset) >= settings.stability
    return index_boxes(logits[stable] > 0), qualities[stable]


def _areas(masks: Tensor) -> Tensor:
    return masks.sum(dim=(-2, -1)).float()


def index_boxes(masks: Tensor) -> Tensor:
    """Left, top, right, bottom of masks (m, height, width), as the indices of their outermost pixels: (m, 4)."""
    columns, rows = masks.any(dim=-2).float(), masks.any(dim=-1).float()
    firsts = [side.argmax(dim=-1) for side in (columns, rows)]
    lasts = [side.shape[-1] - 1 - side.flip(-1).argmax(dim=-1) for side in (columns, rows)]
    return torch.stack([*firsts, *lasts], dim=-1).float()
