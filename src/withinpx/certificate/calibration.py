"""The label-free shift between z and the object that is drawn for it.

The theorem leaves a constant between the two: the encoder may look at an object's left edge, and the decoder then draws
everything to the right of it. What the decoder draws shows the constant, without any label.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.softargmax import pixel_centres, weighted_positions
from withinpx.shadow import COLOURED, DARKER, DEEPER, GREY, LIGHTER, LITTLE, SAME_HUE


@torch.no_grad()
def drawn_objects(
    model: Autoencoder, positions: Float[Tensor, "b n 2"], nearby: Float[Tensor, "b c h w"] | None = None
) -> Float[Tensor, "b n h w"]:
    """What each Gaussian adds to the picture: the picture with it minus the picture without, largest colour."""
    everything = model.decode(positions, nearby)
    added = []
    for each in range(positions.shape[1]):
        present = torch.ones(positions.shape[:2], dtype=torch.bool, device=positions.device)
        present[:, each] = False
        added.append((everything - model.decode(positions, nearby, present)).abs().amax(dim=1))
    return torch.stack(added, dim=1)


def object_centres(drawn: Float[Tensor, "b n h w"], level: float = 0.5) -> Float[Tensor, "b n 2"]:
    """The mean (x, y) of the pixels above ``level`` of each map's peak."""
    inside = object_pixels(drawn, level).to(drawn.dtype)
    return weighted_positions(inside) / inside.sum(dim=(-2, -1)).unsqueeze(-1)


def object_sizes(drawn: Float[Tensor, "b n h w"], level: float = 0.5) -> Float[Tensor, "b n"]:
    """The larger side of the box around the pixels above ``level`` of each map's peak, gaps not counted, px."""
    inside = object_pixels(drawn, level)
    return torch.maximum(inside.any(dim=-1).sum(dim=-1), inside.any(dim=-2).sum(dim=-1)).to(drawn.dtype)


def object_pixels(drawn: Float[Tensor, "b n h w"], level: float) -> Bool[Tensor, "b n h w"]:
    """Which pixels are the object's."""
    return drawn >= level * drawn.amax(dim=(-2, -1), keepdim=True)


@torch.no_grad()
def measured_shift(
    model: Autoencoder, images: Float[Tensor, "b c h w"], nearby: Float[Tensor, "b c h w"] | None = None
) -> Float[Tensor, "n 2"]:
    """For each object, the centre of what is drawn minus z: the median over the pictures, px. No truth is used."""
    positions = model.encode(images)
    return shift_between(positions, drawn_objects(model, positions, nearby))


def shift_between(positions: Float[Tensor, "b n 2"], drawn: Float[Tensor, "b n h w"]) -> Float[Tensor, "n 2"]:
    """The median over pictures of the centre of what is drawn minus z, px."""
    return (object_centres(drawn) - positions).quantile(0.5, dim=0)


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
