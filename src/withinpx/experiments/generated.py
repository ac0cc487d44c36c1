"""Generated clips with truth, seed by seed: is everything found, and is what is certified within its bound?"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from withinpx import __version__
from withinpx.data import scenes
from withinpx.data.stage import GeneratedClip
from withinpx.discovery.inspection import inspect
from withinpx.errors import InputError
from withinpx.experiments.table import RunTable
from withinpx.experiments.truth import compare
from withinpx.files import writable_folder, write_json
from withinpx.tracking.attempt import Job, attempt
from withinpx.tracking.plan import Wishes, make_plan
from withinpx.training.fit import FitSettings

CASES: dict[str, Callable[..., GeneratedClip]] = {
    "three_things": scenes.three_things,
    "leaving": scenes.leaving,
    "occluding": scenes.occluding,
    "slow_mover": scenes.slow_mover,
    "perspective": scenes.perspective,
    "drifting_light": scenes.drifting_light,
    "twins": scenes.twins,
    "with_static": scenes.with_static,
}
KEY = ("case", "seed")


def run_generated(
    folder: Path, cases: dict[str, int], settings: FitSettings, report: Callable[[str], None] = print
) -> list[dict[str, Any]]:
    """So many seeds of each case; what the table in ``folder`` has already is not run again."""
    table = RunTable(writable_folder(folder) / "runs.csv", KEY)
    for case, seeds in cases.items():
        for seed in range(seeds):
            if {"case": case, "seed": seed} not in table:
                row = {"case": case, "seed": seed, **run_one(CASES[case](seed=seed), seed, settings)}
                table.add(row)
                report(", ".join(f"{name} {value}" for name, value in row.items()))
    summaries = [summary(case, [row for row in table.rows if row["case"] == case]) for case in CASES]
    summaries = [each for each in summaries if each["runs"]]
    about = {"version": __version__, "device": settings.device.type, "date": datetime.now(UTC).date().isoformat()}
    write_json(folder / "summary.json", {**about, "cases": summaries})
    return summaries


def run_one(made: GeneratedClip, seed: int, settings: FitSettings) -> dict[str, Any]:
    """Track one generated clip, the number of things unknown, and compare with its truth."""
    started = time.monotonic()
    empty = dict.fromkeys(("found", "certified", "median_px", "max_px", "raw_max_px", "outside", "refused"), "")
    things = made.truth.shape[1]
    try:
        inspection = inspect(made.clip)
    except InputError as error:
        return {"things": things, **empty, "found": 0, "seconds": 0.0, "said": str(error)}
    plan = make_plan(inspection, Wishes(), 1.0)
    size = (made.clip.width, made.clip.height)
    done = attempt(Job(inspection, plan, made.clip.selection, size, made.clip.source), seed, settings)
    tracks = done.detector.tracks(done.seen, np.arange(len(made.clip)), made.clip.times_s)
    truth = np.where((made.visible > 0.95)[..., None], made.truth, np.nan)
    against = compare(tracks, truth)
    refused = [f"{each.object}:{each.failed}" for each in done.detector.certificate.objects if not each.certified]
    return {
        "things": things,
        "found": against.found,
        "certified": round(float(tracks.certified.mean()), 4),
        "median_px": round(against.median, 4),
        "max_px": round(against.largest, 4),
        "raw_max_px": round(against.largest_raw, 4),
        "outside": against.outside,
        "refused": " ".join(refused),
        "seconds": round(time.monotonic() - started, 1),
        "said": "; ".join(done.detector.certificate.warnings),
    }


def summary(case: str, rows: list[dict[str, str]]) -> dict[str, Any]:
    """Counts and extremes over the seeds of one case."""
    medians = [float(row["median_px"]) for row in rows if row["median_px"] not in ("", "nan")]
    largest = [float(row["max_px"]) for row in rows if row["max_px"] not in ("", "nan")]
    return {
        "case": case,
        "runs": len(rows),
        "all_found": sum(row["found"] == row["things"] for row in rows),
        "fully_certified": sum(row["refused"] == "" and row["certified"] not in ("", "0.0") for row in rows),
        "median_px": round(float(np.median(medians)), 4) if medians else None,
        "max_px": max(largest, default=None),
        "outside": sum(int(row["outside"] or 0) for row in rows),
    }
