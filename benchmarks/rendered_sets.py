"""withinpx on sets of rendered images with exact truth: track some images, detect in others that were kept apart.

    withinpx data clevr --name all --train 100 --test 50 --seed 1 --out SETS_FOLDER
    python benchmarks/rendered_sets.py SETS_FOLDER --out results/rendered

The images of a set have no order, and ``track`` is given nothing but their folder. The truth is used for the comparison
only. A set whose rows are in the table is not run again. Needs no tyro, pandas or PyAV.
"""

import shlex
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from result_tables import markdown_table
from withinpx import InputError, TrackOptions, __version__, track
from withinpx.certificate.outlines import TIGHT, TIGHT_PX
from withinpx.data.clevr import DATASETS
from withinpx.data.clevr_folder import ABOUT, RenderedSplit, read_split
from withinpx.errors import BrokenTrainingError
from withinpx.experiments.sweep import SweepRecord, describe_sweeps, run_sweep
from withinpx.experiments.table import RunTable
from withinpx.experiments.truth import (
    NEAR_PX,
    Array,
    TrueObject,
    at_frames,
    found_objects,
    is_outside,
    typical_distances,
)
from withinpx.files import locked_folder, write_atomically
from withinpx.jobs.job import Job, JobCallback, Row
from withinpx.jobs.local import LocalEngine
from withinpx.jobs.progress import JobProgress
from withinpx.tracking.tracks import Tracks

TABLE, REPORT = "rendered_sets.csv", "rendered_sets.md"
TRACKED, KEPT_APART = "tracked", "kept apart"
KEY = ("set", "part")
COLUMNS = {
    **dict.fromkeys(KEY, str),
    **dict.fromkeys(("images", "objects"), int),
    **dict.fromkeys(("smallest_px", "largest_px"), float),
    **dict.fromkeys(("tracks", "found"), int),
    **dict.fromkeys(("certified_share", "median_px", "max_px", "certified_max_px", "bound_px", "tight_share"), float),
    "outside": int,
    "seconds": float,
    "refused": str,
}

READING = f"""`track` was given the images of the first part and no number of objects; `Detector.detect` then ran on the
images that were {KEPT_APART}. `objects` are true, `tracks` were made, and `found` objects have a track that is usually
within half their size (at least {NEAR_PX:g} px) of them. `smallest px`, `largest px`: larger sides of the true boxes.
Shares are of all true positions, those of objects that were not found included. `median px` and `max px`: Euclidean
distances from the positions (x, y) of the found objects to the truth, `certified max px` of the certified ones alone.
`bound px`: median `bound_px` around (x, y). `tight share`: true positions with a certified position whose bound is
correct and at most {TIGHT_PX:g} px or {TIGHT:.0%} of the object's size in that image, whichever is larger.
`outside`: certified positions farther than `bound_px` from the truth in x or y, of all tracks, each compared with the
object that it is usually nearest to; it must be 0. `refused`: how many positions for which reason."""


def run_set(folder: Path, budget: float, device: str) -> list[Row]:
    """Two rows: the images that were tracked, and those that were kept apart."""
    tracked, kept_apart = read_split(folder, "train"), read_split(folder, "test")
    started = time.monotonic()
    try:
        result = track(folder / tracked.split, progress=False, budget=budget, device=device)
    except (InputError, BrokenTrainingError) as error:
        last = {"seconds": round(time.monotonic() - started, 1), "refused": str(error).replace(f"{folder}/", "")}
        return [{**description(truth), **nothing_found(), **last} for truth in (tracked, kept_apart)]
    trained = time.monotonic()
    detected = result.detector.detect(folder / kept_apart.split, progress=False)
    seconds = trained - started, time.monotonic() - trained
    return [
        {**description(truth), **compare(truth, tracks), "seconds": round(own, 1), "refused": refusals(tracks)}
        for truth, tracks, own in zip((tracked, kept_apart), (result.tracks, detected), seconds, strict=True)
    ]


def description(truth: RenderedSplit) -> Row:
    """The columns that do not depend on what was found."""
    sizes = sizes_of(truth)
    return {
        "set": truth.folder.name,
        "part": TRACKED if truth.split == "train" else KEPT_APART,
        "images": len(truth.clip),
        "objects": len(truth.objects),
        "smallest_px": round(float(sizes.min()), 2),
        "largest_px": round(float(sizes.max()), 2),
    }


def nothing_found() -> Row:
    """The comparison for a set that is refused as a whole."""
    unknown = dict.fromkeys(("median_px", "max_px", "certified_max_px", "bound_px"), "")
    return {"tracks": 0, "found": 0, "certified_share": 0.0, **unknown, "tight_share": 0.0, "outside": 0}


def compare(truth: RenderedSplit, tracks: Tracks) -> Row:
    """Tracks against the truth; every image shows all of every object."""
    objects = true_objects(truth)
    pairs = found_objects(objects, tracks)
    positions, bounds = np.full_like(truth.positions, np.nan), np.full(truth.boxes.shape[:2], np.nan)
    for index, column in pairs.items():
        positions[:, index] = at_frames(objects[index].frames, tracks, tracks.positions)[:, column]
        bounds[:, index] = at_frames(objects[index].frames, tracks, tracks.bounds)[:, column]
    errors, certified = np.linalg.norm(positions - truth.positions, axis=-1), np.isfinite(bounds)
    correct = certified & ~is_outside(positions, truth.positions, bounds)
    tight = correct & (bounds <= np.maximum(TIGHT_PX, TIGHT * sizes_of(truth)))
    return {
        "tracks": tracks.objects,
        "found": len(pairs),
        "certified_share": round(float(certified.mean()), 4),
        "median_px": statistic(np.median, errors),
        "max_px": statistic(np.max, errors),
        "certified_max_px": statistic(np.max, errors[certified]),
        "bound_px": statistic(np.median, bounds),
        "tight_share": round(float(tight.mean()), 4),
        "outside": count_outside(objects, tracks),
    }


def true_objects(truth: RenderedSplit) -> list[TrueObject]:
    frames, sizes = np.arange(len(truth.clip)), np.median(sizes_of(truth), axis=0)
    return [
        TrueObject(name, frames, truth.positions[:, index], float(sizes[index]))
        for index, name in enumerate(truth.objects)
    ]


def sizes_of(truth: RenderedSplit) -> Array:
    """(images, objects): larger side of each box, px."""
    return np.asarray(truth.boxes[..., 2:].max(axis=-1))


def count_outside(objects: Sequence[TrueObject], tracks: Tracks) -> int:
    """Certified positions of every track outside bound_px around the object that the track is usually nearest to."""
    nearest = np.argmin([typical_distances(obj, tracks) for obj in objects], axis=0)
    count = 0
    for column, obj in enumerate(objects[index] for index in nearest):
        positions, bounds = (
            at_frames(obj.frames, tracks, values)[:, column] for values in (tracks.positions, tracks.bounds)
        )
        count += int((np.isfinite(bounds) & is_outside(positions, obj.positions, bounds)).sum())
    return count


def statistic(function: Any, values: Array) -> float | str:
    """Of the finite values; empty if there are none."""
    known = values[np.isfinite(values)]
    return round(float(function(known)), 4) if len(known) else ""


def refusals(tracks: Tracks) -> str:
    counts = Counter(tracks.reasons[tracks.reasons != ""].tolist())
    return ", ".join(f"{reason} {count}" for reason, count in counts.most_common())


def chosen_sets(folder: Path, only: Sequence[str]) -> list[Path]:
    """The sets to run; a set that is not completely rendered is refused before anything is trained."""
    names = sorted((path.parent.name for path in folder.glob(f"*/{ABOUT}")), key=set_order)
    if not names:
        raise InputError(
            f"{folder} holds no rendered set: make them with  withinpx data clevr --name all --out FOLDER."
        )
    if unknown := [name for name in only if name not in names]:
        raise InputError(f"There is no set {unknown[0]} in {folder}: there are {', '.join(names)}.")
    chosen = [folder / name for name in names if not only or name in only]
    for path in chosen:
        read_split(path, "train"), read_split(path, "test")
    return chosen


def set_order(name: str) -> tuple[int, str]:
    """The paper's sets in its order, then others."""
    return list(DATASETS).index(name) if name in DATASETS else len(DATASETS), name


class Report(JobCallback):
    """The table as markdown, with how it was made; written again after every set."""

    def __init__(self, table: RunTable) -> None:
        self._table = table

    def on_job(self, job: Job) -> None:
        write_atomically(self._table.path.with_name(REPORT), str(self).encode())

    def __str__(self) -> str:
        made = [f"- {line}" for line in describe_sweeps(self._table.path.parent)]
        runs = sorted(self._table.runs(), key=lambda run: (*set_order(run["set"]), run["part"] != TRACKED))
        lines = markdown_table(COLUMNS, [list(run.values()) for run in runs])
        return "\n".join(["# Rendered sets", "", *made, "", READING, "", *lines]) + "\n"


def run(options: Namespace) -> None:
    engine = LocalEngine(options.workers)
    sets = chosen_sets(options.sets, options.only)
    with locked_folder(options.out):
        table = RunTable(options.out / TABLE, KEY, COLUMNS)
        config = {"version": __version__, "budget": options.budget}
        record = SweepRecord(options.out, config, command(options), engine)
        jobs = [
            Job(path.name, run_set, (path, options.budget, options.device), runs=2)
            for path in sets
            if {"set": path.name, "part": TRACKED} not in table
        ]
        report = Report(table)
        with JobProgress(unit="sets") as bar:
            run_sweep(jobs, table, engine, record, report, bar)
    print(report)


def command(options: Namespace) -> str:
    """Without the paths of this machine."""
    chosen = ["--device", options.device, "--workers", str(options.workers), "--budget", f"{options.budget:g}"]
    only = ["--only", *options.only] if options.only else []
    return shlex.join(["python", "benchmarks/rendered_sets.py", "SETS_FOLDER", "--out", "OUT", *chosen, *only])


def parsed(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path, help="the folder of the sets, each made by `withinpx data clevr`")
    parser.add_argument("--out", type=Path, required=True, help=f"folder for {TABLE} and {REPORT}")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    parser.add_argument("--workers", type=int, default=1, help="sets that are run at a time")
    parser.add_argument("--budget", type=float, default=TrackOptions().budget, help="of `track`, seconds per set")
    parser.add_argument("--only", nargs="+", default=[], help="names of sets; all if none is given")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        run(parsed(sys.argv[1:]))
    except InputError as error:
        print(f"rendered_sets: {error}", file=sys.stderr)
        sys.exit(2)
