"""Generated clips with truth, seed by seed: is every object found, and is every certified position within its bound?"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from withinpx import __version__
from withinpx.data import scenes
from withinpx.data.stage import GeneratedClip
from withinpx.discovery.inspection import inspect
from withinpx.errors import InputError
from withinpx.experiments.sweep import Experiment
from withinpx.experiments.table import RunTable
from withinpx.experiments.truth import compare
from withinpx.files import writable_folder, write_json
from withinpx.jobs.job import Job, Row
from withinpx.tracking.attempt import Setup, attempt
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.plan import make_plan
from withinpx.training.fit import FitSettings

FIRST_CASE = "three_things"
CASES: dict[str, Callable[..., GeneratedClip]] = {
    FIRST_CASE: scenes.three_objects,
    "leaving": scenes.leaving,
    "occluding": scenes.occluding,
    "slow_mover": scenes.slow_object,
    "perspective": scenes.perspective,
    "drifting_light": scenes.drifting_light,
    "twins": scenes.twins,
    "with_static": scenes.with_static,
}
COLUMNS = {
    "case": str,
    **dict.fromkeys(("seed", "things", "found"), int),
    **dict.fromkeys(("certified", "median_px", "max_px", "raw_max_px", "outside"), float),
    "refused": str,
    "seconds": float,
    "said": str,
}
VISIBLE = 0.95  # of an object, for its position to be compared


@dataclass(frozen=True)
class GeneratedExperiment(Experiment):
    """The first case with all seeds, the others with a tenth of them."""

    settings: FitSettings
    seeds: int = 20

    key, columns = ("case", "seed"), COLUMNS

    def jobs(self, table: RunTable) -> list[Job]:
        return [
            Job(f"{case}, seed {seed}", track_generated, (case, seed, self.settings))
            for case in CASES
            for seed in range(self.seeds if case == FIRST_CASE else max(1, self.seeds // 10))
            if {"case": case, "seed": seed} not in table
        ]

    def progress(self, table: RunTable) -> str:
        runs = table.runs()
        return f"every object found in {sum(run['found'] == run['things'] for run in runs)} of {len(runs)} clips"

    def report(self, table: RunTable, folder: Path) -> list[str]:
        """``summary.json``."""
        about = {"version": __version__, "device": self.settings.device.type, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        summaries = summarise(table)
        write_json(writable_folder(folder) / "summary.json", {**about, "cases": summaries})
        return [json.dumps(summary) for summary in summaries]


def track_generated(case: str, seed: int, settings: FitSettings) -> list[Row]:
    """Track one generated clip without its number of objects, and compare with its truth."""
    started = time.monotonic()
    made = CASES[case](seed=seed)
    row = dict.fromkeys(COLUMNS, "") | {"case": case, "seed": seed, "things": made.truth.shape[1], "found": 0}
    try:
        inspection = inspect(made.clip)
    except InputError as error:
        return [{**row, "seconds": 0.0, "said": str(error)}]
    done = attempt(Setup(inspection, make_plan(inspection, TrackOptions())), seed, settings)
    tracks = done.detector.tracks(done.seen, made.clip.numbers, made.clip.times_s)
    certificate = done.detector.certificate
    found = compare(tracks, np.where((made.visible > VISIBLE)[..., None], made.truth, np.nan))
    return [
        {
            **row,
            "found": found.found,
            "certified": round(float(tracks.certified.mean()), 4),
            "median_px": round(found.median, 4),
            "max_px": round(found.largest, 4),
            "raw_max_px": round(found.largest_raw, 4),
            "outside": found.outside,
            "refused": " ".join(f"{obj.object}:{obj.failed}" for obj in certificate.objects if not obj.certified),
            "seconds": round(time.monotonic() - started, 1),
            "said": "; ".join(certificate.warnings),
        }
    ]


def summarise(table: RunTable) -> list[dict[str, Any]]:
    """Counts and maxima over the seeds of each case."""
    runs = table.frame()
    groups = [(case, runs[runs.case == case]) for case in CASES]
    return [_summary(case, own) for case, own in groups if len(own)]


def _summary(case: str, runs: Any) -> dict[str, Any]:
    known = runs.dropna(subset="max_px")
    return {
        "case": case,
        "runs": len(runs),
        "all_found": int((runs.found == runs.things).sum()),
        "fully_certified": int(((runs.refused == "") & (runs.certified > 0)).sum()),
        "median_px": round(float(known.median_px.median()), 4) if len(known) else None,
        "max_px": max(known.max_px.tolist(), default=None),
        "outside": int(runs.outside.sum()),
    }
