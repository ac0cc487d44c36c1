"""The encoder's input on footage: the pixels that changed, over zero."""

from jaxtyping import Bool, Float
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.field import Base


def foreground_only(images: Float[Tensor, "b c h w"], changed: Bool[Tensor, "b h w"]) -> Float[Tensor, "b c h w"]:
    """Changed pixels shifted to 1 ... 2, all others zero, as is the padding beyond the border."""
    return (images + 1) * changed.unsqueeze(1)


def empty_foreground(model: Autoencoder, like: Tensor) -> Base:
    """``foreground_only`` of an image in which nothing changed."""
    config = model.config
    return Base.uniform((config.height, config.width), config.colours, config.encoder_rf // 2, like)
