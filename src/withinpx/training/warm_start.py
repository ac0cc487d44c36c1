"""A label-free warm start: see what moves, and let the heatmap begin there.

Left to itself, an encoder settles in its first steps on whichever part of the object it happens to see, often further
from its centre than the decoder can make up for; its softargmax is then sharp, passes no gradient on, and the run ends
below the accuracy that a run must have. Beginning at the centre of what moves avoids that. No label is used.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from withinpx.errors import InputError
from withinpx.model.softargmax import weighted_positions
from withinpx.training.engine import Engine, SparseEngine
from withinpx.training.scene import difference
from withinpx.training.step import Batch, Step, descend, stop_if_broken

TARGET_WIDTH = 0.5  # px; the heatmap is asked to look like a Gaussian this wide, sharp enough to leak nothing
WARM_START_RATE = 3e-3  # Adam's
WARM_START_BATCH = 128


def check_something_moves(images: Float[Tensor, "b c h w"]) -> None:
    """Assumption 2 of thm 4.1 in its simplest form: an object that never moves is background."""
    if (images == images[0]).all():
        raise InputError("Nothing moves: all pictures are the same.")


def moving_centres(
    images: Float[Tensor, "b c h w"], threshold: float = 0.5, behind: Float[Tensor, "c h w"] | None = None
) -> Float[Tensor, "b 2"]:
    """The mean (x, y) of the pixels that differ from what lies behind by more than ``threshold`` of the most."""
    check_something_moves(images)
    distance = difference(images, behind)
    moving = (distance > threshold * distance.amax()).to(images.dtype)
    return weighted_positions(moving) / moving.sum(dim=(-2, -1)).clamp(min=1).unsqueeze(-1)


def jittered(centres: Float[Tensor, "b n 2"], aside: float, seed: int) -> Float[Tensor, "b n 2"]:
    """Where a network's warm start aims: up to ``aside`` px beside the centres along each axis, by its seed."""
    if not aside:
        return centres
    offset = 2 * torch.rand(2, generator=torch.Generator().manual_seed(seed)) - 1
    return centres + aside * offset.to(centres)


def warm_start(
    engine: Engine, centres: Float[Tensor, "b n 2"], steps: int, seed: int, batch_size: int = WARM_START_BATCH
) -> Iterator[int]:
    """Teach the encoder, for a few steps, to look at these centres, heatmap i at centre i; count the steps."""
    step, generator = warm_start_step(engine, centres), torch.Generator().manual_seed(seed)
    engine.model.train()
    for number in range(1, steps + 1):
        chosen = torch.randperm(len(centres), generator=generator)[:batch_size].to(centres.device)
        loss, _ = step(chosen.expand(2, -1))
        if loss.device.type == "cpu":  # on a GPU the first epoch tells
            stop_if_broken("in the warm start", loss.item())
        yield number


def warm_start_step(engine: Engine, centres: Float[Tensor, "b n 2"]) -> Step:
    """One step of the warm start, with an optimiser of its own; on CUDA in a form that can be captured."""
    on_gpu = centres.is_cuda
    optimiser = torch.optim.Adam(engine.model.parameters(), lr=WARM_START_RATE, capturable=on_gpu, fused=on_gpu)

    def step(batch: Batch) -> tuple[Tensor, Tensor]:
        loss = warm_start_loss(engine, batch[0], centres[batch[0]])
        return descend(loss, loss, optimiser)

    return step


def warm_start_loss(engine: Engine, chosen: Tensor, centres: Float[Tensor, "b n 2"]) -> Tensor:
    """How far the heatmaps are from their centres, and a layer's decoder from drawing what is there.

    A decoder that draws a layer is taught beside it what to draw there: left alone, it first learns a veil over all.
    """
    loss = engine.heatmap_loss(chosen, centres, TARGET_WIDTH)
    if isinstance(engine, SparseEngine) and engine.model.config.is_layered:
        loss = loss + engine.decoder_loss(chosen, centres)
    return loss


LOST_PX = 4.0  # further than this from its thing, in half of the pictures, is lost


def lost_heatmaps(positions: Float[Tensor, "b n 2"], centres: Float[Tensor, "b n 2"]) -> Bool[Tensor, " n"]:
    """Which heatmaps are not where their thing is: they sit still somewhere, or follow another's. No label is used."""
    away = (positions - centres).abs().amax(dim=-1)
    return away.nanmedian(dim=0).values > LOST_PX  # one whose thing is never known is not lost
