"""Settings times seeds: jobs on some machine, their rows in a table on disk, and a diary of what was run where."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from withinpx import __version__
from withinpx.errors import InputError
from withinpx.experiments.table import RunTable
from withinpx.files import read_json, write_json
from withinpx.jobs.job import Engine, Job, JobWatcher, watched

ABOUT = "about.json"


def run_sweep(jobs: Sequence[Job], table: RunTable, engine: Engine, *callbacks: JobWatcher) -> None:
    """Run every job, and add its rows to the table as soon as it is done.

    Only this process writes the table. Whatever stops the sweep, finished jobs are in it.
    """
    for _, rows in watched(jobs, engine, *callbacks):
        table.add_all(rows)


class Diary(JobWatcher):
    """Writes down what was run where, job by job: a sweep may be stopped at any moment."""

    def __init__(self, folder: Path, about: dict[str, Any], command: str, engine: Engine) -> None:
        self._folder, self._about, self._command, self._engine = folder, about, command, engine
        self._started, self._runs = time.monotonic(), 0

    def finished(self, job: Job) -> None:
        """One more job is done."""
        self._runs += job.runs
        note = {
            "command": self._command,
            "version": __version__,
            "machine": self._engine.describe(),
            "date": datetime.now(UTC).date().isoformat(),
            "runs": self._runs,
            "seconds": round(time.monotonic() - self._started),
        }
        note_runs(self._folder, {**self._about, "sweeps": [*self._about["sweeps"], note]})


def about_runs(folder: Path) -> dict[str, Any]:
    """How the runs in a folder were made."""
    path = folder / ABOUT
    about = read_json(path) if path.exists() else {"sweeps": []}
    if not isinstance(about, dict) or "sweeps" not in about:
        raise InputError(f"{path} does not say how the runs beside it were made: move it away.")
    return about


def note_runs(folder: Path, about: dict[str, Any]) -> None:
    """Write it down."""
    write_json(folder / ABOUT, about)


def in_words(folder: Path) -> list[str]:
    """The same for people, a line for each sweep."""
    return [
        f"`{note['command']}`: {note['runs']} runs in {note['seconds'] / 3600:.2f} h, withinpx {note['version']}, "
        f"{note['machine']}, {note['date']}"
        for note in about_runs(folder)["sweeps"]
    ]
