"""Eq. 5: from heatmaps to positions."""

from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor

TEMPERATURE = 0.1  # Theta; the paper gives none. At 1.0 some seeds never leave the flat start (docs/method.md)


class Softargmax(StrEnum):
    """How eq. 5, which prints a softmax along one axis summed over both, can be read."""

    JOINT = "joint"  # over the whole map: the only reading in which a temperature towards zero gives the argmax
    LINES = "lines"  # as printed: in every row (column), and the mean over the rows (columns)
    MEANS = "means"  # of the means along the other axis, as in Jakab et al.


def softargmax(
    heatmaps: Float[Tensor, "b n h w"], temperature: float = TEMPERATURE, kind: Softargmax = Softargmax.JOINT
) -> Float[Tensor, "b n 2"]:
    """The expected pixel centre under each map's softmax, as (x, y) in pixels from the top-left corner.

    Eq. 5 also divides by the image size; positions here stay in pixels.
    """
    if kind is Softargmax.JOINT:
        return weighted_positions(softargmax_weights(heatmaps, temperature))
    return torch.stack([_along(axis, heatmaps, temperature, kind) for axis in (-1, -2)], dim=-1)


def _along(axis: int, heatmaps: Tensor, temperature: float, kind: Softargmax) -> Float[Tensor, "b n"]:
    """One coordinate of the two readings that treat the axes apart."""
    lines = heatmaps.to(torch.promote_types(heatmaps.dtype, torch.float32)).movedim(axis, -1)
    if kind is Softargmax.MEANS:
        lines = lines.mean(dim=-2, keepdim=True)
    weights = (lines / temperature).softmax(dim=-1)
    return (weights * pixel_centres(lines.shape[-1], weights)).sum(dim=-1).mean(dim=-1)


def softargmax_weights(heatmaps: Float[Tensor, "b n h w"], temperature: float) -> Float[Tensor, "b n h w"]:
    """The joint softmax of each map."""
    logits = heatmaps.to(torch.promote_types(heatmaps.dtype, torch.float32)) / temperature  # never in half precision
    return logits.flatten(start_dim=-2).softmax(dim=-1).view_as(logits)


def weighted_positions(weights: Float[Tensor, "*b h w"]) -> Float[Tensor, "*b 2"]:
    """The weighted sum of the pixel centres (x, y) of each map: the mean, if the weights sum to one."""
    height, width = weights.shape[-2:]
    # a sum, not a matrix product: autocast would round that to bfloat16, and 60 px to the nearest quarter
    x = (weights.sum(dim=-2) * pixel_centres(width, weights)).sum(dim=-1)  # eq. 5, first component
    y = (weights.sum(dim=-1) * pixel_centres(height, weights)).sum(dim=-1)  # eq. 5, second component
    return torch.stack([x, y], dim=-1)


def pixel_centres(count: int, like: Tensor) -> Float[Tensor, " count"]:
    """0.5, 1.5, ...: the i + 1/2 of eq. 5."""
    return torch.arange(count, dtype=like.dtype, device=like.device) + 0.5
