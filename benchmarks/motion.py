"""Speed, acceleration and distance against the truth of generated clips, one row per object and length of interval.

    python benchmarks/motion.py --seed 9400 --clips 4 --out results/motion

``track`` is given the clip alone; the truth is used for the comparison only. Clips are those of the zoo with small
frames in order, and without objects that look alike. A clip whose rows are in the table is not run again.
"""

import shlex
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clip_sweep import Report, run_clips
from result_tables import markdown_table
from withinpx import InputError, track
from withinpx.data.stage import FRAMES_PER_SECOND
from withinpx.data.zoo import zoo_clip, zoo_scene
from withinpx.errors import BrokenTrainingError
from withinpx.experiments.table import RunTable
from withinpx.experiments.truth import TrueObject, found_objects
from withinpx.experiments.zoo import true_objects
from withinpx.files import locked_folder
from withinpx.jobs.job import Job, Row
from withinpx.theory.motion import norm_limits
from withinpx.tracking.motion import Motion
from withinpx.tracking.tracks import Tracks

TABLE = "objects.csv"
KEY = ("seed", "object", "over")
COLUMNS = {
    **dict.fromkeys(KEY, int),
    "nuisances": str,
    **dict.fromkeys(("intervals", "measured", "speed_outside", "accelerations", "acceleration_outside"), int),
    **dict.fromkeys(("distances", "distance_outside"), int),
    **dict.fromkeys(("speed", "error", "half_width", "limits_width", "seconds"), float),
}
OVER = (1, 5, 15)  # frames from the start of an interval to its end
LEFT_OUT = {"unordered", "alike"}
WIDEST = 160  # px: clips of larger frames are left out, so that a processor does
ROUNDING = 1e-9

READING = f"""One row of `{TABLE}` per true object and length of interval, `over` frames. `intervals`: pairs of frames
so far apart that both show at least 95 % of the object; `measured`: those with a proved speed. `outside`: the true mean
speed, the true mean velocity along x or y, the true mean acceleration or the length of the polyline through the true
positions is outside the limits that are proved for it; it must be 0. Medians are over measured intervals, in px/s:
`speed` as measured, its `error` against the true one, `half_width` of the mean velocity's bound per axis, and
`limits_width` from the lower to the upper limit of the speed."""


def run_clip(seed: int, budget: float, device: str) -> list[Row]:
    """Rows of one clip."""
    made = zoo_clip(seed)
    started = time.monotonic()
    tracks: Tracks | None = None
    with suppress(InputError, BrokenTrainingError):  # a refused clip has no speed
        tracks = track(made.clip, progress=False, budget=budget, device=device).tracks
    seconds = round(time.monotonic() - started, 1)
    objects = true_objects(made)
    found = {} if tracks is None else found_objects(objects, tracks)
    rows = []
    for over in OVER:
        motion = None if tracks is None else tracks.motion(over)
        for index, obj in enumerate(objects):
            known = at_all_frames(obj, len(made.clip.frames))
            compared = compare(motion, found.get(index), known, over)
            own = {"seed": seed, "object": index, "over": over, "nuisances": " ".join(made.nuisances)}
            rows.append({**own, **compared, "seconds": seconds})
    return [{name: row[name] for name in COLUMNS} for row in rows]


def at_all_frames(obj: TrueObject, frames: int) -> NDArray[np.float64]:
    """True positions (frames, 2); NaN where a frame does not show all of the object."""
    truth = np.full((frames, 2), np.nan)
    truth[obj.frames] = obj.positions
    return truth


def compare(motion: Motion | None, column: int | None, truth: NDArray[np.float64], over: int) -> Row:
    """What is proved for one object against the truth of all frames, which are numbered from 0."""
    possible = int(np.isfinite(truth[over:] - truth[:-over]).all(axis=-1).sum())
    if motion is None or column is None:
        counts = ("measured", "speed_outside", "accelerations", "acceleration_outside", "distances", "distance_outside")
        medians = dict.fromkeys(("speed", "error", "half_width", "limits_width"), "")
        return {"intervals": possible, **dict.fromkeys(counts, 0), **medians}
    true_positions = truth[motion.frames]
    true_velocity = np.full(true_positions.shape, np.nan)
    true_velocity[over:] = (true_positions[over:] - true_positions[:-over]) * FRAMES_PER_SECOND / over
    true_acceleration = np.full(true_positions.shape, np.nan)
    true_acceleration[over:] = (true_velocity[over:] - true_velocity[:-over]) * FRAMES_PER_SECOND / over
    velocity, bound = motion.velocity[:, column], motion.velocity_bound[:, column]
    low, high = norm_limits(velocity, bound)
    speed = np.linalg.norm(true_velocity, axis=-1)
    compared = np.isfinite(bound) & np.isfinite(speed)
    beyond = is_beyond(velocity, true_velocity, bound) | (speed < low - ROUNDING) | (speed > high + ROUNDING)
    acceleration, reach = motion.acceleration[:, column], motion.acceleration_bound[:, column]
    accelerations = np.isfinite(reach) & np.isfinite(true_acceleration).all(axis=-1)
    distances = list(true_distances(motion, column, true_positions))
    return {
        "intervals": possible,
        "measured": int(compared.sum()),
        "speed_outside": int((beyond & compared).sum()),
        "accelerations": int(accelerations.sum()),
        "acceleration_outside": int((is_beyond(acceleration, true_acceleration, reach) & accelerations).sum()),
        "distances": len(distances),
        "distance_outside": sum(not least <= true <= most for least, true, most in distances),
        "speed": median(np.linalg.norm(velocity, axis=-1)[compared]),
        "error": median(np.abs(np.linalg.norm(velocity, axis=-1) - speed)[compared]),
        "half_width": median(bound[compared]),
        "limits_width": median((high - low)[compared]),
    }


def is_beyond(found: NDArray[np.float64], true: NDArray[np.float64], bound: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(np.abs(found - true).max(axis=-1) > bound + ROUNDING)


def true_distances(motion: Motion, column: int, truth: NDArray[np.float64]) -> Iterator[tuple[float, float, float]]:
    """Lower limit, true length and upper limit of every stretch whose true positions are all known."""
    length = np.nan
    for row, distance in enumerate(motion.distance[:, column]):
        if distance == 0:
            length = 0.0
        elif np.isfinite(distance):
            length += float(np.linalg.norm(truth[row] - truth[row - motion.over]))
            if np.isfinite(length):
                low, high = motion.distance_low[row, column], motion.distance_high[row, column]
                yield float(low) - ROUNDING, length, float(high) + ROUNDING


def median(values: NDArray[np.float64]) -> float | str:
    """Empty if there are none."""
    return round(float(np.median(values)), 4) if len(values) else ""


def report_lines(runs: Sequence[Row]) -> list[str]:
    names = ("over, frames", "clips", "intervals", "measured", "speed outside", "accelerations", "acceleration outside")
    medians = ("speed, px/s", "error, px/s", "half width, px/s", "limits' width, px/s")
    rows = []
    for over in sorted({run["over"] for run in runs}):
        own = [run for run in runs if run["over"] == over]
        total = {name: sum(run[name] for run in own) for name, kind in COLUMNS.items() if kind is int}
        shown = ("intervals", "measured", "speed_outside", "accelerations", "acceleration_outside")
        middle = [
            float(np.nanmedian([run[name] for run in own])) if total["measured"] else None
            for name in ("speed", "error", "half_width", "limits_width")
        ]
        lengths = (total["distances"], total["distance_outside"])
        rows.append([over, len({run["seed"] for run in own}), *(total[name] for name in shown), *lengths, *middle])
    return markdown_table((*names, "distances", "distance outside", *medians), rows)


def small_seeds(first: int, clips: int) -> list[int]:
    """The first so many seeds of clips that can be compared here."""
    scenes = (zoo_scene(seed) for seed in count(first))
    small = (scene.seed for scene in scenes if scene.width <= WIDEST and not LEFT_OUT & set(scene.nuisances))
    return list(islice(small, clips))


def run(options: Namespace) -> None:
    with locked_folder(options.out):
        table = RunTable(options.out / TABLE, KEY, COLUMNS)
        report = Report(table, "Motion", READING, report_lines)
        jobs = [
            Job(f"clip {seed}", run_clip, (seed, options.budget, options.device))
            for seed in small_seeds(options.seed, options.clips)
            if {"seed": seed, "object": 0, "over": OVER[0]} not in table
        ]
        run_clips(options, table, report, jobs, command(options), budget=options.budget)
        report.write()
    print(report)


def command(options: Namespace) -> str:
    chosen = {"seed": options.seed, "clips": options.clips, "device": options.device, "workers": options.workers}
    flags = [part for name, value in chosen.items() for part in (f"--{name}", str(value))]
    budget = ["--budget", f"{options.budget:g}"]
    return shlex.join(["python", "benchmarks/motion.py", "--out", "results/motion", *flags, *budget])


def parsed(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help=f"folder for {TABLE} and its README")
    parser.add_argument("--seed", type=int, default=9400, help="from which clips are chosen")
    parser.add_argument("--clips", type=int, default=4)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    parser.add_argument("--workers", type=int, default=1, help="clips that are run at a time")
    parser.add_argument("--budget", type=float, default=120.0, help="of `track`, seconds per clip")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        run(parsed(sys.argv[1:]))
    except InputError as error:
        print(f"motion: {error}", file=sys.stderr)
        sys.exit(2)
