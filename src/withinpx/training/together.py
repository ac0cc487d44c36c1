"""Several networks of one shape, trained at once: each learns what it would learn alone.

On a GPU the steps of all networks are recorded as one graph, side by side, and replayed: the kernels of one network are
too small to fill the machine, those of twenty are not. On a CPU they take turns.
"""

import copy
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.optim import Optimizer

from withinpx.errors import InputError
from withinpx.model.autoencoder import Autoencoder
from withinpx.training.discover import WARM_START_RATE, moving_centres, warm_start_loss
from withinpx.training.engine import Engine, SparseEngine, choose_engine
from withinpx.training.fit import DEFAULTS, FitSettings, adam, batches, is_learned, placed, settle_batch_norm
from withinpx.training.log import Log
from withinpx.training.recipe import WARM, Recipe
from withinpx.training.step import descend

Answers = tuple[Float[Tensor, " s"], Float[Tensor, " s"]]  # loss and accuracy of every network
OneStep = Callable[[Tensor], tuple[Tensor, Tensor]]  # indices of pictures -> loss, accuracy
WARM_UPS = 3  # steps before a graph is recorded, for the libraries to choose their kernels


def fit_together(
    models: Sequence[Autoencoder],
    images: Tensor,
    recipe: Recipe = WARM,
    seeds: Sequence[int] = (0,),
    settings: FitSettings = DEFAULTS,
) -> list[Autoencoder]:
    """Train ``models``, one per seed, to reconstruct ``images`` (b c h w): ``fit`` for many."""
    if recipe.fading or recipe.hold or recipe.restart_checks:
        raise InputError(f"The recipe {recipe.name} changes as it goes: train its networks one by one.")
    engines = engines_for(models, images, settings)
    count = len(images)
    if recipe.warm_start_steps:
        look_there_together(engines, moving_centres(images.to(settings.device)).unsqueeze(1), recipe, seeds)
    optimisers = [adam(engine.model, recipe, settings.device) for engine in engines]
    steps = [redraw_step(*pair, compiled=settings.fast) for pair in zip(engines, optimisers, strict=True)]
    run = AtOnce(steps, settings.device)
    logs = [Log(None, 0) for _ in engines]
    learned: dict[int, dict[str, Tensor]] = {}
    for engine in engines:
        engine.model.train()
    for number in range(1, recipe.epochs + 1):
        orders = [list(batches(count, recipe.batch_size, seed, number, settings.device)) for seed in seeds]
        answers = [run(torch.stack([chosen for chosen, _ in at_once])) for at_once in zip(*orders, strict=True)]
        losses, accuracies = (torch.stack(each).mean(dim=0).tolist() for each in zip(*answers, strict=True))
        for each, log in enumerate(logs):
            log.add(number, losses[each], accuracies[each])
            if recipe.stop_when_learned and each not in learned and is_learned(log.epochs):
                learned[each] = copy.deepcopy(engines[each].model.state_dict())  # alone, it would stop here
        if len(learned) == len(engines):
            break
    for each, engine in enumerate(engines):
        engine.model.load_state_dict(learned.get(each, engine.model.state_dict()))
        settle_batch_norm(engine, count, recipe.batch_size, settings.device)
    return [engine.model.eval() for engine in engines]


def engines_for(models: Sequence[Autoencoder], images: Tensor, settings: FitSettings) -> list[Engine]:
    """One engine per network, all looking at the same pictures."""
    first, images = placed(models[0], images, settings.device)
    engine = choose_engine(first, images, settings.dense)
    others = [placed(model, images, settings.device)[0] for model in models[1:]]
    if isinstance(engine, SparseEngine):
        return [engine, *(SparseEngine(model, engine.scene, engine.tolerance) for model in others)]
    return [engine, *(choose_engine(model, images, dense=True) for model in others)]


def look_there_together(
    engines: Sequence[Engine], centres: Float[Tensor, "b n 2"], recipe: Recipe, seeds: Sequence[int]
) -> None:
    """The warm start of all."""
    on_gpu = centres.is_cuda
    optimisers = [
        torch.optim.Adam(engine.model.parameters(), lr=WARM_START_RATE, capturable=on_gpu, fused=on_gpu)
        for engine in engines
    ]
    steps = [_look_step(engine, optimiser, centres) for engine, optimiser in zip(engines, optimisers, strict=True)]
    run = AtOnce(steps, centres.device)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    for engine in engines:
        engine.model.train()
    for _ in range(recipe.warm_start_steps):
        orders = [torch.randperm(len(centres), generator=each)[: recipe.batch_size] for each in generators]
        run(torch.stack(orders).to(centres.device))


class AtOnce:
    """The same step of several networks: ``chosen`` (networks, batch) in, losses and accuracies out."""

    def __init__(self, steps: Sequence[OneStep], device: torch.device) -> None:
        self._steps, self._device = steps, device
        self._warm_ups = WARM_UPS
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, chosen: Int[Tensor, "s b"]) -> Answers:
        """One step of every network."""
        if self._device.type != "cuda":
            return self._in_turn(chosen)
        if self._warm_ups:
            self._warm_ups -= 1
            return self._on_another_stream(chosen)
        if self._graph is None:
            self._chosen = chosen.clone()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):  # records, does not run
                self._answers = self._side_by_side(self._chosen)
        self._chosen.copy_(chosen)
        self._graph.replay()
        loss, accuracy = self._answers
        return loss.clone(), accuracy.clone()

    def _in_turn(self, chosen: Tensor) -> Answers:
        losses, accuracies = zip(*(step(each) for step, each in zip(self._steps, chosen, strict=True)), strict=True)
        return torch.stack(losses), torch.stack(accuracies)

    def _on_another_stream(self, chosen: Tensor) -> Answers:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            answers = self._in_turn(chosen)
        torch.cuda.current_stream().wait_stream(stream)
        return answers

    def _side_by_side(self, chosen: Tensor) -> Answers:
        here = torch.cuda.current_stream()
        results = []
        for step, each in zip(self._steps, chosen, strict=True):
            stream = torch.cuda.Stream()
            stream.wait_stream(here)
            with torch.cuda.stream(stream):
                results.append((stream, step(each)))
        for stream, _ in results:
            here.wait_stream(stream)
        losses, accuracies = zip(*(answer for _, answer in results), strict=True)
        return torch.stack(losses), torch.stack(accuracies)


def redraw_step(engine: Engine, optimiser: Optimizer, *, compiled: bool = False) -> OneStep:
    """Reconstruct, compare, step. Compiled, what lies between the convolutions is a few kernels, made once for all."""
    redraw = _compiled_redraw if compiled else _redraw

    def step(chosen: Tensor) -> tuple[Tensor, Tensor]:
        return descend(*redraw(engine, chosen), optimiser)

    return step


def _redraw(engine: Engine, chosen: Tensor) -> tuple[Tensor, Tensor]:
    return engine.redraw(chosen, chosen)


_compiled_redraw = torch.compile(_redraw, dynamic=False, fullgraph=True)


def _look_step(engine: Engine, optimiser: Optimizer, centres: Tensor) -> OneStep:
    def step(chosen: Tensor) -> tuple[Tensor, Tensor]:
        loss = warm_start_loss(engine, chosen, centres[chosen])
        return descend(loss, loss, optimiser)

    return step
