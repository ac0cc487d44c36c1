"""Figure 4 as a folder: runs.csv, about.json, the summary and the figures."""

import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from withinpx import __version__
from withinpx.engines.job import Engine
from withinpx.engines.progress import job_progress
from withinpx.errors import InputError
from withinpx.experiments.fig4 import COLUMNS, KEY, Experiment, Train, copy_shared, jobs, missing, so_far
from withinpx.experiments.fig4_summary import Summary, summarise, write_summary
from withinpx.experiments.sweep import run_sweep
from withinpx.experiments.table import RunTable
from withinpx.files import alone_in, read_json, write_json

TABLE = "runs.csv"
ABOUT = "about.json"


@dataclass(frozen=True)
class Asked:
    """What to train, and how."""

    experiments: Sequence[Experiment]
    seeds: int
    epochs: int
    device: str
    command: str  # as typed, for those who read the results
    at_once: int | None = None  # seeds per job; all of a setting if not given

    def __post_init__(self) -> None:
        for name, value in (("seeds", self.seeds), ("epochs", self.epochs), ("seeds at once", self.at_once or 1)):
            if value < 1:
                raise InputError(f"The number of {name} is {value}: give one at least.")


def open_table(folder: Path) -> RunTable:
    """The runs in a folder, or an empty table where there are none yet."""
    return RunTable(folder / TABLE, KEY, COLUMNS)


def sweep(folder: Path, asked: Asked, train: Train, engine: Engine) -> list[Summary]:
    """Train what the table in ``folder`` does not have yet; the answer is one summary per setting."""
    with alone_in(folder):
        table = open_table(folder)
        about = _about(folder, asked.epochs)
        copy_shared(table, asked.experiments)
        left = missing(table, asked.experiments, range(asked.seeds))
        with (
            _noted(folder, about, asked.command, table, engine),
            job_progress("settings", lambda: so_far(table)) as watcher,
        ):
            run_sweep(jobs(left, train, asked.epochs, asked.device, asked.at_once), table, engine, watcher)
        copy_shared(table, asked.experiments)
        return summarise_folder(folder, table)


def summarise_folder(source: Path, table: RunTable, folder: Path | None = None) -> list[Summary]:
    """Write the summary of a table, beside it or into another folder."""
    summaries = summarise(table)
    about = read_json(source / ABOUT) if (source / ABOUT).exists() else {"sweeps": []}
    write_summary(folder or source, summaries, [_line(each) for each in about["sweeps"]])
    return summaries


def _about(folder: Path, epochs: int) -> dict[str, Any]:
    """How the runs in this folder were made; runs of other lengths do not go into one table."""
    path = folder / ABOUT
    about: dict[str, Any] = read_json(path) if path.exists() else {"epochs": epochs, "sweeps": []}
    if about.get("epochs") != epochs:
        raise InputError(
            f"The runs in {folder} are of {about.get('epochs')} epochs and {epochs} are asked for: choose another "
            f"folder, or give --epochs {about.get('epochs')}."
        )
    return about


@contextmanager
def _noted(folder: Path, about: dict[str, Any], command: str, table: RunTable, engine: Engine) -> Iterator[None]:
    """Write down what was run where, even if it is stopped."""
    started, before = time.monotonic(), len(table.rows)
    try:
        yield
    finally:
        if len(table.rows) > before:
            note = {
                "command": command,
                "version": __version__,
                "machine": engine.describe(),
                "date": datetime.now(UTC).date().isoformat(),
                "runs": len(table.rows) - before,
                "seconds": round(time.monotonic() - started),
            }
            write_json(folder / ABOUT, {**about, "sweeps": [*about["sweeps"], note]})


def _line(note: dict[str, Any]) -> str:
    hours = note["seconds"] / 3600
    return (
        f"`{note['command']}`: {note['runs']} runs in {hours:.2f} h, withinpx {note['version']}, {note['machine']}, "
        f"{note['date']}"
    )
