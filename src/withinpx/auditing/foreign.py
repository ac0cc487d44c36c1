"""Tracks of another program: which format a file has, and its positions in our frames and our origin."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.auditing.options import ORIGIN_PX, AuditOptions
from withinpx.errors import InputError

Array = NDArray[np.float64]
Places = Callable[[int], str]  # where a row is in its file, for messages


@dataclass(frozen=True, eq=False)
class Format:
    """What the documentation of a program says of its files."""

    program: str
    origin: str  # of ORIGIN_PX
    first_frame: int = 0


WITHINPX = Format("withinpx", "corner")
TRACKPY = Format("trackpy", "centre")  # centres of mass of pixel indices, by its code
TREX = Format("TRex", "centre")  # not documented; taken to be means of pixel indices
IDTRACKER = Format("idtracker.ai", "centre")  # not documented; taken to be moments of contours in pixel indices
SLEAP = Format("SLEAP", "centre")  # its documentation: the pixel's centre at (0, 0)
DEEPLABCUT = Format("DeepLabCut", "centre")  # as in tracking/exports.py
MOT = Format("MOTChallenge", "one", first_frame=1)  # frames, ids and boxes count from 1
COCO = Format("COCO", "corner")  # boxes from the image's corner
PLAIN = Format("table", "corner")  # unknown, so taken as it is


@dataclass(frozen=True, eq=False)
class Table:
    """What a reader found: one row per frame and identity, in the file's own frames and origin."""

    format: Format
    frames: Array  # (r,), as written
    names: Sequence[str]  # (r,), identities
    positions: Array  # (r, 2), NaN where there is none
    place: Places  # of a row, for messages
    part: str | None = None  # the body part, if the format has any


@dataclass(frozen=True, eq=False, repr=False)
class ForeignTracks:
    """Positions of another program, sorted by identity and frame; (0, 0) is the first pixel's top-left corner."""

    source: str
    program: str
    origin: str  # that its file was read with
    names: tuple[str, ...]  # of the identities
    ids: NDArray[np.int64]  # (r,), index into the names
    frames: NDArray[np.int64]  # (r,), from 0
    positions: Array  # (r, 2)
    gaps: int = 0  # rows of the file without a position
    part: str | None = None

    def __len__(self) -> int:
        return len(self.frames)

    def __repr__(self) -> str:
        return f"ForeignTracks({self.program}: {len(self)} positions of {len(self.names)} identities)"

    @classmethod
    def of(cls, table: Table, source: str, options: AuditOptions) -> "ForeignTracks":
        """A table in our frames and origin, without its gaps; refuses frames that are no numbers, and duplicates."""
        known = np.asarray(np.isfinite(table.positions).all(axis=-1))
        first = table.format.first_frame if options.first_frame == "auto" else options.first_frame
        frames = _whole_frames(table, source) - first
        for row in np.flatnonzero(frames < 0)[:1].tolist():
            raise InputError(
                f"{source} has frame {table.frames[row]:g} {table.place(row)}, but its first frame is {first}: "
                f"give --first-frame."
            )
        origin = table.format.origin if options.origin == "auto" else options.origin
        names, ids = np.unique(np.asarray(table.names, np.str_), return_inverse=True)
        if not known.any():
            raise InputError(f"{source} has no position: every row is empty.")
        order = np.lexsort((frames, ids))
        order = order[known[order]]
        _check_unique(table, source, ids, frames, order)
        return cls(
            source,
            table.format.program,
            origin,
            tuple(names.tolist()),
            ids[order].astype(np.int64),
            frames[order],
            table.positions[order] + ORIGIN_PX[origin],
            int((~known).sum()),
            table.part,
        )


def _whole_frames(table: Table, source: str) -> NDArray[np.int64]:
    whole = np.isfinite(table.frames) & (table.frames % 1 == 0)
    for row in np.flatnonzero(~whole)[:1].tolist():
        raise InputError(
            f"{source} has {table.frames[row]:g} for the frame {table.place(row)}: a whole number is needed."
        )
    return table.frames.astype(np.int64)


def _check_unique(table: Table, source: str, ids: NDArray[Any], frames: NDArray[np.int64], order: NDArray[Any]) -> None:
    """An identity can be at one position only in a frame."""
    again = (np.diff(ids[order]) == 0) & (np.diff(frames[order]) == 0)
    for index in np.flatnonzero(again)[:1].tolist():
        first, second = sorted((int(order[index]), int(order[index + 1])))
        raise InputError(
            f"{source} has {table.names[second]!r} in frame {table.frames[second]:g} twice, {table.place(first)} and "
            f"{table.place(second)}: an identity has one position per frame. Remove one, or link the detections first."
        )


def read_foreign(source: Any, options: AuditOptions | None = None) -> ForeignTracks:
    """Positions of another program: a file, a folder of TRex, or a data frame with frame, id, x and y.

    The format is recognised by the content.

    >>> read_foreign("tracked/mot.txt")
    ForeignTracks(MOTChallenge: 7... positions of 3 identities)
    """
    from withinpx.auditing.recognise import read_frame, read_table  # noqa: PLC0415  (pandas)

    options = options or AuditOptions()
    if isinstance(source, ForeignTracks):
        return source
    if isinstance(source, str | PathLike):
        return ForeignTracks.of(read_table(Path(source), options), str(source), options)
    return ForeignTracks.of(read_frame(source, options), "The table", options)


def chosen_part(source: object, parts: Sequence[str], wanted: str | None, default: str | None = None) -> str:
    """The body part to compare. One that was not named must be the only one, or the format's usual one."""
    unique = list(dict.fromkeys(parts))
    if wanted is None:
        if default in unique or len(unique) == 1:
            return default if default in unique and default is not None else unique[0]
        raise InputError(f"{source} has several body parts: choose one of {', '.join(unique)} with --bodypart.")
    if wanted not in unique:
        raise InputError(f"{source} has no body part {wanted!r}: it has {', '.join(unique)}.")
    return wanted


def without_parts(source: object, wanted: str | None) -> None:
    if wanted is not None:
        raise InputError(f"{source} has no body parts: leave --bodypart out.")
