"""Tables of true positions, ``frame,object,x,y,w,h,full``: to compare with, never to learn from."""

import csv
from dataclasses import dataclass
from pathlib import Path

from withinpx.errors import InputError

COLUMNS = ("frame", "object", "x", "y", "w", "h", "full")


@dataclass(frozen=True)
class TrueBox:
    """One object in one frame that shows the whole of it."""

    frame: int
    object: str
    x: float  # of its centre, px
    y: float
    width: float  # 0 where the table does not say
    height: float


def read_true_boxes(path: Path) -> list[TrueBox]:
    """The rows of a table, without those of objects that the border cuts."""
    if not path.is_file():
        raise InputError(f"There is no table of true positions {path}.")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [
                TrueBox(int(row["frame"]), row["object"], float(row["x"]), float(row["y"]), *_sides(row))
                for row in csv.DictReader(file)
                if row["full"] == "1"
            ]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path} is no table of true positions: its columns are {','.join(COLUMNS)}.") from None


def _sides(row: dict[str, str]) -> tuple[float, float]:
    return float(row.get("w") or 0), float(row.get("h") or 0)
