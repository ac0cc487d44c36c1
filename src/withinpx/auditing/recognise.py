"""Which program wrote a file: by its content, not by its name."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from withinpx.auditing.arrays import read_hdf5, read_npy, read_npz
from withinpx.auditing.boxes import read_coco, read_mot
from withinpx.auditing.foreign import Table
from withinpx.auditing.options import AuditOptions
from withinpx.auditing.text import read_csv, read_rows
from withinpx.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", re.IGNORECASE)
FEWEST_MOT = 6  # columns: frame, id, left, top, width, height


def read_table(path: Path, options: AuditOptions) -> Table:
    """The positions of a file, or of a folder with one TRex file per individual."""
    if path.is_dir():
        return _read_folder(path, options)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"The tracks {path} cannot be read: {error.strerror}.") from None
    if content.startswith(b"\x93NUMPY"):
        return read_npy(path, options)
    if content.startswith(b"PK\x03\x04"):
        return read_npz(path, options)
    if content.startswith(b"\x89HDF\r\n"):
        return read_hdf5(path, options)
    return _read_text(path, content, options)


def _read_text(path: Path, content: bytes, options: AuditOptions) -> Table:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is in no format that is known: see docs/audit.md for those that are.") from None
    if text.lstrip()[:1] in ("[", "{"):
        return read_coco(path, text, options)
    lines = text.splitlines()
    first = re.split(r"[,;\t ]+", next((line.strip() for line in lines if line.strip()), ""))
    if len(first) >= FEWEST_MOT and all(NUMBER.fullmatch(cell) for cell in first if cell):
        return read_mot(path, lines, options)
    return read_csv(path, text, options)


def _read_folder(path: Path, options: AuditOptions) -> Table:
    """One file per individual, as TRex writes them."""
    files = sorted(file for file in path.iterdir() if file.suffix in (".npz", ".csv"))
    kinds = {file.suffix for file in files}
    if not files:
        raise InputError(f"The folder {path} has no .npz or .csv files: name a file of tracks, or TRex's data folder.")
    if len(kinds) > 1:
        files = [file for file in files if file.suffix == ".npz"]
    tables = [read_table(file, options) for file in files]
    if any(table.format.program != "TRex" for table in tables):
        raise InputError(f"The folder {path} has other files than TRex's: name the one file that holds the tracks.")
    return _joined(tables)


def _joined(tables: Sequence[Table]) -> Table:
    starts = np.cumsum([0, *(len(table.frames) for table in tables)])

    def place(row: int) -> str:
        index = int(np.searchsorted(starts, row, side="right")) - 1
        return tables[index].place(row - int(starts[index]))

    return Table(
        tables[0].format,
        np.concatenate([table.frames for table in tables]),
        [name for table in tables for name in table.names],
        np.concatenate([table.positions for table in tables]),
        place,
        tables[0].part,
    )


def read_frame(table: "pd.DataFrame | Any", options: AuditOptions) -> Table:
    """A data frame in memory, with the columns of any table that is read from a file."""
    try:
        header = [str(name) for name in table.columns]
        cells = table.astype(object).where(table.notna(), "")
        rows = [[str(cell) for cell in row] for row in cells.to_numpy().tolist()]
    except (AttributeError, TypeError):
        raise InputError("Tracks are a path, or a data frame with the columns frame, id, x and y.") from None
    return read_rows("The table", header, rows, options, lambda row: f"in row {row}")
