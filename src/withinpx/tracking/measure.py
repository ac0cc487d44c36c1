"""The motion of a finished run as files: motion.csv, motion.png, and how they were made."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from withinpx.figures import save_figure
from withinpx.files import atomic_folder, check_is_new, write_atomically, write_json
from withinpx.tracking.motion import Motion
from withinpx.tracking.tracks import MM, TRACKS, Tracks, read_tracks, write_tracks

FOLDER, TABLE, FIGURE, ABOUT = "motion", "motion.csv", "motion.png", "motion.json"


@dataclass(frozen=True)
class Measured:
    motion: Motion
    folder: Path


def measure(
    run: str | PathLike[str],
    out: str | PathLike[str] | None = None,
    *,
    mm_per_px: float | None = None,
    over: int = 1,
    frame_rate: float | None = None,
) -> Measured:
    """Write the motion of a run into a new folder, ``motion`` in the run's own if none is named.

    With a scale, the run's tracks are written there too, with columns in mm; the run itself is not changed.
    """
    table = Path(run) / TRACKS if Path(run).is_dir() else Path(run)
    folder = table.parent / FOLDER if out is None else Path(out)
    check_is_new(folder)
    tracks = read_tracks(table)
    if mm_per_px is not None:
        tracks = replace(tracks, mm_per_px=mm_per_px)
    motion = tracks.motion(over, frame_rate)
    with atomic_folder(folder) as part:
        text = motion.to_dataframe().to_csv(index=False, lineterminator="\n")
        write_atomically(part / TABLE, text.encode())
        save_figure(motion.plot(), part / FIGURE)
        about = {"over": over, "frame_rate": frame_rate, "mm_per_px": motion.mm_per_px}
        write_json(part / ABOUT, {**about, "time": "s" if motion.in_seconds else "frames"})
        if mm_per_px is not None:
            _write_in_mm(part / TRACKS, tracks, table)
    return Measured(motion, folder)


def _write_in_mm(path: Path, tracks: Tracks, table: Path) -> None:
    """The tracks with columns in mm. Those in px stay the table's own: a bound that is rounded up twice would grow."""
    import pandas as pd  # noqa: PLC0415

    write_tracks(path, tracks)
    written, own = (pd.read_csv(file, dtype=str, keep_default_na=False) for file in (path, table))
    in_px = own.drop(columns=list(MM), errors="ignore")
    write_atomically(path, written.assign(**in_px).to_csv(index=False, lineterminator="\n").encode())


@dataclass(frozen=True)
class Summary:
    """Of one object, in mm if the scale is known: values with their proved limits, None if no interval is measured."""

    object: int
    measured: int  # intervals
    possible: int
    speed: tuple[float, float, float] | None = None  # medians of the value and of its limits
    distance: tuple[float, float, float] | None = None  # the longest without a gap


def summaries(motion: Motion) -> Iterator[Summary]:
    scale = motion.mm_per_px or 1.0
    for index in range(motion.objects):
        own = motion.linked[:, index]
        summary = Summary(index, int(own.sum()), max(0, len(motion) - motion.over))
        if not own.any():
            yield summary
            continue
        speeds = (motion.speed, motion.speed_low, motion.speed_high)
        speed, low, high = (scale * float(np.median(values[own, index])) for values in speeds)
        last = int(np.nanargmax(motion.distance[:, index]))
        along = (motion.distance, motion.distance_low, motion.distance_high)
        distance, least, most = (scale * float(values[last, index]) for values in along)
        yield replace(summary, speed=(speed, low, high), distance=(distance, least, most))


def summary_lines(motion: Motion) -> Iterator[str]:
    """One line per object: its median speed, what that is proved to be within, and the longest distance."""
    unit, per = "px" if motion.mm_per_px is None else "mm", "s" if motion.in_seconds else "frame"
    for summary in summaries(motion):
        count = f"object {summary.object}: {summary.measured} of {summary.possible} intervals measured"
        if summary.speed is None or summary.distance is None:
            yield count
            continue
        (speed, low, high), (distance, least, most) = summary.speed, summary.distance
        yield (
            f"{count}; median speed {speed:.4g} {unit}/{per}, median limits {low:.4g} to {high:.4g}; "
            f"longest distance without a gap {distance:.4g} {unit}, proved between {least:.4g} and {most:.4g}"
        )
