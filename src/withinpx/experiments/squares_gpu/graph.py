"""One training step of several networks, recorded as a CUDA graph and replayed."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from withinpx.training.step import Results, Step, Steps, sequentially


class GraphedSteps:
    """``sequentially`` as one CUDA graph with a stream per network; all batches must have one shape.

    The kernels of one network are too small to fill a GPU, those of twenty are not. The first call is not recorded:
    in it, libraries choose their kernels and optimisers create their state. ``warmed_up`` skips it.
    """

    def __init__(self, steps: Sequence[Step], *, warmed_up: bool = False) -> None:
        self._steps, self._warmed_up = steps, warmed_up
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, batches: Int[Tensor, "s 2 b"]) -> Results:
        if not self._warmed_up:
            self._warmed_up = True
            stream, current = torch.cuda.Stream(), torch.cuda.current_stream()
            stream.wait_stream(current)
            with torch.cuda.stream(stream):
                results = sequentially(self._steps)(batches)
            current.wait_stream(stream)
            return results
        if self._graph is None:
            self._batches = batches.clone()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):  # records, does not run
                self._results = self._in_parallel(self._batches)
        self._batches.copy_(batches)
        self._graph.replay()
        loss, accuracy = self._results
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
