"""The experiments on rendered scenes as a folder: runs.csv, about.json, the figures and the table."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from withinpx.data.clevr import DATASETS
from withinpx.errors import InputError
from withinpx.experiments.clevr import (
    COLUMNS,
    EXPERIMENTS,
    KEY,
    WITHINPX,
    RecipeName,
    Train,
    errors_in,
    jobs,
    run_columns,
)
from withinpx.experiments.sweep import Diary, about_runs, run_sweep
from withinpx.experiments.table import RunTable
from withinpx.files import locked_folder
from withinpx.jobs.job import Engine
from withinpx.jobs.progress import job_progress
from withinpx.theory.bound import SizeRange

TABLE = "runs.csv"
ERRORS = "errors.csv"  # of another detector on a dataset


@dataclass(frozen=True)
class Asked:
    """What to train, and how."""

    data: Path  # the folder that holds the datasets
    experiments: Sequence[str]
    recipe: RecipeName
    seeds: int
    device: str


def open_table(folder: Path) -> RunTable:
    """The runs in a folder, or an empty table where there are none yet."""
    return RunTable(folder / TABLE, KEY, COLUMNS)


def sweep(folder: Path, asked: Asked, train: Train, engine: Engine, command: str) -> RunTable:
    """Train what the table in ``folder`` does not have yet; ``command`` is what was typed to get here."""
    for dataset in sorted({each.dataset for name in asked.experiments for each in EXPERIMENTS[name].settings}):
        if not (asked.data / dataset).is_dir():
            raise InputError(
                f"{asked.data} has no dataset {dataset}: render it with  withinpx data clevr --name {dataset} "
                f"--out {asked.data / dataset}."
            )
    with locked_folder(folder):
        table = open_table(folder)
        work = jobs(
            table,
            asked.experiments,
            asked.recipe,
            asked.seeds,
            train=train,
            data=str(asked.data),
            device=asked.device,
        )
        diary = Diary(folder, about_runs(folder), command, engine)
        with job_progress(lambda: so_far(table)) as bar:
            run_sweep(work, table, engine, diary, bar)
    return table


def so_far(table: RunTable) -> str:
    """A running count for the person who waits."""
    own = [each for each in errors_in(table) if each.method == WITHINPX]
    learned = [each for each in own if each.learned]
    return f"{len(learned)} of {len(own)} objects learned, {sum(each.inside for each in learned)} inside the bound"


def add_baselines(folder: Path, found: Path) -> int:
    """Take in METHOD/DATASET/errors.csv as ``withinpx baseline`` wrote them; the answer is how many are new."""
    tables = sorted(found.glob(f"*/*/{ERRORS}"))
    if not tables:
        raise InputError(f"{found} has no METHOD/DATASET/{ERRORS}: name a folder that `withinpx baseline` filled.")
    with locked_folder(folder):
        table = open_table(folder)
        before = len(table.rows)
        for path in tables:
            method, dataset = path.parts[-3:-1]
            if dataset not in DATASETS:
                raise InputError(f"{path} is of no dataset of ours: {dataset}.")
            with path.open(encoding="utf-8", newline="") as file:
                table.add_all([_baseline_row(method, dataset, row) for row in csv.DictReader(file)])
    return len(table.rows) - before


def _baseline_row(method: str, dataset: str, row: dict[str, str]) -> dict[str, Any]:
    """Another detector beside figure 5 (c)'s network, or figure 9's: what it would be measured by there."""
    experiment = "fig5c" if dataset.startswith("spheres") else "fig9b"
    at = replace(EXPERIMENTS[experiment].fixed, experiment=experiment, dataset=dataset)
    size = float(row["size_px"]) if row["size_px"] else at.sizes.largest  # it found nothing in any picture
    bound = at.bound(sizes=SizeRange(size, size)) if experiment == "fig5c" else at.bound()
    return {
        **run_columns(at, "", int(row["set"]), method),
        "object": row["object"],
        "size_min": at.sizes.smallest,
        "size_max": at.sizes.largest,
        "learned": row["kept"] == "1",
        "position_error": row["error_px"],
        "calibrated_error": "",
        "bound_2sigma": round(bound, 4),
        "size": round(size, 4),
        "calibrated_median": "",
        "missing": round(1 - int(row["images_used"]) / int(row["images"]), 4),
        "reconstruction_accuracy": "",
        "seconds": "",
    }
