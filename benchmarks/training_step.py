"""How much faster a training step is when only what changed is computed, and that it is the same step.

    python benchmarks/training_step.py

Ratios of times measured in this one run, one setting of the paper after the other, in float32 on a CPU.
"""

import statistics
import time
from collections.abc import Callable

import torch

from withinpx.experiments.synthetic import SquaresRun
from withinpx.model.autoencoder import Autoencoder
from withinpx.training.engine import DenseEngine, Engine, SparseEngine
from withinpx.training.scene import Scene
from withinpx.training.step import plain_step

SETTINGS = ((9, 11, 7), (9, 25, 9))  # encoder RF, decoder RF, object size; 80 x 80 px, batches of 128
DENSE_STEPS, SPARSE_STEPS = 3, 15


def median_seconds(run: Callable[[], object], times: int) -> float:
    """The median of several, after one to warm up."""
    run()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def new_model(run: SquaresRun) -> Autoencoder:
    """The same weights every time."""
    torch.manual_seed(0)
    return Autoencoder(run.network).to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def main() -> None:
    """Print one line per setting."""
    print("encoder RF, decoder RF, object | loss dense | loss sparse | dense step / sparse step")
    for encoder_rf, decoder_rf, object_size in SETTINGS:
        run = SquaresRun(encoder_rf, decoder_rf, object_size)
        images = torch.from_numpy(run.data.train().images)
        chosen = torch.arange(0, len(images), len(images) // 128)[:128]
        losses, seconds = [], []
        for sparse, steps in ((False, DENSE_STEPS), (True, SPARSE_STEPS)):
            model = new_model(run)
            engine: Engine = SparseEngine(model, Scene.of(images, model)) if sparse else DenseEngine(model, images)
            losses.append(engine.redraw(chosen, chosen)[0].item())
            step = plain_step(engine, torch.optim.Adam(model.parameters(), lr=1e-3))
            seconds.append(median_seconds(lambda step=step, chosen=chosen: step(chosen, chosen), steps))  # type: ignore[misc]
        sizes = f"{encoder_rf}, {decoder_rf}, {object_size}"
        print(f"{sizes} | {losses[0]:.6f} | {losses[1]:.6f} | {seconds[0] / seconds[1]:.1f}", flush=True)


if __name__ == "__main__":
    main()
