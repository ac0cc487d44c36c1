"""Objects that look alike: generated clips of identical discs with exact truth, one row per clip.

    python benchmarks/alike.py --seed 1000 --clips 200 --out results/alike

``track`` is given the clip alone; the truth is used for the comparison only. A clip that is in the table is not run
again.
"""

import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clip_sweep import REPORT, Report, as_typed, known_medians, main, run_clips, sweep_parser
from guarantee import share
from result_tables import markdown_table
from withinpx import InputError, track
from withinpx.certificate.outlines import TIGHT, TIGHT_PX
from withinpx.data.swarm import swarm_clip
from withinpx.data.zoo import WHOLE, ZooClip
from withinpx.errors import BrokenTrainingError
from withinpx.experiments.table import RunTable
from withinpx.files import locked_folder
from withinpx.jobs.job import Job, Row
from withinpx.theory.identity import at_border, proved_links
from withinpx.tracking.tracks import Tracks

TABLE = "clips.csv"
SHOWN = 0.05  # of a disc: one of which less is visible is no candidate for a link
KEY = ("seed",)
COLUMNS = {
    **dict.fromkeys(("seed", "discs", "frames", "width", "crf"), int),
    "size_px": float,
    **dict.fromkeys(("positions", "found", "certified", "tight", "outside"), int),
    **dict.fromkeys(("links", "provable", "proved", "wrong", "switches"), int),
    **dict.fromkeys(("bound_px", "error_px", "step_px", "seconds"), float),
}

READING = f"""One row of `{TABLE}` per clip. Positions are those of discs at least {WHOLE:.0%} visible. `found`: a track
within half a disc. `certified`, `tight`: that track is certified, and to within {TIGHT_PX:g} px or {TIGHT:.0%} of the
disc, and the bound is correct. `outside`: certified positions with no disc's centre within their bound; it must be 0.
`provable`: links of a disc from one frame to the next that the rule proves from the true positions alone, with the same
largest step; `proved`: of these, certified. `wrong`: certified identities that are wrong, of all links; it must be 0.
`switches`: guessed links from one disc to another."""


@dataclass(frozen=True, eq=False)
class Followed:
    """Which disc each track is at: (f, n), -1 for none."""

    made: ZooClip
    tracks: Tracks

    @property
    def size(self) -> float:
        return float(self.made.sizes.max())

    def distances(self, frame: int) -> NDArray[np.float64]:
        """From tracks to discs, along the larger axis: (n, discs)."""
        apart = np.abs(self.tracks.positions[frame][:, None] - self.made.truth[frame][None]).max(axis=-1)
        return np.where(self.tracks.present[frame][:, None] & np.isfinite(apart), apart, np.inf)

    @property
    def discs(self) -> NDArray[np.intp]:
        found = np.full(self.tracks.present.shape, -1)
        for frame in range(len(self.tracks)):
            apart = self.distances(frame)
            nearest = apart.argmin(axis=1)
            found[frame] = np.where(apart.min(axis=1) < self.size / 2, nearest, -1)
        return found


def compare(made: ZooClip, tracks: Tracks) -> Row:
    """The columns that depend on the tracks."""
    followed = Followed(made, tracks)
    at, whole = followed.discs, made.visible >= WHOLE
    counts = dict.fromkeys(("found", "certified", "tight", "outside"), 0)
    bounds, errors = [], []
    limit = max(TIGHT_PX, TIGHT * followed.size)
    for frame in range(len(tracks)):
        apart = followed.distances(frame)
        sure = np.flatnonzero(tracks.certified[frame])
        inside = apart[sure].min(axis=1, initial=np.inf) <= tracks.bounds[frame, sure]
        counts["outside"] += int((~inside).sum())
        for disc in np.flatnonzero(whole[frame]):
            here = np.flatnonzero(at[frame] == disc)
            counts["found"] += bool(len(here))
            best = [index for index in here if tracks.certified[frame, index]]
            if best:
                error, bound = float(apart[best[0], disc]), float(tracks.bounds[frame, best[0]])
                counts["certified"] += 1
                counts["tight"] += error <= bound <= limit
                bounds.append(bound)
                errors.append(error)
    return {**counts, **identities(made, tracks, at), "bound_px": median(bounds), "error_px": median(errors)}


def identities(made: ZooClip, tracks: Tracks, at: NDArray[np.intp]) -> Row:
    """Links that are proved, that could be, and that are wrong."""
    step = tracks.step_px or 0.0
    certified = tracks.identity_certified == 1
    links = provable = proved = wrong = switches = 0
    size = made.clip.width, made.clip.height
    for frame in range(1, len(tracks)):
        same = (at[frame] == at[frame - 1]) & (at[frame] >= 0)
        known = (at[frame] >= 0) & (at[frame - 1] >= 0)
        wrong += int((certified[frame] & ~same).sum())
        switches += int((known & ~same).sum())
        links += int(np.isfinite(tracks.identity_certified[frame]).sum())
        shown = [np.flatnonzero(made.visible[row] >= SHOWN) for row in (frame - 1, frame)]
        before, after = (np.tile(made.truth[row, own], 2) for row, own in zip((frame - 1, frame), shown, strict=True))
        hidden = [at_border(boxes, step, *size) for boxes in (before, after)]
        possible = proved_links(before, after, step, hidden[0], hidden[1])
        for one, other in zip(*np.nonzero(possible), strict=True):
            disc = int(shown[0][one])
            if disc == shown[1][other] and (made.visible[frame - 1 : frame + 1, disc] >= WHOLE).all():
                provable += 1
                proved += bool((certified[frame] & same & (at[frame] == disc)).any())
    return {"links": links, "provable": provable, "proved": proved, "wrong": wrong, "switches": switches}


def median(values: Sequence[float]) -> float | str:
    return round(float(np.median(values)), 4) if values else ""


def run_clip(seed: int, budget: float, device: str) -> list[Row]:
    made = swarm_clip(seed)
    started = time.monotonic()
    result = None
    with suppress(InputError, BrokenTrainingError):  # a refused clip has no certified position
        result = track(made.clip, progress=False, budget=budget, device=device)
    about = {
        "seed": seed,
        "discs": made.truth.shape[1],
        "frames": len(made.clip),
        "width": made.clip.width,
        "crf": -1 if made.scene.crf is None else made.scene.crf,
        "size_px": round(float(made.sizes.max()), 2),
        "positions": int((made.visible >= WHOLE).sum()),
        "step_px": "" if result is None or result.tracks.step_px is None else round(result.tracks.step_px, 3),
        "seconds": round(time.monotonic() - started, 1),
    }
    nothing = {name: 0 for name, kind in COLUMNS.items() if kind is int} | {"bound_px": "", "error_px": ""}
    joint = nothing | about | ({} if result is None else compare(made, result.tracks))
    return [{name: joint[name] for name in COLUMNS}]


GROUPS = (
    ("all", lambda run: True),
    ("2 to 5 discs", lambda run: run["discs"] <= 5),
    ("6 to 15 discs", lambda run: 6 <= run["discs"] <= 15),
    ("16 to 50 discs", lambda run: run["discs"] >= 16),
    ("uncompressed", lambda run: run["crf"] < 0),
    ("H.264", lambda run: run["crf"] >= 0),
)


def summary(name: str, runs: Sequence[Row]) -> list[object]:
    names = ("positions", "found", "certified", "tight", "outside", "links", "provable", "proved", "wrong", "switches")
    total = {column: sum(run[column] for run in runs) for column in names}
    shares = [share(total[column], total["positions"]) for column in ("found", "certified", "tight")]
    medians = known_medians(runs, ("bound_px", "error_px"))
    proved = share(total["proved"], total["provable"])
    tail = [total["links"], proved, total["wrong"], total["switches"], *medians]
    return [name, len(runs), total["positions"], *shares, total["outside"], *tail]


def report_lines(runs: Sequence[Row]) -> list[str]:
    header = ("clips", "number", "positions", "found", "certified", "tight", "outside")
    tail = ("links", "proved of provable", "wrong", "switches", "bound px", "error px")
    groups = [(name, [run for run in runs if belongs(run)]) for name, belongs in GROUPS]
    return markdown_table((*header, *tail), [summary(name, own) for name, own in groups if own])


def run(options: Namespace) -> None:
    with locked_folder(options.out):
        table = RunTable(options.out / TABLE, KEY, COLUMNS)
        report = Report(table, "Objects that look alike", READING, report_lines)
        jobs = [
            Job(f"clip {seed}", run_clip, (seed, options.budget, options.device))
            for seed in range(options.seed, options.seed + options.clips)
            if {"seed": seed} not in table
        ]
        run_clips(options, table, report, jobs, command(options), budget=options.budget)
        report.write()
    print(report)


def command(options: Namespace) -> str:
    return as_typed("alike", "results/alike", options, ("seed", "clips", "device", "workers"))


def parsed(arguments: Sequence[str]) -> Namespace:
    parser = sweep_parser(__doc__, f"folder for {TABLE} and {REPORT}", 60.0)
    parser.add_argument("--seed", type=int, default=1000, help="of the first clip; the others follow")
    parser.add_argument("--clips", type=int, default=200)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main("alike", run, parsed)
