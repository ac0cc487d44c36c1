"""``track`` of many clips: a run and a job for each, on this machine or on a cluster, and one table of all.

On a cluster all nodes must see the same files under the same paths.
"""

import csv
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

from withinpx.data.recording import open_recording
from withinpx.errors import InputError
from withinpx.files import holds_only_partials, locked_folder, write_csv
from withinpx.jobs.job import Engine, Job, JobCallback, Row, run_jobs
from withinpx.tracking.detect import Counts
from withinpx.tracking.options import Format, TrackOptions
from withinpx.tracking.record import HYPOTHESES
from withinpx.tracking.sources import normal
from withinpx.tracking.track import run_config, track
from withinpx.tracking.tracks import TRACKS, Tracks, read_tracks
from withinpx.training.detector_folder import RUN_CONFIG, read_run_config
from withinpx.training.log import LOG

TABLE = "clips.csv"
COLUMNS = ("clip", "status", "objects", "certified_share", "median_bound_px", "seconds", "message", "folder")
CERTIFIED, REFUSED, FAILED = "certified", "refused", "failed"  # something is certified, nothing is, there are no tracks
DONE_BEFORE = "done before"
BEFORE = ".before"  # follows the name of a run that was made with other options


def track_many(
    clips: Sequence[Path],
    out: Path,
    options: TrackOptions,
    *,
    engine: Engine,
    device: str = "auto",
    export: tuple[Format, ...] = (),
    callback: JobCallback | None = None,
) -> list[Row]:
    """One row per clip, in their order; each has its run in a folder of ``out``, and all are in its clips.csv.

    A clip that cannot be used stops no other. A finished run of the same options is not repeated, an interrupted one is
    continued; a run of other options is kept under another name.
    """
    if (out / RUN_CONFIG).exists():
        raise InputError(f"{out} holds the run of one clip: name another folder for many.")
    folders = run_folders(clips, out)
    jobs = [
        Job(str(clip), track_one, (normal(clip), folder.absolute(), options, device, export))
        for clip, folder in folders.items()
    ]
    with locked_folder(out):
        known = {row["folder"]: row for row in read_table(out / TABLE)}
        seconds = {name: row["seconds"] for name, row in known.items()}
        for folder in folders.values():
            known.pop(_name(folder, out), None)
        try:
            for job, (row,) in run_jobs(jobs, engine, *([] if callback is None else [callback])):
                name = _name(job.arguments[1], out.absolute())
                if row["seconds"] == "":
                    row["seconds"] = seconds.get(name, "")
                known[name] = {**row, "clip": job.name, "folder": name}
                write_csv(out / TABLE, COLUMNS, [[each[column] for column in COLUMNS] for each in _sorted(known)])
        except BrokenExecutor:
            raise InputError(
                "A worker process has died, probably for lack of memory: give fewer --workers. The same command "
                "continues where this one stopped."
            ) from None
    return [known[_name(folder, out)] for folder in folders.values()]


def track_one(
    clip: Path, folder: Path, options: TrackOptions, device: str = "auto", export: tuple[Format, ...] = ()
) -> list[Row]:
    """The run of one clip, or why there is none; the row lacks the clip's name and the folder."""
    started = time.monotonic()
    try:
        tracks, remarks = _tracks(clip, folder, options, device, export)
    except InputError as error:
        return [_row(FAILED, message=str(error), seconds=_since(started))]
    except Exception as error:  # whatever it is, it is of this clip
        return [_row(FAILED, message=f"{type(error).__name__}: {error}", seconds=_since(started))]
    counts = Counts()
    counts.add(tracks)
    bounds = tracks.bounds[tracks.certified]
    return [
        _row(
            CERTIFIED if counts.certified else REFUSED,
            objects=tracks.objects,
            certified_share=round(counts.certified / max(1, counts.positions), 4),
            median_bound_px=round(float(np.median(bounds)), 4) if len(bounds) else "",
            seconds="" if DONE_BEFORE in remarks else _since(started),
            message="; ".join([*remarks, str(counts)]),
        )
    ]


def _tracks(
    clip: Path, folder: Path, options: TrackOptions, device: str, formats: tuple[Format, ...]
) -> tuple[Tracks, list[str]]:
    """The tracks of a run that is finished, continued or new; with remarks."""
    recording = open_recording(clip)
    remarks: list[str] = []
    finished, resume = (folder / LOG).exists(), folder.exists()
    if resume and not holds_only_partials(folder):
        scale = read_tracks(folder / TRACKS).mm_per_px if finished else options.mm_per_px
        wanted = json.loads(json.dumps(run_config(recording, replace(options, mm_per_px=scale))))
        if {**read_run_config(folder), HYPOTHESES: None} != {**wanted, HYPOTHESES: None}:
            kept = set_aside(folder)
            remarks.append(f"the run of before, with other options or of another clip, is {kept.name} now")
            finished = resume = False
    if finished:
        tracks = read_tracks(folder / TRACKS)
        remarks.append(DONE_BEFORE)
        if tracks.mm_per_px != options.mm_per_px:
            remarks.append(f"its scale is another one: withinpx measure {folder} --mm-per-px gives it yours")
    else:
        result = track(recording, options, out=folder, device=device, resume=resume, progress=False)
        tracks = result.tracks
    if formats:
        from withinpx.tracking.detector import Detector  # noqa: PLC0415  (not needed for a finished run)
        from withinpx.tracking.exports import export  # noqa: PLC0415

        export(tracks, folder, formats, Detector.load(folder), clip)
    return tracks, remarks


def set_aside(folder: Path) -> Path:
    """Give a folder another name, which is free."""
    names = (folder.with_name(f"{folder.name}{BEFORE}{number}") for number in count(1))
    kept = next(name for name in names if not name.exists())
    return folder.rename(kept)


def run_folders(clips: Sequence[Path], out: Path) -> dict[Path, Path]:
    """The folder of each clip's run, named after it below the folder that all clips have in common.

    A video keeps its ending where it would have the name of another clip, or one run would lie in another.
    """
    absolute = [normal(clip) for clip in clips]
    common = Path(os.path.commonpath([clip.parent for clip in absolute]))
    whole = [clip.relative_to(common) for clip in absolute]
    short = [name if clip.is_dir() else name.with_suffix("") for name, clip in zip(whole, clips, strict=True)]
    chosen = [whole[number] if _clashes(short, number) else name for number, name in enumerate(short)]
    for number, clip in enumerate(clips):
        if _clashes(chosen, number):
            raise InputError(f"The run of {clip} would lie in that of another clip: track one of them by itself.")
    return {clip: out / name for clip, name in zip(clips, chosen, strict=True)}


def _clashes(names: Sequence[Path], number: int) -> bool:
    own, others = names[number], [Path(TABLE), *names[:number], *names[number + 1 :]]
    return any(own == other or own in other.parents or other in own.parents for other in others)


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a table that is there already."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if any(tuple(row) != COLUMNS or None in row.values() for row in rows):
        raise InputError(f"{path} is no table of clips: move it away, or choose another folder.")
    return rows


def _row(status: str, **values: object) -> Row:
    return {**dict.fromkeys(COLUMNS, ""), "status": status, **values}


def _since(started: float) -> float:
    return round(time.monotonic() - started, 1)


def _name(folder: Path, out: Path) -> str:
    return folder.relative_to(out).as_posix()


def _sorted(rows: dict[str, Row]) -> list[Row]:
    return [rows[name] for name in sorted(rows)]
