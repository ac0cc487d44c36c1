"""Trainings by a reading of the paper: random start, every epoch, no restart, TensorFloat-32 or better throughout."""

import time
from collections.abc import Sequence
from dataclasses import replace

from withinpx.experiments.choices import row_of
from withinpx.experiments.fig4 import Setting
from withinpx.experiments.reading import Reading, Variation
from withinpx.experiments.squares_options import Kernels
from withinpx.experiments.synthetic import SquaresRun, evaluate, train_together
from withinpx.jobs.job import Row
from withinpx.model.autoencoder import with_kinds
from withinpx.training.device import choose_device
from withinpx.training.fit import FitSettings, batches
from withinpx.training.recipe import PAPER


def run_of(setting: Setting, reading: Reading, seed: int, epochs: int) -> SquaresRun:
    """A training of app. C.1, with what the reading decides."""
    recipe = replace(PAPER, epochs=epochs, **reading.training)
    return SquaresRun(*setting.network, seed=seed, recipe=recipe, **with_kinds(reading.network))


def measure_first_starts(runs: Sequence[SquaresRun], device: str) -> list[Row]:
    """Train runs on the same images by the same recipe together; what was measured of each."""
    settings, began = FitSettings(choose_device(device)), time.monotonic()
    models, logs = train_together(runs, settings, Kernels.TF32)
    found = [evaluate(model, run) for model, run in zip(models, runs, strict=True)]
    recipe, images = runs[0].recipe, len(runs[0].data.train())
    steps = len(list(batches(images, recipe.batch_size, 0, 1, incomplete=recipe.incomplete_batches)))
    return [
        {
            "epochs": len(log.epochs),
            "steps": len(log.epochs) * steps,
            "reconstruction_accuracy": round(one.reconstruction_accuracy, 6),
            "accepted": one.accepted,
            "position_error": round(one.position_error, 4),
            "calibrated_error": round(one.calibrated_error, 4),
            "precision": settings.precision,
            "seconds": round((time.monotonic() - began) / len(runs), 2),
        }
        for one, log in zip(found, logs, strict=True)
    ]


def train_variations(setting: Setting, runs: Sequence[tuple[Variation, int]], epochs: int, device: str) -> list[Row]:
    """Rows of ``reproduce choices``."""
    trained = [run_of(setting, variation.reading, seed, epochs) for variation, seed in runs]
    measured = measure_first_starts(trained, device)
    return [row_of(setting, *run, found) for run, found in zip(runs, measured, strict=True)]


def train_by_reading(setting: Setting, seeds: Sequence[int], epochs: int, device: str, reading: Reading) -> list[Row]:
    """Rows of figure 4 by the paper's recipe."""
    measured = measure_first_starts([run_of(setting, reading, seed, epochs) for seed in seeds], device)
    return [_figure_row(setting, seed, found) for seed, found in zip(seeds, measured, strict=True)]


def _figure_row(setting: Setting, seed: int, found: Row) -> Row:
    """The columns of our recipe's table, then the recipe and the precision."""
    return {
        **setting.columns(seed),
        **{name: found[name] for name in ("epochs", "reconstruction_accuracy", "accepted")},
        **{name: found[name] for name in ("position_error", "calibrated_error")},
        "bound_encoder": setting.bound_encoder,
        "bound_decoder_mean": setting.bound_decoder_mean,
        "start": "random",
        "seconds": found["seconds"],
        "recipe": "paper",
        "precision": found["precision"],
    }
