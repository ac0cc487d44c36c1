"""What is proved, against the truth: generated clips with exact truth, one row per object.

    python benchmarks/guarantee.py --seed 2000 --clips 100 --out results/guarantee
    python benchmarks/guarantee.py --seed 3000 --clips 50 --with turning perspective --out results/guarantee/changing

``track`` is given the clip alone; the truth is used for the comparison only. A clip whose rows are in the table is not
run again. ``--draw`` draws the figure from the table and trains nothing.
"""

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from typing import Literal

import numpy as np

from clip_sweep import REPORT, Report, as_typed, known_medians, main, run_clips, sets_of, sweep_parser
from result_tables import markdown_table
from withinpx import InputError, track
from withinpx.certificate.outlines import TIGHT, TIGHT_PX
from withinpx.data.zoo import PROBABILITIES, WHOLE, ZooClip, zoo_clip, zoo_scene
from withinpx.errors import BrokenTrainingError
from withinpx.experiments.plots import RUNS, THEORY, TRUTH, figure
from withinpx.experiments.table import RunTable
from withinpx.experiments.truth import TrueObject, at_frames, found_objects, is_outside, typical_distances
from withinpx.experiments.zoo import outside_frames, true_objects
from withinpx.files import locked_folder
from withinpx.jobs.job import Job, Row
from withinpx.tracking.result import Result
from withinpx.tracking.tracks import Tracks

TABLE, FIGURE = "objects.csv", "guarantee.png"
KEY = ("seed", "object")
COLUMNS = {
    **dict.fromkeys(KEY, int),
    "nuisances": str,
    **dict.fromkeys(("good", "crf"), int),
    "size_px": float,
    "sets": str,
    **dict.fromkeys(("positions", "certified", "tight", "outside"), int),
    **dict.fromkeys(("theorem_px", "bound_px", "set_px", "error_px", "largest_px", "floor_px"), float),
    "seconds": float,
    "outside_frames": str,
}
CHANGING = {"turning", "perspective"}  # nuisances of objects that change their appearance
UNCOMPRESSED = -1  # in the column crf

READING = f"""One row of `{TABLE}` per true object. Positions are those of objects at least {WHOLE:.0%} visible; shares
are of all of them, those of objects that were not found included. `tight`: with a certified position whose `bound_px`
is correct and at most {TIGHT_PX:g} px or {TIGHT:.0%} of the object's size, whichever is larger. `outside`:
certified positions (x, y) further than `bound_px`, or z further than `theorem_px`, from the truth along x or y; it must
be 0. Medians of the rows are over an object's certified positions, those of the table below over all objects that have
any; errors are along the worse axis, as bounds are. `set px` is the half-width of the feasible set, `floor px` the
Cramer-Rao limit, a standard deviation. Rigid: objects neither turn nor are seen in perspective."""


def run_clip(seed: int, budget: float, device: str, appearance: int | Literal["auto"] = "auto") -> list[Row]:
    """One row per true object."""
    made = zoo_clip(seed)
    started = time.monotonic()
    result: Result | None = None
    with suppress(InputError, BrokenTrainingError):  # a refused clip has no certified position
        result = track(made.clip, progress=False, budget=budget, device=device, appearance=appearance)
    seconds = round(time.monotonic() - started, 1)
    about = {
        "nuisances": " ".join(made.nuisances),
        "good": int(made.good),
        "crf": UNCOMPRESSED if made.scene.crf is None else made.scene.crf,
    }
    objects = true_objects(made)
    found = {} if result is None else found_objects(objects, result.tracks)
    outside = {} if result is None else outside_of(made, objects, result.tracks)
    rows = []
    for index, obj in enumerate(objects):
        compared = nothing() if result is None or index not in found else compare(made, obj, result, found[index])
        own = {"seed": seed, "object": index, **about, "size_px": round(obj.size, 2), "positions": len(obj.frames)}
        wrong = outside.get(index, [])
        counted = {"outside": len(wrong), "outside_frames": " ".join(map(str, wrong)), "seconds": seconds}
        rows.append({**own, **compared, **counted})
    return [{name: row[name] for name in COLUMNS} for row in rows]


def outside_of(made: ZooClip, objects: Sequence[TrueObject], tracks: Tracks) -> dict[int, list[int]]:
    """Frames of certified positions outside their bound, by the object that their track is usually nearest to."""
    frames: dict[int, list[int]] = {index: [] for index in range(len(objects))}
    for column in range(tracks.objects):
        nearest = int(np.argmin([typical_distances(obj, tracks)[column] for obj in objects]))
        frames[nearest] += outside_frames(made, tracks, column).tolist()
    return frames


def compare(made: ZooClip, obj: TrueObject, result: Result, column: int) -> Row:
    """The columns of an object that was found."""
    tracks = result.tracks
    positions, bounds, theorem, sets, floor, certified = (
        at_frames(obj.frames, tracks, values)[:, column]
        for values in (
            tracks.positions,
            tracks.bounds,
            tracks.theorem_px,
            tracks.set_px,
            tracks.sigma_px,
            tracks.certified,
        )
    )
    sure = certified == 1
    if not sure.any():
        return nothing()
    errors = np.abs(positions - obj.positions).max(axis=-1)
    sizes = made.sizes[obj.frames, int(obj.name)].max(axis=-1)
    tight = sure & ~is_outside(positions, obj.positions, bounds) & (bounds <= np.maximum(TIGHT_PX, TIGHT * sizes))
    return {
        "sets": sets_of(result, column),
        "certified": int(sure.sum()),
        "tight": int(tight.sum()),
        "theorem_px": median(theorem[sure]),
        "bound_px": median(bounds[sure]),
        "set_px": median(sets[sure]),
        "error_px": median(errors[sure]),
        "largest_px": round(float(errors[sure].max()), 4),
        "floor_px": median(floor[sure]),
    }


def nothing() -> Row:
    measured = dict.fromkeys(("theorem_px", "bound_px", "set_px", "error_px", "largest_px", "floor_px"), "")
    return {"sets": "", "certified": 0, "tight": 0, **measured}


def median(values: np.ndarray) -> float | str:
    """Of the finite values; empty if there are none."""
    known = values[np.isfinite(values)]
    return round(float(np.median(known)), 4) if len(known) else ""


def is_rigid(run: Row) -> bool:
    return not CHANGING & set(run["nuisances"].split())


Group = tuple[str, Callable[[Row], bool]]
GROUPS: tuple[Group, ...] = (
    ("all", lambda run: True),
    ("good: the theorem's assumptions hold by construction", lambda run: run["good"] == 1),
    ("rigid", is_rigid),
    ("rigid, uncompressed", lambda run: is_rigid(run) and run["crf"] == UNCOMPRESSED),
    ("rigid, H.264 of quality 18 to 28 (crf)", lambda run: is_rigid(run) and 0 <= run["crf"] <= 28),
    ("rigid, H.264 of quality 29 or worse (crf)", lambda run: is_rigid(run) and run["crf"] > 28),
    ("with shadows", lambda run: "shadow" in run["nuisances"].split()),
    ("seen in perspective", lambda run: "perspective" in run["nuisances"].split()),
    ("turning", lambda run: "turning" in run["nuisances"].split()),
)


def summary(name: str, runs: Sequence[Row]) -> list[object]:
    positions, certified, tight, outside = (
        sum(run[column] for run in runs) for column in ("positions", "certified", "tight", "outside")
    )
    shares = [share(certified, positions), share(tight, positions), share(tight, certified)]
    medians = known_medians(runs, ("bound_px", "set_px", "error_px", "floor_px", "theorem_px"))
    clips = len({run["seed"] for run in runs})
    return [name, clips, positions, *shares, outside, *medians]


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def draw(table: RunTable, path: Path) -> None:
    """Theorem's bound, bound of the position, error and floor, over the object's size."""
    runs = [run for run in table.runs() if run["certified"]]
    series = (
        ("theorem_px", "theorem 4.1, around z", THEORY, "s"),
        ("bound_px", "proved, around (x, y)", "#E69F00", "o"),
        ("error_px", "true error of (x, y)", RUNS, "."),
        ("floor_px", "Cramér-Rao limit", TRUTH, "_"),
    )
    with figure(path, 2, 9.2, 3.6) as (_, panels):
        for axes, (title, compressed) in zip(panels, (("uncompressed", False), ("H.264", True)), strict=True):
            own = [run for run in runs if (run["crf"] != UNCOMPRESSED) == compressed]
            for column, label, colour, marker in series:
                sizes, values = [run["size_px"] for run in own], [run[column] for run in own]
                axes.plot(sizes, values, marker, color=colour, label=label, markersize=4, alpha=0.65, markeredgewidth=1)
            line = np.geomspace(5, 130)
            axes.plot(line, np.maximum(TIGHT_PX, TIGHT * line), "k--", linewidth=0.8, label="1 px or 10 %")
            axes.set(
                xscale="log", yscale="log", xlabel="object's larger side (px)", title=f"{title}: {len(own)} objects"
            )
            axes.set_xticks([5, 10, 20, 50, 100], ["5", "10", "20", "50", "100"])
            axes.minorticks_off()
            axes.set_ylim(5e-4, 1e2)
        panels[0].set_ylabel("px, median over certified positions")
        panels[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)


def report_lines(runs: Sequence[Row]) -> list[str]:
    header = ("clips", "number", "positions", "certified", "tight", "tight, of certified", "outside")
    medians = ("bound px", "set px", "error px", "floor px", "theorem px")
    groups = [(name, [run for run in runs if belongs(run)]) for name, belongs in GROUPS]
    lines = markdown_table((*header, *medians), [summary(name, own) for name, own in groups if own])
    return [*lines, "", f"![Theorem's bound, proved bound, error and floor over the object's size]({FIGURE})"]


def run(options: Namespace) -> None:
    with locked_folder(options.out):
        table = RunTable(options.out / TABLE, KEY, COLUMNS)
        report = Report(table, "The guarantee", READING, report_lines)
        if not options.draw:
            jobs = [
                Job(f"clip {seed}", run_clip, (seed, options.budget, options.device))
                for seed in chosen_seeds(options.seed, options.clips, options.nuisances)
                if {"seed": seed, "object": 0} not in table
            ]
            run_clips(options, table, report, jobs, command(options), budget=options.budget)
        report.write()
        draw(table, options.out / FIGURE)
    print(report)


def chosen_seeds(first: int, clips: int, nuisances: Sequence[str]) -> list[int]:
    """The first so many seeds, of those whose clips have one of the nuisances if any are named."""
    seeds = (seed for seed in count(first) if not nuisances or set(nuisances) & set(zoo_scene(seed).nuisances))
    return list(islice(seeds, clips))


def command(options: Namespace) -> str:
    chosen = ["--with", *options.nuisances] if options.nuisances else []
    folder = "results/guarantee/changing" if options.nuisances else "results/guarantee"
    return as_typed("guarantee", folder, options, ("seed", "clips", "device", "workers"), chosen)


def parsed(arguments: Sequence[str]) -> Namespace:
    parser = sweep_parser(__doc__, f"folder for {TABLE}, {REPORT} and {FIGURE}", 120.0)
    parser.add_argument("--seed", type=int, default=2000, help="of the first clip; the others follow")
    parser.add_argument("--clips", type=int, default=100)
    parser.add_argument(
        "--with", dest="nuisances", nargs="+", default=(), choices=PROBABILITIES, help="only clips with one of these"
    )
    parser.add_argument("--draw", action="store_true", help="draw what the table holds, and train nothing")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main("guarantee", run, parsed)
