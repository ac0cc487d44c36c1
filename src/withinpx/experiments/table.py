"""A table of runs on disk: one row per run, written atomically after each, so that a sweep can stop at any moment."""

import csv
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any

from withinpx.errors import InputError
from withinpx.files import write_atomically


class RunTable:
    """A CSV file whose ``key`` columns name a run; what is in it already need not run again.

    ``columns``, if given, are those that the table must begin with.
    """

    def __init__(self, path: Path, key: tuple[str, ...], columns: tuple[str, ...] = ()) -> None:
        self.path, self.key = path, key
        self.columns: tuple[str, ...] = ()
        self.rows: list[dict[str, str]] = []
        self._first_columns = columns
        if path.exists():
            self.columns, self.rows = _read(path)
            self._check_columns(self.columns)
            _check_each_once(path, [self._name(row) for row in self.rows])

    def __contains__(self, run: dict[str, Any]) -> bool:
        """Is there a row of this run?"""
        wanted = self._name(run)
        return any(self._name(row) == wanted for row in self.rows)

    def add(self, row: dict[str, Any]) -> None:
        """One more row, safely on disk."""
        self.add_all([row])

    def add_all(self, rows: Iterable[dict[str, Any]]) -> None:
        """More rows, all of them safely on disk or none; a run that is there already keeps the row it has.

        Rows stay in the order of their keys.
        """
        known = {self._name(row): row for row in self.rows}
        for row in rows:
            columns = tuple(row)
            self._check_columns(columns)
            self.columns = self.columns or columns
            if columns != self.columns:
                raise self._other_columns()
            known.setdefault(self._name(row), {column: str(value) for column, value in row.items()})
        if len(known) == len(self.rows):
            return
        ordered = sorted(known.values(), key=lambda each: [_in_order(each[column]) for column in self.key])
        write_atomically(self.path, _as_csv(self.columns, ordered))
        self.rows = ordered

    def _name(self, run: dict[str, Any]) -> tuple[str, ...]:
        return tuple(str(run[column]) for column in self.key)

    def _check_columns(self, found: tuple[str, ...]) -> None:
        wanted = self._first_columns
        if found[: len(wanted)] != wanted or not set(self.key) <= set(found):
            raise self._other_columns()

    def _other_columns(self) -> InputError:
        return InputError(f"{self.path} has other columns than the table that is wanted here: choose another folder.")


def _read(path: Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """The columns and the rows; a sentence if it is no table or not a whole one."""
    try:
        text = path.read_text(encoding="utf-8")
        header, *rows = csv.reader(StringIO(text), strict=True)
    except (OSError, ValueError, csv.Error):
        raise InputError(f"{path} cannot be read as a table (CSV): move it away, or choose another folder.") from None
    short = next((number for number, row in enumerate(rows, start=2) if len(row) != len(header)), None)
    if short is None and not text.endswith("\n"):
        short = len(rows) + 1
    if short is not None:
        raise InputError(f"{path} was cut short at line {short}: take that line out, and what it had will run again.")
    return tuple(header), [dict(zip(header, row, strict=True)) for row in rows]


def _check_each_once(path: Path, names: list[tuple[str, ...]]) -> None:
    seen: set[tuple[str, ...]] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{path} has the run {' '.join(name)} twice: take one of them out.")
        seen.add(name)


def _as_csv(columns: tuple[str, ...], rows: list[dict[str, str]]) -> bytes:
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _in_order(text: str) -> tuple[float, str]:
    """Numbers by size, words by letter."""
    try:
        return float(text), ""
    except ValueError:
        return 0.0, text
