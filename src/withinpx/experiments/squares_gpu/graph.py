"""One training step of several networks, recorded as a CUDA graph and replayed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Int
from torch import Tensor

from withinpx.training.step import Answers, InTurn, Step


class AtOnce:
    """The same, recorded side by side as one CUDA graph and replayed; batches must be of one shape.

    The kernels of one network are too small to fill a GPU, those of twenty are not.
    """

    def __init__(self, steps: Sequence[Step], *, warm: bool = False) -> None:
        self._steps = steps
        self._is_warm = warm  # before a graph is recorded, libraries choose their kernels, optimisers make their state
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, batches: Int[Tensor, "s 2 b"]) -> Answers:
        """One step of every network."""
        if not self._is_warm:
            self._is_warm = True
            with _another_stream():
                return InTurn(self._steps)(batches)
        if self._graph is None:
            self._batches = batches.clone()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):  # records, does not run
                self._answers = self._side_by_side(self._batches)
        self._batches.copy_(batches)
        self._graph.replay()
        loss, accuracy = self._answers
        return loss.clone(), accuracy.clone()

    def _side_by_side(self, batches: Tensor) -> Answers:
        here = torch.cuda.current_stream()
        results = []
        for step, each in zip(self._steps, batches, strict=True):
            stream = torch.cuda.Stream()
            stream.wait_stream(here)
            with torch.cuda.stream(stream):
                results.append((stream, step(each)))
        for stream, _ in results:
            here.wait_stream(stream)
        losses, accuracies = zip(*(answer for _, answer in results), strict=True)
        return torch.stack(losses), torch.stack(accuracies)


@contextmanager
def _another_stream() -> Iterator[None]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream().wait_stream(stream)


def at_once(steps: Sequence[Step], device: torch.device, *, warm: bool = False) -> InTurn | AtOnce:
    """Recorded on CUDA, in turn elsewhere."""
    return AtOnce(steps, warm=warm) if device.type == "cuda" else InTurn(steps)
