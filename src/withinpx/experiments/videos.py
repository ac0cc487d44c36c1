"""Appendix E: real videos (traffic, mini pool). Track one, compare with its truth, render new motions."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.data.recording import open_recording
from withinpx.experiments.truth import compare, read_truth
from withinpx.files import write_json
from withinpx.tracking.edit import edited_frames, empty_frame, superimpose, write_superimposed
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.progress import Report
from withinpx.tracking.result import Result
from withinpx.tracking.track import track
from withinpx.training.detector_folder import RUN_CONFIG
from withinpx.training.fit import FitSettings

OPTIONS = TrackOptions()
FRAMES = 12  # of each motion that is superimposed


def reproduce_video(
    clip: Path, truth: Path | None, out: Path, *, origin: float, settings: FitSettings, progress: bool | Report = True
) -> dict[str, Any]:
    """Figures 10 and 11 and the errors of appendix E; a folder with an interrupted run is resumed."""
    resume = (out / RUN_CONFIG).exists()
    done = track(clip, OPTIONS, out=out, settings=settings, resume=resume, progress=progress)
    draw_motions(out / "superimposed.png", done, clip)
    found: dict[str, Any] = {"clip": clip.name, "objects": done.tracks.objects}
    if truth is not None:
        found |= errors(done, read_truth(truth, len(done.tracks.frames), origin))
    write_json(out / "errors.json", found)
    return found


def errors(done: Result, truth: NDArray[np.float64]) -> dict[str, Any]:
    """As in the paper, the mean squared error in units of the image size; and errors in px."""
    comparison = compare(done.tracks, truth)
    size = np.array([done.tracks.width, done.tracks.height])
    offsets = (done.tracks.positions[:, :, None] - truth[:, None]) / size
    squared = np.nanmean(offsets**2, axis=(0, 3))  # (tracks, objects)
    return {
        "found": comparison.found,
        "true_objects": truth.shape[1],
        "median_px": comparison.median,
        "max_px": comparison.largest,
        "raw_max_px": comparison.largest_raw,
        "outside_bound": comparison.outside,
        "mse_image_units": [float(value) for value in squared.min(axis=0)],
    }


def draw_motions(path: Path, done: Result, clip: Path) -> Path:
    """Frames superimposed: the training data, and two motions that never happened."""
    detector = done.detector
    background = empty_frame(detector)
    frames = open_recording(clip).sample(detector.selection, FRAMES).frames
    noise = float(np.median(detector.background.threshold))
    rows = [("training data", superimpose(frames, background, noise))]
    for number, trajectories in enumerate(new_trajectories(done), start=1):
        rendered = np.stack(list(edited_frames(detector, trajectories, FRAMES)))
        rows.append((f"generated {number}", superimpose(rendered, background)))
    return write_superimposed(path, rows)


def new_trajectories(done: Result) -> list[dict[int, NDArray[np.float64]]]:
    """Two motions of all objects within the region each has covered: along its rising diagonal, and down and up."""
    diagonal, dip = {}, {}
    for column, obj in enumerate(done.detector.certificate.objects):
        positions = done.tracks.positions[done.tracks.present[:, column], column]
        if not len(positions):
            continue
        (left, top), (right, bottom) = positions.min(axis=0), positions.max(axis=0)
        diagonal[obj.object] = np.array([[left, bottom], [right, top]])
        dip[obj.object] = np.array([[left, top], [(left + right) / 2, bottom], [right, top]])
    return [diagonal, dip]
