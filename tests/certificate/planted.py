"""Networks whose weights are set by hand: z is as far from the object as the theorem allows.

The encoder responds to one pixel of a square, read at the far end of its receptive field. The decoder renders the
square from one pixel of the Gaussian, displaced by as much, so that it is reconstructed exactly where it is.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from withinpx.certificate.calibration import fit_shifts
from withinpx.certificate.certify import Subject, certify, receptive_fields
from withinpx.data.selection import Selection
from withinpx.discovery.background import BackgroundModel
from withinpx.inference.run import run
from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.model.background import BackgroundMode, LayeredBackground
from withinpx.model.cnn import CNN
from withinpx.model.render import profile
from withinpx.tracking.detector import Detector
from withinpx.tracking.tracks import Tracks

HEIGHT, WIDTH = 48, 64
SIZE = 3  # px, side of the square
DARK, BRIGHT = 51, 204  # levels of the background and of the square
FAINT = 14  # levels above the background: beyond the threshold, and less than a tenth of the square's contrast
OPAQUE = 20.0  # logit of the square's opacity; minus this everywhere else
SHARP = 20.0  # gain of the heatmap: its softmax is one pixel

Offset = tuple[int, int]  # (x, y), px
Taps = dict[Offset, float]  # where a filter reads, from its output -> weight
CORNER: Taps = {(0, 0): 1, (-1, 0): -1, (0, -1): -1}  # positive at the top-left pixel of a square only
TIP: Taps = {(0, 0): 1, (-1, 0): -1, (0, -1): -1, (0, 1): -0.9}  # most at a pixel with a neighbour on its right only
BOX: Taps = {(x, y): 1 for x in (-1, 0, 1) for y in (-1, 0, 1)}
PIXEL: Taps = {(0, 0): 1}


@dataclass(frozen=True)
class Planted:
    """What the network does; ``build`` sets its weights."""

    encoder_rf: int
    decoder_rf: int
    z: Offset  # from the square's centre to z
    support: float = 3.2
    sigma: float = 0.8
    from_tail: bool = False  # is the square rendered from the last pixel of the Gaussian, or from its peak?
    temperature: float = 0.1  # Theta of eq. 5
    background: BackgroundMode = BackgroundMode.LAYERED
    reads: Taps = field(default_factory=lambda: CORNER)  # what the encoder responds to, which is
    reads_at: Offset = (-1, -1)  # here, from the square's centre

    @torch.no_grad()
    def build(self) -> Autoencoder:
        model = Autoencoder(
            NetworkConfig(
                *(HEIGHT, WIDTH, self.encoder_rf, self.decoder_rf, self.sigma, self.support),
                channels=1,
                temperature=self.temperature,
                background=self.background,
            )
        ).eval()
        set_filters(model.encoder, self.reads, PIXEL, (self.reads_at[0] - self.z[0], self.reads_at[1] - self.z[1]))
        last_filter(model.encoder).weight *= SHARP
        reach = int(np.ceil(self.support)) - 1 if self.from_tail else 0  # from z to the pixel that is rendered from
        gaussian, threshold = (self._tail(reach), 0.0) if self.from_tail else ({(0, 0): 2.0}, 1.0)
        set_filters(model.decoder, gaussian, BOX, (self.z[0] + reach, self.z[1] + reach), threshold)
        last = last_filter(model.decoder)
        last.weight *= torch.tensor([OPAQUE * 2, colour_value(model)]).view(2, 1, 1, 1)
        cast(torch.Tensor, last.bias).copy_(torch.tensor([-OPAQUE, 0.0]))
        cast(LayeredBackground, model.background).still.fill_(DARK / 255)
        return model

    def _tail(self, reach: int) -> Taps:
        """Positive where the Gaussian ends to the right and below, at ``reach`` px from its peak: one there."""
        heights = profile(torch.arange(reach + 1.0).view(1, 1, -1), self.sigma, self.support).flatten().tolist()
        steepest = max(high / low for high, low in pairwise(heights))
        here = heights[-1] ** -2
        return {(0, 0): here, (1, 0): -2 * steepest * here, (0, 1): -2 * steepest * here}


def set_filters(cnn: CNN, first: Taps, last: Taps, offset: Offset, threshold: float = 0.0) -> None:
    """A CNN of one channel: ``first`` minus the threshold, read at ``offset``, then ``last``."""
    layers = [layer for layer in cnn if isinstance(layer, nn.Conv2d)]
    taps = [first, *[PIXEL] * (len(layers) - 2), last]
    left = list(offset)
    for layer, weights in zip(layers, taps, strict=True):
        reach = layer.kernel_size[0] // 2
        layer.weight.zero_()
        step = []
        for axis in (0, 1):
            read = [tap[axis] for tap in weights]
            step.append(int(np.clip(left[axis], -reach - min(read), reach - max(read))))
            left[axis] -= step[axis]
        for (x, y), weight in weights.items():
            layer.weight[:, 0, reach + y + step[1], reach + x + step[0]] = weight
        if layer.bias is not None:
            layer.bias.zero_()
    assert left == [0, 0], "the receptive field is too small"
    norms = [layer for layer in cnn if isinstance(layer, nn.BatchNorm2d)]
    for norm in norms:
        norm.running_var = torch.ones(1) - norm.eps
    norms[0].bias.fill_(-threshold)


def colour_value(model: Autoencoder) -> float:
    """The decoder's output that the background model composes to the square's colour."""
    values = torch.linspace(-4, 4, 8001)
    maps = torch.stack([torch.full_like(values, OPAQUE), values])[None, :, None]
    colours = model.background.compose(maps, torch.zeros(1, 1, 1, len(values))).flatten()
    return float(values[(colours - BRIGHT / 255).abs().argmin()])


def last_filter(cnn: CNN) -> nn.Conv2d:
    return cast(nn.Conv2d, cnn[-1])


def square_at(centres: NDArray[np.intp], *, line: int | None = None, rim: int = 0) -> NDArray[np.uint8]:
    """Frames (f, h, w, 1) with a square around each pixel (f, 2).

    There may be a faint line of pixels along one row, and a rim around the square that is too faint for its box.
    """
    frames = np.full((len(centres), HEIGHT, WIDTH, 1), DARK, np.uint8)
    if line is not None:
        frames[:, line] = DARK + 30
    for frame, (x, y) in zip(frames, centres, strict=True):
        if rim:
            frame[y - 1 - rim : y + 2 + rim, x - 1 - rim : x + 2 + rim] = DARK + FAINT
        frame[y - 1 : y + 2, x - 1 : x + 2] = BRIGHT
    return frames


def uniform_background() -> BackgroundModel:
    """The scene without its square, and how much a pixel may differ from it."""
    return BackgroundModel(
        np.full((1, HEIGHT, WIDTH, 1), DARK / 255, np.float32), np.full((HEIGHT, WIDTH), 0.05, np.float32)
    )


def tracked(model: Autoencoder, frames: NDArray[np.uint8]) -> tuple[Detector, Tracks]:
    """The detector that a network gets on these frames of a uniform background, and its tracks in them."""
    background = uniform_background()
    fields = receptive_fields(model)
    seen = run(model, frames, background, encoder_rf=fields.encoder)
    shifts = fit_shifts(seen, seen.body, varies=False)
    kept_out = np.arange(2, len(seen), 5)
    certificate = certify(Subject("planted", 1.0, 1), model, seen, fields=fields, kept_out=kept_out, shifts=shifts)
    detector = Detector(model, background, Selection(), (WIDTH, HEIGHT), shifts, certificate)
    return detector, detector.tracks(seen, np.arange(len(seen)), np.full(len(seen), np.nan))
