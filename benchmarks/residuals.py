"""How well objects are reconstructed, over the recording's noise: by the network, and by their templates.

    python benchmarks/residuals.py CLIPS_FOLDER --runs RUNS_FOLDER --out results/residuals

Reads the run folders that ``benchmarks/real_clips.py`` makes; those that are missing are left out. No truth is used.
"""

import platform
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import tyro
from numpy.typing import NDArray

from real_clips import CLIPS
from result_tables import markdown_table
from withinpx import Detector, InputError, __version__
from withinpx.certificate.floor import windows_at_rest
from withinpx.certificate.planting import PlantingStage
from withinpx.data.recording import open_recording
from withinpx.discovery.background import ByteImages, to_float
from withinpx.files import writable_folder, write_atomically
from withinpx.inference.feasible import Search, boxes_of_others
from withinpx.inference.observation import Observations
from withinpx.inference.rendering import reconstruct
from withinpx.inference.run import planes_on

FRAMES = 120  # of a clip, at most
COLUMNS = ("clip", "object", "size_px", "scale", "noise", "by_the_network", "by_its_template")
READING = """`noise` is that of the recording where no object is, in parts of full contrast: a root mean square over
pixels. `by the network` and `by its template` are what a reconstruction of the object leaves of the frames, over that
noise: 1 is as good as can be. The network is compared over the object's box at the scale it works at (`scale`), the
template over its own pixels in the recording, smoothed as the search for feasible sets smooths them, and so is their
noise; empty for objects that have no template. Medians over the frames in which the object is certified."""

Array = NDArray[np.float64]


def root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else float("nan")


def rows_of(name: str, source: Path, run: Path) -> Iterator[tuple[object, ...]]:
    """One row per certified object."""
    detector = Detector.load(run)
    if detector.moving_camera or detector.classes is not None:
        return
    clip = open_recording(source).sample(detector.watched, FRAMES)
    seen = detector.observe(clip.frames)
    by_network = _NetworkResiduals(detector, detector.scaled(clip.frames), seen)
    tracks = detector.tracks(seen, np.arange(len(seen)), clip.times_s)
    for column, obj in enumerate(detector.certificate.objects):
        certified = np.flatnonzero(tracks.certified[:, column])
        if not len(certified):
            continue
        noise, network = by_network.of(obj.object, certified)
        template = _template_residual(detector, clip.frames, seen, obj.object, certified)
        size = float(np.median(tracks.sizes[certified, column].max(axis=-1)))
        yield name, obj.object, size, detector.scale, noise, network, template


class _NetworkResiduals:
    """What the network's reconstruction leaves of each frame, px of its input."""

    def __init__(self, detector: Detector, images: ByteImages, seen: Observations) -> None:
        model, background = detector.model, detector.background
        device = next(model.parameters()).device
        backgrounds = planes_on(device, background.images)
        self.seen = seen
        self.covered = covered(seen, images.shape[1:3], 1.0)
        self.at_rest = to_float(images).astype(np.float64) - background.images
        rendered = []
        for frame in range(len(images)):
            z = torch.tensor(seen.z[[frame]], dtype=torch.float32, device=device)
            codes = torch.tensor(seen.codes[[frame]], dtype=torch.float32, device=device) if seen.has_codes else None
            present = torch.from_numpy(seen.present[[frame]]).to(device)
            rendered.append(reconstruct(model, z, present, backgrounds, codes=codes)[0].permute(1, 2, 0).cpu().numpy())
        self.left = to_float(images).astype(np.float64) - np.stack(rendered)

    def of(self, index: int, frames: NDArray[np.intp]) -> tuple[float, float]:
        """The noise within an object's box at other times, and the residual over it."""
        middle, half = (self.seen.centre + self.seen.offset)[frames, index], self.seen.box[frames, index] / 2
        residuals, noises = [], []
        for frame, low, high in zip(frames, np.floor(middle - half), np.ceil(middle + half), strict=True):
            (left, top), (right, bottom) = low.clip(0).astype(int), high.clip(0).astype(int)
            part = slice(top, bottom), slice(left, right)
            residuals.append(root_mean_square(self.left[frame][part]))
            noises.append(root_mean_square(self.at_rest[:, *part][~self.covered[:, *part]]))
        noise = float(np.nanmedian(noises))
        return noise, float(np.median(residuals)) / max(noise, 1e-12)


def _template_residual(
    detector: Detector, images: ByteImages, seen: Observations, index: int, frames: NDArray[np.intp]
) -> float | None:
    """What the best position of an object's template leaves, over the noise of such windows."""
    own = detector.searches[index] if detector.searches else None
    if not isinstance(own, Search):
        return None
    backgrounds = detector.background.images if detector.sharp is None else detector.sharp
    zoom = 1.0 if detector.sharp is None else detector.sharp_scale / detector.scale
    stage = PlantingStage(images, backgrounds, covered(seen, images.shape[1:3], zoom))
    windows = windows_at_rest(own.template, stage, seen.sets.best[frames, index] * zoom)
    if not windows:
        return None
    noise = float(np.median([np.linalg.norm(difference) for difference, _ in windows]))
    return float(np.median(seen.sets.residual[frames, index])) / max(noise, 1e-12)


def covered(seen: Observations, size: tuple[int, ...], zoom: float) -> NDArray[np.bool_]:
    """Which pixels of each frame are in an object's box, or near it."""
    mask = np.zeros((len(seen), *size), np.bool_)
    for frame in range(len(seen)):
        for left, top, right, bottom in boxes_of_others(seen, frame, None, zoom).clip(0):
            mask[frame, top:bottom, left:right] = True
    return mask


@dataclass(frozen=True)
class Residuals:
    """How well objects are reconstructed, over the recording's noise."""

    clips: Annotated[Path, tyro.conf.Positional]  # the folder of the clips
    runs: Path  # the runs of ``real_clips.py``, one folder per clip
    out: Path  # folder for residuals.csv and README.md


def main(options: Residuals) -> None:
    rows = [
        row
        for clip in CLIPS
        if (options.runs / clip.name / "detector.json").exists()
        for row in rows_of(clip.name, options.clips / clip.frames, options.runs / clip.name)
    ]
    if not rows:
        raise InputError(f"No run folder of {options.runs} has a detector: make them with benchmarks/real_clips.py.")
    out = writable_folder(options.out)
    table = [",".join(COLUMNS), *(",".join("" if v is None else str(v) for v in row) for row in rows)]
    write_atomically(out / "residuals.csv", ("\n".join(table) + "\n").encode())
    command = shlex.join(["python", "benchmarks/residuals.py", "CLIPS_FOLDER", "--runs", "RUNS_FOLDER", "--out", "OUT"])
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    about = f"Made by `{command}` with withinpx {__version__} on {datetime.now(UTC):%Y-%m-%d} ({machine})."
    lines = ["# Residuals over noise", "", about, "", READING, "", *markdown_table(COLUMNS, rows)]
    write_atomically(out / "README.md", ("\n".join(lines) + "\n").encode())
    print("\n".join(lines))


if __name__ == "__main__":
    try:
        main(tyro.cli(Residuals))
    except InputError as error:
        print(f"residuals: {error}", file=sys.stderr)
        sys.exit(2)
