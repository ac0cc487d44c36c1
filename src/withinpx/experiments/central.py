"""The paper's central settings, twenty seeds each: does training work, and does the bound hold?"""

import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from withinpx import __version__
from withinpx.experiments.plots import RUNS, TRUTH, bound_box, figure
from withinpx.experiments.synthetic import Evaluation, SquaresRun, evaluate, train, train_together
from withinpx.experiments.table import RunTable
from withinpx.files import writable_folder, write_json
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import Recipe

SETTINGS = (
    SquaresRun(encoder_rf=9, decoder_rf=25, object_size=9, sigma=0.8),  # figure 4 a, b, c
    SquaresRun(encoder_rf=9, decoder_rf=11, object_size=7, sigma=0.8),  # figure 4 d
)
SETTING_COLUMNS = ("encoder_rf", "decoder_rf", "object_size", "sigma")
KEY = (*SETTING_COLUMNS, "recipe", "precision", "epochs", "seed")


def run_central(
    folder: Path,
    recipe: Recipe,
    seeds: int,
    settings: FitSettings,
    report: Callable[[str], None] = print,
    *,
    together: bool = False,
    fast: bool = False,
) -> list[dict[str, Any]]:
    """Train what the table in ``folder`` does not have yet, all epochs; the answer is one summary per setting."""
    recipe = replace(recipe, stop_when_converged=False)
    table = RunTable(writable_folder(folder) / "runs.csv", KEY)
    for setting in SETTINGS:
        runs = [replace(setting, seed=seed, recipe=recipe) for seed in range(seeds)]
        missing = [run for run in runs if _key(run, settings, fast) not in table]
        at_once = len(missing) if together else 1
        for first in range(0, len(missing), max(1, at_once)):
            for row in _train_and_evaluate(missing[first : first + at_once], settings, together, fast):
                table.add(row)
                report(", ".join(f"{name} {value}" for name, value in row.items()))
    summaries = summarise(table)
    write_json(folder / "summary.json", summaries)
    draw(table, folder / "central.png")
    return summaries


def summarise(table: RunTable) -> list[dict[str, Any]]:
    """Counts and extremes over the seeds of each setting and recipe."""
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in table.rows:
        groups.setdefault(tuple(row[column] for column in KEY[:-1]), []).append(row)
    return [{**dict(zip(KEY, name, strict=False)), **_summary(rows)} for name, rows in groups.items()]


def draw(table: RunTable, path: Path) -> Path:
    """Where each seed's z lies beside the object's centre, inside what the theorem allows."""
    looks: dict[tuple[str, str], dict[str, Any]] = {
        ("paper", "True"): {"color": RUNS, "marker": "o", "s": 26, "label": "paper's recipe"},
        ("paper", "False"): {"facecolor": "none", "edgecolor": "0.4", "marker": "o", "s": 26, "label": "discarded"},
        ("warm", "True"): {"color": TRUTH, "marker": "+", "s": 45, "label": "warm start"},
        ("warm", "False"): {"color": "0.4", "marker": "x", "s": 30, "label": "warm start, discarded"},
    }
    with figure(path, columns=len(SETTINGS), width=8.4, height=4.2) as (_, axes):
        for axis, setting in zip(axes, SETTINGS, strict=True):
            bound = setting.bound.bound
            axis.add_patch(bound_box(0, 0, bound, label=f"bound, {bound:g} px"))
            for (recipe, accepted), look in looks.items():
                rows = [row for row in _of(setting, table) if (row["recipe"], row["accepted"]) == (recipe, accepted)]
                if rows:
                    x, y = ([-float(row[column]) for row in rows] for column in ("shift_x", "shift_y"))
                    axis.scatter(x, y, zorder=3, **look)
            limit = 1.35 * bound
            axis.set(xlim=(-limit, limit), ylim=(limit, -limit), aspect="equal", xlabel="z minus centre, x (px)")
            sizes = f"encoder {setting.encoder_rf}, decoder {setting.decoder_rf}, object {setting.object_size} px"
            axis.set_title(sizes, fontsize=9)
            axis.legend(loc="upper center", ncols=2, fontsize=7.5)
        axes[0].set_ylabel("z minus centre, y (px)")
    return path


def _of(setting: SquaresRun, table: RunTable) -> list[dict[str, str]]:
    return [
        row for row in table.rows if all(row[column] == str(getattr(setting, column)) for column in SETTING_COLUMNS)
    ]


def _summary(rows: list[dict[str, str]]) -> dict[str, Any]:
    accepted = [row for row in rows if row["accepted"] == "True"]

    def largest(column: str) -> float | None:
        return max((float(row[column]) for row in accepted), default=None)

    return {
        "runs": len(rows),
        "accepted": len(accepted),
        "accepted_within_bound": sum(row["within_bound"] == "True" for row in accepted),
        "bound": float(rows[0]["bound"]),
        "largest_position_error": largest("position_error"),
        "largest_calibrated_error": largest("calibrated_error"),
        "largest_leakage": largest("leakage"),
    }


def _key(run: SquaresRun, settings: FitSettings, fast: bool) -> dict[str, Any]:
    return {
        **{column: getattr(run, column) for column in SETTING_COLUMNS},
        "recipe": run.recipe.name,
        "precision": "half" if fast and settings.device.type == "cuda" else settings.precision,
        "epochs": run.recipe.epochs,
        "seed": run.seed,
    }


def _train_and_evaluate(
    runs: list[SquaresRun], settings: FitSettings, together: bool, fast: bool
) -> Iterator[dict[str, Any]]:
    started = time.monotonic()
    models = train_together(runs, settings, fast=fast)[0] if together else [train(run, settings) for run in runs]
    seconds = (time.monotonic() - started) / len(runs)
    for run, model in zip(runs, models, strict=True):
        yield {**_key(run, settings, fast), **_row(evaluate(model, run), settings, seconds)}


def _row(found: Evaluation, settings: FitSettings, seconds: float) -> dict[str, Any]:
    return {
        "reconstruction_accuracy": round(found.reconstruction_accuracy, 6),
        "accepted": found.accepted,
        "position_error": round(found.position_error, 4),
        "bound": found.bound,
        "within_bound": found.within_bound,
        "shift_x": round(found.shift[0], 4),
        "shift_y": round(found.shift[1], 4),
        "calibrated_error": round(found.calibrated_error, 4),
        "leakage": round(found.leakage, 6),
        "seconds": round(seconds, 1),
        "machine": torch.cuda.get_device_name() if settings.device.type == "cuda" else platform.machine(),
        "version": __version__,
        "date": datetime.now(UTC).date().isoformat(),
    }
