"""The outcomes as a table: results/mutants."""

import csv
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from os import cpu_count
from pathlib import Path

from tests.mutants.run import ROOT, Outcome
from withinpx import __version__
from withinpx.files import write_atomically

RESULTS = ROOT / "results" / "mutants"
COLUMNS = ("mutant", "file", "tests", "killed", "killed_by", "seconds")
ABOUT = """# Mutants of the certificate

- `{command}`: {killed} of {count} mutants killed in {minutes:.1f} minutes, withinpx {version}, {machine}, {date}

A mutant is one change of the source that weakens the theorem's bound, a check, a measurement, or which frames they use.
It is killed if a test fails; the first one that does is named. The list: [tests/mutants](../../tests/mutants).

| what is weakened | file | killed by | s |
| --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Run:
    command: str
    outcomes: Sequence[Outcome]
    seconds: float


def write_report(run: Run, folder: Path = RESULTS) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    table = StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for outcome in run.outcomes:
        mutant = outcome.mutant
        tests = " ".join(mutant.tests)
        row = (mutant.name, mutant.file, tests, int(outcome.killed), outcome.killed_by, f"{outcome.seconds:.1f}")
        writer.writerow(row)
    write_atomically(folder / "mutants.csv", table.getvalue().encode())
    write_atomically(folder / "README.md", _page(run).encode())


def _page(run: Run) -> str:
    head = ABOUT.format(
        command=run.command,
        killed=sum(outcome.killed for outcome in run.outcomes),
        count=len(run.outcomes),
        minutes=run.seconds / 60,
        version=__version__,
        machine=f"{platform.system()} {platform.machine()}, {cpu_count()} CPU cores",
        date=datetime.now(UTC).date(),
    )
    rows = (
        f"| {outcome.mutant.name} | `{outcome.mutant.file}` | {_test(outcome)} | {outcome.seconds:.0f} |\n"
        for outcome in run.outcomes
    )
    return head + "".join(rows)


def _test(outcome: Outcome) -> str:
    """File and name of the test, without the folder and the parameters."""
    if not outcome.killed:
        return "**survived**"
    file, _, name = outcome.killed_by.partition("::")
    return f"`{Path(file).name}`: {name.partition('[')[0].removeprefix('test_').replace('_', ' ')}"
