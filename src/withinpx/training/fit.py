"""The training loop (app. C.1): reconstruct, compare, step."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from withinpx.errors import InputError, StoppedError
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import LayeredBackground
from withinpx.training.callback import Callback
from withinpx.training.checkpoint import load_checkpoint, save_checkpoint
from withinpx.training.convergence import Convergence
from withinpx.training.device import denormals_as_zero
from withinpx.training.engine import Engine, SparseEngine, choose_engine
from withinpx.training.log import Log
from withinpx.training.recipe import WARM, Recipe
from withinpx.training.scene import median_picture
from withinpx.training.step import InTurn, Run, Step, reconstruction_step, stop_if_broken, stop_if_spoiled
from withinpx.training.warm_start import jittered, lost_heatmaps, moving_centres, warm_start

CPU = torch.device("cpu")
NEARBY_FRAMES = 10  # how far away in time the frame may be that shows a `nearby` decoder the background


@dataclass(frozen=True)
class FitSettings:
    """Where and how safely to train; none of it changes what is learned, but for rounding."""

    device: torch.device = CPU
    dense: bool = False  # compute everywhere, even where nothing changes; equal but for rounding, and slower
    folder: Path | None = None  # for the log and the checkpoints
    checkpoint_every_s: float = 20.0
    callbacks: tuple[Callback, ...] = ()
    stop: Callable[[], bool] | None = None  # asked after every epoch: yes saves a checkpoint and ends the training

    @property
    def precision(self) -> str:
        """What filters round their factors to."""
        return "tf32" if self.device.type == "cuda" else "float32"


DEFAULTS = FitSettings()


@denormals_as_zero()
def fit(
    model: Autoencoder,
    images: Tensor,
    recipe: Recipe = WARM,
    seed: int = 0,
    settings: FitSettings = DEFAULTS,
    *,
    behind: Tensor | None = None,
) -> Autoencoder:
    """Train ``model`` to reconstruct ``images`` (b c h w); continue from the folder's checkpoint if it has one.

    ``behind`` (c h w) is the picture without objects, if it is known; else it is taken to be the median picture.
    """
    model, images = prepare_model(model, images, settings.device)
    behind = None if behind is None else behind.to(settings.device)
    engine = choose_engine(model, images, settings.dense, behind)
    centres = None
    if recipe.warm_start_steps:
        if model.config.objects > 1:
            raise InputError("The warm start knows one object only: train several with recipe paper.")
        centres = jittered(moving_centres(images, behind=behind).unsqueeze(1), recipe.jitter_px, seed)
    return learn(engine, len(images), centres, recipe, seed=seed, settings=settings)


def learn(
    engine: Engine, count: int, centres: Tensor | None, recipe: Recipe, *, seed: int, settings: FitSettings
) -> Autoencoder:
    """The loop. ``centres`` (b n 2) is where the heatmaps should begin; not a number where that is not known."""
    model, device = engine.model, settings.device
    optimiser = adam(model, recipe, device)
    learned = Convergence(engine, count, recipe)
    seen = {"latest": engine.latest_z, "before": learned.before}
    done = load_checkpoint(settings.folder, model, optimiser, seen) if settings.folder else 0
    log = Log(settings.folder, done)
    step = reconstruction_step(engine, optimiser)
    for callback in settings.callbacks:
        callback.on_start(engine, seed)
    if centres is not None and not done:
        run_warm_start(engine, centres, recipe, steps=recipe.warm_start_steps, seed=seed, callbacks=settings.callbacks)
    saved = time.monotonic()

    model.train()
    for number in range(done + 1, recipe.epochs + 1):
        set_learning_rate(optimiser, recipe, number)
        if isinstance(engine, SparseEngine) and centres is not None:
            engine.centre_loss = (centres, recipe.centre_loss_weight * max(0.0, 1 - 2 * number / recipe.epochs) ** 2)
        loss, accuracy = _one_epoch(step, batches(count, recipe.batch_size, seed, number, device), number)
        epoch = log.add(number, loss, accuracy)
        for callback in settings.callbacks:
            callback.on_epoch(epoch, recipe)
        if centres is not None and number in [round(share * recipe.epochs) for share in recipe.restart_at]:
            restart_lost(engine, centres, recipe, seed, settings.callbacks)
        stopping = settings.stop is not None and settings.stop()
        over = number == recipe.epochs or learned.is_over(log.epochs)
        if stopping or over or time.monotonic() - saved > settings.checkpoint_every_s:
            stop_if_spoiled(f"in epoch {number}", model)
            if settings.folder:
                save_checkpoint(settings.folder, model, optimiser, seen, recipe.epochs if over else number)
            saved = time.monotonic()
        if stopping:
            raise StoppedError(f"Training was stopped after epoch {number}.")
        if over:
            break
    recompute_batch_norm([engine], count, recipe.batch_size, device)
    return model.eval()


def _one_epoch(step: Step, order: Iterable[Tensor], number: int) -> tuple[float, float]:
    """All batches: their mean loss and accuracy."""
    losses, accuracies = [], []
    for batch in order:
        loss, accuracy = step(batch)
        if loss.device.type == "cpu":  # a GPU would have to wait for the answer: there it is asked after the epoch
            stop_if_broken(f"in epoch {number}", loss.item())
        losses.append(loss)
        accuracies.append(accuracy)
    mean_loss = torch.stack(losses).mean().item()
    stop_if_broken(f"in epoch {number}", mean_loss)
    return mean_loss, torch.stack(accuracies).mean().item()


def to_device(model: Autoencoder, device: torch.device) -> Autoencoder:
    """The network on the device, in the format that is fastest there."""
    model = model.to(device)
    if device.type == "cuda":  # on a CPU, batch-norm's statistics are off by some 1e-3 in this format (torch 2.13)
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return model


def prepare_model(model: Autoencoder, images: Tensor, device: torch.device) -> tuple[Autoencoder, Tensor]:
    """The network and the pictures on the device; a layered network is told the background."""
    model, images = to_device(model, device), images.to(device)
    if isinstance(model.background, LayeredBackground):
        model.background.still.copy_(median_picture(images))
    return model, images


def adam(model: Autoencoder, recipe: Recipe, device: torch.device) -> torch.optim.Adam:
    """App. C.1's optimiser; on CUDA in a form that can be captured."""
    on_cuda, rate = device.type == "cuda", recipe.learning_rate
    code = list(model.background.parameters())
    filters = [*model.encoder.parameters(), *model.decoder.parameters()]
    groups: list[dict[str, Any]] = [{"params": filters}, {"params": code, "lr": rate * recipe.encoding_rate}]
    return torch.optim.Adam([each for each in groups if each["params"]], lr=rate, fused=on_cuda, capturable=on_cuda)


def run_warm_start(
    engine: Engine, centres: Tensor, recipe: Recipe, *, steps: int, seed: int, callbacks: tuple[Callback, ...]
) -> None:
    """The warm start."""
    for number in warm_start(engine, centres, steps, seed, recipe.batch_size):
        for callback in callbacks:
            callback.on_warm_start_step(number, recipe)


def restart_lost(engine: Engine, centres: Tensor, recipe: Recipe, seed: int, callbacks: tuple[Callback, ...]) -> None:
    """Heatmaps that sit still or follow another's object are sent back to their own; the others stay where they are."""
    if not isinstance(engine, SparseEngine):
        return
    lost = lost_heatmaps(engine.latest_z, centres)
    if lost.any():
        targets = torch.where(lost[None, :, None], centres, engine.latest_z)
        run_warm_start(engine, targets, recipe, steps=recipe.warm_start_steps // 2, seed=seed + 1, callbacks=callbacks)


def set_learning_rate(optimiser: torch.optim.Adam, recipe: Recipe, epoch: int) -> None:
    """The epoch's learning rate, if the recipe has it fade: up in a tenth of the epochs, then down along a cosine."""
    if recipe.cosine_schedule:
        done = epoch / recipe.epochs
        rate = recipe.learning_rate * min(10 * done, 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done)))
        for group in optimiser.param_groups:
            group["lr"] = rate


def batches(
    count: int, batch_size: int, seed: int, epoch: int, device: torch.device = CPU
) -> Iterator[Int[Tensor, "2 b"]]:
    """The epoch's batches as indices: of the pictures, and of a picture nearby in time for each.

    They depend on the seed and the epoch alone, so a resumed run sees what an uninterrupted one would. What does not
    fill a batch is left for another epoch: a small last batch would unsettle batch-norm.
    """
    generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
    order = torch.randperm(count, generator=generator)
    away = torch.randint(1, NEARBY_FRAMES + 1, (count,), generator=generator)
    away *= 2 * torch.randint(0, 2, (count,), generator=generator) - 1
    outside = (order + away < 0) | (order + away >= count)
    nearby = (order + torch.where(outside, -away, away)) % count
    whole = max(count // batch_size, 1) * min(batch_size, count)
    yield from torch.stack([order[:whole], nearby[:whole]]).to(device).split(batch_size, dim=1)


@torch.no_grad()
def recompute_batch_norm(
    engines: Sequence[Engine],
    count: int,
    batch_size: int,
    device: torch.device = CPU,
    run: Callable[[Sequence[Step]], Run] = InTurn,
) -> None:
    """Measure batch-norm's statistics once more, over all pictures, with the final weights, and stop training.

    The running averages that training leaves behind mix statistics of earlier weights.
    """
    norms = [each for engine in engines for each in engine.model.modules() if isinstance(each, nn.BatchNorm2d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average over the batches
    for engine in engines:
        engine.model.train()
    looks = [partial(_look_only, engine) for engine in engines]
    look = run(looks)
    for batch in batches(count, batch_size, 0, 0, device):
        look(batch.expand(len(engines), -1, -1))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    for engine in engines:
        engine.model.eval()


def _look_only(engine: Engine, batch: Tensor) -> tuple[Tensor, Tensor]:
    return engine.reconstruct(*batch)
