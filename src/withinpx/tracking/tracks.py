"""The tracks table: where every object is in every frame, and how far off that can be."""

import csv
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from withinpx.data.selection import Selection
from withinpx.errors import InputError
from withinpx.files import atomic_file, naming_file, writable_folder

COLUMNS = (
    *("frame", "time_s", "object", "x", "y", "z_x", "z_y", "width", "height"),
    *("bound_px", "residual_px", "present", "certified"),
)


LEAP = 2.0  # of its own size: a thing that moves farther from one frame to the next is not seen to move


@dataclass(frozen=True)
class Tracks:
    """Where every object is in every frame, and how far off that can be. Pixels are the recording's own."""

    frames: NDArray[np.int64]  # (f,), number of each frame in the recording's decoded order
    times_s: NDArray[np.float64]  # (f,)
    positions: NDArray[np.float64]  # (f, n, 2), calibrated (x, y)
    z: NDArray[np.float64]  # (f, n, 2), z
    sizes: NDArray[np.float64]  # (f, n, 2), width and height of the object's box
    bound_px: NDArray[np.float64]  # (f, n)
    residual_px: NDArray[np.float64]  # (f, n), nan where not present
    present: NDArray[np.bool_]  # (f, n)
    certified: NDArray[np.bool_]  # (f, n)
    width: int  # of the recording's picture, px
    height: int

    def __post_init__(self) -> None:
        if self.frames.ndim != 1 or self.present.ndim != 2 or self.present.shape[1] < 1:
            raise InputError("Tracks need a list of frames and at least one object.")
        self._check_shapes()
        if (np.diff(self.frames) <= 0).any():
            raise InputError("The frames of the tracks are not in the order of the recording.")
        if self.width < 1 or self.height < 1:
            raise InputError(f"The tracks' picture of {self.width}x{self.height} px has no pixel.")
        known = np.isfinite(np.concatenate([self.positions, self.z, self.sizes], axis=-1)).all(axis=-1)
        for row, each in np.argwhere(self.present & ~known):
            raise InputError(f"Object {each} is present in frame {self.frames[row]} but has no position or size there.")

    def _check_shapes(self) -> None:
        flat = (len(self.frames), self.objects)
        expected = {"times_s": flat[:1], "positions": (*flat, 2), "z": (*flat, 2), "sizes": (*flat, 2)}
        expected |= dict.fromkeys(("bound_px", "residual_px", "present", "certified"), flat)
        for name, shape in expected.items():
            found = getattr(self, name).shape
            if found != shape:
                raise InputError(f"The tracks' {name} have the shape {found} where {shape} belongs.")

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def objects(self) -> int:
        """How many."""
        return int(self.present.shape[1])

    @property
    def unordered(self) -> bool:
        """Do the objects leap from frame to frame, as in pictures in no order?"""
        steps = np.abs(np.diff(self.positions, axis=0)).max(axis=-1)
        known = self.present[1:] & self.present[:-1]
        sizes = self.sizes.max(axis=-1)[1:]
        return bool(known.any() and np.median(steps[known] / sizes[known].clip(min=1e-9)) > LEAP)

    @property
    def boxes(self) -> NDArray[np.float64]:
        """(f, n, 4): left, top, width, height of the box around each calibrated position, corner coordinates."""
        return np.concatenate([self.positions - self.sizes / 2, self.sizes], axis=-1)


def in_picture(points: NDArray[np.float64], selection: Selection) -> NDArray[np.float64]:
    """Positions (x, y) of the recording as positions in the part of it that was kept."""
    origin = selection.crop[:2] if selection.crop is not None else (0, 0)
    return np.asarray((points - np.array(origin)) * selection.scale, np.float64)


def bound_text(bound_px: float) -> str:
    """A bound as people read it, rounded up: a promise must not get tighter by being printed."""
    return f"±{ceil(bound_px * 10 - 1e-6) / 10:.1f} px" if np.isfinite(bound_px) else "no bound"


def write_tracks(path: Path, tracks: Tracks) -> None:
    """``tracks.csv``, in one go."""
    with TracksWriter(path) as writer:
        writer.add(tracks)


class TracksWriter:
    """``tracks.csv`` written chunk by chunk: memory does not grow with the recording.

    The rows go to a file beside, which takes the file's name when all are there.
    """

    def __init__(self, path: Path) -> None:
        self._path = writable_folder(path.parent) / path.name
        self._stack = ExitStack()
        self._objects: int | None = None
        self._last_frame = -1

    def __enter__(self) -> Self:
        with naming_file(self._path):
            beside = self._stack.enter_context(atomic_file(self._path))
            file = self._stack.enter_context(beside.open("w", newline="", encoding="utf-8"))
        self._csv = csv.writer(file, lineterminator="\n")
        self._csv.writerow(COLUMNS)
        return self

    def add(self, tracks: Tracks) -> None:
        """The next frames."""
        if len(tracks) == 0:
            return
        if self._objects not in (None, tracks.objects):
            raise InputError(f"The tracks go from {self._objects} to {tracks.objects} objects midway.")
        if tracks.frames[0] <= self._last_frame:
            raise InputError(f"Frame {tracks.frames[0]} of the tracks comes after frame {self._last_frame}.")
        self._objects, self._last_frame = tracks.objects, int(tracks.frames[-1])
        with naming_file(self._path):
            self._csv.writerows(csv_rows(tracks))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with naming_file(self._path) if kind is None else suppress(OSError):  # what came first is told
            self._stack.__exit__(kind, error, trace)


def csv_rows(tracks: Tracks) -> Iterator[list[str]]:
    """One row per frame and object. A place or a size is empty where the object is not present."""
    places = np.concatenate([tracks.positions, tracks.z, tracks.sizes], axis=-1)
    places[~tracks.present] = np.nan
    for row, (frame, time_s) in enumerate(zip(tracks.frames.tolist(), tracks.times_s.tolist(), strict=True)):
        for each in range(tracks.objects):
            yield [
                str(frame),
                f"{time_s:.6f}",
                str(each),
                *map(_cell, places[row, each].tolist()),
                _cell(float(tracks.bound_px[row, each])),
                _cell(float(tracks.residual_px[row, each])),
                str(int(tracks.present[row, each])),
                str(int(tracks.certified[row, each])),
            ]


def _cell(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4f}"


def read_tracks(path: Path, width: int, height: int) -> Tracks:
    """A table that ``write_tracks`` wrote; the size of the recording's picture is not in it."""
    columns = _columns(path)
    objects = _count_objects(path, columns)
    shape = (-1, objects)
    try:
        return Tracks(
            frames=columns["frame"].reshape(shape)[:, 0].astype(np.int64),
            times_s=columns["time_s"].reshape(shape)[:, 0],
            positions=_pairs(columns, "x", "y", objects),
            z=_pairs(columns, "z_x", "z_y", objects),
            sizes=_pairs(columns, "width", "height", objects),
            bound_px=columns["bound_px"].reshape(shape),
            residual_px=columns["residual_px"].reshape(shape),
            present=columns["present"].reshape(shape).astype(np.bool_),
            certified=columns["certified"].reshape(shape).astype(np.bool_),
            width=width,
            height=height,
        )
    except InputError as error:
        raise InputError(f"{path} is no whole tracks table: {error}") from None


def _pairs(columns: dict[str, NDArray[np.float64]], first: str, second: str, objects: int) -> NDArray[np.float64]:
    return np.stack([columns[first], columns[second]], axis=-1).reshape(-1, objects, 2)


def _columns(path: Path) -> dict[str, NDArray[np.float64]]:
    values: list[list[float]] = []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            if tuple(next(rows, ())) != COLUMNS:
                raise InputError(f"{path} is no tracks table: its first line is not {','.join(COLUMNS)}.")
            values.extend(_numbers(path, rows.line_num, cells) for cells in rows)
    except OSError as error:
        raise InputError(f"The tracks table {path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is no tracks table: it is not text.") from None
    if not values:
        raise InputError(f"The tracks table {path} has no rows.")
    return dict(zip(COLUMNS, np.array(values, np.float64).T, strict=True))


def _numbers(path: Path, line: int, cells: list[str]) -> list[float]:
    if len(cells) != len(COLUMNS):
        raise InputError(f"{path} has {len(cells)} values in line {line} where {len(COLUMNS)} belong.")
    numbers = []
    for name, cell in zip(COLUMNS, cells, strict=True):
        try:
            numbers.append(_KINDS.get(name, _measure)(cell))
        except ValueError:
            raise InputError(f"{path} has {cell!r} for {name} in line {line}: {_wanted(name)} belongs there.") from None
    return numbers


def _count(cell: str) -> float:
    if not cell.isdecimal():
        raise ValueError
    return int(cell)


def _truth(cell: str) -> float:
    return ("0", "1").index(cell)


def _time(cell: str) -> float:
    if not np.isfinite(float(cell)):
        raise ValueError
    return float(cell)


def _measure(cell: str) -> float:
    return float(cell) if cell else np.nan


_KINDS: dict[str, Callable[[str], float]] = {
    "frame": _count,
    "object": _count,
    "time_s": _time,
    "present": _truth,
    "certified": _truth,
}


def _wanted(name: str) -> str:
    return "0 or 1" if name in ("present", "certified") else "a number"


def _count_objects(path: Path, columns: dict[str, NDArray[np.float64]]) -> int:
    """Every frame has the same objects, 0 and up, each once: the first frame says how many."""
    frames, numbers = columns["frame"], columns["object"]
    others = np.flatnonzero(frames != frames[0])
    objects = int(others[0]) if len(others) else len(frames)
    place = np.arange(len(frames))
    wrong = np.flatnonzero((numbers != place % objects) | (frames != frames[place - place % objects]))
    if len(wrong):
        line = int(wrong[0]) + 2
        raise InputError(f"{path} has an object too few or too many at line {line}: every frame has the same ones.")
    if len(frames) % objects:
        raise InputError(f"{path} breaks off in the middle of frame {frames[-1]:g}.")
    return objects
