"""A label-free warm start: teach the heatmaps to peak at the moving objects before reconstruction is trained.

From a random start, an encoder settles in its first steps on an arbitrary part of the object, often further from its
centre than the decoder can compensate. Its softargmax is then sharp and passes no gradient on, and the run ends below
the accepted accuracy. Starting at the centre of the moving pixels avoids that. No label is used.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from withinpx.errors import InputError
from withinpx.model.softargmax import weighted_positions
from withinpx.training.engine import Engine
from withinpx.training.losses import LOST_PX
from withinpx.training.scene import difference
from withinpx.training.step import Batch, Step, Steps, descend, sequentially

TARGET_WIDTH = 0.5  # px; sigma of the Gaussian that a heatmap is fitted to, narrow enough for no softargmax leakage
LEARNING_RATE = 3e-3


def moving_centres(
    images: Float[Tensor, "b c h w"], threshold: float = 0.5, background: Float[Tensor, "c h w"] | None = None
) -> Float[Tensor, "b 2"]:
    """The mean (x, y) of the pixels whose difference from the background exceeds ``threshold`` of the largest."""
    if (images == images[0]).all():  # assumption 2 of thm 4.1: an object that never moves is background
        raise InputError("Nothing moves: all images are the same.")
    distance = difference(images, background)
    moving = (distance > threshold * distance.amax()).to(images.dtype)
    return weighted_positions(moving) / moving.sum(dim=(-2, -1)).clamp(min=1).unsqueeze(-1)


def jittered(centres: Float[Tensor, "b n 2"], jitter_px: float, seed: int) -> Float[Tensor, "b n 2"]:
    """The centres shifted by one random offset of up to ``jitter_px`` along each axis."""
    if not jitter_px:
        return centres
    offset = 2 * torch.rand(2, generator=torch.Generator().manual_seed(seed)) - 1
    return centres + jitter_px * offset.to(centres)


def warm_start(
    engines: Sequence[Engine],
    centres: Sequence[Float[Tensor, "b n 2"]],
    steps: int,
    *,
    seeds: Sequence[int],
    batch_size: int,
    run: Callable[[Sequence[Step]], Steps] = sequentially,
) -> Iterator[Float[Tensor, " s"]]:
    """Fit heatmap i of every network to its centre i; yields the losses of every step."""
    step = run([warm_start_step(engine, own) for engine, own in zip(engines, centres, strict=True)])
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    for engine in engines:
        engine.model.train()
    for _ in range(steps):
        orders = [torch.randperm(len(centres[0]), generator=generator)[:batch_size] for generator in generators]
        yield step(torch.stack(orders)[:, None].expand(-1, 2, -1).to(centres[0].device))[0]


def warm_start_step(engine: Engine, centres: Float[Tensor, "b n 2"]) -> Step:
    """With an optimiser of its own; on CUDA in a form that can be recorded as a graph.

    A layered decoder is trained at the same centres: from a random start it first learns a veil over the whole image.
    """
    on_gpu = centres.is_cuda
    optimiser = torch.optim.Adam(engine.model.parameters(), lr=LEARNING_RATE, capturable=on_gpu, fused=on_gpu)

    def step(batch: Batch) -> tuple[Tensor, Tensor]:
        chosen, targets = batch[0], centres[batch[0]]
        loss = engine.heatmap_loss(chosen, targets, TARGET_WIDTH)
        if engine.model.config.is_layered:
            loss = loss + engine.decoder_loss(chosen, targets)
        return descend(loss, loss, optimiser)

    return step


def lost_heatmaps(positions: Float[Tensor, "b n 2"], centres: Float[Tensor, "b n 2"]) -> Bool[Tensor, " n"]:
    """Heatmaps that are not at their object in half of the images: they stay still or follow another's."""
    distance = (positions - centres).abs().amax(dim=-1)
    return distance.nanmedian(dim=0).values > LOST_PX  # false where the centres are never known
