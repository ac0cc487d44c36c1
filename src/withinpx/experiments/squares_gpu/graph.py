"""One training step of several networks, recorded as a CUDA graph and replayed."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from withinpx.training.step import Results, Step, Steps, sequentially


class _Recorded(NamedTuple):
    graph: torch.cuda.CUDAGraph
    batches: Int[Tensor, "s 2 b"]  # what the graph reads
    results: Results  # and writes


class GraphedSteps:
    """``sequentially`` as a CUDA graph for each size of batch, with a stream per network.

    The kernels of one network are too small to fill a GPU, those of twenty are not. The first call with a size is not
    recorded: in it, libraries choose their kernels and optimisers create their state. ``warmed_up`` skips it.
    """

    def __init__(self, steps: Sequence[Step], *, warmed_up: bool = False) -> None:
        self._steps, self._warmed_up = steps, warmed_up
        self._seen: set[int] = set()  # sizes of batches
        self._graphs: dict[int, _Recorded] = {}

    def __call__(self, batches: Int[Tensor, "s 2 b"]) -> Results:
        size = batches.shape[-1]
        if not self._warmed_up and size not in self._seen:
            self._seen.add(size)
            stream, current = torch.cuda.Stream(), torch.cuda.current_stream()
            stream.wait_stream(current)
            with torch.cuda.stream(stream):
                results = sequentially(self._steps)(batches)
            current.wait_stream(stream)
            return results
        if size not in self._graphs:
            own, graph = batches.clone(), torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # records, does not run
                results = self._in_parallel(own)
            self._graphs[size] = _Recorded(graph, own, results)
        recorded = self._graphs[size]
        recorded.batches.copy_(batches)
        recorded.graph.replay()
        loss, accuracy = recorded.results
        return loss.clone(), accuracy.clone()

    def _in_parallel(self, batches: Tensor) -> Results:
        current = torch.cuda.current_stream()
        streams = [torch.cuda.Stream() for _ in self._steps]
        results = []
        for step, batch, stream in zip(self._steps, batches, streams, strict=True):
            stream.wait_stream(current)
            with torch.cuda.stream(stream):
                results.append(step(batch))
        for stream in streams:
            current.wait_stream(stream)
        losses, accuracies = zip(*results, strict=True)
        return torch.stack(losses), torch.stack(accuracies)


def graphed(steps: Sequence[Step], device: torch.device, *, warmed_up: bool = False) -> Steps:
    """Recorded on CUDA, sequential elsewhere."""
    return GraphedSteps(steps, warmed_up=warmed_up) if device.type == "cuda" else sequentially(steps)
