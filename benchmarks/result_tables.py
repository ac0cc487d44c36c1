"""Result tables of the benchmarks as markdown."""

from collections.abc import Iterable, Sequence
from math import isnan


def markdown_table(columns: Iterable[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table; underscores in the names of its columns become spaces."""
    names = [name.replace("_", " ") for name in columns]
    cells = [names, ["---"] * len(names), *([cell(value) for value in row] for row in rows)]
    return ["| " + " | ".join(row) + " |" for row in cells]


def cell(value: object, digits: int = 3) -> str:
    """Empty for None and NaN."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
