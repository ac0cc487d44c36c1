"""Tracks in the formats of other tools: which there are, their files and what they need (docs/formats.md).

Our positions count from the top-left *corner* of the first pixel; each writer converts them to its format's own origin.
Formats with one confidence hold 1 where the position is certified and 0.5 where the object is present but the position
is refused. Beside formats without a place for bounds and reasons, ``verdicts.csv`` has both for every frame and object.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from withinpx.errors import InputError
from withinpx.files import writable_folder, write_atomically
from withinpx.tracking.formats import coco, idtracker, nwb, pose, tables, trackmate
from withinpx.tracking.formats.run import Run
from withinpx.tracking.formats.tables import VERDICTS, verdicts
from withinpx.tracking.options import Format
from withinpx.tracking.tracks import Tracks

if TYPE_CHECKING:
    from withinpx.tracking.detector import Detector


@dataclass(frozen=True)
class FileFormat:
    """The files of a format in the output folder, and what writes them."""

    files: tuple[str, ...]
    write: Callable[[Run, Path], None]
    needs: tuple[str, ...] = ()  # packages of the extra `formats`
    verdicts: bool = False  # it has no place for bounds or reasons


FORMATS: dict[Format, FileFormat] = {
    "coco": FileFormat((coco.RESULTS, coco.IMAGES), coco.write_coco),
    "mot": FileFormat((tables.MOT,), tables.write_mot, verdicts=True),
    "dlc": FileFormat((tables.DLC,), tables.write_dlc, verdicts=True),
    "sleap": FileFormat((pose.SLEAP,), pose.write_sleap, needs=("sleap_io",), verdicts=True),
    "movement": FileFormat((pose.MOVEMENT,), pose.write_movement, needs=("xarray",)),
    "nwb": FileFormat((nwb.FILE,), nwb.write_nwb, needs=("pynwb", "ndx_pose")),
    "trackpy": FileFormat((tables.TRACKPY,), tables.write_trackpy),
    "idtracker": FileFormat(idtracker.FILES, idtracker.write_idtracker, verdicts=True),
    "napari": FileFormat((tables.NAPARI_POINTS, tables.NAPARI_TRACKS), tables.write_napari),
    "trackmate": FileFormat((trackmate.FILE,), trackmate.write_trackmate),
}


def export(
    tracks: Tracks,
    folder: Path,
    formats: Sequence[Format],
    detector: "Detector | None" = None,
    clip: Path | None = None,
    *,
    names: Mapping[int, str] | None = None,
) -> list[Path]:
    """Write the tracks in each format; returns the files. With the tracks' detector, COCO results get masks.

    ``clip`` is named in the files of SLEAP and TrackMate, which show it behind the tracks; ``names`` are those that a
    person gave to objects.
    """
    check_formats(formats)
    writable_folder(folder)
    run = Run(tracks, detector, clip, names or {})
    for name in dict.fromkeys(formats):
        FORMATS[name].write(run, folder)
    if _with_verdicts(formats):
        write_atomically(folder / VERDICTS, verdicts(tracks))
    return files_of(folder, formats)


def check_formats(formats: Iterable[Format]) -> None:
    """Refuse what cannot be written, before anything is computed."""
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"The tracks cannot be written as {name!r}: choose one of {', '.join(FORMATS)}.")
        missing = [package for package in FORMATS[name].needs if find_spec(package) is None]
        if missing:
            packages = " and ".join(package.replace("_", "-") for package in missing)
            raise InputError(f"The format {name} needs {packages}: pip install 'withinpx[formats]'.")


def check_nothing_is_replaced(tracks: Tracks, folder: Path, formats: Sequence[Format]) -> None:
    """Refuse to write over a file; the verdicts of the same tracks may stay."""
    for path in files_of(folder, formats):
        if path.exists() and not (path.name == VERDICTS and path.read_bytes() == verdicts(tracks)):
            raise InputError(f"{path} exists already: name another folder with --out, nothing was overwritten.")


def files_of(folder: Path, formats: Sequence[Format]) -> list[Path]:
    """The files that these formats are written to."""
    names = [name for chosen in dict.fromkeys(formats) for name in FORMATS[chosen].files]
    return [folder / name for name in (*names, *([VERDICTS] if _with_verdicts(formats) else []))]


def _with_verdicts(formats: Sequence[Format]) -> bool:
    return any(FORMATS[name].verdicts for name in formats)
