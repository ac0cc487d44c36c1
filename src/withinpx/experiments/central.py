"""The paper's central settings, twenty seeds each: does training work, and does the bound hold?"""

import platform
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from withinpx import __version__
from withinpx.experiments.synthetic import Evaluation, SquaresRun, evaluate, train
from withinpx.experiments.table import RunTable
from withinpx.files import write_json
from withinpx.training.fit import FitSettings

SETTINGS = (
    SquaresRun(encoder_rf=9, decoder_rf=25, object_size=9, sigma=0.8),  # figure 4 a, b, c
    SquaresRun(encoder_rf=9, decoder_rf=11, object_size=7, sigma=0.8),  # figure 4 d
)
SETTING_COLUMNS = ("encoder_rf", "decoder_rf", "object_size", "sigma")
KEY = (*SETTING_COLUMNS, "seed", "epochs")


def run_central(
    folder: Path, seeds: int, epochs: int, settings: FitSettings, report: Callable[[str], None] = print
) -> list[dict[str, Any]]:
    """Train what the table in ``folder`` does not have yet; the answer is one summary per setting."""
    folder.mkdir(parents=True, exist_ok=True)
    table = RunTable(folder / "runs.csv", KEY)
    for setting in SETTINGS:
        recipe = replace(setting.recipe, epochs=epochs)
        for run in (replace(setting, seed=seed, recipe=recipe) for seed in range(seeds)):
            if _key(run) not in table:
                row = _train_and_evaluate(run, settings)
                table.add(row)
                report(", ".join(f"{name} {value}" for name, value in row.items()))
    summaries = [summarise(table, setting, epochs) for setting in SETTINGS]
    write_json(folder / "summary.json", {"settings": summaries, **_circumstances(seeds, epochs, settings)})
    return summaries


def summarise(table: RunTable, setting: SquaresRun, epochs: int) -> dict[str, Any]:
    """Counts and extremes over the seeds of one setting."""
    wanted = {column: getattr(setting, column) for column in SETTING_COLUMNS}
    rows = [
        row
        for row in table.rows
        if row["epochs"] == str(epochs) and all(row[name] == str(value) for name, value in wanted.items())
    ]
    accepted = [row for row in rows if row["accepted"] == "True"]
    return {
        **wanted,
        "runs": len(rows),
        "accepted": len(accepted),
        "within_bound": sum(row["within_bound"] == "True" for row in accepted),
        "bound": setting.bound.bound,
        "largest_position_error": max((float(row["position_error"]) for row in accepted), default=None),
        "largest_calibrated_error": max((float(row["calibrated_error"]) for row in accepted), default=None),
        "largest_leakage": max((float(row["leakage"]) for row in accepted), default=None),
    }


def _key(run: SquaresRun) -> dict[str, Any]:
    return {**{column: getattr(run, column) for column in SETTING_COLUMNS}, "seed": run.seed, "epochs": run.recipe.epochs}


def _train_and_evaluate(run: SquaresRun, settings: FitSettings) -> dict[str, Any]:
    started = time.monotonic()
    model = train(run, settings)
    found: Evaluation = evaluate(model, run)
    return {
        **_key(run),
        "reconstruction_accuracy": round(found.reconstruction_accuracy, 6),
        "accepted": found.accepted,
        "position_error": round(found.position_error, 4),
        "bound": found.bound,
        "within_bound": found.within_bound,
        "shift_x": round(found.shift[0], 4),
        "shift_y": round(found.shift[1], 4),
        "calibrated_error": round(found.calibrated_error, 4),
        "leakage": round(found.leakage, 6),
        "seconds": round(time.monotonic() - started, 1),
    }


def _circumstances(seeds: int, epochs: int, settings: FitSettings) -> dict[str, Any]:
    on_cuda = settings.device.type == "cuda"
    return {
        "command": f"withinpx reproduce central --seeds {seeds} --epochs {epochs} --device {settings.device.type}"
        + (" --fast" if settings.fast else ""),
        "version": __version__,
        "torch": torch.__version__,
        "machine": torch.cuda.get_device_name() if on_cuda else platform.processor() or platform.machine(),
        "date": datetime.now(UTC).date().isoformat(),
    }
