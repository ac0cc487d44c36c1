"""The demo: track three objects over a textured background without labels, and compare with the truth."""

import shutil
from pathlib import Path

from withinpx.data.scenes import demo_clip_path
from withinpx.errors import InputError
from withinpx.experiments.truth import compare, read_truth
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.result import Result
from withinpx.tracking.track import DEFAULTS, track
from withinpx.training.detector_folder import RUN_CONFIG


def run_demo(folder: Path, options: TrackOptions = DEFAULTS) -> Result:
    """Track the clip that comes with the package into ``folder``; an earlier demo there is replaced."""
    if folder.exists():
        if not (folder / RUN_CONFIG).exists():
            raise InputError(f"{folder} exists and is not a demo: choose another folder with --out.")
        shutil.rmtree(folder)
    print("No labels, number of objects or initial positions are given.")
    result = track(demo_clip_path(), options, out=folder, device="cpu")
    print(result.certificate)
    print(summary(result))
    print(f"See {folder / 'overlay.mp4'}, {folder / 'summary.png'} and {folder / 'certificate.html'}")
    return result


def summary(result: Result) -> str:
    """The number of objects found, the bound, and the measured error."""
    tracks = result.tracks
    truth = read_truth(demo_clip_path().with_name("demo_truth.csv"), len(tracks))
    against, certified = compare(tracks, truth), tracks.certified
    found = f"Found {against.found} of {truth.shape[1]} objects"
    if not certified.any():
        return f"{found}, but no position could be certified: see the certificate."
    return (
        f"{found}; {certified.mean():.0%} of their positions are certified, each proved to within "
        f"{tracks.bounds[certified].max():.1f} px or less. Compared with the truth, their error is "
        f"{against.median:.2f} px (median) and {against.largest:.2f} px (largest)."
    )
