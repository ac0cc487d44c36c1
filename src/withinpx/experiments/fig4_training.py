"""Figure 4's trainings: all seeds of a setting together, from the paper's random start; lost runs are restarted.

A run that is discarded (below 99.9 % on the test quadrant, as in the paper) is restarted with a warm start whose target
is jittered around the object by up to half of the encoder's reach; if it is lost again, with a target at the object's
centre. The images alone decide: no true position is used.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from withinpx.experiments.fig4 import Mode, Setting
from withinpx.experiments.squares_options import Kernels
from withinpx.experiments.synthetic import SquaresRun, evaluate, train_beyond, train_together
from withinpx.jobs.job import Row
from withinpx.model.autoencoder import Autoencoder
from withinpx.training.device import choose_device
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import FIGURE, WARM, Recipe

QUICK_BATCH = 16
STARTS = ("random", "aside", "centre")  # as the tables have them
WHEN_LEARNED = ("learned_at", "accepted_then", "error_then")  # columns of runs that went on to the last epoch


def train_setting(setting: Setting, seeds: Sequence[int], epochs: int, device: str, mode: Mode) -> list[Row]:
    """One row per seed. A run stops once it has learned, unless ``mode`` is "to the last epoch"."""
    recipe = replace(FIGURE, epochs=epochs)
    if mode == "quick":
        recipe = replace(recipe, batch_size=QUICK_BATCH)
    rows: dict[int, Row] = {}
    for start in STARTS:
        lost = [seed for seed in seeds if seed not in rows or not rows[seed]["accepted"]]
        if lost:
            started = _started(recipe, start, setting)
            runs = [SquaresRun(*setting.network, seed=seed, recipe=started) for seed in lost]
            rows.update(_attempt(setting, runs, device, start, to_the_end=mode == "to the last epoch"))
    return [rows[seed] for seed in seeds]


def _started(recipe: Recipe, start: str, setting: Setting) -> Recipe:
    if start == "random":
        return recipe
    jitter_px = setting.bound_encoder / 2 if start == "aside" else 0.0
    return replace(recipe, warm_start_steps=WARM.warm_start_steps, jitter_px=jitter_px)


def _attempt(setting: Setting, runs: list[SquaresRun], device: str, start: str, *, to_the_end: bool) -> dict[int, Row]:
    began, settings = time.monotonic(), FitSettings(choose_device(device))
    if to_the_end:
        models, logs, learned = train_beyond(runs, settings, Kernels.HALF)
        early = [_when_learned(run, *learned.get(index, (None, None))) for index, run in enumerate(runs)]
    else:
        models, logs = train_together(runs, settings, Kernels.HALF)
        early = [{} for _ in runs]
    results = [_measure(model, run, setting) for model, run in zip(models, runs, strict=True)]
    last = {"start": start, "seconds": round((time.monotonic() - began) / len(runs), 2)}
    return {
        run.seed: {**setting.columns(run.seed), "epochs": len(log.epochs), **result, **last, **before}
        for run, result, log, before in zip(runs, results, logs, early, strict=True)
    }


def _measure(model: Autoencoder, run: SquaresRun, setting: Setting) -> Row:
    found = evaluate(model, run)
    return {
        "reconstruction_accuracy": round(found.reconstruction_accuracy, 6),
        "accepted": found.accepted,
        "position_error": round(found.position_error, 4),
        "calibrated_error": round(found.calibrated_error, 4),
        "bound_encoder": setting.bound_encoder,
        "bound_decoder_mean": setting.bound_decoder_mean,
    }


def _when_learned(run: SquaresRun, epoch: int | None, model: Autoencoder | None) -> Row:
    if model is None:
        return dict.fromkeys(WHEN_LEARNED, "")
    found = evaluate(model, run)
    return dict(zip(WHEN_LEARNED, (epoch, found.accepted, round(found.position_error, 4)), strict=True))
