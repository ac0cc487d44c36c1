"""Twenty seeds of one setting trained together against one by one: time per step and seed, memory, equality.

    python benchmarks/many_seeds.py

On a CUDA device; dense eager is the straightforward step of one network, in PyTorch's default precision there.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import tyro

from withinpx.experiments.squares_gpu import engines_for
from withinpx.experiments.squares_gpu.graph import GraphedSteps
from withinpx.experiments.squares_options import Kernels
from withinpx.experiments.synthetic import SquaresRun
from withinpx.model.autoencoder import Autoencoder, new_network
from withinpx.training.engine import DenseEngine, Engine
from withinpx.training.fit import FitSettings, adam, prepare_model
from withinpx.training.recipe import PAPER
from withinpx.training.step import Step, reconstruction_step

SETTINGS = ((9, 11, 7), (9, 25, 9))  # encoder RF, decoder RF, object size; 80 x 80 px, batches of 128
BATCH = 128


def milliseconds(step: Callable[[], object], times: int, device: torch.device) -> float:
    """Per step, the median over several groups of steps, after some to warm up."""

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    for _ in range(8):
        step()
    durations = []
    for _ in range(5):
        wait()
        started = time.perf_counter()
        for _ in range(times):
            step()
        wait()
        durations.append((time.perf_counter() - started) / times)
    return 1000 * statistics.median(durations)


def peak_mb(device: torch.device, step: Callable[[], object]) -> float:
    """The peak memory of a step, in MB; NaN on a CPU, where it is not measured."""
    if device.type != "cuda":
        return float("nan")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 1e6


def steps_of(engines: Sequence[Engine]) -> list[Step]:
    return [reconstruction_step(engine, adam(engine.model, PAPER)) for engine in engines]


@dataclass(frozen=True)
class ManySeeds:
    """The options of this benchmark."""

    seeds: int = 20
    device: str = "cuda"

    def run(self) -> None:
        """Print one line per setting."""
        if not torch.cuda.is_available():
            print("twenty seeds together: this needs a CUDA device, and there is none here")
            return
        device = torch.device(self.device)
        print("encoder RF, decoder RF, object | dense eager, ms | sparse alone, ms | together, ms per seed | ", end="")
        print("kernels, ms per seed | dense / kernels | peak MB dense, sparse | ", end="")
        print("difference of a first step's loss from alone, relative: together, kernels")
        for sizes in SETTINGS:
            self._setting(SquaresRun(*sizes), device)

    def _setting(self, run: SquaresRun, device: torch.device) -> None:
        images = torch.from_numpy(run.data.train().images)
        count = len(images)

        def models(seeds: int) -> list[Autoencoder]:
            return [new_network(run.network, seed).to(device).train() for seed in range(seeds)]

        shuffled = [torch.randperm(count, generator=torch.Generator().manual_seed(seed)) for seed in range(self.seeds)]
        chosen = torch.stack(shuffled)[:, None, :BATCH].expand(-1, 2, -1).contiguous().to(device)
        first, images = prepare_model(models(1)[0], images, device)
        dense = steps_of([DenseEngine(first, images)])[0]
        settings = FitSettings(device)
        alone = steps_of(engines_for(models(1), images, settings))[0]
        together = GraphedSteps(steps_of(engines_for(models(self.seeds), images, settings)))
        fast = GraphedSteps(steps_of(engines_for(models(self.seeds), images, settings, kernels=Kernels.HALF)))
        again = steps_of(engines_for(models(self.seeds), images, settings))
        one_by_one = torch.stack([step(batch)[0] for step, batch in zip(again, chosen, strict=True)])
        off = [float(((many(chosen)[0] - one_by_one).abs() / one_by_one).max()) for many in (together, fast)]
        memory = peak_mb(device, lambda: dense(chosen[0])), peak_mb(device, lambda: alone(chosen[0]))
        slow = milliseconds(lambda: dense(chosen[0]), 10, device)
        single = milliseconds(lambda: alone(chosen[0]), 10, device)
        recorded = milliseconds(lambda: together(chosen), 10, device) / self.seeds
        kernels = milliseconds(lambda: fast(chosen), 10, device) / self.seeds
        print(f"{run.encoder_rf}, {run.decoder_rf}, {run.object_size} | {slow:.2f} | {single:.2f} | ", end="")
        print(f"{recorded:.3f} | {kernels:.3f} | {slow / kernels:.1f} | ", end="")
        print(f"{memory[0]:.0f}, {memory[1]:.0f} | {off[0]:.1e}, {off[1]:.1e}", flush=True)


if __name__ == "__main__":
    tyro.cli(ManySeeds, description=__doc__).run()
