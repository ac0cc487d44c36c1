"""Models of the background (sec. 3).

A background model defines which maps are concatenated with the Gaussians at the decoder's input, how many maps the
decoder outputs, and how these become an image.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor, nn

from withinpx.errors import InputError

# of a sinusoidal encoding, in image sizes: the longest gives every position its own value
WAVELENGTHS = (2.0, 1.0, 0.5)
FAINT = -2.0  # initial opacity logit; its sigmoid is 0.12


class BackgroundMode(StrEnum):
    POSITIONAL = "positional"
    NEARBY = "nearby"
    LAYERED = "layered"
    PERSPECTIVE = "perspective"


class Encoding(StrEnum):
    """How the paper's "positional encodings of the size of the images" are made, which it does not say."""

    LEARNED = "learned"
    COORDINATES = "coordinates"  # x and y, from -1 to 1
    SINUSOIDAL = "sinusoidal"  # sines and cosines of x and y


class Background(nn.Module):
    """Base class: nothing joins the Gaussians, and the decoder's output is the image."""

    input_maps: int  # maps that join the Gaussians
    output_maps: int  # maps that the decoder outputs

    def decoder_input(
        self, gaussians: Float[Tensor, "b n h w"], nearby: Float[Tensor, "b c _ _"] | None = None
    ) -> Float[Tensor, "b m h w"]:
        """The Gaussians and the maps that join them; ``nearby`` is a frame from nearby in time."""
        joining = self._joining_maps(gaussians, nearby)
        if joining is None:
            return gaussians
        return torch.cat([gaussians, joining.to(gaussians.dtype).expand(len(gaussians), -1, -1, -1)], dim=1)

    def _joining_maps(self, gaussians: Tensor, nearby: Tensor | None) -> Tensor | None:
        """(m, h, w) for the whole batch or (b, m, h, w)."""
        return None

    def compose(
        self, maps: Float[Tensor, "#b o h w"], background: Float[Tensor, "#b c h w"] | None = None
    ) -> Float[Tensor, "b c h w"]:
        """The image made of the decoder's output; ``background`` replaces a layered model's own."""
        return maps


class PositionalBackground(Background):
    """The paper's: a learned code per pixel, which tells the decoder its position and the background.

    The code starts at zero, so the output of an untrained decoder is uniform. Seven maps, with the Gaussian eight.
    """

    def __init__(self, size: tuple[int, int], colours: int, codes: int = 7) -> None:
        super().__init__()
        self.input_maps, self.output_maps = codes, colours
        self.code = nn.Parameter(torch.zeros(codes, *size))

    def _joining_maps(self, gaussians: Tensor, nearby: Tensor | None) -> Tensor:
        return self.code


class FixedBackground(Background):
    """The paper's with an encoding that is not learned."""

    code: Tensor

    def __init__(self, encoding: Encoding, size: tuple[int, int], colours: int) -> None:
        super().__init__()
        ramps = coordinates(size, size, torch.zeros(()))
        self.register_buffer("code", sinusoids(ramps) if encoding is Encoding.SINUSOIDAL else ramps, persistent=False)
        self.input_maps, self.output_maps = len(self.code), colours

    def _joining_maps(self, gaussians: Tensor, nearby: Tensor | None) -> Tensor:
        return self.code


class NearbyBackground(Background):
    """The paper's model of a varying background: a frame from nearby in time, its objects elsewhere."""

    def __init__(self, colours: int) -> None:
        super().__init__()
        self.input_maps = self.output_maps = colours

    def _joining_maps(self, gaussians: Tensor, nearby: Tensor | None) -> Tensor:
        if nearby is None:
            raise InputError("A detector with a nearby background needs a frame from nearby in time: give one.")
        return nearby


class LayeredBackground(Background):
    """An object layer over a known still: x_hat = still + a * (object - still).

    The decoder outputs logits of the opacity ``a`` and of the object's colours, from the Gaussians alone, so the layer
    is exactly equivariant. Colours are bounded: an object that is brighter than its background cannot be rendered as
    light that is added to it, which would look different over every background.
    """

    still: Tensor

    def __init__(self, still: Float[Tensor, "c h w"]) -> None:
        super().__init__()
        self.input_maps, self.output_maps = 0, 1 + len(still)
        self.register_buffer("still", still)

    def compose(
        self, maps: Float[Tensor, "#b o h w"], background: Float[Tensor, "#b c h w"] | None = None
    ) -> Float[Tensor, "b c h w"]:
        return self.over(maps, self.still.unsqueeze(0) if background is None else background)

    @staticmethod
    def start_faint(decoder: nn.Sequential) -> None:
        """Initialise a decoder to a faint layer: an opaque one is hard to unlearn, a transparent one to see."""
        last = decoder[-1]
        if isinstance(last, nn.Conv2d) and last.bias is not None:
            with torch.no_grad():
                last.bias.zero_()
                last.bias[0] = FAINT

    @staticmethod
    def layer(maps: Float[Tensor, "*b o h w"]) -> tuple[Float[Tensor, "*b 1 h w"], Float[Tensor, "*b c h w"]]:
        """Opacity and colours, from 0 to 1."""
        values = maps.sigmoid()
        return values[..., :1, :, :], values[..., 1:, :, :]

    @classmethod
    def over(cls, maps: Float[Tensor, "#b o h w"], still: Float[Tensor, "#b c h w"]) -> Float[Tensor, "b c h w"]:
        """x_hat = still + a * (object - still)."""
        opacity, colours = cls.layer(maps)
        return still + opacity * (colours - still)


class PerspectiveBackground(LayeredBackground):
    """A layer whose decoder also sees two coordinate ramps, so that appearance may vary with the position.

    The layer is then no longer exactly equivariant; how far the rendered centre drifts from z over the frame is
    measured (certificate/assumptions.py).
    """

    def __init__(self, still: Float[Tensor, "c h w"]) -> None:
        super().__init__(still)
        self.input_maps = 2

    def _joining_maps(self, gaussians: Tensor, nearby: Tensor | None) -> Tensor:
        """The ramps go from -1 to 1 over the image, and on over its margin."""
        return coordinates(gaussians.shape[-2:], self.still.shape[-2:], gaussians)


def coordinates(canvas: Sequence[int], inner: Sequence[int], like: Tensor) -> Float[Tensor, "2 h w"]:
    """x and y on a canvas (height, width), from -1 to 1 over the ``inner`` image in its middle."""
    ramps = []
    for length, image in zip(canvas, inner, strict=True):
        centres = torch.arange(length, dtype=like.dtype, device=like.device) + 0.5 - (length - image) / 2
        ramps.append(2 * centres / image - 1)
    down, across = torch.meshgrid(*ramps, indexing="ij")
    return torch.stack([across, down])


def sinusoids(ramps: Float[Tensor, "2 h w"]) -> Float[Tensor, "m h w"]:
    """Sines and cosines of x and y at each wavelength; an image is two long in ``coordinates``."""
    phases = torch.cat([math.pi / wavelength * ramps for wavelength in WAVELENGTHS])
    return torch.cat([phases.sin(), phases.cos()])


def build_background(
    mode: BackgroundMode, size: tuple[int, int], colours: int, encoding: Encoding = Encoding.LEARNED
) -> Background:
    """The background of a new network; a layered one is black until its still is set."""
    match mode:
        case BackgroundMode.POSITIONAL if encoding is not Encoding.LEARNED:
            return FixedBackground(encoding, size, colours)
        case BackgroundMode.POSITIONAL:
            return PositionalBackground(size, colours)
        case BackgroundMode.NEARBY:
            return NearbyBackground(colours)
        case BackgroundMode.LAYERED:
            return LayeredBackground(torch.zeros(colours, *size))
        case BackgroundMode.PERSPECTIVE:
            return PerspectiveBackground(torch.zeros(colours, *size))
