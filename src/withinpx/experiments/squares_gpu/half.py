"""The dense engine in half precision, for a GPU: filters round their factors to ten bits, as TensorFloat-32 does."""

from typing import Any

import torch
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.softargmax import softargmax
from withinpx.training.engine import DenseEngine, compared, unlike

LOUDER = 4096.0  # times: a pixel's share of the loss has a gradient that half precision would round to nothing


class HalfEngine(DenseEngine):
    """Equal to the dense engine but for rounding. Heatmaps, positions, pictures and the loss stay in full precision."""

    def __init__(self, model: Autoencoder, images: Tensor, tolerance: float) -> None:
        super().__init__(model, images, tolerance)
        for parameter in model.parameters():
            parameter.register_hook(_softer)

    def reconstruct(self, chosen: Tensor, nearby: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and accuracy of the reconstruction of these pictures."""
        batch = self.images[chosen]
        positions = softargmax(self._heatmaps(batch), self.model.config.temperature)
        self.latest_z[chosen] = positions.detach()
        with torch.autocast(batch.device.type, torch.half):
            drawn = self.model.decode(positions)
        return compared(_Louder.apply(drawn.float()), batch, self.tolerance)  # type: ignore[no-untyped-call]

    def heatmap_loss(self, chosen: Tensor, centres: Tensor, width: float) -> Tensor:
        """How unlike Gaussians of this width at these centres the heatmaps are: cross entropy."""
        heatmaps: Tensor = _Louder.apply(self._heatmaps(self.images[chosen]))  # type: ignore[no-untyped-call]
        return unlike(heatmaps / self.model.config.temperature, centres, width)

    def _heatmaps(self, batch: Tensor) -> Tensor:
        with torch.autocast(batch.device.type, torch.half):
            return self.model.heatmaps(batch).float()


class _Louder(torch.autograd.Function):
    """The same numbers; what comes back through it is louder."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        """The same."""
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """Louder."""
        return gradient * LOUDER


def _softer(gradient: Tensor) -> Tensor:
    return gradient / LOUDER
