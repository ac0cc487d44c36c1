"""The training loop (app. C.1): warm start, epochs of reconstruction steps, final batch-norm statistics."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from withinpx.errors import InputError, StoppedError
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import LayeredBackground
from withinpx.training.callback import Callback
from withinpx.training.checkpoint import load_checkpoint, save_checkpoint
from withinpx.training.convergence import Convergence
from withinpx.training.device import denormals_as_zero
from withinpx.training.engine import Engine, choose_engine
from withinpx.training.log import Log
from withinpx.training.recipe import WARM, IncompleteBatches, Recipe
from withinpx.training.scene import median_image
from withinpx.training.step import (
    Step,
    Steps,
    check_finite_loss,
    check_finite_weights,
    reconstruction_step,
    sequentially,
)
from withinpx.training.warm_start import jittered, lost_heatmaps, moving_centres, warm_start

CPU = torch.device("cpu")
NEARBY_FRAMES = 10  # distance in time of the frame that gives a `nearby` decoder the background, at most


@dataclass(frozen=True)
class FitSettings:
    """Where and how safely to train; the result does not depend on it, but for rounding."""

    device: torch.device = CPU
    dense: bool = False  # compute every pixel, even where nothing changes; equal but for rounding, and slower
    folder: Path | None = None  # for the log and the checkpoints
    checkpoint_every_s: float = 20.0
    callbacks: tuple[Callback, ...] = ()
    stop: Callable[[], bool] | None = None  # called after every epoch; True saves a checkpoint and ends the training

    @property
    def precision(self) -> str:
        """The format that the factors of a convolution are rounded to."""
        return "tf32" if self.device.type == "cuda" else "float32"


DEFAULTS = FitSettings()


@denormals_as_zero()
def fit(
    model: Autoencoder,
    images: Float[Tensor, "f c h w"],
    recipe: Recipe = WARM,
    seed: int = 0,
    settings: FitSettings = DEFAULTS,
    *,
    background: Float[Tensor, "c h w"] | None = None,
) -> Autoencoder:
    """Train ``model`` to reconstruct ``images``; continue from the folder's checkpoint if there is one.

    ``background`` is the scene without objects; by default the median image.

    >>> from withinpx.data.squares import Squares
    >>> from withinpx.model import NetworkConfig
    >>> images = torch.from_numpy(Squares(object_size=3, padding=4, image_size=16).train().images)
    >>> model = Autoencoder(NetworkConfig(16, 16, encoder_rf=3, decoder_rf=5, sigma=0.8, channels=4))
    >>> fit(model, images, Recipe("example", epochs=2, batch_size=16, learning_rate=1e-3)).training
    False
    """
    model, images = prepare_model(model, images, settings.device)
    background = None if background is None else background.to(settings.device)
    engine = choose_engine(model, images, settings.dense, background)
    centres = None
    if recipe.warm_start_steps:
        if model.config.objects > 1:
            raise InputError("The warm start supports one object only: train several with recipe paper.")
        centres = jittered(moving_centres(images, background=background).unsqueeze(1), recipe.jitter_px, seed)
    return learn(engine, len(images), centres, recipe, seed=seed, settings=settings)


def learn(
    engine: Engine,
    count: int,
    centres: Float[Tensor, "f n 2"] | None,
    recipe: Recipe,
    *,
    seed: int,
    settings: FitSettings,
    trained: bool = False,
) -> Autoencoder:
    """Train the engine's network on its ``count`` images.

    ``centres`` are where the heatmaps should start; NaN where that is not known. A network that is ``trained`` already
    needs no warm start.
    """
    training, model = Training(engine, count, recipe, seed, settings.folder), engine.model
    for callback in settings.callbacks:
        callback.on_start(engine, seed)
    if centres is not None and not trained and not training.epochs_done:
        _warm_start(engine, centres, recipe, seed, settings.callbacks)
    restarts = [round(share * recipe.epochs) for share in recipe.restart_at]
    saved = time.monotonic()

    model.train()
    for number in range(training.epochs_done + 1, recipe.epochs + 1):
        _set_learning_rate(training.optimiser, recipe, number)
        if centres is not None:
            engine.centre_loss = (centres, recipe.centre_loss_weight * max(0.0, 1 - 2 * number / recipe.epochs) ** 2)
        epoch = training.log.add(number, *_one_epoch(training, number))
        for callback in settings.callbacks:
            callback.on_epoch(epoch, recipe)
        if centres is not None and number in restarts:
            _restart_lost(engine, centres, recipe, seed, settings.callbacks)
        stopping = settings.stop is not None and settings.stop()
        over = number == recipe.epochs or training.convergence.is_over(training.log.epochs)
        if stopping or over or time.monotonic() - saved > settings.checkpoint_every_s:
            check_finite_weights(f"in epoch {number}", model)
            if settings.folder:
                training.save(settings.folder, recipe.epochs if over else number)
            saved = time.monotonic()
        if stopping:
            raise StoppedError(f"Training was stopped after epoch {number}.")
        if over:
            break
    recompute_batch_norm([engine], count, recipe.batch_size, settings.device)
    return model.eval()


class Training:
    """The state of one network's training, restored from the folder's checkpoint if there is one."""

    def __init__(self, engine: Engine, count: int, recipe: Recipe, seed: int, folder: Path | None = None) -> None:
        self.engine, self._count, self._batch_size, self._seed = engine, count, recipe.batch_size, seed
        self._incomplete = recipe.incomplete_batches
        engine.code_penalty, engine.lost_weight = recipe.code_penalty, recipe.lost_weight
        self.optimiser = adam(engine.model, recipe)
        self.step = reconstruction_step(engine, self.optimiser)
        self.convergence = Convergence(engine, count, recipe)
        self._seen = {"latest": engine.latest_z, "before": self.convergence.before}
        self.epochs_done = load_checkpoint(folder, engine.model, self.optimiser, self._seen) if folder else 0
        self.log = Log(folder, self.epochs_done)

    def batches(self, epoch: int) -> Iterator[Int[Tensor, "2 b"]]:
        device = self.engine.latest_z.device
        return batches(self._count, self._batch_size, self._seed, epoch, device, self._incomplete)

    def save(self, folder: Path, epoch: int) -> None:
        save_checkpoint(folder, self.engine.model, self.optimiser, self._seen, epoch)


def _one_epoch(training: Training, number: int) -> tuple[float, float]:
    """Mean loss and accuracy over the epoch's batches."""
    losses, accuracies = [], []
    for batch in training.batches(number):
        loss, accuracy = training.step(batch)
        if loss.device.type == "cpu":  # would block a GPU, whose loss is checked after the epoch
            check_finite_loss(f"in epoch {number}", loss.item())
        losses.append(loss)
        accuracies.append(accuracy)
    mean_loss = torch.stack(losses).mean().item()
    check_finite_loss(f"in epoch {number}", mean_loss)
    return mean_loss, torch.stack(accuracies).mean().item()


def batches(  # noqa: PLR0917
    count: int,
    batch_size: int,
    seed: int,
    epoch: int,
    device: torch.device = CPU,
    incomplete: IncompleteBatches = "dropped",
) -> Iterator[Int[Tensor, "2 b"]]:
    """The epoch's batches: indices of images, and of an image nearby in time for each.

    They depend on the seed and the epoch alone, so a resumed run equals an uninterrupted one. Images that do not fill
    a batch are dropped (left for another epoch), since a small last batch disturbs batch-norm, or kept as such a batch.
    """
    generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
    order = torch.randperm(count, generator=generator)
    away = torch.randint(1, NEARBY_FRAMES + 1, (count,), generator=generator)
    away *= 2 * torch.randint(0, 2, (count,), generator=generator) - 1
    outside = (order + away < 0) | (order + away >= count)
    nearby = (order + torch.where(outside, -away, away)) % count
    whole = count if incomplete == "kept" else max(count // batch_size, 1) * min(batch_size, count)
    yield from torch.stack([order[:whole], nearby[:whole]]).to(device).split(batch_size, dim=1)


def adam(model: Autoencoder, recipe: Recipe) -> torch.optim.Adam:
    """App. C.1's optimiser; on CUDA in a form that can be recorded as a graph."""
    filters, code = [*model.encoder.parameters(), *model.decoder.parameters()], list(model.background.parameters())
    on_cuda, rate = filters[0].is_cuda, recipe.learning_rate
    groups: list[dict[str, Any]] = [{"params": filters}]
    if code:
        groups.append({"params": code, "lr": rate * recipe.encoding_rate})
    return torch.optim.Adam(groups, lr=rate, fused=on_cuda, capturable=on_cuda)


def _set_learning_rate(optimiser: torch.optim.Adam, recipe: Recipe, epoch: int) -> None:
    """The cosine schedule, if the recipe has one: linear warm-up in a tenth of the epochs, then a cosine to 1 %."""
    if recipe.cosine_schedule:
        done = epoch / recipe.epochs
        rate = recipe.learning_rate * min(10 * done, 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done)))
        for group in optimiser.param_groups:
            group["lr"] = rate


def _warm_start(engine: Engine, centres: Tensor, recipe: Recipe, seed: int, callbacks: tuple[Callback, ...]) -> None:
    steps = warm_start([engine], [centres], recipe.warm_start_steps, seeds=[seed], batch_size=recipe.batch_size)
    for number, losses in enumerate(steps, start=1):
        if losses.device.type == "cpu":  # would block a GPU, whose loss is checked after the first epoch
            check_finite_loss("in the warm start", losses.item())
        for callback in callbacks:
            callback.on_warm_start_step(number, recipe)


def _restart_lost(engine: Engine, centres: Tensor, recipe: Recipe, seed: int, callbacks: tuple[Callback, ...]) -> None:
    """Another warm start for heatmaps that lost their object; the targets of the others are their own positions."""
    lost = lost_heatmaps(engine.latest_z, centres)
    if lost.any():
        targets = torch.where(lost[None, :, None], centres, engine.latest_z)
        half = replace(recipe, warm_start_steps=recipe.warm_start_steps // 2)
        _warm_start(engine, targets, half, seed + 1, callbacks)


@torch.no_grad()
def recompute_batch_norm(
    engines: Sequence[Engine],
    count: int,
    batch_size: int,
    device: torch.device = CPU,
    run: Callable[[Sequence[Step]], Steps] = sequentially,
) -> None:
    """Recompute batch-norm's statistics over all images with the final weights, and leave training mode.

    The running averages of training mix statistics of earlier weights.
    """
    norms = [module for engine in engines for module in engine.model.modules() if isinstance(module, nn.BatchNorm2d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average over the batches
    for engine in engines:
        engine.model.train()
    forward = run([partial(_forward, engine) for engine in engines])
    for batch in batches(count, batch_size, 0, 0, device):
        forward(batch.expand(len(engines), -1, -1))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    for engine in engines:
        engine.model.eval()


def _forward(engine: Engine, batch: Tensor) -> tuple[Tensor, Tensor]:
    return engine.reconstruct(*batch)


def to_device(model: Autoencoder, device: torch.device) -> Autoencoder:
    """The network on the device, in the memory format that is fastest there."""
    model = model.to(device)
    if device.type == "cuda":  # on a CPU, batch-norm's statistics are off by some 1e-3 in this format (torch 2.13)
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return model


def prepare_model(model: Autoencoder, images: Tensor, device: torch.device) -> tuple[Autoencoder, Tensor]:
    """The network and the images on the device; a layered network's still is set to the median image."""
    model, images = to_device(model, device), images.to(device)
    if isinstance(model.background, LayeredBackground):
        model.background.still.copy_(median_image(images))
    return model, images
