"""What benchmarks over many clips share: a resumable table, its report, and columns that several of them have."""

import shlex
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from withinpx import InputError, __version__
from withinpx.experiments.sweep import SweepRecord, describe_sweeps, run_sweep
from withinpx.experiments.table import RunTable
from withinpx.files import write_atomically
from withinpx.jobs.job import Job, JobCallback, Row
from withinpx.jobs.local import LocalEngine
from withinpx.jobs.progress import JobProgress
from withinpx.tracking.result import Result

REPORT = "README.md"


class Report(JobCallback):
    """A table's summary as markdown, with how it was made; written again after every clip."""

    def __init__(self, table: RunTable, title: str, reading: str, lines: Callable[[list[Row]], list[str]]) -> None:
        self._table, self._title, self._reading, self._lines = table, title, reading, lines

    def on_job(self, job: Job) -> None:
        self.write()

    def write(self) -> None:
        write_atomically(self._table.path.with_name(REPORT), str(self).encode())

    def __str__(self) -> str:
        made = [f"- {line}" for line in describe_sweeps(self._table.path.parent)]
        lines = self._lines(self._table.runs())
        return "\n".join([f"# {self._title}", "", *made, "", self._reading, "", *lines]) + "\n"


def run_clips(
    options: Namespace, table: RunTable, report: Report, jobs: Sequence[Job], command: str, **config: Any
) -> None:
    """Run jobs into a table, with a record of the ``command`` and of what all its runs have in common."""
    engine = LocalEngine(options.workers)
    record = SweepRecord(options.out, {"version": __version__, **config}, command, engine)
    with JobProgress(unit="clips") as bar:
        run_sweep(jobs, table, engine, record, report, bar)


def sets_of(result: Result, column: int) -> str:
    """What the sets of one of the tracks are, in a word."""
    obj = result.certificate.objects[result.tracks.certificate_of[column]]
    return "theorem" if obj.membership is None else "outline" if obj.outlined else "template"


def known_medians(runs: Sequence[Row], columns: Sequence[str]) -> list[float | None]:
    """The median of each column over the runs that have it; None if none has."""
    known = [[run[column] for run in runs if not np.isnan(run[column])] for column in columns]
    return [float(np.median(values)) if values else None for values in known]


def sweep_parser(description: str | None, out: str, budget: float) -> ArgumentParser:
    """The options that all of these have; ``out`` says what the folder is for."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help=out)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    parser.add_argument("--workers", type=int, default=1, help="clips that are run at a time")
    parser.add_argument("--budget", type=float, default=budget, help="of `track`, seconds per clip")
    return parser


def as_typed(script: str, folder: str, options: Namespace, names: Iterable[str], more: Sequence[str] = ()) -> str:
    """The command with the options of these names and ``more``; the folder is the one that is committed."""
    flags = [part for name in names for part in (f"--{name}", str(getattr(options, name)))]
    budget = ["--budget", f"{options.budget:g}"]
    return shlex.join(["python", f"benchmarks/{script}.py", "--out", folder, *flags, *more, *budget])


def main(script: str, run: Callable[[Namespace], None], parsed: Callable[[Sequence[str]], Namespace]) -> None:
    """Run a benchmark with what was typed."""
    try:
        run(parsed(sys.argv[1:]))
    except InputError as error:
        print(f"{script}: {error}", file=sys.stderr)
        sys.exit(2)
