"""Several networks of one shape, trained at once: each learns what it would learn alone."""

import copy
import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from withinpx.errors import InputError
from withinpx.experiments.squares_gpu.graph import graphed
from withinpx.experiments.squares_options import Kernels
from withinpx.model.autoencoder import Autoencoder
from withinpx.training.device import denormals_as_zero
from withinpx.training.engine import DenseEngine, Engine, SparseEngine, choose_engine
from withinpx.training.fit import DEFAULTS, FitSettings, Training, prepare_model, recompute_batch_norm
from withinpx.training.log import Log
from withinpx.training.recipe import WARM, Recipe
from withinpx.training.warm_start import jittered, moving_centres, warm_start

WORTH_RECORDING = 0.25  # once this share of the networks has stopped, the graph is recorded again without them


@denormals_as_zero()
def fit_together(
    models: Sequence[Autoencoder],
    images: Tensor,
    recipe: Recipe = WARM,
    seeds: Sequence[int] = (0,),
    settings: FitSettings = DEFAULTS,
    *,
    kernels: Kernels = Kernels.TORCH,
    background: Tensor | None = None,
    when_learned: Callable[[int, int], None] | None = None,
) -> list[Log]:
    """``fit`` for several ``models``, each with its seed; returns their logs.

    With ``when_learned`` all are trained to the last epoch; it is called with the index of a network and the epoch
    at which that one would have stopped.
    """
    if recipe.cosine_schedule or recipe.centre_loss_weight or recipe.lost_weight or recipe.restart_at:
        raise InputError(f"The recipe {recipe.name} changes as it goes: train its networks one by one.")
    device, count, run = settings.device, len(images), partial(graphed, device=settings.device)
    background = None if background is None else background.to(device)
    engines = engines_for(models, images, settings, background, kernels=kernels)
    if recipe.warm_start_steps:
        centres = moving_centres(images.to(device), background=background).unsqueeze(1)
        targets = [jittered(centres, recipe.jitter_px, seed) for seed in seeds]
        for _ in warm_start(
            engines, targets, recipe.warm_start_steps, seeds=seeds, batch_size=recipe.batch_size, run=run
        ):
            pass
    trainings = [Training(engine, count, recipe, seed) for engine, seed in zip(engines, seeds, strict=True)]
    _learn(trainings, recipe, device, when_learned)
    recompute_batch_norm(engines, count, recipe.batch_size, device, run)
    return [training.log for training in trainings]


def _learn(
    trainings: Sequence[Training],
    recipe: Recipe,
    device: torch.device,
    when_learned: Callable[[int, int], None] | None,
) -> None:
    """Each network stops where it would stop alone, and ends with the weights that it had there.

    One whose loss is not finite stops after that epoch without having learned.
    """
    final: dict[int, dict[str, Tensor]] = {}  # the weights of those that have stopped
    running = list(range(len(trainings)))
    learning = set(running)
    run = graphed([training.step for training in trainings], device)
    for training in trainings:
        training.engine.model.train()
    for number in range(1, recipe.epochs + 1):
        orders = [list(trainings[index].batches(number)) for index in running]
        results = [run(torch.stack(batch)) for batch in zip(*orders, strict=True)]
        losses, accuracies = (torch.stack(values).mean(dim=0).tolist() for values in zip(*results, strict=True))
        for index, loss, accuracy in zip(running, losses, accuracies, strict=True):
            if index in final:
                continue
            training = trainings[index]
            training.log.add(number, loss, accuracy)
            stopped = not math.isfinite(loss)
            if not stopped and index in learning and training.convergence.is_over(training.log.epochs):
                learning.remove(index)
                if when_learned is None:
                    stopped = True
                else:
                    when_learned(index, number)
            if stopped:
                final[index] = copy.deepcopy(training.engine.model.state_dict())
        left = [index for index in running if index not in final]
        if not left:
            break
        if len(left) <= (1 - WORTH_RECORDING) * len(running):
            running = left
            run = graphed([trainings[index].step for index in running], device, warmed_up=True)
    for index, weights in final.items():
        trainings[index].engine.model.load_state_dict(weights)


def engines_for(
    models: Sequence[Autoencoder],
    images: Tensor,
    settings: FitSettings,
    background: Tensor | None = None,
    *,
    kernels: Kernels = Kernels.TORCH,
) -> list[Engine]:
    """One engine per network; the images and their windows are shared."""
    first, images = prepare_model(models[0], images, settings.device)
    engine = choose_engine(first, images, settings.dense, background)
    others = [prepare_model(model, images, settings.device)[0] for model in models[1:]]
    engines: list[Engine] = [engine]
    if isinstance(engine, SparseEngine):
        engines += [SparseEngine(model, engine.scene, engine.tolerance) for model in others]
    else:
        engines += [DenseEngine(model, images, engine.tolerance) for model in others]
    if kernels is Kernels.TORCH or settings.device.type != "cuda":
        return engines
    from withinpx.experiments.squares_gpu.engine import for_gpu  # noqa: PLC0415  (triton comes with torch for CUDA only)

    stored = torch.half if kernels is Kernels.HALF else torch.float32
    return [for_gpu(engine, stored) for engine in engines]
