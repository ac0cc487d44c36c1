"""Parts of the training's loss, beside the reconstruction error."""

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

VISIBLE = 1e-3  # a centre whose Gaussian has less mass than this inside the windows of change teaches nothing
LOST_PX = 4.0  # a heatmap further than this from its object has lost it


def layer_errors(
    maps: Float[Tensor, "#b o h w"], stills: Float[Tensor, "#b c h w"], images: Float[Tensor, "b c h w"]
) -> Float[Tensor, "b 1 h w"]:
    """How wrong opacity and colours are, each by itself: opaque where the image changed, and of its colours there.

    As parts of one image they wait for each other: a layer of wrong colours is better transparent, and the colours of
    a transparent layer hardly matter.
    """
    changed = (images != stills).any(dim=1, keepdim=True).to(maps.dtype)
    opacity, colours = maps.expand(len(images), -1, -1, -1).split([1, images.shape[1]], dim=1)
    errors = F.binary_cross_entropy_with_logits(opacity, changed, reduction="none")
    off: Tensor = (colours.sigmoid() - images).square().mean(dim=1, keepdim=True)
    return errors + changed * off


def lost_positions(positions: Float[Tensor, "b n 2"], centres: Float[Tensor, "b n 2"]) -> Bool[Tensor, "b n"]:
    """Which positions are not at their object; false where it is not known where that is."""
    return (positions - centres).abs().amax(dim=-1) > LOST_PX


def mean_over_visible(values: Float[Tensor, "b n"], mass: Float[Tensor, "b n"]) -> Tensor:
    """Over the centres of which enough of the Gaussian's mass lies inside the windows of change."""
    visible = mass.detach() > VISIBLE
    return (values * visible).sum() / visible.sum().clamp(min=1)


def mean_square(codes: Float[Tensor, "b n k"], present: Bool[Tensor, "b n"] | None) -> Tensor:
    """Over the codes of the objects that are present."""
    squares = (codes**2).mean(dim=-1)
    return squares.mean() if present is None else (squares * present).sum() / present.sum().clamp(min=1)
