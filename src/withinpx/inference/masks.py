"""Soft masks of objects, and the boxes around them."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from withinpx.discovery.background import ByteImages, FloatImages, to_float
from withinpx.shadow import shadow


def planes(image: ByteImages | FloatImages) -> Float[Tensor, "c h w"]:
    """An image (h, w, c) as a tensor, from 0 to 1."""
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(to_float(image), -1, 0)))


def object_strength(image: Float[Tensor, "*b c h w"], background: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b h w"]:
    """How strongly each pixel differs from the background; zero in the object's shadow."""
    contrast = (image - background).abs().amax(dim=-3)
    return contrast * (1 - shadow(image, background, soft_mask(contrast)))


def soft_mask(strength: Float[Tensor, "*b h w"], low: float = 0.1, high: float = 0.4) -> Float[Tensor, "*b h w"]:
    """How much of each pixel is the object's: none below ``low`` of the map's peak, all above ``high``.

    A hard edge would make centres jump by parts of a pixel as an object moves over the grid. The middle of the two is a
    quarter: the strength of a pixel half covered by a shaded rim that is half as strong as the brightest spot.
    """
    peak = strength.amax(dim=(-2, -1), keepdim=True).clamp(min=1e-12)
    return ((strength / peak - low) / (high - low)).clamp(0, 1)


def box_centre_and_size(mask: Float[Tensor, "*b h w"]) -> tuple[Float[Tensor, "*b 2"], Float[Tensor, "*b 2"]]:
    """The centre (x, y) of the box around a soft mask, and its width and height, with subpixel precision."""
    centres, sizes = [], []
    for axis in (-2, -1):
        covered = mask.amax(dim=axis)  # how much of each column, then of each row, lies in the box
        from_both = _running_maximum(covered), _running_maximum(covered, backwards=True)
        covered = torch.minimum(*from_both)  # gaps between covered pixels belong to the box
        size = covered.sum(dim=-1)
        positions = torch.arange(covered.shape[-1], dtype=mask.dtype, device=mask.device) + 0.5
        centres.append((covered * positions).sum(dim=-1) / size.clamp(min=1e-6))
        sizes.append(size)
    return torch.stack(centres, dim=-1), torch.stack(sizes, dim=-1)


def _running_maximum(values: Float[Tensor, "*b s"], *, backwards: bool = False) -> Float[Tensor, "*b s"]:
    """The largest value up to each one, or from it on: ONNX has no cummax."""
    reach = 1
    while reach < values.shape[-1]:
        larger = torch.maximum(values[..., :-reach], values[..., reach:])
        parts = (larger, values[..., -reach:]) if backwards else (values[..., :reach], larger)
        values, reach = torch.cat(parts, dim=-1), 2 * reach
    return values
