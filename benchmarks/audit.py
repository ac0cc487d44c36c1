"""Errors planted into true tracks of generated clips: which does an audit find, and does it call any truth wrong?

    python benchmarks/audit.py --out results/audit --runs audit_runs --clips 8

Every clip is tracked from its pixels alone; its true positions, with errors planted into them, are audited. What
``track`` made of a clip is kept in --runs and used again. Clips are the package's demo, and those of the
zoo that are small (for time), ordered and good: the theorem's assumptions hold by construction.
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, count, islice
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clip_sweep import Report, as_typed, main, run_clips, sweep_parser
from result_tables import markdown_table
from withinpx import InputError, load_result, track
from withinpx.auditing.audit import compare
from withinpx.auditing.foreign import read_foreign
from withinpx.auditing.result import Audit
from withinpx.data.recording import Source
from withinpx.data.scenes import demo_clip_path, demo_scene
from withinpx.data.stage import GeneratedClip
from withinpx.data.zoo import WHOLE, ZooClip, is_good, zoo_clip, zoo_scene
from withinpx.errors import BrokenTrainingError
from withinpx.experiments.table import RunTable
from withinpx.experiments.truth import TrueObject, at_frames, found_objects
from withinpx.files import locked_folder
from withinpx.jobs.job import Job, Row
from withinpx.tracking.tracks import Tracks

TABLE = "planted.csv"
KEY = ("clip", "kind")
COLUMNS = {
    **dict.fromkeys(("clip", "kind"), str),
    **dict.fromkeys(
        ("objects", "positions", "certified", "planted", "provable", "found", "found_in_all", "wrong"), int
    ),
    "bound_px": float,
}
DEMO = "demo"
WIDEST = 160  # px, of a clip
SHIFTED, DROPPED = 0.3, 0.1  # of the positions
LEAST, MOST = 0.5, 6.0  # times the bound, of a shift; log-uniform
SWAPS = 10  # of each pair of objects
LONGEST = 20  # frames, of a swap

READING = f"""One row per clip and kind of error in `{TABLE}`. True positions of objects at least {WHOLE:.0%} visible,
as a table with frame, id, x and y. `none`: nothing is planted. `shift`: {SHIFTED:.0%} of them are moved along x or y by
{LEAST:g} to {MOST:g} times the bound in that row (in rows without one, the clip's median bound). `swap`: two identities
are exchanged for 1 to {LONGEST} frames. `drop`: {DROPPED:.0%} are removed. `provable`: planted in certified rows (of a
swap, its first frame and the one before, of both objects), and a shift of more than two bounds, or objects that are
more than two bounds apart; these must all be `found`. `found in all`: of all that were planted. `wrong`: positions that
were called wrong although neither they nor their identity was changed, and identities that were called swapped although
they were not; it must be 0. A clip whose objects were refused has no certified position."""

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Truth:
    """True positions (f, n, 2), NaN where an object is not whole, beside the bounds (f, n) of the tracks that match."""

    positions: Array
    bounds: Array
    columns: tuple[int, ...]  # of the tracks, of each object; -1 if it was not found

    @property
    def whole(self) -> Flags:
        return np.asarray(np.isfinite(self.positions).all(axis=-1))

    @property
    def certified(self) -> Flags:
        return np.asarray(self.whole & np.isfinite(self.bounds))


def truth_of(made: ZooClip | GeneratedClip, tracks: Tracks) -> Truth:
    whole = made.visible >= WHOLE
    sizes = np.median(made.sizes.max(axis=-1), axis=0)
    objects = [
        TrueObject(str(index), np.flatnonzero(own), made.truth[own, index], float(sizes[index]))
        for index, own in enumerate(whole.T)
    ]
    found = found_objects(objects, tracks)
    bounds = np.full(whole.shape, np.nan)
    for index, column in found.items():
        bounds[:, index] = at_frames(np.arange(len(whole)), tracks, tracks.bounds)[:, column]
    positions = np.where(whole[..., None], made.truth, np.nan)
    return Truth(positions, bounds, tuple(found.get(index, -1) for index in range(whole.shape[1])))


def audited(truth: Truth, positions: Array, tracks: Tracks) -> Audit:
    frames, objects = positions.shape[:2]
    frame, number = np.indices((frames, objects)).reshape(2, -1)
    x, y = positions.reshape(-1, 2).T
    table = pd.DataFrame({"frame": frame, "id": [f"{index:02d}" for index in number], "x": x, "y": y})
    return compare(read_foreign(table), tracks)


def called(audit: Audit, verdict: str, shape: tuple[int, int]) -> Flags:
    """(f, n): which positions have a verdict."""
    flags = np.zeros(shape, np.bool_)
    foreign = audit.foreign
    names = np.array([int(name) for name in foreign.names])
    own = audit.verdicts.verdicts == verdict
    flags[foreign.frames[own], names[foreign.ids[own]]] = True
    return flags


Found = tuple[int, int, int, int, int]  # planted, provable, found of these, found of all, wrong


def plant_nothing(truth: Truth, tracks: Tracks, random: np.random.Generator) -> Found:
    audit = audited(truth, truth.positions, tracks)
    return 0, 0, 0, 0, audit.counts["wrong"] + len(audit.swaps)


def plant_shifts(truth: Truth, tracks: Tracks, random: np.random.Generator) -> Found:
    planted = truth.whole & (random.random(truth.whole.shape) < SHIFTED)
    usual = np.nanmedian(truth.bounds) if np.isfinite(truth.bounds).any() else 1.0
    times = np.exp(random.uniform(np.log(LEAST), np.log(MOST), planted.shape))
    size = times * np.where(np.isfinite(truth.bounds), truth.bounds, usual) * random.choice([-1, 1], planted.shape)
    along = np.where(random.random(planted.shape)[..., None] < 0.5, [1, 0], [0, 1])
    moved = truth.positions + np.where(planted[..., None], size[..., None] * along, 0)
    audit = audited(truth, moved, tracks)
    wrong = called(audit, "wrong", planted.shape)
    provable = planted & truth.certified & (np.abs(size) > 2 * truth.bounds)
    counts = (planted, provable, wrong & provable, wrong & planted, wrong & ~planted)
    *found, mistaken = (int(flags.sum()) for flags in counts)
    return found[0], found[1], found[2], found[3], mistaken + len(audit.swaps)


def plant_drops(truth: Truth, tracks: Tracks, random: np.random.Generator) -> Found:
    planted = truth.whole & (random.random(truth.whole.shape) < DROPPED)
    audit = audited(truth, np.where(planted[..., None], np.nan, truth.positions), tracks)
    missing = np.zeros(planted.shape, np.bool_)
    for index, column in enumerate(truth.columns):
        if column >= 0:
            missing[tracks.frames, index] = audit.missing[:, column]
    provable = planted & truth.certified
    counts = (planted, provable, missing & provable, missing & planted)
    found = [int(flags.sum()) for flags in counts]
    return found[0], found[1], found[2], found[3], audit.counts["wrong"] + len(audit.swaps)


def plant_swaps(truth: Truth, tracks: Tracks, random: np.random.Generator) -> Found:
    """Pairs of identities, one exchange after the other; each is audited by itself."""
    total = np.zeros(5, np.int64)
    frames, objects = truth.whole.shape
    for pair in combinations(range(objects), 2):
        both = np.asarray(truth.whole[:, pair].all(axis=1))
        starts = np.flatnonzero(both[1:] & both[:-1]) + 1
        for start in random.choice(starts, min(SWAPS, len(starts)), replace=False).tolist():
            end = min(frames, start + int(random.integers(1, LONGEST + 1)))
            total += np.array(plant_swap(truth, tracks, pair, (start, end)))
    return tuple(total.tolist())  # type: ignore[return-value]


def plant_swap(truth: Truth, tracks: Tracks, pair: tuple[int, int], span: tuple[int, int]) -> Found:
    start, end = span
    positions = truth.positions.copy()
    positions[start:end, list(pair)] = truth.positions[start:end, list(pair[::-1])]
    audit = audited(truth, positions, tracks)
    sure = truth.certified[start - 1 : start + 1][:, list(pair)].all()
    apart = np.abs(np.diff(truth.positions[start - 1 : start + 1][:, list(pair)], axis=1)).max(axis=-1)
    bounds = truth.bounds[start - 1 : start + 1][:, list(pair)].sum(axis=1)
    provable = bool(sure and (apart.ravel() > 2 * bounds).all())
    planted = set(pair)
    names = [int(name) for name in audit.foreign.names]
    at_start = {names[swap.identity] for swap in audit.swaps if swap.last_frame < start <= swap.frame}
    wrong = called(audit, "wrong", (len(positions), positions.shape[1]))
    wrong[start:end, list(pair)] = False  # these are at another object than their identity
    mistaken = sum(names[swap.identity] not in planted for swap in audit.swaps) + int(wrong.sum())
    found = planted <= at_start
    return 1, int(provable), int(found and provable), int(found), mistaken


PLANTED: dict[str, Callable[[Truth, Tracks, np.random.Generator], Found]] = {
    "none": plant_nothing,
    "shift": plant_shifts,
    "swap": plant_swaps,
    "drop": plant_drops,
}


def made_clip(name: str) -> tuple[ZooClip | GeneratedClip, Source, int]:
    """A clip with its truth, what ``track`` is given of it, and a seed for what is planted."""
    if name == DEMO:
        return demo_scene(), demo_clip_path(), 0
    made = zoo_clip(int(name))
    return made, made.clip, int(name)


def run_clip(name: str, runs: Path, budget: float, device: str) -> list[Row]:
    """One row per kind of error; of a clip that is refused, with nothing certified."""
    (made, source, seed), folder = made_clip(name), runs / name
    tracks: Tracks | None = None
    with suppress(InputError, BrokenTrainingError):
        if not (folder / "log.jsonl").exists():  # it is written last
            track(source, out=folder, budget=budget, device=device, overlay=False, progress=False)
        tracks = load_result(folder).tracks
    rows = []
    for number, (kind, plant) in enumerate(PLANTED.items()):
        truth = None if tracks is None else truth_of(made, tracks)
        found: Found = (0, 0, 0, 0, 0)
        if truth is not None and tracks is not None and truth.certified.any():
            found = plant(truth, tracks, np.random.default_rng((seed, number)))
        certified = 0 if truth is None else int(truth.certified.sum())
        bound = "" if truth is None or not certified else round(float(np.median(truth.bounds[truth.certified])), 4)
        about = (name, kind, made.truth.shape[1], int((made.visible >= WHOLE).sum()), certified)
        rows.append(dict(zip(COLUMNS, (*about, *found, bound), strict=True)))
    return rows


def report_lines(runs: Sequence[Row]) -> list[str]:
    header = ("planted", "clips", "positions", "certified", "number", "provable", "found", "found in all", "wrong")
    summed = ("positions", "certified", "planted", "provable", "found", "found_in_all", "wrong")
    rows = []
    for kind in PLANTED:
        own = [run for run in runs if run["kind"] == kind]
        rows.append([kind, len(own), *(sum(run[name] for run in own) for name in summed)])
    return markdown_table(header, rows)


def chosen_clips(first: int, clips: int) -> list[str]:
    """The demo, and the first seeds of clips that are small, ordered and good: so many in all."""
    scenes = (zoo_scene(seed) for seed in count(first))
    fitting = (scene.seed for scene in scenes if not scene.unordered and scene.width <= WIDEST and is_good(scene))
    return [DEMO, *map(str, islice(fitting, clips - 1))]


def run(options: Namespace) -> None:
    with locked_folder(options.out):
        table = RunTable(options.out / TABLE, KEY, COLUMNS)
        report = Report(table, "Errors planted for an audit", READING, report_lines)
        jobs = [
            Job(f"clip {name}", run_clip, (name, options.runs, options.budget, options.device))
            for name in chosen_clips(options.seed, options.clips)
            if {"clip": name, "kind": "none"} not in table
        ]
        run_clips(options, table, report, jobs, command(options), budget=options.budget)
        report.write()
    print(report)


def command(options: Namespace) -> str:
    return as_typed("audit", "results/audit", options, ("seed", "clips", "device", "workers"), ["--runs", "audit_runs"])


def parsed(arguments: Sequence[str]) -> Namespace:
    parser = sweep_parser(__doc__, f"folder for {TABLE} and its summary", 20.0)
    parser.add_argument("--runs", type=Path, required=True, help="folder for what `track` makes of the clips")
    parser.add_argument("--seed", type=int, default=9500, help="of the first clip; the others follow")
    parser.add_argument("--clips", type=int, default=8)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main("audit", run, parsed)
