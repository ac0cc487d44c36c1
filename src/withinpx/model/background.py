"""What the decoder knows beside z (sec. 3): ways to know the background.

Each way says which maps join the Gaussians at the decoder's input, how many maps the decoder draws, and how a picture
is made of them.
"""

from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor, nn

from withinpx.errors import InputError

CLEAR = -5.0  # sigmoid of it is 0.007


class BackgroundMode(StrEnum):
    """The names by which configurations and commands know them."""

    POSITIONAL = "positional"
    NEARBY = "nearby"
    LAYERED = "layered"
    PERSPECTIVE = "perspective"


class Background(nn.Module):
    """What all have in common: by default nothing joins the Gaussians and the decoder draws the picture."""

    input_maps: int  # maps that join the Gaussians
    output_maps: int  # maps that the decoder draws

    def beside(
        self, gaussians: Float[Tensor, "b n h w"], nearby: Float[Tensor, "b c h w"] | None
    ) -> Float[Tensor, "b m h w"]:
        """The decoder's input: the Gaussians and what joins them."""
        raise NotImplementedError

    def picture(self, drawn: Float[Tensor, "b o h w"]) -> Float[Tensor, "b c h w"]:
        """The picture made of what the decoder drew."""
        return drawn


class PositionalBackground(Background):
    """The paper's: a learned code per pixel, from which the decoder knows where it is and what is behind.

    The code starts at zero, so an untrained decoder draws the same everywhere. Seven maps, with the Gaussian eight.
    """

    def __init__(self, size: tuple[int, int], colours: int, codes: int = 7) -> None:
        super().__init__()
        self.input_maps, self.output_maps = codes, colours
        self.code = nn.Parameter(torch.zeros(codes, *size))

    def beside(
        self, gaussians: Float[Tensor, "b n h w"], nearby: Float[Tensor, "b c h w"] | None
    ) -> Float[Tensor, "b m h w"]:
        """Gaussians and codes."""
        return torch.cat([gaussians, self.code.expand(len(gaussians), -1, -1, -1)], dim=1)


class NearbyBackground(Background):
    """The paper's answer to a varying background: a frame from nearby in time, its objects elsewhere."""

    def __init__(self, colours: int) -> None:
        super().__init__()
        self.input_maps = self.output_maps = colours

    def beside(
        self, gaussians: Float[Tensor, "b n h w"], nearby: Float[Tensor, "b c h w"] | None
    ) -> Float[Tensor, "b m h w"]:
        """Gaussians and the nearby frame."""
        if nearby is None:
            raise InputError("A detector with a nearby background draws only beside a nearby frame: give one.")
        return torch.cat([gaussians, nearby.to(gaussians.dtype)], dim=1)


class LayeredBackground(Background):
    """An object layer over a known still: x_hat = (1 - a) * still + a * object.

    The decoder draws (a, a * object) from the Gaussians alone, so the layer is exactly equivariant. The product is what
    is drawn, not the object's colour: where ``a`` is near zero a colour would get no gradient, and a layer that begins
    transparent would stay so.
    """

    still: Tensor

    def __init__(self, still: Float[Tensor, "c h w"]) -> None:
        super().__init__()
        self.input_maps, self.output_maps = 0, 1 + len(still)
        self.register_buffer("still", still)

    def beside(
        self, gaussians: Float[Tensor, "b n h w"], nearby: Float[Tensor, "b c _ _"] | None
    ) -> Float[Tensor, "b m h w"]:
        """Gaussians alone."""
        return gaussians

    def picture(self, drawn: Float[Tensor, "b o h w"]) -> Float[Tensor, "b c h w"]:
        """The object layer over the still."""
        return self.over(drawn, self.still.unsqueeze(0))

    @staticmethod
    def begin_clear(decoder: nn.Sequential) -> None:
        """Let a new decoder draw a layer that can be seen through: a veil is hard to unlearn."""
        last = decoder[-1]
        if isinstance(last, nn.Conv2d) and last.bias is not None:
            with torch.no_grad():
                last.bias.zero_()
                last.bias[0] = CLEAR

    @staticmethod
    def over(drawn: Float[Tensor, "b o h w"], still: Float[Tensor, "#b c h w"]) -> Float[Tensor, "b c h w"]:
        """x_hat = (1 - a) * still + a * object."""
        opacity, objects = drawn[:, :1].sigmoid(), drawn[:, 1:]
        return (1 - opacity) * still + objects


class PerspectiveBackground(LayeredBackground):
    """A layer whose decoder also knows where it draws, so that an object may look different from place to place.

    Two ramps, across and down, tell it. What it draws is then no longer exactly equivariant; how far the drawn centre
    strays from z over the frame is measured (certificate/assumptions.py).
    """

    def __init__(self, still: Float[Tensor, "c h w"]) -> None:
        super().__init__(still)
        self.input_maps = 2

    def beside(
        self, gaussians: Float[Tensor, "b n h w"], nearby: Float[Tensor, "b c _ _"] | None
    ) -> Float[Tensor, "b m h w"]:
        """Gaussians and ramps, which go from -1 to 1 over the picture and on over its margin."""
        return torch.cat([gaussians, self._ramps(gaussians).expand(len(gaussians), -1, -1, -1)], dim=1)

    def _ramps(self, canvas: Float[Tensor, "b n h w"]) -> Float[Tensor, "1 2 h w"]:
        ramps = []
        for whole, inner in zip(canvas.shape[-2:], self.still.shape[-2:], strict=True):
            places = torch.arange(whole, dtype=canvas.dtype, device=canvas.device) + 0.5 - (whole - inner) / 2
            ramps.append(2 * places / inner - 1)
        down, across = torch.meshgrid(*ramps, indexing="ij")
        return torch.stack([across, down]).unsqueeze(0)


def build_background(mode: BackgroundMode, size: tuple[int, int], colours: int) -> Background:
    """The background of a new network; a layered one is black until its still is set."""
    match mode:
        case BackgroundMode.POSITIONAL:
            return PositionalBackground(size, colours)
        case BackgroundMode.NEARBY:
            return NearbyBackground(colours)
        case BackgroundMode.LAYERED:
            return LayeredBackground(torch.zeros(colours, *size))
        case BackgroundMode.PERSPECTIVE:
            return PerspectiveBackground(torch.zeros(colours, *size))
