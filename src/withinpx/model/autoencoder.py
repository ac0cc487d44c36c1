"""Figure 1: z = softargmax . psi . x ;  x_hat = phi . render . z."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from withinpx.errors import InputError
from withinpx.model.background import BackgroundMode, LayeredBackground, build_background
from withinpx.model.cnn import CHANNELS, CNN
from withinpx.model.render import render
from withinpx.model.softargmax import TEMPERATURE, softargmax
from withinpx.theory.receptive_field import check_receptive_field


@dataclass(frozen=True)
class NetworkConfig:
    """Everything that shapes the network."""

    height: int  # of the pictures, px
    width: int
    encoder_rf: int  # s_psi, px
    decoder_rf: int  # s_phi, px
    sigma: float  # sigma_G, px
    support: float | None = None  # px beyond which the Gaussian is exactly zero; None is the paper's infinite one
    objects: int = 1  # heatmaps, at most one object each
    colours: int = 1  # colour channels of the pictures
    channels: int = CHANNELS  # of every hidden layer
    temperature: float = TEMPERATURE  # Theta of eq. 5
    background: BackgroundMode = BackgroundMode.POSITIONAL

    def __post_init__(self) -> None:
        check_receptive_field(self.encoder_rf, "encoder receptive field")
        check_receptive_field(self.decoder_rf, "decoder receptive field")
        largest = self.encoder_rf if self.is_layered else max(self.encoder_rf, self.decoder_rf)
        if min(self.height, self.width) < largest:
            raise InputError(
                f"The images are {self.width}x{self.height} px, smaller than the receptive field of {largest} px: "
                f"use larger images or a smaller receptive field."
            )
        for name in ("sigma", "temperature", "objects", "colours", "channels"):
            if not getattr(self, name) > 0:
                raise InputError(f"The {name} is {getattr(self, name)}: give a number above zero.")

    @property
    def is_layered(self) -> bool:
        """Is what the decoder draws laid over a known background?"""
        return self.background in (BackgroundMode.LAYERED, BackgroundMode.PERSPECTIVE)


class Reconstruction(NamedTuple):
    """What a picture became on its way through the bottleneck."""

    positions: Float[Tensor, "b n 2"]  # z: (x, y), px
    images: Float[Tensor, "b c h w"]  # x_hat


class Autoencoder(nn.Module):
    """Pictures to positions and back, equivariant to translation at every step."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.background = build_background(config.background, (config.height, config.width), config.colours)
        self.encoder = CNN(config.colours, config.objects, config.encoder_rf, config.channels)  # psi
        self.decoder = CNN(
            config.objects + self.background.input_maps,
            self.background.output_maps,
            config.decoder_rf,
            config.channels,
        )  # phi
        if isinstance(self.background, LayeredBackground):
            self.background.begin_clear(self.decoder)

    @property
    def margin(self) -> int:
        """Px drawn around the picture and cut off again, so that a layer has no borders (nothing lies behind it)."""
        return self.config.decoder_rf // 2 if self.config.is_layered else 0

    def heatmaps(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b n h w"]:
        """The embedding maps e_1 ... e_n."""
        maps: Tensor = self.encoder(images)
        return maps

    def encode(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b n 2"]:
        """Positions z, (x, y) in px."""
        return softargmax(self.heatmaps(images), self.config.temperature)

    def decoder_maps(
        self,
        positions: Float[Tensor, "b n 2"],
        nearby: Float[Tensor, "b c h w"] | None = None,
        present: Bool[Tensor, "b n"] | None = None,
    ) -> Float[Tensor, "b o h w"]:
        """The decoder's own maps: the picture's colours, or a layer's opacity and colours."""
        config, margin = self.config, self.margin
        canvas = (config.height + 2 * margin, config.width + 2 * margin)
        gaussians = render(positions + margin, canvas, config.sigma, config.support)
        if present is not None:
            gaussians = gaussians * present[..., None, None]
        drawn: Tensor = self.decoder(self.background.beside(gaussians, nearby))
        return drawn[..., margin : margin + config.height, margin : margin + config.width]

    def decode(
        self,
        positions: Float[Tensor, "b n 2"],
        nearby: Float[Tensor, "b c h w"] | None = None,
        present: Bool[Tensor, "b n"] | None = None,
    ) -> Float[Tensor, "b c h w"]:
        """Pictures with the objects at these positions; one that is not ``present`` gets no Gaussian."""
        return self.background.picture(self.decoder_maps(positions, nearby, present))

    def forward(
        self, images: Float[Tensor, "b c h w"], nearby: Float[Tensor, "b c h w"] | None = None
    ) -> Reconstruction:
        """There and back."""
        positions = self.encode(images)
        return Reconstruction(positions, self.decode(positions, nearby))


def new_network(config: NetworkConfig, seed: int) -> Autoencoder:
    """An untrained network whose weights depend on the seed alone; nobody else's random numbers are touched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Autoencoder(config)
