"""A clip of one moving object: train on it, and write down where the object is in every frame."""

import csv
from dataclasses import asdict, dataclass, replace
from io import StringIO
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from withinpx import __version__
from withinpx.certificate.calibration import drawn_objects, object_sizes, shift_between
from withinpx.data.clip import Clip
from withinpx.files import write_atomically
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.training.detector_folder import begin_run, load_detector, save_detector
from withinpx.training.discover import check_something_moves
from withinpx.training.fit import FitSettings, fit
from withinpx.training.recipe import Recipe

POSITIONS = "positions.csv"
BATCH = 16


@dataclass(frozen=True)
class Found:
    """Where the object is."""

    raw: Float[Tensor, "b 2"]  # z, px
    shift: Float[Tensor, "2"]  # centre of what is drawn minus z, px
    object_size: float  # larger side of what is drawn, px

    @property
    def positions(self) -> Float[Tensor, "b 2"]:
        """Calibrated, px."""
        return self.raw + self.shift


@dataclass(frozen=True)
class ClipRun:
    """One training on a clip."""

    network: NetworkConfig
    recipe: Recipe
    seed: int


def fit_clip(clip: Clip, run: ClipRun, folder: Path, settings: FitSettings, resume: bool = False) -> Found:
    """Train into a folder, or go on with one that was interrupted; write the detector and ``positions.csv``."""
    images = torch.from_numpy(clip.images)
    check_something_moves(images)
    if begin_run(folder, {"data": clip.source, "selection": asdict(clip.selection), **asdict(run)}, resume):
        model, _ = load_detector(folder)
    else:
        model = fit(new_network(run.network, run.seed), images, run.recipe, run.seed, replace(settings, folder=folder))
    found = find(model.to(settings.device), images.to(settings.device))
    save_detector(folder, model, {"data": clip.source, "shift": found.shift.tolist(), "version": __version__})
    write_positions(folder / POSITIONS, clip, found)
    return found


def write_positions(path: Path, clip: Clip, found: Found) -> None:
    """One line per frame: the calibrated position and the raw one, in the recording's own pixels."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["frame", "time_s", "x", "y", "z_x", "z_y"])
    calibrated, raw = (clip.selection.in_recording(each.numpy()) for each in (found.positions, found.raw))
    for frame, (time_s, position, z) in enumerate(zip(clip.times_s, calibrated, raw, strict=True)):
        writer.writerow([frame, f"{time_s:.6f}", *(f"{value:.4f}" for value in [*position, *z])])
    write_atomically(path, text.getvalue().encode())


@torch.no_grad()
def find(model: Autoencoder, images: Float[Tensor, "b c h w"]) -> Found:
    """Positions, shift and size of the one object, without labels."""
    raw = torch.cat([model.encode(batch)[:, 0] for batch in images.split(BATCH)])
    sample = images[:: max(1, len(images) // BATCH)]
    positions = model.encode(sample)
    drawn = drawn_objects(model, positions)
    return Found(raw.cpu(), shift_between(positions, drawn)[0].cpu(), object_sizes(drawn).median().item())
