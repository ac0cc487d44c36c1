"""Several networks of one shape, trained at once: each learns what it would learn alone."""

import copy
import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from withinpx.errors import InputError
from withinpx.experiments.squares_gpu.graph import at_once
from withinpx.model.autoencoder import Autoencoder
from withinpx.training.convergence import Convergence
from withinpx.training.device import denormals_as_zero
from withinpx.training.engine import Engine, SparseEngine, choose_engine
from withinpx.training.fit import DEFAULTS, FitSettings, adam, batches, prepare_model, recompute_batch_norm
from withinpx.training.log import Log
from withinpx.training.recipe import WARM, Recipe
from withinpx.training.step import reconstruction_step
from withinpx.training.warm_start import jittered, moving_centres, warm_start_step

WORTH_RECORDING = 0.25  # once this share of the networks is done, the others are recorded anew, without them


@denormals_as_zero()
def fit_together(
    models: Sequence[Autoencoder],
    images: Tensor,
    recipe: Recipe = WARM,
    seeds: Sequence[int] = (0,),
    settings: FitSettings = DEFAULTS,
    *,
    fast: bool = False,
    behind: Tensor | None = None,
    when_learned: Callable[[int, int], None] | None = None,
) -> list[Log]:
    """Train ``models``, one per seed, to reconstruct ``images`` (b c h w): ``fit`` for many. Their logs.

    With ``when_learned`` they go on to the last epoch; it is told which of them would have stopped, and when.
    """
    if recipe.cosine_schedule or recipe.centre_loss_weight or recipe.restart_at:
        raise InputError(f"The recipe {recipe.name} changes as it goes: train its networks one by one.")
    device, count = settings.device, len(images)
    behind = None if behind is None else behind.to(device)
    engines = engines_for(models, images, settings, behind, fast=fast)
    if recipe.warm_start_steps:
        centres = moving_centres(images.to(device), behind=behind)
        warm_start_together(engines, centres.unsqueeze(1), recipe, seeds)
    logs = _learn_together(engines, count, recipe, seeds, when_learned)
    recompute_batch_norm(engines, count, recipe.batch_size, device, lambda steps: at_once(steps, device))
    return logs


def _learn_together(
    engines: Sequence[Engine],
    count: int,
    recipe: Recipe,
    seeds: Sequence[int],
    when_learned: Callable[[int, int], None] | None,
) -> list[Log]:
    """The loop. Each network stops where it would stop alone, and ends with the weights it had there.

    One whose loss is no number is done after that epoch, without having learned, and ends its log with that loss.
    """
    device = next(engines[0].model.parameters()).device
    steps = [reconstruction_step(engine, adam(engine.model, recipe, device)) for engine in engines]
    logs = [Log(None, 0) for _ in engines]
    learned = [Convergence(engine, count, recipe) for engine in engines]
    final: dict[int, dict[str, Tensor]] = {}  # the weights of those that are done
    running = list(range(len(engines)))
    waiting = set(running)  # for the moment when they have learned
    run = at_once(steps, device)
    for engine in engines:
        engine.model.train()
    for number in range(1, recipe.epochs + 1):
        orders = [list(batches(count, recipe.batch_size, seeds[each], number, device)) for each in running]
        answers = [run(torch.stack(batch)) for batch in zip(*orders, strict=True)]
        losses, accuracies = (torch.stack(each).mean(dim=0).tolist() for each in zip(*answers, strict=True))
        for each, loss, accuracy in zip(running, losses, accuracies, strict=True):
            if each not in final:
                logs[each].add(number, loss, accuracy)
                if not math.isfinite(loss):  # it never recovers, and keeps no other from learning
                    final[each] = copy.deepcopy(engines[each].model.state_dict())
                elif each in waiting and learned[each].is_over(logs[each].epochs):  # alone, it would stop here
                    waiting.remove(each)
                    if when_learned is None:
                        final[each] = copy.deepcopy(engines[each].model.state_dict())
                    else:
                        when_learned(each, number)
        left = [each for each in running if each not in final]
        if not left:
            break
        if len(left) <= (1 - WORTH_RECORDING) * len(running):
            running = left
            run = at_once([steps[each] for each in running], device, warm=True)
    for each, engine in enumerate(engines):
        engine.model.load_state_dict(final.get(each, engine.model.state_dict()))
    return logs


def engines_for(
    models: Sequence[Autoencoder],
    images: Tensor,
    settings: FitSettings,
    behind: Tensor | None = None,
    *,
    fast: bool = False,
) -> list[Engine]:
    """One engine per network, all looking at the same pictures."""
    first, images = prepare_model(models[0], images, settings.device)
    engine = choose_engine(first, images, settings.dense, behind)
    others = [prepare_model(model, images, settings.device)[0] for model in models[1:]]
    engines: list[Engine] = [engine]
    if isinstance(engine, SparseEngine):
        engines += [SparseEngine(model, engine.scene, engine.tolerance) for model in others]
    else:
        engines += [choose_engine(model, images, dense=True) for model in others]
    if not fast or settings.device.type != "cuda":
        return engines
    from withinpx.experiments.squares_gpu.engine import for_gpu  # noqa: PLC0415  (triton comes with torch for CUDA only)

    return [for_gpu(engine) for engine in engines]


def warm_start_together(
    engines: Sequence[Engine],
    centres: Float[Tensor, "b n 2"],
    recipe: Recipe,
    seeds: Sequence[int],
) -> None:
    """The warm start of all."""
    own = [jittered(centres, recipe.jitter_px, seed) for seed in seeds]
    steps = [warm_start_step(engine, each) for engine, each in zip(engines, own, strict=True)]
    run = at_once(steps, centres.device)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    for engine in engines:
        engine.model.train()
    for _ in range(recipe.warm_start_steps):
        orders = [torch.randperm(len(centres), generator=each)[: recipe.batch_size] for each in generators]
        run(torch.stack(orders)[:, None].expand(-1, 2, -1).to(centres.device))
