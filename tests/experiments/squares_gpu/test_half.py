"""The dense engine in half precision equals the one in full precision but for rounding."""

import torch

from withinpx.data.squares import Squares
from withinpx.experiments.squares_gpu.half import HalfEngine
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.training.engine import DenseEngine

IMAGES = torch.from_numpy(Squares(object_size=5, padding=6, image_size=28).train().images)[:32]
CONFIG = NetworkConfig(28, 28, encoder_rf=5, decoder_rf=7, sigma=0.8, channels=8, objects=2)
CHOSEN = torch.arange(32)


def gradients(model: Autoencoder) -> torch.Tensor:
    return torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])


def test_loss_and_gradients_are_those_of_the_dense_engine_but_for_rounding() -> None:
    plain, half = (new_network(CONFIG, 0).train() for _ in range(2))
    engines = DenseEngine(plain, IMAGES), HalfEngine(half, IMAGES, 0.5)
    losses = [engine.reconstruct(CHOSEN, CHOSEN)[0] for engine in engines]
    for loss in losses:
        loss.backward()
    assert abs(losses[1] / losses[0] - 1) < 2e-3
    expected, found = gradients(plain), gradients(half)
    assert (found - expected).norm() < 0.06 * expected.norm()  # some ReLU inputs change their sign
    assert torch.isfinite(found).all()
    assert torch.allclose(engines[0].latest_z, engines[1].latest_z, atol=0.05)


def test_the_warm_start_s_loss_and_gradients_too() -> None:
    plain, half = (new_network(CONFIG, 1).train() for _ in range(2))
    centres = torch.full((32, 2, 2), 14.0)
    losses = [
        engine.heatmap_loss(CHOSEN, centres, 0.5)
        for engine in (DenseEngine(plain, IMAGES), HalfEngine(half, IMAGES, 0.5))
    ]
    for loss in losses:
        loss.backward()
    assert abs(losses[1] / losses[0] - 1) < 2e-3
    assert (gradients(half) - gradients(plain)).norm() < 0.06 * gradients(plain).norm()
