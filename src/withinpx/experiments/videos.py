"""Appendix E: real videos (traffic, mini pool). Track one, compare with its truth, render new motions."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx import __version__
from withinpx.data.recording import open_recording
from withinpx.experiments.truth import compare, read_truth
from withinpx.files import write_json
from withinpx.jobs.local import LocalEngine
from withinpx.tracking.edit import edited_frames, empty_frame, superimpose, write_superimposed
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.progress import Report
from withinpx.tracking.result import Result
from withinpx.tracking.track import track
from withinpx.tracking.tracks import Tracks
from withinpx.training.detector_folder import RUN_CONFIG
from withinpx.training.fit import FitSettings

EVERY = 2  # frames: the first of each pair is for training, the other for the test
OPTIONS = TrackOptions(every=EVERY)
FRAMES = 12  # of each motion that is superimposed


def reproduce_video(
    clip: Path,
    truth: Path | None,
    out: Path,
    *,
    origin: float,
    settings: FitSettings,
    progress: bool | Report = True,
    **changes: Any,
) -> dict[str, Any]:
    """Figures 10 and 11 and the errors of appendix E, on frames that training saw and on those between them.

    A folder with an interrupted run is resumed. Further keywords are fields of ``TrackOptions``.
    """
    resume = (out / RUN_CONFIG).exists()
    done = track(clip, OPTIONS, out=out, settings=settings, resume=resume, progress=progress, **changes)
    draw_motions(out / "superimposed.png", done, clip)
    found: dict[str, Any] = {"clip": clip.name, "objects": done.tracks.objects}
    found |= {"encoder_rf": done.certificate.encoder_rf, "decoder_rf": done.certificate.decoder_rf}
    found |= {"version": __version__, "machine": LocalEngine().describe(), "date": date.today().isoformat()}
    if truth is not None:
        tracks = done.detector.detect(clip)
        true = read_truth(truth, len(tracks.frames), origin)
        found |= {"training": errors(tracks[::EVERY], true), "test": errors(tracks[1::EVERY], true)}
    write_json(out / "errors.json", found)
    return found


def errors(tracks: Tracks, truth: NDArray[np.float64]) -> dict[str, Any]:
    """As in the paper, the mean squared error in units of the image size, of z and of positions; and errors in px.

    Of the frames of ``tracks``; those in px are of certified positions, None if there are none.
    """
    known, own = truth[tracks.frames], np.full_like(truth, np.nan)
    own[tracks.frames] = known
    comparison = compare(tracks, own)
    size = np.array([tracks.width, tracks.height])

    def of_nearest(values: NDArray[np.float64]) -> list[float]:
        found = np.where(tracks.present[..., None], values, np.nan)
        squared = np.nanmean(((found[:, :, None] - known[:, None]) / size) ** 2, axis=(0, 3))  # (tracks, objects)
        return [float(value) for value in squared.min(axis=0)]

    return {
        "frames": len(tracks.frames),
        "found": comparison.found,
        "true_objects": truth.shape[1],
        "median_px": _if_known(comparison.median),
        "max_px": _if_known(comparison.largest),
        "raw_max_px": _if_known(comparison.largest_raw),
        "outside_bound": comparison.outside,
        "mse_of_z": of_nearest(tracks.z),
        "mse_of_positions": of_nearest(tracks.positions),
    }


def _if_known(value: float) -> float | None:
    return None if np.isnan(value) else value


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
