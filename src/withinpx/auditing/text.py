"""Tables as text with a header: withinpx, trackpy, TRex, idtracker.ai, SLEAP, DeepLabCut, or any with usual names."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from withinpx.auditing.foreign import (
    DEEPLABCUT,
    IDTRACKER,
    PLAIN,
    SLEAP,
    TRACKPY,
    TREX,
    WITHINPX,
    Array,
    Format,
    Places,
    Table,
    chosen_part,
    without_parts,
)
from withinpx.auditing.options import AuditOptions
from withinpx.errors import InputError

FRAME = ("frame", "frames", "frame_idx", "frame_id", "frame_number", "frameid", "framenumber", "image_id", "fidx", "t")
IDENTITY = (
    *("particle", "id", "track_id", "trackid", "track", "object", "object_id", "individual", "animal", "animal_id"),
    *("identity", "name", "label", "tid", "fish", "fly", "mouse"),
)
AXES = (  # names of x and y
    *("{}", "{}_px", "{} (px)", "{}_pixel", "{}_pixels", "c{}", "{}_center", "center_{}", "{}_centroid", "centroid_{}"),
    *("pos_{}", "position_{}"),
)
EMPTY = ("", "nan", "na", "none", "null", "inf", "-inf")  # no position; TRex writes inf
TREX_COLUMN = re.compile(r"X(#(?P<source>\w+))?( \((?P<unit>\w+)\))?")
HEAD = "head"  # TRex's source of a column without a name
USUAL_SOURCE = "wcentroid"
IDTRACKER_COLUMN = re.compile(r"x_?(\d+)", re.IGNORECASE)
Rows = Sequence[Sequence[str]]


def read_csv(path: Path, text: str, options: AuditOptions) -> Table:
    """Text with a header, separated by commas, semicolons or tabs."""
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    header, *rows = [*csv.reader(text.splitlines(), delimiter=delimiter)] or [[]]
    if not rows:
        raise InputError(f"{path} has no rows: its tracks are empty, or it is no table.")
    if header[:1] == ["scorer"]:
        return _deeplabcut(path, [header, *rows], options)
    lines = [line for line, row in enumerate(rows, start=2) if row]
    rows = [row for row in rows if row]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(header):
            raise InputError(f"{path} has {len(row)} values in line {line} where its header names {len(header)}.")
    return read_rows(path, header, rows, options, lambda row: f"in line {lines[row]}")


def read_rows(source: object, header: Sequence[str], rows: Rows, options: AuditOptions, place: Places) -> Table:
    """A table whose columns have names."""
    names = [name.strip() for name in header]
    sources = [match for match in map(TREX_COLUMN.fullmatch, names) if match]
    is_trex = any(match["source"] or match["unit"] for match in sources)
    if is_trex and not _column(names, IDENTITY):
        return _trex(source, names, rows, options, place)
    if any(name.endswith(".x") for name in names) and _column(names, FRAME):
        return _sleap(source, names, rows, options, place)
    if not _column(names, FRAME) and sum(bool(IDTRACKER_COLUMN.fullmatch(name)) for name in names):
        return _idtracker(source, names, rows, options)
    without_parts(source, options.bodypart)
    return _plain(source, names, rows, place)


def _column(names: Sequence[str], usual: Sequence[str]) -> str | None:
    """The column with the first of these usual names, whatever its case."""
    lower = {name.lower(): name for name in reversed(names)}
    return next((lower[name] for name in usual if name in lower), None)


def _needed(source: object, names: Sequence[str], usual: Sequence[str], what: str) -> str:
    found = _column(names, usual)
    if found is None:
        raise InputError(
            f"{source} has no column for {what}, such as {', '.join(usual[:3])}: it has {', '.join(names)}."
        )
    return found


def _texts(names: Sequence[str], rows: Rows, name: str) -> list[str]:
    index = list(names).index(name)
    return [row[index].strip() for row in rows]


def _numbers(source: object, names: Sequence[str], rows: Rows, name: str, place: Places) -> Array:
    """A column as numbers, NaN where a cell is empty."""
    cells = _texts(names, rows, name)
    values = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if cell.lower() in EMPTY:
            continue
        try:
            values[row] = float(cell)
        except ValueError:
            raise InputError(f"{source} has {cell!r} for {name} {place(row)}: a number is needed there.") from None
    return values


def _pair(source: object, names: Sequence[str], rows: Rows, place: Places, *, x: str, y: str) -> Array:
    if y not in names:
        raise InputError(f"{source} has a column {x} but none {y}.")
    return np.stack([_numbers(source, names, rows, name, place) for name in (x, y)], axis=-1)


def _plain(source: object, names: Sequence[str], rows: Rows, place: Places) -> Table:
    """withinpx's own table, trackpy's, or any with frame, id, x and y."""
    frame = _needed(source, names, FRAME, "the frame")
    x = _needed(source, names, [pattern.format("x") for pattern in AXES], "x")
    y = _needed(source, names, [pattern.format("y") for pattern in AXES], "y")
    identity = _column(names, IDENTITY)
    kind: Format = PLAIN
    if {"bound_px", "certified", "object"} <= set(names):
        kind = WITHINPX
    elif "particle" in names:
        kind = TRACKPY
    frames = _numbers(source, names, rows, frame, place)
    if identity is None:
        if len(np.unique(frames)) < len(frames):
            raise InputError(
                f"{source} has several positions in a frame but no column for the identity, such as id: link the "
                f"detections first."
            )
        identities = ["0"] * len(rows)
    else:
        identities = [_whole(text) for text in _texts(names, rows, identity)]
        for row, text in enumerate(identities):
            if text.lower() in EMPTY:
                raise InputError(f"{source} has no {identity} {place(row)}: give every position an identity.")
    return Table(kind, frames, identities, _pair(source, names, rows, place, x=x, y=y), place)


def _whole(text: str) -> str:
    """An identity that pandas wrote as 3.0 is 3."""
    return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text


def _sleap(source: object, names: Sequence[str], rows: Rows, options: AuditOptions, place: Places) -> Table:
    """One row per instance, x and y of every node; an instance without a track cannot be followed."""
    part = chosen_part(source, [name[:-2] for name in names if name.endswith(".x")], options.bodypart)
    track = _needed(source, names, ("track", "track_id"), "the track")
    tracks = _texts(names, rows, track)
    for row, name in enumerate(tracks):
        if not name:
            raise InputError(f"{source} has an instance without a track {place(row)}: track the instances first.")
    frames = _numbers(source, names, rows, _needed(source, names, FRAME, "the frame"), place)
    return Table(SLEAP, frames, tracks, _pair(source, names, rows, place, x=f"{part}.x", y=f"{part}.y"), place, part)


def _idtracker(source: object, names: Sequence[str], rows: Rows, options: AuditOptions) -> Table:
    """One row per frame, x1, y1, x2, y2 and so on."""
    without_parts(source, options.bodypart)
    columns = [name for name in names if IDTRACKER_COLUMN.fullmatch(name)]
    animals = [name.lower().lstrip("x_") for name in columns]

    def line(row: int) -> str:
        return f"in line {row + 2}"

    pairs = [_pair(source, names, rows, line, x=name, y=_y_of(name)) for name in columns]
    count = len(rows)
    return Table(
        IDTRACKER,
        np.tile(np.arange(count, dtype=np.float64), len(animals)),
        [animal for animal in animals for _ in range(count)],
        np.concatenate(pairs),
        lambda row: line(row % count),
    )


def _y_of(name: str) -> str:
    return name.translate(str.maketrans("xX", "yY"))


def _trex(source: object, names: Sequence[str], rows: Rows, options: AuditOptions, place: Places) -> Table:
    """One file per individual, with positions of several kinds; withinpx needs them in px."""
    kinds = {match["source"] or HEAD: match for match in map(TREX_COLUMN.fullmatch, names) if match}
    part = chosen_part(source, list(kinds), options.bodypart, default=USUAL_SOURCE)
    match = kinds[part]
    if match["unit"] != "px":
        raise InputError(
            f"{source} has {match[0]} in {match['unit'] or 'a unit that it does not name'}, and does not say how many "
            f"cm a pixel has: give TRex's .npz files, which do, or a table with X (px) and Y (px)."
        )
    frames = _numbers(source, names, rows, _needed(source, names, FRAME, "the frame"), place)
    positions = _pair(source, names, rows, place, x=match[0], y=f"Y{match[0][1:]}")
    missing = _column(names, ("missing",))
    if missing is not None:
        positions[_numbers(source, names, rows, missing, place) == 1] = np.nan
    return Table(TREX, frames, [individual_of(source)] * len(rows), positions, place, part)


def individual_of(source: object) -> str:
    """The number at the end of the name of a TRex file, or all of it."""
    stem = Path(str(source)).stem
    found = re.search(r"(?:fish|id|_)(\d+)$", stem)
    return found[1] if found else stem


def _deeplabcut(path: Path, lines: Rows, options: AuditOptions) -> Table:
    """Header rows scorer, individuals (if several), bodyparts, coords; then one row per frame."""
    header = {row[0]: row[1:] for row in lines[:4] if row and row[0] in ("individuals", "bodyparts", "coords")}
    depth = 1 + len(header)
    if not {"bodyparts", "coords"} <= set(header) or len(lines) == depth:
        raise InputError(f"{path} begins as a table of DeepLabCut but has no bodyparts, coords or rows.")
    rows = [row for row in lines[depth:] if row]
    parts, coords = header["bodyparts"], header["coords"]
    individuals = header.get("individuals", ["0"] * len(parts))
    part = chosen_part(path, parts, options.bodypart)
    animals = list(dict.fromkeys(name for name, own in zip(individuals, parts, strict=True) if own == part))
    names = ["frame", *(f"{animal}/{own}/{axis}" for animal, own, axis in zip(individuals, parts, coords, strict=True))]

    def line(row: int) -> str:
        return f"in line {row + depth + 1}"

    for row, cells in enumerate(rows):
        if len(cells) != len(names):
            raise InputError(f"{path} has {len(cells)} values {line(row)} where its header names {len(names)}.")
    frames = _numbers(path, names, rows, "frame", line)
    pairs = [_pair(path, names, rows, line, x=f"{animal}/{part}/x", y=f"{animal}/{part}/y") for animal in animals]
    count = len(rows)
    return Table(
        DEEPLABCUT,
        np.tile(frames, len(animals)),
        [animal for animal in animals for _ in range(count)],
        np.concatenate(pairs),
        lambda row: line(row % count),
        part,
    )
