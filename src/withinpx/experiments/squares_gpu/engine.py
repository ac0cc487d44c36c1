"""The sparse engine's numbers by hand-written kernels: one window of change in every image (windowed.py)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from withinpx.experiments.squares_gpu.windowed import SquareWindows, decoder_input, spread, windowed_cnn
from withinpx.model.autoencoder import Autoencoder, Latents
from withinpx.model.background import BackgroundMode
from withinpx.model.field import masked
from withinpx.model.sparse import first_layer_reach, gaussian_reach
from withinpx.theory.receptive_field import LARGEST_UNDILATED
from withinpx.training.engine import DenseEngine, Engine, Indices, SparseEngine
from withinpx.training.scene import Scene


class GpuEngine(DenseEngine):
    """Equal to the sparse engine but for rounding: feature maps and inner filters are ``stored`` in this format."""

    def __init__(self, model: Autoencoder, scene: Scene, tolerance: float, stored: torch.dtype) -> None:
        super().__init__(model, scene.images, tolerance)
        self.scene, self.stored = scene, stored

    def _maps(self, chosen: Indices) -> Tensor:
        change, encoder = self.scene.changes[0], self.model.encoder
        corners = torch.stack([change.windows.left[chosen], change.windows.top[chosen]], dim=1).int()
        reach = first_layer_reach(encoder)
        side = change.windows.height + 2 * reach
        if self.scene.identical:  # computed once, since the encoder is equivariant
            windows, inputs = SquareWindows(corners[:1], reach, side, copies=len(chosen)), change.inputs[:1]
        else:
            windows = SquareWindows(corners, reach, side)
            inputs = masked(change.inputs[chosen], change.windows.only(chosen).grown(reach), self.scene.empty.size)
        base, patch, found = windowed_cnn(
            encoder, self.scene.empty.values, inputs, windows, stored=self.stored, full_output=True
        )
        return spread(base, patch, SquareWindows(corners, found.grow, found.side))

    def _decode(self, latents: Latents, present: Tensor | None, chosen: Indices, nearby: Indices) -> Tensor:
        positions = latents.positions
        config, decoder = self.model.config, self.model.decoder
        base = self.model.background.decoder_input(positions.new_zeros(1, 1, config.height, config.width))
        missing = power_of_two(base.shape[1]) - base.shape[1]  # as a program's channels have to be
        base = F.pad(base, (0, 0, 0, 0, 0, missing))
        around = int(gaussian_reach(self.model, positions.dtype) + 0.5) + first_layer_reach(decoder)
        z = positions[:, 0]
        windows = SquareWindows(z.detach().floor().int(), around, 2 * around + 1)
        patch = decoder_input(z, base, windows, config.sigma, config.peak)
        return spread(*windowed_cnn(decoder, base, patch, windows, stored=self.stored, full_output=False))


def power_of_two(count: int) -> int:
    """The smallest one that is not below ``count``."""
    return int(2 ** (count - 1).bit_length())


def for_gpu(engine: Engine, stored: torch.dtype) -> Engine:
    """The engine with hand-written kernels if it meets their conditions, else the same engine."""
    config = engine.model.config
    if not isinstance(engine, SparseEngine) or not engine.scene.one_per_image or engine.scene.empty.reach is not None:
        return engine
    windows = engine.scene.changes[0].windows
    undilated = max(config.encoder_rf, config.decoder_rf) <= LARGEST_UNDILATED
    is_paper = config.background is BackgroundMode.POSITIONAL and config.support is None and undilated
    fitting = config.channels == power_of_two(config.channels)
    if is_paper and config.objects == config.colours == 1 and windows.height == windows.width and fitting:
        return GpuEngine(engine.model, engine.scene, engine.tolerance, stored)
    return engine
