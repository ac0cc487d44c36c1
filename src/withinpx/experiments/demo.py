"""The demo: three things move over a textured ground; find them without labels and say how far off the answer can be."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from withinpx.data.scenes import demo_clip_path
from withinpx.errors import InputError
from withinpx.tracking.plan import Wishes
from withinpx.tracking.track import Tracked, TrackSettings, track
from withinpx.training.detector_folder import ASKED
from withinpx.training.fit import FitSettings
from withinpx.training.progress import ProgressBar

DEMO = TrackSettings(wishes=Wishes(channels=24))


def run_demo(folder: Path, say: Callable[[str], None], asked: TrackSettings = DEMO) -> Tracked:
    """Track the clip that comes with the package into a folder, and compare with its truth, which nobody else saw."""
    if folder.exists():
        if not (folder / ASKED).exists():
            raise InputError(f"{folder} exists and is no demo: name another place with --out, nothing was overwritten.")
        shutil.rmtree(folder)
    print("Nobody says what moves in this clip, how many things there are, or where.")
    with ProgressBar() as bar:
        done = track(demo_clip_path(), folder, asked, FitSettings(watchers=(bar,)), say=say)
    print(done.attempt.detector.certificate.text())
    print(sentence(done))
    print(f"See {folder / 'overlay.mp4'}, {folder / 'summary.png'} and {folder / 'certificate.html'}")
    return done


def sentence(done: Tracked) -> str:
    """How many were found, how far off they can be, and how far off they were."""
    truth = read_truth(demo_clip_path().with_name("demo_truth.csv"), len(done.tracks.frames))
    order = matched(done.tracks.positions, truth)
    errors = np.linalg.norm(done.tracks.positions[:, order] - truth, axis=-1)
    raw = np.abs(done.tracks.raw[:, order] - truth).max(axis=-1)
    sure = done.tracks.certified[:, order]
    bound = done.tracks.bound_px[:, order]
    return (
        f"Found {done.tracks.objects} of {truth.shape[1]} things; {sure.mean():.0%} of their positions are certified. "
        f"z can be at most {bound[sure].max() if sure.any() else np.nan:.1f} px off, for certain; against the clip's "
        f"truth it was at most {np.nanmax(np.where(sure, raw, np.nan)) if sure.any() else np.nan:.1f} px off, and the "
        f"calibrated position {np.nanmedian(errors):.2f} px (median), {np.nanmax(errors):.2f} px (largest)."
    )


def read_truth(path: Path, frames: int) -> NDArray[np.float64]:
    """(frames, objects, 2) in px; not a number where the truth is not known or the object is cut off."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["full"] == "1"]
    names = sorted({row["object"] for row in rows})
    truth = np.full((frames, len(names), 2), np.nan)
    for row in rows:
        if int(row["frame"]) < frames:
            truth[int(row["frame"]), names.index(row["object"])] = float(row["x"]), float(row["y"])
    return truth


def matched(positions: NDArray[np.float64], truth: NDArray[np.float64]) -> list[int]:
    """Which track is which truth's: the assignment with the smallest median distances."""
    away = np.linalg.norm(positions[:, :, None] - truth[:, None], axis=-1)  # (frames, tracks, truths)
    _, columns = linear_sum_assignment(np.nan_to_num(np.nanmedian(away, axis=0), nan=1e6).T)
    return [int(each) for each in columns]
