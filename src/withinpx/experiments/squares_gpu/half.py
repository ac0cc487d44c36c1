"""The dense engine with filters in half precision, which has ten bits as TensorFloat-32 has."""

import torch
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.training.engine import DenseEngine, Indices

GRADIENT_SCALE = 4096.0  # a pixel's share of the loss has a gradient that half precision would round to zero


class HalfEngine(DenseEngine):
    """Equal to the dense engine but for rounding. Heatmaps, positions, images and the loss stay in full precision."""

    def __init__(self, model: Autoencoder, images: Tensor, tolerance: float) -> None:
        super().__init__(model, images, tolerance)
        for parameter in model.parameters():
            parameter.register_hook(lambda gradient: gradient / GRADIENT_SCALE)

    def reconstruct(self, chosen: Indices, nearby: Indices) -> tuple[Tensor, Tensor]:
        loss, accuracy = super().reconstruct(chosen, nearby)
        return _with_scaled_gradient(loss), accuracy

    def heatmap_loss(self, chosen: Indices, centres: Tensor, width: float) -> Tensor:
        return _with_scaled_gradient(super().heatmap_loss(chosen, centres, width))

    def decoder_loss(self, chosen: Indices, centres: Tensor) -> Tensor:
        return _with_scaled_gradient(super().decoder_loss(chosen, centres))

    def heatmaps(self, chosen: Indices) -> Tensor:
        with torch.autocast(self.images.device.type, torch.half):
            return super().heatmaps(chosen).float()

    def _decode(self, positions: Tensor, present: Tensor | None, chosen: Indices, nearby: Indices) -> Tensor:
        with torch.autocast(self.images.device.type, torch.half):
            return super()._decode(positions, present, chosen, nearby).float()


def _with_scaled_gradient(loss: Tensor) -> Tensor:
    if loss.requires_grad:
        loss.register_hook(lambda gradient: gradient * GRADIENT_SCALE)
    return loss
