"""Epochs of the decoder alone, at the positions that the encoder has learned.

An object's position is learned long before its rendering is sharp, and a sharper rendering bounds the position more
tightly (theory/set_membership.py). A step without the encoder takes about half the time of one with it.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer

from withinpx.training.engine import Engine
from withinpx.training.step import Batch, Step, descend


def polishing_step(engine: Engine, optimiser: Optimizer, batch_size: int) -> Step:
    """A step of the decoder; the encoder's weights and batch-norm statistics must be final, and stay as they are."""
    engine.model.eval()
    positions = learned_positions(engine, batch_size)
    engine.model.decoder.train()

    def step(batch: Batch) -> tuple[Tensor, Tensor]:
        return descend(*engine.decode_at(batch[0], positions[batch[0]]), optimiser)

    return step


@torch.no_grad()
def learned_positions(engine: Engine, batch_size: int) -> Float[Tensor, "f n 2"]:
    """z of every training image, NaN for objects that it does not show."""
    images = torch.arange(len(engine.images), device=engine.images.device)
    positions = torch.cat([engine.encode(batch) for batch in images.split(batch_size)])
    return positions if engine.present is None else positions.masked_fill(~engine.present[..., None], torch.nan)
