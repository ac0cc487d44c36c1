"""A table of runs on disk, replaced atomically after every job: a sweep can be stopped at any moment."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from withinpx.errors import InputError
from withinpx.files import write_atomically
from withinpx.jobs.job import Row

if TYPE_CHECKING:
    from pandas import DataFrame

Columns = Mapping[str, type]  # names and types, in the order of the file

_PARSERS: dict[type, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: lambda text: float(text or "nan"),
    bool: {"True": True, "False": False}.__getitem__,
}


class RunTable:
    """A CSV file whose ``key`` columns identify a run; a run that it holds is not repeated.

    The file must begin with ``columns``, if given; columns that follow are read as text.
    """

    def __init__(self, path: Path, key: tuple[str, ...], columns: Columns | None = None) -> None:
        self.path, self.key = path, key
        self.columns: tuple[str, ...] = ()
        self.rows: list[dict[str, str]] = []
        self._types = columns or {}
        if path.exists():
            self.columns, self.rows = _read(path)
            self._check_columns(self.columns)
            for name, count in Counter(map(self._name, self.rows)).items():
                if count > 1:
                    raise InputError(f"{path} has the run {' '.join(name)} twice: remove one of the two lines.")
            self.runs()  # refuses a line of other types

    def __contains__(self, run: Row) -> bool:
        wanted = self._name(run)
        return any(self._name(row) == wanted for row in self.rows)

    def add_all(self, rows: Iterable[Row]) -> None:
        """Write all of these rows or none, sorted by key; a run that the table holds keeps its row."""
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
        ordered = sorted(known.values(), key=lambda row: [_sort_key(row[column]) for column in self.key])
        write_atomically(self.path, _as_csv(self.columns, ordered))
        self.rows = ordered

    def runs(self) -> list[Row]:
        """The rows with the types of their columns; an empty number is NaN."""
        return [self._parsed(row, line) for line, row in enumerate(self.rows, start=2)]

    def frame(self) -> "DataFrame":
        from pandas import DataFrame  # noqa: PLC0415  (a machine that only trains has no pandas)

        return DataFrame(self.runs(), columns=list(self.columns))

    def _parsed(self, row: dict[str, str], line: int) -> Row:
        try:
            return {name: _PARSERS[self._types.get(name, str)](text) for name, text in row.items()}
        except (KeyError, ValueError):
            raise InputError(f"{self.path} is not a table of runs at line {line}: remove that line.") from None

    def _name(self, run: Row) -> tuple[str, ...]:
        return tuple(str(run[column]) for column in self.key)

    def _check_columns(self, found: tuple[str, ...]) -> None:
        wanted = tuple(self._types)
        if found[: len(wanted)] != wanted or not set(self.key) <= set(found):
            raise self._other_columns()

    def _other_columns(self) -> InputError:
        return InputError(f"{self.path} has other columns than this experiment's table: choose another folder.")


def _read(path: Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    try:
        text = path.read_text(encoding="utf-8")
        header, *rows = csv.reader(StringIO(text), strict=True)
    except (OSError, ValueError, csv.Error):
        raise InputError(f"{path} cannot be read as a table (CSV): move it away, or choose another folder.") from None
    short = next((line for line, row in enumerate(rows, start=2) if len(row) != len(header)), None)
    if short is None and not text.endswith("\n"):
        short = len(rows) + 1
    if short is not None:
        raise InputError(f"{path} was cut short at line {short}: remove that line, and its run is repeated.")
    return tuple(header), [dict(zip(header, row, strict=True)) for row in rows]


def _as_csv(columns: tuple[str, ...], rows: list[dict[str, str]]) -> bytes:
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _sort_key(text: str) -> tuple[float, str]:
    """Numbers by size, words alphabetically."""
    try:
        return float(text), ""
    except ValueError:
        return 0.0, text
