"""The demo: track three objects over a textured background without labels, and compare with the truth."""

import shutil
from collections.abc import Callable
from pathlib import Path

from withinpx.data.scenes import demo_clip_path
from withinpx.errors import InputError
from withinpx.experiments.truth import compare, read_truth
from withinpx.tracking.plan import Wishes
from withinpx.tracking.track import Tracked, TrackSettings, track
from withinpx.training.detector_folder import RUN_CONFIG
from withinpx.training.fit import FitSettings
from withinpx.training.progress import ProgressBar

DEMO = TrackSettings(wishes=Wishes(channels=24))


def run_demo(folder: Path, log: Callable[[str], None], options: TrackSettings = DEMO) -> Tracked:
    """Track the clip that comes with the package into ``folder``; an earlier demo there is replaced."""
    if folder.exists():
        if not (folder / RUN_CONFIG).exists():
            raise InputError(f"{folder} exists and is not a demo: choose another folder with --out.")
        shutil.rmtree(folder)
    print("No labels, number of objects or initial positions are given.")
    with ProgressBar() as bar:
        done = track(demo_clip_path(), folder, options, FitSettings(callbacks=(bar,)), say=log)
    print(done.detector.certificate.text())
    print(summary(done))
    print(f"See {folder / 'overlay.mp4'}, {folder / 'summary.png'} and {folder / 'certificate.html'}")
    return done


def summary(done: Tracked) -> str:
    """The number of objects found, the bound, and the measured error."""
    truth = read_truth(demo_clip_path().with_name("demo_truth.csv"), len(done.tracks.frames))
    result, certified = compare(done.tracks, truth), done.tracks.certified
    found = f"Found {result.found} of {truth.shape[1]} objects"
    if not certified.any():
        return f"{found}, but no position could be certified: see the certificate."
    return (
        f"{found}; {certified.mean():.0%} of their positions are certified. The largest bound on the error of z is "
        f"{done.tracks.bound_px[certified].max():.1f} px. Compared with the truth, the largest error of z is "
        f"{result.largest_raw:.1f} px; that of the calibrated position {result.largest:.2f} px, its median "
        f"{result.median:.2f} px."
    )
