"""The sparse engine for a GPU: one change in every picture, kernels by hand (model/windowed.py)."""

import torch
from torch import Tensor

from withinpx.experiments.squares_gpu.half import HalfEngine
from withinpx.experiments.squares_gpu.windowed import Corners, decoder_input, spread, windowed_cnn
from withinpx.model.background import BackgroundMode
from withinpx.model.field import masked
from withinpx.model.softargmax import softargmax
from withinpx.model.sparse import first_layer_reach, gaussian_reach
from withinpx.training.engine import DenseEngine, Engine, SparseEngine, compared, unlike


class GpuEngine(SparseEngine):
    """Equal to the sparse engine but for rounding: wide filters run in half precision."""

    def reconstruct(self, chosen: Tensor, nearby: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and accuracy of the reconstruction of these pictures."""
        positions = softargmax(self._heatmaps(chosen), self.model.config.temperature)
        self.latest_z[chosen] = positions.detach()
        drawn, shown = self._drawn(positions[:, 0]), self.scene.images[chosen]
        return compared(drawn, shown, self.tolerance)

    def heatmap_loss(self, chosen: Tensor, centres: Tensor, width: float) -> Tensor:
        """How unlike Gaussians of this width at these centres the heatmaps are: cross entropy."""
        return unlike(self._heatmaps(chosen) / self.model.config.temperature, centres, width)

    def _heatmaps(self, chosen: Tensor) -> Tensor:
        change, encoder = self.scene.changes[0], self.model.encoder
        corners = torch.stack([change.windows.left[chosen], change.windows.top[chosen]], dim=1).int()
        reach, side = first_layer_reach(encoder), change.windows.height
        windows = Corners(corners, reach, side + 2 * reach)
        if self.scene.alike:  # it is equivariant: what looks the same is looked at once
            windows, shown = Corners(corners[:1], reach, windows.side, times=len(chosen)), change.around[:1]
        else:
            shown = masked(change.around[chosen], change.windows.only(chosen).grown(reach), self.scene.blank.size)
        base, patch, found = windowed_cnn(encoder, self.scene.blank.values, shown, windows, exactly=True)
        return spread(base, patch, Corners(corners, found.grow, found.side))

    def _drawn(self, positions: Tensor) -> Tensor:
        config, decoder = self.model.config, self.model.decoder
        base = self.model.background.beside(positions.new_zeros(1, 1, config.height, config.width), None)
        reach = int(gaussian_reach(self.model, positions.dtype) + 0.5)
        around = reach + first_layer_reach(decoder)
        windows = Corners(positions.detach().floor().int(), around, 2 * around + 1)
        patch = decoder_input(positions, base, windows, config.sigma)
        return spread(*windowed_cnn(decoder, base, patch, windows, exactly=False))


def for_gpu(engine: Engine) -> Engine:
    """The same engine with kernels by hand, if it can have them, or in half precision, if it is dense."""
    if isinstance(engine, DenseEngine) and engine.model.config.background is not BackgroundMode.NEARBY:
        return HalfEngine(engine.model, engine.images, engine.tolerance)
    if not isinstance(engine, SparseEngine):
        return engine
    config, scene = engine.model.config, engine.scene
    whole = config.background is BackgroundMode.POSITIONAL and scene.one_each and scene.blank.reach is None
    square = whole and scene.changes[0].windows.height == scene.changes[0].windows.width
    one = config.objects == config.colours == 1 and config.support is None
    if square and one and config.channels & (config.channels - 1) == 0:
        return GpuEngine(engine.model, scene, engine.tolerance)
    return engine
