"""Figure 4's trainings: all seeds of a setting together, each begun as the paper begins; lost ones begin again.

A run that is discarded (below 99.9 % on the test quadrant, as the paper discards it) begins again with a warm start
that aims beside the object, up to half as far as the encoder can see it from; then, if it is still lost, at its centre.
The pictures alone decide, no position is asked for.
"""

import time
from dataclasses import replace
from typing import Any

from withinpx.experiments.fig4 import Setting
from withinpx.experiments.synthetic import Evaluation, SquaresRun, evaluate, train_together
from withinpx.training.device import choose_device
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import FIGURE, WARM, Recipe

QUICK_BATCH = 16
STARTS = ("random", "aside", "centre")


def train_setting(setting: Setting, seeds: tuple[int, ...], epochs: int, device: str) -> list[dict[str, Any]]:
    """One row per seed. A run stops once it has learned (training/learned.py)."""
    return _rows(setting, seeds, replace(FIGURE, epochs=epochs), device)


def train_setting_fully(setting: Setting, seeds: tuple[int, ...], epochs: int, device: str) -> list[dict[str, Any]]:
    """The same with all epochs, whether they are needed or not."""
    every_epoch = replace(FIGURE, epochs=epochs, stop_when_learned=False, most_steps=None)
    return _rows(setting, seeds, every_epoch, device)


def train_setting_quickly(setting: Setting, seeds: tuple[int, ...], epochs: int, device: str) -> list[dict[str, Any]]:
    """The same in small batches, for a first look on a CPU."""
    return _rows(setting, seeds, replace(FIGURE, epochs=epochs, batch_size=QUICK_BATCH), device)


def _rows(setting: Setting, seeds: tuple[int, ...], recipe: Recipe, device: str) -> list[dict[str, Any]]:
    rows: dict[int, dict[str, Any]] = {}
    for start in STARTS:
        lost = [seed for seed in seeds if seed not in rows or not rows[seed]["accepted"]]
        if lost:
            rows.update(_attempt(setting, lost, _begun(recipe, start, setting), device, start))
    return [rows[seed] for seed in seeds]


def _begun(recipe: Recipe, start: str, setting: Setting) -> Recipe:
    if start == "random":
        return recipe
    aside = setting.bound_encoder / 2 if start == "aside" else 0.0
    return replace(recipe, warm_start_steps=WARM.warm_start_steps, aside=aside)


def _attempt(setting: Setting, seeds: list[int], recipe: Recipe, device: str, start: str) -> dict[int, dict[str, Any]]:
    began = time.monotonic()
    runs = [SquaresRun(*setting.network, seed=seed, recipe=recipe) for seed in seeds]
    models, logs = train_together(runs, FitSettings(choose_device(device), fast=True, together=True))
    found = [evaluate(model, run) for model, run in zip(models, runs, strict=True)]
    seconds = (time.monotonic() - began) / len(runs)
    return {
        run.seed: {**setting.columns(run.seed), **_measured(each, len(log.epochs), setting), "start": start,
                   "seconds": round(seconds, 2)}
        for run, each, log in zip(runs, found, logs, strict=True)
    }  # fmt: skip


def _measured(found: Evaluation, epochs: int, setting: Setting) -> dict[str, Any]:
    return {
        "epochs": epochs,
        "reconstruction_accuracy": round(found.reconstruction_accuracy, 6),
        "accepted": found.accepted,
        "position_error": round(found.position_error, 4),
        "calibrated_error": round(found.calibrated_error, 4),
        "bound_encoder": setting.bound_encoder,
        "bound_decoder_mean": setting.bound_decoder_mean,
    }
