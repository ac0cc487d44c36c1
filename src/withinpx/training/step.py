"""One step of training: reconstruct, compare, step."""

import copy
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from withinpx.model.autoencoder import Autoencoder
from withinpx.training.engine import DenseEngine, Engine, redraw

Step = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # pictures, pictures nearby, as indices -> loss, accuracy
WARM_UPS = 3  # steps before a graph is captured, for the libraries to choose their kernels


def plain_step(engine: Engine, optimiser: Optimizer) -> Step:
    """The step as anyone would write it; on a CPU, deterministic."""

    def step(chosen: Tensor, nearby: Tensor) -> tuple[Tensor, Tensor]:
        return descend(*engine.redraw(chosen, nearby), optimiser)

    return step


def fast_step(engine: DenseEngine, optimiser: Optimizer, bfloat16: bool) -> Step:
    """The same step on a CUDA device: compiled CNNs, then all of it captured as one graph."""
    compiled = with_compiled_cnns(engine.model)

    def on_batch(batch: Tensor, nearby: Tensor | None) -> tuple[Tensor, Tensor]:
        with torch.autocast("cuda", torch.bfloat16, enabled=bfloat16):
            loss, accuracy = redraw(compiled, batch, nearby, engine.tolerance)
        return descend(loss, accuracy, optimiser)

    captured = CapturedStep(on_batch)

    def step(chosen: Tensor, nearby: Tensor) -> tuple[Tensor, Tensor]:
        return captured(engine.images[chosen], engine.nearby(nearby))

    return step


def with_compiled_cnns(model: Autoencoder) -> Autoencoder:
    """The same network, weights shared, with compiled CNNs; what lies between them stays as it is.

    Compiled in one piece with the encoder, under bfloat16 autocast, the softargmax came out up to 3.8 px wrong (torch
    2.11, H200), although each compiled alone is right to 2e-5 px; such a run trains on positions that do not exist.
    """
    twin = copy.copy(model)
    twin._modules = {
        **model._modules,
        "encoder": cast(nn.Module, torch.compile(model.encoder)),
        "decoder": cast(nn.Module, torch.compile(model.decoder)),
    }
    return twin


def descend(loss: Tensor, accuracy: Tensor, optimiser: Optimizer) -> tuple[Tensor, Tensor]:
    """One step down the loss; both numbers come back without their history."""
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.detach(), accuracy.detach()


class CapturedStep:
    """A step that is recorded once as a CUDA graph and replayed from then on. All batches must be of one shape."""

    def __init__(self, step: Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor]]) -> None:
        self._step = step
        self._warm_ups = WARM_UPS
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, batch: Tensor, nearby: Tensor | None) -> tuple[Tensor, Tensor]:
        """One step."""
        if self._warm_ups:
            self._warm_ups -= 1
            return self._on_another_stream(batch, nearby)
        if self._graph is None:
            self._graph = self._capture(batch, nearby)
        self._batch.copy_(batch)
        if self._nearby is not None and nearby is not None:
            self._nearby.copy_(nearby)
        self._graph.replay()
        return self._loss.clone(), self._accuracy.clone()

    def _on_another_stream(self, batch: Tensor, nearby: Tensor | None) -> tuple[Tensor, Tensor]:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = self._step(batch, nearby)
        torch.cuda.current_stream().wait_stream(stream)
        return result

    def _capture(self, batch: Tensor, nearby: Tensor | None) -> torch.cuda.CUDAGraph:
        self._batch = batch.clone()
        self._nearby = None if nearby is None else nearby.clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # records, does not run
            self._loss, self._accuracy = self._step(self._batch, self._nearby)
        return graph
