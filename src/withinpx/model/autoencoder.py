"""Figure 1: z = softargmax . psi . x ;  x_hat = phi . render . z."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from withinpx.errors import InputError
from withinpx.model.appearance import object_maps, read_codes
from withinpx.model.background import BackgroundMode, Encoding, LayeredBackground, build_background
from withinpx.model.cnn import CHANNELS, CNN
from withinpx.model.render import Peak, render
from withinpx.model.softargmax import TEMPERATURE, Softargmax, softargmax, softargmax_weights, weighted_positions
from withinpx.theory.receptive_field import check_receptive_field

KINDS = {"background": BackgroundMode, "softargmax": Softargmax, "encoding": Encoding, "peak": Peak}


def with_kinds(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of a ``NetworkConfig`` as a file has them, with their kinds in place of text."""
    return {name: KINDS[name](value) if name in KINDS else value for name, value in fields.items()}


@dataclass(frozen=True)
class NetworkConfig:
    """The architecture of an ``Autoencoder``.

    >>> NetworkConfig(height=80, width=80, encoder_rf=9, decoder_rf=25, sigma=0.8).channels
    32
    """

    height: int  # of the images, px
    width: int
    encoder_rf: int  # s_psi, px
    decoder_rf: int  # s_phi, px
    sigma: float  # sigma_G, px
    support: float | None = None  # radius beyond which the Gaussian is exactly zero, px; None is the paper's
    objects: int = 1  # number of heatmaps, at most one object each
    colours: int = 1  # colour channels of the images
    channels: int = CHANNELS  # of every hidden layer
    temperature: float = TEMPERATURE  # Theta of eq. 5
    background: BackgroundMode = BackgroundMode.POSITIONAL
    appearance: int = 0  # k: entries of the appearance code; 0 is the paper's network
    softargmax: Softargmax = Softargmax.JOINT  # the reading of eq. 5
    encoding: Encoding = Encoding.LEARNED  # of a positional background
    peak: Peak = Peak.ONE  # the height of the Gaussian

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
        if self.appearance < 0:
            raise InputError(f"The appearance code has {self.appearance} entries: give 0 or more.")
        if self.appearance and self.softargmax is not Softargmax.JOINT:
            raise InputError("An appearance code is read with the joint softargmax: leave that at its default.")
        if self.appearance and self.support is None:
            raise InputError(
                f"An appearance code of {self.appearance} entries would amplify the tails of a Gaussian without end: "
                f"give the Gaussian a support, such as {4 * self.sigma:g} px."
            )

    @property
    def object_maps(self) -> int:
        """Maps of the decoder's input that the objects are rendered in."""
        return self.objects * (1 + self.appearance)

    @property
    def is_layered(self) -> bool:
        """Whether the decoder's output is composited over a known background."""
        return self.background in (BackgroundMode.LAYERED, BackgroundMode.PERSPECTIVE)


class Latents(NamedTuple):
    """What the encoder says of the objects of each image."""

    positions: Float[Tensor, "b n 2"]  # z: (x, y), px
    codes: Float[Tensor, "b n k"]  # from -1 to 1


class Reconstruction(NamedTuple):
    positions: Float[Tensor, "b n 2"]  # z: (x, y), px
    images: Float[Tensor, "b c h w"]  # x_hat


class Autoencoder(nn.Module):
    """Images to positions and back, equivariant to translation at every step.

    >>> model = Autoencoder(NetworkConfig(height=40, width=60, encoder_rf=9, decoder_rf=11, sigma=0.8))
    >>> positions, images = model(torch.zeros(2, 1, 40, 60))
    >>> positions.shape, images.shape
    (torch.Size([2, 1, 2]), torch.Size([2, 1, 40, 60]))
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.background = build_background(
            config.background, (config.height, config.width), config.colours, config.encoding
        )
        outputs = config.objects + config.appearance
        self.encoder = CNN(config.colours, outputs, config.encoder_rf, config.channels)  # psi
        self.decoder = CNN(self.decoder_inputs, self.background.output_maps, config.decoder_rf, config.channels)  # phi
        if isinstance(self.background, LayeredBackground):
            self.background.start_faint(self.decoder)

    def __repr__(self) -> str:
        return f"Autoencoder({self.config})"

    @property
    def decoder_inputs(self) -> int:
        """Maps that the decoder sees."""
        return self.config.object_maps + self.background.input_maps

    @property
    def margin(self) -> int:
        """Px rendered around the image and cropped again: an object layer has no border effects."""
        return self.config.decoder_rf // 2 if self.config.is_layered else 0

    def heatmaps(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b n h w"]:
        """The embedding maps e_1 ... e_n."""
        maps: Tensor = self.encoder(images)
        return maps[:, : self.config.objects]

    def encode(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b n 2"]:
        """Positions z, (x, y) in px."""
        return self.latents(images).positions

    def latents(self, images: Float[Tensor, "b c h w"]) -> Latents:
        """Positions and appearance codes."""
        return self.read(self.encoder(images))

    def read(self, maps: Float[Tensor, "b m h w"]) -> Latents:
        """Positions and codes from the encoder's maps: n heatmaps, then the k maps of the code."""
        heatmaps, shared = maps[:, : self.config.objects], maps[:, self.config.objects :]
        if not self.config.appearance:
            positions = softargmax(heatmaps, self.config.temperature, self.config.softargmax)
            return Latents(positions, positions.new_zeros(*positions.shape[:2], 0))
        weights = softargmax_weights(heatmaps, self.config.temperature)
        return Latents(weighted_positions(weights), read_codes(weights, shared))

    def decoder_maps(
        self,
        positions: Float[Tensor, "b n 2"],
        nearby: Float[Tensor, "b c h w"] | None = None,
        present: Bool[Tensor, "b n"] | None = None,
        codes: Float[Tensor, "b n k"] | None = None,
    ) -> Float[Tensor, "b o h w"]:
        """The decoder's output: the colours of the image, or the opacity and colours of an object layer.

        Codes that are not given are zero.
        """
        config, margin = self.config, self.margin
        canvas = (config.height + 2 * margin, config.width + 2 * margin)
        gaussians = render(positions + margin, canvas, config.sigma, config.support, config.peak)
        if present is not None:
            gaussians = gaussians * present[..., None, None]
        objects = object_maps(gaussians, codes, config.appearance)
        maps: Tensor = self.decoder(self.background.decoder_input(objects, nearby))
        return maps[..., margin : margin + config.height, margin : margin + config.width]

    def decode(
        self,
        positions: Float[Tensor, "b n 2"],
        nearby: Float[Tensor, "b c h w"] | None = None,
        present: Bool[Tensor, "b n"] | None = None,
        codes: Float[Tensor, "b n k"] | None = None,
    ) -> Float[Tensor, "b c h w"]:
        """Images with the objects at these positions; an object that is not ``present`` gets no Gaussian."""
        return self.background.compose(self.decoder_maps(positions, nearby, present, codes))

    def forward(
        self, images: Float[Tensor, "b c h w"], nearby: Float[Tensor, "b c h w"] | None = None
    ) -> Reconstruction:
        positions, codes = self.latents(images)
        return Reconstruction(positions, self.decode(positions, nearby, codes=codes))


def new_network(config: NetworkConfig, seed: int) -> Autoencoder:
    """An untrained network whose weights depend on the seed alone; the global random state is left untouched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Autoencoder(config)


@torch.no_grad()
def with_appearance(model: Autoencoder, entries: int, seed: int) -> Autoencoder:
    """A copy of a network without a code that has one of so many ``entries`` and renders what the network renders.

    The filters for the code's maps are random, as in a new network. The decoder's filters for the code are zero, so
    that it has no effect yet. The other way round, with codes of zero, the network finds no use for them: a decoder
    that reads codes which say nothing first learns to ignore them.
    """
    if model.config.appearance:
        raise InputError(f"The network has an appearance code of {model.config.appearance} entries already.")
    wider = new_network(replace(model.config, appearance=entries), seed)
    wider.to(device=next(model.parameters()).device, dtype=next(model.parameters()).dtype).train(model.training)
    weights, objects = wider.state_dict(), model.config.objects
    last, first = (f"encoder.{len(model.encoder) - 1}", "decoder.0.weight")
    for name, value in model.state_dict().items():
        if name in (f"{last}.weight", f"{last}.bias"):
            weights[name][:objects] = value
        elif name == first:
            weights[name].zero_()
            weights[name][:, :objects] = value[:, :objects]
            weights[name][:, wider.config.object_maps :] = value[:, objects:]
        else:
            weights[name].copy_(value)
    return wider
