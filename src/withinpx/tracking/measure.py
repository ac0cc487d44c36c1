"""The motion of a finished run as files: motion.csv, motion.png, and how they were made."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from withinpx.figures import save_figure
from withinpx.files import atomic_folder, check_is_new, write_atomically, write_json
from withinpx.tracking.motion import Motion
from withinpx.tracking.tracks import TRACKS, read_tracks, write_tracks

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
            write_tracks(part / TRACKS, tracks)
    return Measured(motion, folder)


def summary_lines(motion: Motion) -> Iterator[str]:
    """One line per object: its median speed, what that is proved to be within, and the longest distance."""
    scale, unit = (1.0, "px") if motion.mm_per_px is None else (motion.mm_per_px, "mm")
    per = "s" if motion.in_seconds else "frame"
    possible = max(0, len(motion) - motion.over)
    for index in range(motion.objects):
        own = motion.linked[:, index]
        count = f"{own.sum()} of {possible} intervals measured"
        if not own.any():
            yield f"object {index}: {count}"
            continue
        speeds = (motion.speed, motion.speed_low, motion.speed_high)
        speed, low, high = (scale * float(np.median(values[own, index])) for values in speeds)
        last = int(np.nanargmax(motion.distance[:, index]))
        along = (motion.distance, motion.distance_low, motion.distance_high)
        distance, least, most = (scale * float(values[last, index]) for values in along)
        yield (
            f"object {index}: {count}; median speed {speed:.4g} {unit}/{per}, median limits {low:.4g} to {high:.4g}; "
            f"longest distance without a gap {distance:.4g} {unit}, proved between {least:.4g} and {most:.4g}"
        )
