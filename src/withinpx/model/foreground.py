"""What an encoder of movers alone sees: what changed, over nothing at all."""

from jaxtyping import Bool, Float
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.field import Base


def foreground_only(images: Float[Tensor, "b c h w"], changed: Bool[Tensor, "b h w"]) -> Float[Tensor, "b c h w"]:
    """What changed, from 1 to 2, over nothing at all: zero, as beyond the picture's border."""
    return (images + 1) * changed.unsqueeze(1)


def empty_foreground(model: Autoencoder, like: Tensor) -> Base:
    """Where nothing changed."""
    config = model.config
    return Base.even((config.height, config.width), config.colours, config.encoder_rf // 2, like)
