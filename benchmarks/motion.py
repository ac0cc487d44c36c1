"""Speed, acceleration and distance against the truth of generated clips, one row per object and length of interval.

    python benchmarks/motion.py --scenes 8 --zoo 4 --out results/motion

A scene is new footage of the camera and the objects of the studio's demo, on other paths, found by its detector; a clip
of the zoo is tracked. The truth is used for the comparison only. A clip whose rows are in the table is not run again.
"""

import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

import withinpx
from clip_sweep import Report, as_typed, main, run_clips, sweep_parser
from result_tables import markdown_table
from withinpx import Detector, InputError, track
from withinpx.data.motion import smooth_paths
from withinpx.data.scenes import MARGIN, leaving, write_clip_video
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
KEY = ("clip", "object", "over")
COLUMNS = {
    "clip": str,
    **dict.fromkeys(("object", "over"), int),
    "nuisances": str,
    **dict.fromkeys(("intervals", "measured", "speed_outside", "accelerations", "acceleration_outside"), int),
    **dict.fromkeys(("distances", "distance_outside"), int),
    **dict.fromkeys(("speed", "error", "half_width", "limits_width", "seconds"), float),
}
OVER = (1, 5, 15)  # frames from the start of an interval to its end
DEMO = Path(withinpx.__file__).parent / "studio" / "demo" / "out"
DEMO_SCENE = {"frames": 60, "width": 160, "height": 120, "seed": 2}  # withinpx.studio.make_demo
NOISE = 2.55  # levels, of a scene
LEFT_OUT = {"unordered", "alike"}  # of the zoo
WIDEST = 160  # px: clips of larger frames are left out, so that a processor does
ROUNDING = 1e-9

READING = f"""One row of `{TABLE}` per true object and length of interval, `over` frames. `intervals`: pairs of frames
so far apart that both show at least 95 % of the object; `measured`: those with a proved speed. `outside`: the true mean
speed, the true mean velocity along x or y, the true mean acceleration or the length of the polyline through the true
positions is outside the limits that are proved for it; it must be 0. Medians are over measured intervals, in px/s:
`speed` as measured, its `error` against the true one, `half_width` of the mean velocity's bound per axis, and
`limits_width` from the lower to the upper limit of the speed."""


def scene_clip(seed: int) -> tuple[list[TrueObject], int, Tracks, str]:
    """The demo's objects on other paths, all in view, coded as the demo was; found by the demo's detector."""
    stage = leaving(**DEMO_SCENE).stage
    paths = smooth_paths(len(stage.objects), stage.frames, (stage.width, stage.height), MARGIN, seed)
    objects = tuple(replace(obj, path=path) for obj, path in zip(stage.objects, paths, strict=True))
    made = replace(stage, objects=objects, camera=replace(stage.camera, noise=0.0)).render()
    noise = np.random.default_rng((seed, 1)).normal(0, NOISE, made.clip.frames.shape)
    noisy = np.clip(np.round(made.clip.frames + noise), 0, 255).astype(np.uint8)
    with TemporaryDirectory() as folder:
        video = Path(folder) / "scene.mp4"
        write_clip_video(video, replace(made.clip, frames=noisy))
        tracks = Detector.load(DEMO).detect(video)
    frames = np.arange(stage.frames)
    truth = [TrueObject(str(index), frames, made.truth[:, index], obj.size) for index, obj in enumerate(stage.objects)]
    return truth, stage.frames, tracks, ""


def zoo_tracked(seed: int, budget: float, device: str) -> tuple[list[TrueObject], int, Tracks | None, str]:
    """A clip of the zoo, tracked; there are no tracks if it is refused."""
    made = zoo_clip(seed)
    tracks: Tracks | None = None
    with suppress(InputError, BrokenTrainingError):
        tracks = track(made.clip, progress=False, budget=budget, device=device).tracks
    return true_objects(made), len(made.clip.frames), tracks, " ".join(made.nuisances)


Clip = Callable[[], tuple[list[TrueObject], int, Tracks | None, str]]


def run_clip(name: str, clip: Clip) -> list[Row]:
    """Rows of one clip."""
    started = time.monotonic()
    objects, frames, tracks, nuisances = clip()
    seconds = round(time.monotonic() - started, 1)
    found = {} if tracks is None else found_objects(objects, tracks)
    rows = []
    for over in OVER:
        motion = None if tracks is None else tracks.motion(over)
        for index, obj in enumerate(objects):
            compared = compare(motion, found.get(index), at_all_frames(obj, frames), over)
            own = {"clip": name, "object": index, "over": over, "nuisances": nuisances}
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
        rows.append([over, len({run["clip"] for run in own}), *(total[name] for name in shown), *lengths, *middle])
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
        clips: dict[str, Clip] = {
            f"scene {seed}": partial(scene_clip, seed) for seed in range(options.seed, options.seed + options.scenes)
        }
        for seed in small_seeds(options.seed, options.zoo):
            clips[f"zoo {seed}"] = partial(zoo_tracked, seed, options.budget, options.device)
        jobs = [
            Job(name, run_clip, (name, clip))
            for name, clip in clips.items()
            if {"clip": name, "object": 0, "over": OVER[0]} not in table
        ]
        run_clips(options, table, report, jobs, command(options), budget=options.budget)
        report.write()
    print(report)


def command(options: Namespace) -> str:
    return as_typed("motion", "results/motion", options, ("seed", "scenes", "zoo", "device", "workers"))


def parsed(arguments: Sequence[str]) -> Namespace:
    parser = sweep_parser(__doc__, f"folder for {TABLE} and its README", 120.0)
    parser.add_argument("--seed", type=int, default=9400, help="of the first clip")
    parser.add_argument("--scenes", type=int, default=8, help="new footage of the demo's objects; no training")
    parser.add_argument("--zoo", type=int, default=0, help="clips that are tracked")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main("motion", run, parsed)
