"""The framework of all sweeps: settings x seeds -> jobs -> a resumable table, with a record of what ran where.

An experiment is resumed by running it again in the same folder: only the runs that its table lacks become jobs.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from withinpx import __version__
from withinpx.errors import InputError
from withinpx.experiments.table import Columns, RunTable
from withinpx.files import locked_folder, read_json, write_json
from withinpx.jobs.job import Engine, Job, JobCallback, run_jobs

TABLE, ABOUT = "runs.csv", "about.json"
MAX_COUNT = 10_000  # seeds, epochs

Item = TypeVar("Item")
Setting = TypeVar("Setting", bound=Any)  # a dataclass with a field ``experiment``


@dataclass(frozen=True)
class Panel(Generic[Setting]):
    """One panel of a figure: ``variable`` takes ``values``, everything else stays as in ``fixed``."""

    name: str
    variable: str  # a field of the setting
    axis: str  # label
    fixed: Setting
    values: tuple[Any, ...]

    @property
    def settings(self) -> list[Setting]:
        return [replace(self.fixed, experiment=self.name, **{self.variable: value}) for value in self.values]


class Experiment(ABC):
    """What a sweep trains, and the layout of its table."""

    key: ClassVar[tuple[str, ...]]
    columns: ClassVar[Columns]
    seeds: int

    def __post_init__(self) -> None:
        check_counts(seeds=self.seeds)

    @classmethod
    def open_table(cls, folder: Path) -> RunTable:
        return RunTable(folder / TABLE, cls.key, cls.columns)

    @property
    def config(self) -> dict[str, Any]:
        """What the runs of one table have in common; ``about.json`` records it."""
        return {}

    @abstractmethod
    def jobs(self, table: RunTable) -> list[Job]:
        """The runs that the table lacks."""

    @abstractmethod
    def progress(self, table: RunTable) -> str:
        """The results so far in a few words, for the progress bar."""

    @abstractmethod
    def report(self, table: RunTable, folder: Path) -> list[str]:
        """Write summaries and figures into ``folder``; returns lines to print."""

    def copy_shared(self, table: RunTable) -> None:  # noqa: B027  (most experiments have none)
        """Add rows that need no training because another panel has the same run."""


def run_experiment(
    folder: Path, experiment: Experiment, engine: Engine, command: str, *watchers: JobCallback
) -> RunTable:
    """Train what the table in ``folder`` lacks; ``command`` is recorded in ``about.json``."""
    from withinpx.jobs.progress import JobProgress  # noqa: PLC0415  (a machine that only trains has no rich)

    with locked_folder(folder):
        table = experiment.open_table(folder)
        record = SweepRecord(folder, experiment.config, command, engine)
        experiment.copy_shared(table)
        with JobProgress(lambda: experiment.progress(table)) as bar:
            run_sweep(experiment.jobs(table), table, engine, record, bar, *watchers)
        experiment.copy_shared(table)
    return table


def run_sweep(jobs: Sequence[Job], table: RunTable, engine: Engine, *watchers: JobCallback) -> None:
    """Run every job, and write its rows as soon as it has finished. Only this process writes the table."""
    for _, rows in run_jobs(jobs, engine, *watchers):
        table.add_all(rows)


class SweepRecord(JobCallback):
    """Updates ``about.json`` after every job."""

    def __init__(self, folder: Path, config: dict[str, Any], command: str, engine: Engine) -> None:
        self._path, self._command, self._engine = folder / ABOUT, command, engine
        self._about = {**config, **read_about(folder)}
        for name, value in config.items():
            if self._about[name] != value:
                raise InputError(
                    f"The runs in {folder} were made with {name} = {self._about[name]}, not {value}: choose another "
                    "folder, or the options of those runs."
                )
        write_json(self._path, self._about)
        self._started, self._runs = time.monotonic(), 0

    def on_job(self, job: Job) -> None:
        self._runs += job.runs
        sweep = {
            "command": self._command,
            "version": __version__,
            "machine": self._engine.describe(),
            "date": datetime.now(UTC).date().isoformat(),
            "runs": self._runs,
            "seconds": round(time.monotonic() - self._started),
        }
        write_json(self._path, {**self._about, "sweeps": [*self._about["sweeps"], sweep]})


def read_about(folder: Path) -> dict[str, Any]:
    """How the runs in a folder were made."""
    path = folder / ABOUT
    about = read_json(path) if path.exists() else {"sweeps": []}
    if not isinstance(about, dict) or "sweeps" not in about:
        raise InputError(f"{path} does not record how the runs beside it were made: move it away.")
    return about


def describe_sweeps(folder: Path) -> list[str]:
    return [
        f"`{sweep['command']}`: {sweep['runs']} runs in {sweep['seconds'] / 3600:.2f} h, withinpx {sweep['version']}, "
        f"{sweep['machine']}, {sweep['date']}"
        for sweep in read_about(folder)["sweeps"]
    ]


def check_counts(**counts: int | None) -> None:
    for name, value in counts.items():
        if value is not None and not 1 <= value <= MAX_COUNT:
            limit = "one at least" if value < 1 else f"at most {MAX_COUNT}"
            raise InputError(f"The number of {name.replace('_', ' ')} is {value}: give {limit}.")


def chunks(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    return [items[first : first + size] for first in range(0, len(items), size)]
