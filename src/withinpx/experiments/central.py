"""The paper's two central settings, seed by seed: does training succeed, and does the bound hold?"""

import json
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from matplotlib.patches import Rectangle

from withinpx import __version__
from withinpx.experiments.plots import RUNS, THEORY, TRUTH, figure
from withinpx.experiments.squares_options import Kernels
from withinpx.experiments.sweep import Experiment, chunks
from withinpx.experiments.synthetic import SquaresRun, evaluate, train, train_together
from withinpx.experiments.table import RunTable
from withinpx.files import writable_folder, write_json
from withinpx.jobs.job import Job, Row
from withinpx.model.autoencoder import Autoencoder
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import Recipe

SETTINGS = (
    SquaresRun(encoder_rf=9, decoder_rf=25, object_size=9, sigma=0.8),  # figure 4 a, b, c
    SquaresRun(encoder_rf=9, decoder_rf=11, object_size=7, sigma=0.8),  # figure 4 d
)
SETTING_COLUMNS = ("encoder_rf", "decoder_rf", "object_size", "sigma")
KEY = (*SETTING_COLUMNS, "recipe", "precision", "epochs", "seed")
COLUMNS = {
    **dict.fromkeys(KEY, str),
    "reconstruction_accuracy": float,
    "accepted": bool,
    **dict.fromkeys(("position_error", "bound"), float),
    "within_bound": bool,
    **dict.fromkeys(("shift_x", "shift_y", "calibrated_error", "leakage", "seconds"), float),
    **dict.fromkeys(("machine", "version", "date"), str),
}
MARKERS: dict[tuple[str, bool], dict[str, Any]] = {  # by recipe and acceptance
    ("paper", True): {"color": RUNS, "marker": "o", "s": 26, "label": "paper's recipe"},
    ("paper", False): {"facecolor": "none", "edgecolor": "0.4", "marker": "o", "s": 26, "label": "discarded"},
    ("warm", True): {"color": TRUTH, "marker": "+", "s": 45, "label": "warm start"},
    ("warm", False): {"color": "0.4", "marker": "x", "s": 30, "label": "warm start, discarded"},
}


@dataclass(frozen=True)
class CentralExperiment(Experiment):
    """Every run is trained for all epochs of its recipe."""

    recipe: Recipe
    settings: FitSettings
    seeds: int = 20
    together: bool = False  # all seeds of a setting in one job
    fast: bool = False  # with ``together``, on CUDA: hand-written kernels, wide filters in half precision

    key, columns = KEY, COLUMNS

    def jobs(self, table: RunTable) -> list[Job]:
        recipe = replace(self.recipe, stop_when_converged=False)
        jobs = []
        for setting in SETTINGS:
            runs = [replace(setting, seed=seed, recipe=recipe) for seed in range(self.seeds)]
            missing = [run for run in runs if _key(run, self.settings, self.fast) not in table]
            for part in chunks(missing, self.seeds if self.together else 1):
                name = f"{_name(setting)}, seed {', '.join(str(run.seed) for run in part)}"
                jobs.append(Job(name, train_runs, (part, self.settings, self.together, self.fast), runs=len(part)))
        return jobs

    def progress(self, table: RunTable) -> str:
        accepted = [run for run in table.runs() if run["accepted"]]
        inside = sum(run["within_bound"] for run in accepted)
        return f"{len(accepted)} accepted, {inside} of them inside the bound"

    def report(self, table: RunTable, folder: Path) -> list[str]:
        """``summary.json`` and ``central.png``."""
        summaries = summarise(table)
        write_json(writable_folder(folder) / "summary.json", summaries)
        draw(table, folder / "central.png")
        return [json.dumps(summary) for summary in summaries]


def train_runs(runs: Sequence[SquaresRun], settings: FitSettings, together: bool, fast: bool) -> list[Row]:
    started = time.monotonic()
    kernels = Kernels.HALF if fast else Kernels.TORCH
    models = train_together(runs, settings, kernels)[0] if together else [train(run, settings) for run in runs]
    about = {
        "seconds": round((time.monotonic() - started) / len(runs), 1),
        "machine": torch.cuda.get_device_name() if settings.device.type == "cuda" else platform.machine(),
        "version": __version__,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    pairs = zip(runs, models, strict=True)
    return [{**_key(run, settings, fast), **_measure(model, run), **about} for run, model in pairs]


def summarise(table: RunTable) -> list[dict[str, Any]]:
    """Counts and maxima over the seeds of each setting and recipe."""
    groups = table.frame().groupby(list(KEY[:-1]), sort=False)
    return [{**dict(zip(KEY, name, strict=False)), **_summary(runs)} for name, runs in groups]


def draw(table: RunTable, path: Path) -> Path:
    """z relative to the object's centre for each seed, with the bound."""
    runs = table.frame()
    with figure(path, columns=len(SETTINGS), width=8.4, height=4.2) as (_, axes):
        for axis, setting in zip(axes, SETTINGS, strict=True):
            own = runs
            for column in SETTING_COLUMNS:
                own = own[own[column] == str(getattr(setting, column))]
            bound = setting.bound.bound
            box = Rectangle((-bound, -bound), 2 * bound, 2 * bound, linewidth=1.6, label=f"bound, {bound:g} px")
            box.set(edgecolor=THEORY, facecolor=f"{THEORY}30")
            axis.add_patch(box)
            for (recipe, accepted), style in MARKERS.items():
                shown = own[(own.recipe == recipe) & (own.accepted == accepted)]
                if len(shown):
                    axis.scatter(-shown.shift_x, -shown.shift_y, zorder=3, **style)
            limit = 1.35 * bound
            axis.set(xlim=(-limit, limit), ylim=(limit, -limit), aspect="equal", xlabel="z minus centre, x (px)")
            axis.set_title(f"{_name(setting)} px", fontsize=9)
            axis.legend(loc="upper center", ncols=2, fontsize=7.5)
        axes[0].set_ylabel("z minus centre, y (px)")
    return path


def _name(setting: SquaresRun) -> str:
    return f"encoder {setting.encoder_rf}, decoder {setting.decoder_rf}, object {setting.object_size}"


def _summary(runs: Any) -> dict[str, Any]:
    accepted = runs[runs.accepted]
    return {
        "runs": len(runs),
        "accepted": len(accepted),
        "accepted_within_bound": int(accepted.within_bound.sum()),
        "bound": float(runs.bound.iloc[0]),
        **{
            f"largest_{column}": max(accepted[column].tolist(), default=None)
            for column in ("position_error", "calibrated_error", "leakage")
        },
    }


def _key(run: SquaresRun, settings: FitSettings, fast: bool) -> Row:
    return {
        **{column: getattr(run, column) for column in SETTING_COLUMNS},
        "recipe": run.recipe.name,
        "precision": "half" if fast and settings.device.type == "cuda" else settings.precision,
        "epochs": run.recipe.epochs,
        "seed": run.seed,
    }


def _measure(model: Autoencoder, run: SquaresRun) -> Row:
    found = evaluate(model, run)
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
    }
