"""Tables of true positions, ``frame,object,x,y,w,h,full``: used for evaluation only, never for training."""

import csv
from dataclasses import dataclass
from pathlib import Path

from withinpx.errors import InputError

COLUMNS = ("frame", "object", "x", "y", "w", "h", "full")


@dataclass(frozen=True)
class TrueBox:
    """An object that is wholly in view."""

    frame: int
    object: str
    x: float  # of its centre, px
    y: float
    width: float  # 0 where the table has none
    height: float


def read_true_boxes(path: Path) -> list[TrueBox]:
    """The rows of a table, without objects that are cut off or occluded (``full`` 0)."""
    if not path.is_file():
        raise InputError(f"There is no table of true positions {path}.")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [
                TrueBox(
                    int(row["frame"]),
                    row["object"],
                    float(row["x"]),
                    float(row["y"]),
                    float(row.get("w") or 0),
                    float(row.get("h") or 0),
                )
                for row in csv.DictReader(file)
                if row["full"] == "1"
            ]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path} is no table of true positions: its columns are {','.join(COLUMNS)}.") from None
