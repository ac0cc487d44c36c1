"""What a shadow looks like: the background, darker but in the same hue.

A grey object can be a darker grey than its background: then only a limit on the darkness of shadows tells the two
apart. The shadow of a coloured object is known by its hue, down to the darkness where the object touches the ground.
"""

import torch
from jaxtyping import Float
from torch import Tensor

DARKER, LIGHTER = 0.4, 0.6  # of the background's light: below the first no shadow, above the second a full one
DEEPER = 0.25  # both limits are lower by this beside a coloured object
GREY, COLOURED = 0.06, 0.12  # of full contrast: how far an object's colours are from the background's hue
SAME_HUE = 0.04  # of full contrast: how far a full shadow's colours may be from it; at twice this there is none
LITTLE = 0.25  # of the object: if less would be left without its shadow, the object itself is of that kind


def shadow(
    image: Float[Tensor, "*b c h w"], background: Float[Tensor, "*b c h w"], weight: Float[Tensor, "*b h w"]
) -> Float[Tensor, "*b h w"]:
    """How much each pixel is in the shadow of the one object shown, from 0 to 1.

    ``weight`` is how much each pixel belongs to the object or its shadow. If nearly all of it looks like shadow,
    nothing is.
    """
    contrast = (image - background).abs().amax(dim=-3)
    light, off = _light(image, background), off_hue(image, background)
    hue = (off * contrast).sum(dim=(-2, -1), keepdim=True) / contrast.sum(dim=(-2, -1), keepdim=True).clamp(min=1e-12)
    darkest = DARKER - DEEPER * ((hue - GREY) / (COLOURED - GREY)).clamp(0, 1)
    dim = ((light - darkest) / (LIGHTER - DARKER)).clamp(0, 1) * (light <= 1)
    shade = dim * (2 - off / SAME_HUE).clamp(0, 1)
    left = (weight * (1 - shade)).sum(dim=(-2, -1), keepdim=True)
    return torch.where(left < LITTLE * weight.sum(dim=(-2, -1), keepdim=True), 0.0, shade)


def off_hue(image: Float[Tensor, "*b c h w"], background: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b h w"]:
    """How far each pixel is from the background's hue, brighter or darker."""
    return (image - _light(image, background).unsqueeze(-3) * background).abs().amax(dim=-3)


def _light(image: Float[Tensor, "*b c h w"], background: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b h w"]:
    """How much of the background's light each pixel has."""
    return (image * background).sum(dim=-3) / (background**2).sum(dim=-3).clamp(min=1e-4)
