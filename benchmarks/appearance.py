"""What an appearance code buys: the same clips with codes of 0, 2, 4 and 8 entries, one row per clip, code and object.

    python benchmarks/appearance.py --seed 6000 --pairs 25 --out results/appearance
    python benchmarks/appearance.py --clips CLIPS_FOLDER --out results/appearance

The first tracks generated clips with exact truth: so many of rigid objects, and as many of objects that turn or are
seen in perspective. The second tracks real clips with known positions. ``track`` is given the clip and the number of
entries; the truth is used for the comparison only. A clip whose rows are in the table is not run again.
"""

import shlex
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import numpy as np

from clip_sweep import REPORT, Report, known_medians, main, run_clips, sets_of, sweep_parser
from guarantee import CHANGING, nothing, share
from guarantee import run_clip as run_generated
from real_clips import CLIPS, RealClip, compare_track
from result_tables import markdown_table
from withinpx import InputError, track
from withinpx.data.recording import read_clip
from withinpx.data.selection import Selection
from withinpx.data.zoo import zoo_scene
from withinpx.errors import BrokenTrainingError
from withinpx.experiments.table import RunTable
from withinpx.experiments.truth import found_objects, read_objects
from withinpx.files import locked_folder
from withinpx.jobs.job import Job, Row

TABLE = "objects.csv"
ENTRIES = (0, 2, 4, 8)
LONGEST_S = 120.0  # of a long recording, so much is tracked
PIXEL_CENTRE = 0.5  # the origin of the real clips' truth is the centre of the first pixel
KEY = ("clip", "entries", "object")
COLUMNS = {
    "clip": str,
    "entries": int,
    "object": str,
    "kind": str,
    "size_px": float,
    "sets": str,
    **dict.fromkeys(("positions", "certified", "tight", "outside"), int),
    **dict.fromkeys(("bound_px", "error_px", "seconds"), float),
}
KINDS = ("rigid", "changing", "real")

READING = """One row of `objects.csv` per clip, number of entries and true object. Shares are of all positions of whole
objects, those of objects that were not found included. `tight`: with a correct certified bound of at most 1 px or a
tenth of the object's size. `outside`: certified positions further from the truth than their bound (real clips: than
bound plus accuracy of the truth); it must be 0. Bounds and errors are medians over objects of the medians over their
certified positions. `best, clips`: in how many clips this number of entries has the largest tight share, ties counted
for the smaller number; `time` is that of `track`, over the time with no code, the median over clips."""


def run_zoo(seed: int, entries: int, budget: float, device: str) -> list[Row]:
    rows = run_generated(seed, budget, device, entries)
    kind = "changing" if CHANGING & set(zoo_scene(seed).nuisances) else "rigid"
    shared = ("size_px", "sets", "positions", "certified", "tight", "outside", "bound_px", "error_px", "seconds")
    return [
        {"clip": str(seed), "entries": entries, "object": str(row["object"]), "kind": kind}
        | {name: row[name] for name in shared}
        for row in rows
    ]


def run_real(clip: RealClip, folder: Path, entries: int, budget: float, device: str) -> list[Row]:
    shown = read_clip(folder / clip.frames, Selection(end=LONGEST_S if clip.long else None))
    objects = read_objects(folder / clip.truth, PIXEL_CENTRE)
    if clip.long:
        objects = [obj.only(obj.frames < len(shown)) for obj in objects]
    if clip.size_px is not None:
        objects = [replace(obj, size=clip.size_px) for obj in objects]
    started = time.monotonic()
    result = None
    with suppress(InputError, BrokenTrainingError):  # a refused clip has no certified position
        result = track(shown, progress=False, budget=budget, device=device, appearance=entries)
    seconds = round(time.monotonic() - started, 1)
    found = {} if result is None else found_objects(objects, result.tracks)
    rows = []
    for index, obj in enumerate(objects):
        about = {"clip": clip.name, "entries": entries, "object": obj.name, "kind": "real"}
        own = {"size_px": round(obj.size, 2), "positions": len(obj.frames)}
        compared = nothing() | {"outside": 0}
        if result is not None and index in found:
            row = compare_track(clip, obj, result.tracks, found[index], shown)
            compared = {
                "sets": sets_of(result, found[index]),
                "certified": round((row.certified_share or 0) * len(obj.frames)),
                "tight": round((row.tight_share or 0) * len(obj.frames)),
                "outside": row.outside_calibrated,
                "bound_px": "" if row.bound_px is None else round(row.bound_px, 4),
                "error_px": "" if row.median_px is None else round(row.median_px, 4),
            }
        joint = {**about, **own, **compared, "seconds": seconds}
        rows.append({name: joint[name] for name in COLUMNS})
    return rows


def summaries(runs: Sequence[Row]) -> list[list[object]]:
    """One line per kind of clip and number of entries."""
    lines: list[list[object]] = []
    for kind in KINDS:
        own = complete([run for run in runs if run["kind"] == kind])
        best = best_entries(own)
        for entries in ENTRIES:
            some = [run for run in own if run["entries"] == entries]
            if not some:
                continue
            positions, certified, tight, outside = (
                sum(run[name] for run in some) for name in ("positions", "certified", "tight", "outside")
            )
            medians = known_medians(some, ("bound_px", "error_px"))
            clips = {run["clip"] for run in some}
            won = sum(best[clip] == entries for clip in clips)
            shares = [share(certified, positions), share(tight, positions)]
            ratio = time_ratio(own, entries)
            lines.append([kind, entries, len(clips), positions, *shares, outside, *medians, won, ratio])
    return lines


def complete(runs: Sequence[Row]) -> list[Row]:
    """Of the clips that were tracked with every number of entries."""
    tracked = {(run["clip"], run["entries"]) for run in runs}
    return [run for run in runs if all((run["clip"], entries) in tracked for entries in ENTRIES)]


def best_entries(runs: Sequence[Row]) -> dict[str, int]:
    tight = {
        (clip, entries): sum(run["tight"] for run in runs if (run["clip"], run["entries"]) == (clip, entries))
        for clip in {run["clip"] for run in runs}
        for entries in ENTRIES
    }
    return {clip: max(ENTRIES, key=lambda entries: (tight[clip, entries], -entries)) for clip, _ in tight}


def time_ratio(runs: Sequence[Row], entries: int) -> float | None:
    seconds = {(run["clip"], run["entries"]): run["seconds"] for run in runs}
    ratios = [seconds[clip, entries] / seconds[clip, 0] for clip, own in seconds if own == entries]
    return float(np.median(ratios)) if ratios else None


def per_clip(runs: Sequence[Row]) -> list[list[object]]:
    """Tight and certified shares of each real clip, by number of entries."""
    lines: list[list[object]] = []
    real = [run for run in runs if run["kind"] == "real"]
    for clip in dict.fromkeys(run["clip"] for run in real):
        cells = []
        for entries in ENTRIES:
            own = [run for run in real if (run["clip"], run["entries"]) == (clip, entries)]
            positions = sum(run["positions"] for run in own)
            shares = [share(sum(run[name] for run in own), positions) for name in ("certified", "tight")]
            errors = [run["error_px"] for run in own if not np.isnan(run["error_px"])]
            error = f"{np.median(errors):.2f} px" if errors else ""
            cells.append(" / ".join(part for part in (*shares, error) if part))
        lines.append([clip, *cells])
    return lines


def report_lines(runs: Sequence[Row]) -> list[str]:
    header = ("clips", "entries", "number", "positions", "certified", "tight", "outside", "bound px", "error px")
    lines = markdown_table((*header, "best, clips", "time"), summaries(runs))
    real = per_clip(runs)
    if real:
        columns = ("clip: certified / tight / error", *(f"{entries} entries" for entries in ENTRIES))
        lines += ["", *markdown_table(columns, real)]
    return lines


def zoo_jobs(options: Namespace, table: RunTable) -> list[Job]:
    def seeds(wanted: Callable[[set[str]], bool]) -> list[int]:
        return list(islice((s for s in count(options.seed) if wanted(set(zoo_scene(s).nuisances))), options.pairs))

    rigid, changing = seeds(lambda own: not CHANGING & own), seeds(lambda own: bool(CHANGING & own))
    pairs = [seed for pair in zip(rigid, changing, strict=True) for seed in pair]
    return [
        Job(f"clip {seed}, {entries} entries", run_zoo, (seed, entries, options.budget, options.device))
        for seed in pairs
        for entries in ENTRIES
        if {"clip": str(seed), "entries": entries, "object": "0"} not in table
    ]


def real_jobs(options: Namespace, table: RunTable) -> list[Job]:
    known = {(run["clip"], run["entries"]) for run in table.runs()}
    fixed = [clip for clip in reversed(CLIPS) if not clip.options]  # the longest are last in the list, and start first
    return [
        Job(f"{clip.name}, {entries}", run_real, (clip, options.clips, entries, options.budget, options.device))
        for clip in fixed
        for entries in ENTRIES
        if (clip.name, entries) not in known
    ]


def run(options: Namespace) -> None:
    with locked_folder(options.out):
        table = RunTable(options.out / TABLE, KEY, COLUMNS)
        report = Report(table, "Appearance codes", READING, report_lines)
        jobs = real_jobs(options, table) if options.clips else zoo_jobs(options, table)
        run_clips(options, table, report, jobs, command(options))
        report.write()
    print(report)


def command(options: Namespace) -> str:
    what = ["--clips", "CLIPS_FOLDER"] if options.clips else ["--seed", options.seed, "--pairs", options.pairs]
    how = ["--device", options.device, "--workers", options.workers, "--budget", f"{options.budget:g}"]
    return shlex.join(map(str, ["python", "benchmarks/appearance.py", "--out", "results/appearance", *what, *how]))


def parsed(arguments: Sequence[str]) -> Namespace:
    parser = sweep_parser(__doc__, f"folder for {TABLE} and {REPORT}", 20.0)
    parser.add_argument("--clips", type=Path, help="folder of real clips; generated ones if not given")
    parser.add_argument("--seed", type=int, default=6000, help="of the first generated clip")
    parser.add_argument("--pairs", type=int, default=25, help="generated clips of each kind")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main("appearance", run, parsed)
