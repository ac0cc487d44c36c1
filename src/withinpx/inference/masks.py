"""Soft masks of objects, and the boxes around them."""

import torch
from jaxtyping import Float
from torch import Tensor

from withinpx.model.softargmax import pixel_centres
from withinpx.shadow import COLOURED, DARKER, DEEPER, GREY, LIGHTER, LITTLE, SAME_HUE


def strength_of_body(picture: Float[Tensor, "*b c h w"], behind: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b h w"]:
    """How strongly each pixel differs from what lies behind; nothing where it only lies in the object's shadow.

    A shadow is what lies behind, darker (shadow.py). Where nearly all would be shadow, the object itself is of that
    kind, and everything counts.
    """
    all_of_it = (picture - behind).abs().amax(dim=-3)
    light = (picture * behind).sum(dim=-3) / (behind**2).sum(dim=-3).clamp(min=1e-4)
    off = (picture - light.unsqueeze(-3) * behind).abs().amax(dim=-3)
    hue = (off * all_of_it).sum(dim=(-2, -1), keepdim=True) / all_of_it.sum(dim=(-2, -1), keepdim=True).clamp(min=1e-12)
    darkest = DARKER - DEEPER * ((hue - GREY) / (COLOURED - GREY)).clamp(0, 1)
    dim = ((light - darkest) / (LIGHTER - DARKER)).clamp(0, 1) * (light <= 1)
    body = all_of_it * (1 - dim * (2 - off / SAME_HUE).clamp(0, 1))
    mask = soft_mask(all_of_it)
    left = (mask * body / all_of_it.clamp(min=1e-12)).sum(dim=(-2, -1), keepdim=True)
    return torch.where(left < LITTLE * mask.sum(dim=(-2, -1), keepdim=True), all_of_it, body)


def soft_mask(drawn: Float[Tensor, "*b h w"], low: float = 0.1, high: float = 0.4) -> Float[Tensor, "*b h w"]:
    """How much of each pixel is the object's: none below ``low`` of the map's peak, all above ``high``.

    A hard edge would make centres jump by parts of a pixel as an object moves over the grid. The middle of the two is a
    quarter: what a pixel shows that is half covered by a shaded rim, half as strong as the brightest spot.
    """
    peak = drawn.amax(dim=(-2, -1), keepdim=True).clamp(min=1e-12)
    return ((drawn / peak - low) / (high - low)).clamp(0, 1)


def _without_gaps(covered: Float[Tensor, "*b s"]) -> Float[Tensor, "*b s"]:
    """What lies between two covered places is covered too."""
    from_both = covered.cummax(dim=-1).values, covered.flip(-1).cummax(dim=-1).values.flip(-1)
    return torch.minimum(*from_both)


def middle_and_box(mask: Float[Tensor, "*b h w"]) -> tuple[Float[Tensor, "*b 2"], Float[Tensor, "*b 2"]]:
    """The middle (x, y) of the box around a soft mask, and the box's width and height, between pixels."""
    middles, sides = [], []
    for along in (-2, -1):
        covered = _without_gaps(mask.amax(dim=along))  # how much of each column, then of each row, lies in the box
        side = covered.sum(dim=-1)
        places = pixel_centres(covered.shape[-1], covered)
        middles.append((covered * places).sum(dim=-1) / side.clamp(min=1e-6))
        sides.append(side)
    return torch.stack(middles, dim=-1), torch.stack(sides, dim=-1)
