"""Appendix E: real videos (traffic, mini pool). Track one, compare with its truth, draw what never happened."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.data.recording import sample_clip
from withinpx.experiments.truth import compare, read_truth
from withinpx.files import write_json
from withinpx.tracking.edit import draw_superimposed, edited_frames, empty_picture, superimpose
from withinpx.tracking.track import Tracked, TrackSettings, track
from withinpx.training.detector_folder import RUN_CONFIG
from withinpx.training.fit import FitSettings

FRAMES = 12  # of each motion that is superimposed


def reproduce_video(
    clip: Path, truth: Path | None, out: Path, *, origin: float, settings: FitSettings, say: Callable[[str], None]
) -> dict[str, Any]:
    """Figures 10 and 11 and the errors of the paper's appendix E, on a clip with positions."""
    asked = TrackSettings()
    done = track(clip, out, asked, settings, resume=(out / RUN_CONFIG).exists(), say=say)
    draw_motions(out / "superimposed.png", done, clip)
    found: dict[str, Any] = {"clip": clip.name, "objects": done.tracks.objects}
    if truth is not None:
        found |= errors(done, read_truth(truth, len(done.tracks.frames), origin))
    write_json(out / "errors.json", found)
    return found


def errors(done: Tracked, truth: NDArray[np.float64]) -> dict[str, Any]:
    """As the paper counts: mean squared error in units of the picture's size; and in px."""
    against = compare(done.tracks, truth)
    size = np.array([done.tracks.width, done.tracks.height])
    away = (done.tracks.positions[:, :, None] - truth[:, None]) / size
    squared = np.nanmean(away**2, axis=(0, 3))  # (tracks, things)
    return {
        "found": against.found,
        "things": truth.shape[1],
        "median_px": against.median,
        "max_px": against.largest,
        "raw_max_px": against.largest_raw,
        "outside_bound": against.outside,
        "mse_image_units": [float(value) for value in squared.min(axis=0)],
    }


def draw_motions(path: Path, done: Tracked, clip: Path) -> Path:
    """Frames superimposed: the training data, and two motions that never happened."""
    detector = done.detector
    background = empty_picture(detector)
    frames = sample_clip(clip, detector.selection, FRAMES).frames
    noise = float(np.median(detector.background.threshold))
    rows = [("training data", superimpose(frames, background, noise))]
    for number, ways in enumerate(new_ways(done), start=1):
        drawn = np.stack(list(edited_frames(detector, ways, FRAMES)))
        rows.append((f"generated {number}", superimpose(drawn, background)))
    return draw_superimposed(path, rows)


def new_ways(done: Tracked) -> list[dict[int, NDArray[np.float64]]]:
    """Two motions inside the part of the picture that was travelled: along its other diagonals, all objects at once."""
    straight, crossed = {}, {}
    for column, each in enumerate(done.detector.certificate.objects):
        where = done.tracks.positions[done.tracks.present[:, column], column]
        if not len(where):
            continue
        (left, top), (right, bottom) = where.min(axis=0), where.max(axis=0)
        straight[each.object] = np.array([[left, bottom], [right, top]])
        crossed[each.object] = np.array([[left, top], [(left + right) / 2, bottom], [right, top]])
    return [straight, crossed]
