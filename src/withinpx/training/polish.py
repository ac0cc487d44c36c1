"""Further steps of the decoder alone, at the positions that the encoder has learned.

An object's position is learned long before its rendering is sharp, and a sharper rendering bounds the position more
tightly (theory/set_membership.py). Without the encoder a step takes less than half the time.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from withinpx.training.engine import Engine
from withinpx.training.step import check_finite_loss, descend


@torch.no_grad()
def learned_positions(engine: Engine, count: int, batch_size: int) -> Float[Tensor, "f n 2"]:
    """z of every training image, NaN for objects that it does not show."""
    chosen = torch.arange(count, device=engine.images.device).split(batch_size)
    positions = torch.cat([engine.encode(batch) for batch in chosen])
    return positions if engine.present is None else positions.masked_fill(~engine.present[..., None], torch.nan)


def polish(engine: Engine, count: int, steps: int, *, batch_size: int, learning_rate: float, seed: int) -> None:
    """Train the decoder of a network whose batch-norm statistics are final; the encoder stays as it is."""
    positions = learned_positions(engine, count, batch_size)
    decoder = engine.model.decoder
    optimiser = torch.optim.Adam(decoder.parameters(), lr=learning_rate)
    generator = torch.Generator().manual_seed(seed)
    decoder.train()
    for number in range(steps):
        rate = learning_rate * min(
            10 * (number + 1) / steps, 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * number / steps))
        )
        for group in optimiser.param_groups:
            group["lr"] = rate
        chosen = torch.randperm(count, generator=generator)[:batch_size].to(positions.device)
        loss = engine.decoder_loss(chosen, positions[chosen])
        loss, _ = descend(loss, loss, optimiser)
        if loss.device.type == "cpu":
            check_finite_loss("while its decoder was polished", loss.item())
