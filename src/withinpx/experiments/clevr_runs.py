"""Training and measuring on rendered scenes: by the paper's recipe, and by the way that ``track`` goes."""

import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from withinpx.certificate.calibration import measured_shift
from withinpx.data.clevr_folder import RenderedSplit, read_split
from withinpx.discovery.inspection import Inspection, inspect
from withinpx.errors import BrokenTrainingError
from withinpx.experiments.clevr import CUT, EXPERIMENTS, OBJECTS, RecipeName, Setting, run_columns
from withinpx.inference.observation import reconstruct
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.theory.bound import SizeRange
from withinpx.tracking.attempt import Job, attempt
from withinpx.tracking.detector import Detector, frames_of
from withinpx.tracking.plan import Wishes, make_plan
from withinpx.training.accuracy import right_pixels
from withinpx.training.callback import Callback
from withinpx.training.device import choose_device
from withinpx.training.fit import FitSettings, fit
from withinpx.training.log import Epoch
from withinpx.training.recipe import PAPER, Recipe
from withinpx.training.scene import half_contrast

Array = NDArray[np.float64]

STEPS = 1500  # of the paper's recipe, "until convergence"; an epoch is one batch
REST = 50  # steps before the end, an object's error
RESTED_PX = 1.0  # must have been the same but for this, or it is not stable
SHIFT_SAMPLE = 16  # pictures that the shift is measured on
SUPPORT_SIGMAS = 2  # our Gaussian is cut off there: then the bound at two standard deviations is certain


@dataclass(frozen=True)
class Seen:
    """What a network made of the test pictures."""

    z: Array  # (pictures, heatmaps, 2): z, px
    positions: Array  # the same, calibrated
    present: NDArray[np.bool_]  # (pictures, heatmaps)
    accuracy: float
    before: Array | None = None  # z some steps before the end of training


def train_and_measure(data: str, setting: Setting, recipe: RecipeName, seed: int, device: str) -> list[dict[str, Any]]:
    """One row for each object. ``data`` is the folder that holds the datasets."""
    began = time.monotonic()
    folder = Path(data) / setting.dataset
    test = _split(folder, "test")
    learn = ours if recipe == "ours" else papers
    try:
        seen = learn(folder, setting, seed, FitSettings(choose_device(device)))
    except BrokenTrainingError:
        seen = _nothing(len(test.clip))
    rows = measured(seen, test, setting)
    seconds = round(time.monotonic() - began, 1)
    return [{**run_columns(setting, recipe, seed), **row, "seconds": seconds} for row in rows]


def ours(folder: Path, setting: Setting, seed: int, settings: FitSettings) -> Seen:
    """As ``track`` does it: look, warm start, hold and let go, certify, calibrate."""
    training, test = _split(folder, "train"), _split(folder, "test")
    inspection = _inspected(folder)
    wishes = Wishes(encoder_rf=setting.encoder_rf, decoder_rf=setting.decoder_rf, sigma=setting.sigma)
    plan = make_plan(inspection, wishes, 1.0)
    plan = replace(plan, network=replace(plan.network, support=SUPPORT_SIGMAS * setting.sigma))
    size = (training.clip.width, training.clip.height)
    job = Job(inspection, plan, training.clip.selection, size, setting.dataset)
    detector = attempt(job, seed, settings).detector
    observed = detector.observe(test.clip.frames, detector.background.images)
    tracks = detector.tracks(observed, np.arange(len(test.clip)), test.clip.times_s)
    return Seen(tracks.z, tracks.positions, tracks.present, _accuracy(detector, test, observed.z, observed.present))


def papers(folder: Path, setting: Setting, seed: int, settings: FitSettings) -> Seen:
    """Appendix C.2: a positional network of three heatmaps, reconstruction alone."""
    training, test = _split(folder, "train"), _split(folder, "test")
    images, shown = (_pictures(split).to(settings.device) for split in (training, test))
    experiment = EXPERIMENTS[setting.experiment]
    recipe = replace(PAPER, epochs=STEPS, batch_size=experiment.batch_size, learning_rate=experiment.learning_rate)
    network = NetworkConfig(
        training.clip.height, training.clip.width, setting.encoder_rf, setting.decoder_rf, setting.sigma,
        objects=OBJECTS, colours=images.shape[1],
    )  # fmt: skip
    model = new_network(network, seed).to(settings.device)
    look = _Look(model, shown, STEPS - REST)
    model = fit(model, images, recipe, seed, replace(settings, dense=True, callbacks=(look,)))
    with torch.no_grad():
        raw, drawn = model(shown)
        shift = measured_shift(model, images[:: max(1, len(images) // SHIFT_SAMPLE)])
    accuracy = right_pixels(drawn, shown, half_contrast(images)).float().mean().item()
    found = raw.double().cpu().numpy()
    present = np.ones(found.shape[:2], dtype=bool)
    return Seen(found, found + shift.double().cpu().numpy(), present, accuracy, look.seen)


def _nothing(pictures: int) -> Seen:
    """Of a training that broke: no object is learned."""
    nowhere = np.full((pictures, OBJECTS, 2), np.nan)
    return Seen(nowhere, nowhere, np.zeros((pictures, OBJECTS), dtype=bool), float("nan"))


class _Look(Callback):
    """Where a network sees the objects of these pictures after so many epochs."""

    def __init__(self, model: Autoencoder, pictures: torch.Tensor, after: int) -> None:
        self._model, self._pictures, self._after = model, pictures, after
        self.seen: Array | None = None

    def on_epoch(self, done: Epoch, recipe: Recipe) -> None:
        """One more epoch is over."""
        if done.epoch == self._after:
            with torch.no_grad():
                self.seen = self._model.eval().encode(self._pictures).double().cpu().numpy()
            self._model.train()


def measured(seen: Seen, test: RenderedSplit, setting: Setting) -> list[dict[str, Any]]:
    """Appendix C.2, Evaluation: the largest error of each object over the test pictures, and whether it was learned."""
    errors = largest_errors(seen.z, test.positions)
    before = errors if seen.before is None else largest_errors(seen.before, test.positions)
    rows = []
    for each, name in enumerate(test.objects):
        own = int(errors[:, each].argmin())
        away = np.abs(seen.z[:, own] - test.positions[:, each]).max(axis=-1)
        calibrated = np.abs(seen.positions[:, own] - test.positions[:, each]).max(axis=-1)
        size = float(test.boxes[int(away.argmax()), each, 2:].max())
        by_size = setting.experiment == "fig5c"
        rows.append(
            {
                "object": name,
                "size_min": setting.sizes.smallest,
                "size_max": setting.sizes.largest,
                "learned": is_learned(errors[:, each]) and abs(before[own, each] - errors[own, each]) < RESTED_PX,
                "position_error": round(float(away.max()), 4),
                "calibrated_error": round(float(calibrated.max()), 4),
                "bound_2sigma": round(setting.bound(sizes=SizeRange(size, size) if by_size else None), 4),
                "size": round(size, 4),
                "calibrated_median": round(float(np.median(calibrated)), 4),
                "missing": round(1 - float(seen.present[:, own].mean()), 4),
                "reconstruction_accuracy": round(seen.accuracy, 6),
            }
        )
    return rows


def largest_errors(found: Array, truth: Array) -> Array:
    """Of every heatmap against every object, over pictures and axes: (heatmaps, objects), px."""
    return np.asarray(np.abs(found[:, :, None] - truth[:, None]).max(axis=(0, 3)))


def is_learned(errors: Array) -> bool:
    """Of one object, by heatmap: does exactly one of them follow it?"""
    return int((errors < CUT).sum()) == 1


def _accuracy(detector: Detector, test: RenderedSplit, raw: Array, present: NDArray[np.bool_]) -> float:
    device = next(detector.model.parameters()).device
    frames = frames_of(test.clip.frames, detector.background.images, detector.background, device)
    places = torch.from_numpy(raw).float().to(device)
    with torch.no_grad():
        drawn = reconstruct(detector.model, places, torch.from_numpy(present).to(device), frames.backgrounds)
    images = frames.images / 255
    return right_pixels(drawn, images, half_contrast(images, frames.backgrounds[0])).float().mean().item()


def _pictures(split: RenderedSplit) -> torch.Tensor:
    return torch.from_numpy(split.clip.frames).permute(0, 3, 1, 2).float() / 255


@cache
def _inspected(folder: Path) -> Inspection:
    return inspect(_split(folder, "train").clip)


_split = cache(read_split)  # one process trains on a dataset many times
