"""The demo: three things move over a textured ground; find them without labels, and say how far off that can be."""

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


def run_demo(folder: Path, say: Callable[[str], None], asked: TrackSettings = DEMO) -> Tracked:
    """Track the clip that comes with the package into a folder, and compare with its truth, which nobody else saw."""
    if folder.exists():
        if not (folder / RUN_CONFIG).exists():
            raise InputError(f"{folder} exists and is no demo: name another place with --out, nothing was overwritten.")
        shutil.rmtree(folder)
    print("Nobody says what moves in this clip, how many things there are, or where.")
    with ProgressBar() as bar:
        done = track(demo_clip_path(), folder, asked, FitSettings(callbacks=(bar,)), say=say)
    print(done.detector.certificate.text())
    print(sentence(done))
    print(f"See {folder / 'overlay.mp4'}, {folder / 'summary.png'} and {folder / 'certificate.html'}")
    return done


def sentence(done: Tracked) -> str:
    """How many were found, how far off they can be, and how far off they were."""
    truth = read_truth(demo_clip_path().with_name("demo_truth.csv"), len(done.tracks.frames))
    against, sure = compare(done.tracks, truth), done.tracks.certified
    if not sure.any():
        return f"Found {against.found} of {truth.shape[1]} things, but nothing could be certified: see the certificate."
    return (
        f"Found {against.found} of {truth.shape[1]} things; {sure.mean():.0%} of their positions are certified. "
        f"z can be at most {done.tracks.bound_px[sure].max():.1f} px off, for certain; against the clip's truth it was "
        f"at most {against.largest_raw:.1f} px off, and the calibrated position {against.median:.2f} px (median), "
        f"{against.largest:.2f} px (largest)."
    )
