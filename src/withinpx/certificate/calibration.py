"""The label-free shift between z and the object that is drawn for it.

The theorem leaves a constant between the two: the encoder may look at an object's left edge, and the decoder then draws
everything to the right of it. What the decoder draws shows the constant, without any label.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.softargmax import weighted_positions


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
