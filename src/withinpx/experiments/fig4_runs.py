"""Figure 4's trainings: all seeds of a setting together, each begun as the paper begins; lost ones begin again.

A run that is discarded (below 99.9 % on the test quadrant, as the paper discards it) begins again with a warm start
that aims beside the object, up to half as far as the encoder can see it from; then, if it is still lost, at its centre.
The pictures alone decide, no position is asked for.
"""

import time
from dataclasses import replace
from typing import Any

from withinpx.experiments.fig4 import Setting
from withinpx.experiments.synthetic import Evaluation, SquaresRun, evaluate, train_beyond, train_together
from withinpx.model.autoencoder import Autoencoder
from withinpx.training.device import choose_device
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import FIGURE, WARM, Recipe

QUICK_BATCH = 16
STARTS = ("random", "aside", "centre")
WHEN_LEARNED = ("learned_at", "accepted_then", "error_then")  # columns of runs that went on to the last epoch


def train_setting(setting: Setting, seeds: tuple[int, ...], epochs: int, device: str) -> list[dict[str, Any]]:
    """One row per seed. A run stops once it has learned (training/learned.py)."""
    return _rows(setting, seeds, replace(FIGURE, epochs=epochs), device)


def train_setting_fully(setting: Setting, seeds: tuple[int, ...], epochs: int, device: str) -> list[dict[str, Any]]:
    """The same with all epochs, whether they are needed or not, and where each run was when it would have stopped."""
    return _rows(setting, seeds, replace(FIGURE, epochs=epochs), device, beyond=True)


def train_setting_quickly(setting: Setting, seeds: tuple[int, ...], epochs: int, device: str) -> list[dict[str, Any]]:
    """The same in small batches, for a first look on a CPU."""
    return _rows(setting, seeds, replace(FIGURE, epochs=epochs, batch_size=QUICK_BATCH), device)


def _rows(
    setting: Setting, seeds: tuple[int, ...], recipe: Recipe, device: str, *, beyond: bool = False
) -> list[dict[str, Any]]:
    rows: dict[int, dict[str, Any]] = {}
    for start in STARTS:
        lost = [seed for seed in seeds if seed not in rows or not rows[seed]["accepted"]]
        if lost:
            runs = [SquaresRun(*setting.network, seed=each, recipe=_begun(recipe, start, setting)) for each in lost]
            rows.update(_attempt(setting, runs, device, start, beyond))
    return [rows[seed] for seed in seeds]


def _begun(recipe: Recipe, start: str, setting: Setting) -> Recipe:
    if start == "random":
        return recipe
    aside = setting.bound_encoder / 2 if start == "aside" else 0.0
    return replace(recipe, warm_start_steps=WARM.warm_start_steps, jitter_px=aside)


def _attempt(
    setting: Setting, runs: list[SquaresRun], device: str, start: str, beyond: bool
) -> dict[int, dict[str, Any]]:
    began, settings = time.monotonic(), FitSettings(choose_device(device))
    if beyond:
        models, logs, then = train_beyond(runs, settings, fast=True)
        early = [_when_learned(run, *then.get(each, (None, None))) for each, run in enumerate(runs)]
    else:
        models, logs = train_together(runs, settings, fast=True)
        early = [{} for _ in runs]
    found = [evaluate(model, run) for model, run in zip(models, runs, strict=True)]
    last = {"start": start, "seconds": round((time.monotonic() - began) / len(runs), 2)}
    return {
        run.seed: {**setting.columns(run.seed), **_measured(each, len(log.epochs), setting), **last, **before}
        for run, each, log, before in zip(runs, found, logs, early, strict=True)
    }


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


def _when_learned(run: SquaresRun, epoch: int | None, model: Autoencoder | None) -> dict[str, Any]:
    if model is None:
        return dict.fromkeys(WHEN_LEARNED, "")
    found = evaluate(model, run)
    return dict(zip(WHEN_LEARNED, (epoch, found.accepted, round(found.position_error, 4)), strict=True))
