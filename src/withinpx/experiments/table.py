"""A table of runs on disk: one row per run, written atomically after each, so that a sweep can stop at any moment."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

from withinpx.files import write_atomically


class RunTable:
    """A CSV file whose ``key`` columns name a run; what is in it already need not run again."""

    def __init__(self, path: Path, key: tuple[str, ...]) -> None:
        self.path, self.key = path, key
        self.rows: list[dict[str, str]] = []
        if path.exists():
            self.rows = list(csv.DictReader(StringIO(path.read_text(encoding="utf-8"))))

    def __contains__(self, run: dict[str, Any]) -> bool:
        """Is there a row of this run?"""
        wanted = [str(run[column]) for column in self.key]
        return any([row[column] for column in self.key] == wanted for row in self.rows)

    def add(self, row: dict[str, Any]) -> None:
        """One more row, safely on disk; rows stay in the order of their keys."""
        self.rows.append({column: str(value) for column, value in row.items()})
        self.rows.sort(key=lambda each: [_in_order(each[column]) for column in self.key])
        text = StringIO()
        writer = csv.DictWriter(text, fieldnames=list(row), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_atomically(self.path, text.getvalue().encode())


def _in_order(text: str) -> tuple[float, str]:
    """Numbers by size, words by letter."""
    try:
        return float(text), ""
    except ValueError:
        return 0.0, text
