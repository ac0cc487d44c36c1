"""Training and measuring on rendered scenes: with the paper's recipe, and with ours, which is that of ``track``."""

import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from withinpx.certificate.calibration import measured_shift
from withinpx.data.clevr_folder import RenderedSplit, read_split
from withinpx.discovery.inspection import Inspection, inspect
from withinpx.errors import BrokenTrainingError
from withinpx.experiments.clevr import CUT, OBJECTS, RecipeName, Setting
from withinpx.inference.rendering import reconstruct
from withinpx.inference.run import frames_on
from withinpx.jobs.job import Row
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.tracking.attempt import Setup, attempt
from withinpx.tracking.detector import Detector
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.plan import make_plan
from withinpx.training.accuracy import right_pixels
from withinpx.training.callback import Callback
from withinpx.training.device import choose_device
from withinpx.training.fit import FitSettings, fit
from withinpx.training.log import Epoch
from withinpx.training.recipe import PAPER, Recipe
from withinpx.training.scene import half_contrast

Array = NDArray[np.float64]

STEPS = 1500  # of the paper's recipe, "until convergence"; an epoch is one batch
STABLE_STEPS = 50  # over the last steps, the error of an object that counts as learned
STABLE_PX = 1.0  # changes by less than this
SHIFT_SAMPLE = 16  # images that the shift is measured on
SUPPORT_SIGMAS = 2  # our Gaussian is cut off there: the bound at two standard deviations is then deterministic


@dataclass(frozen=True)
class Detections:
    """What a network finds in the test images."""

    z: Array  # (images, heatmaps, 2), px
    positions: Array  # z calibrated
    present: NDArray[np.bool_]  # (images, heatmaps)
    accuracy: float
    earlier_z: Array | None = None  # ``STABLE_STEPS`` before the end of training


def train_and_measure(data: Path, setting: Setting, recipe: RecipeName, seed: int, device: str) -> list[Row]:
    """One row for each object. ``data`` is the folder that holds the datasets."""
    began = time.monotonic()
    folder = data / setting.dataset
    test = _split(folder, "test")
    train = train_ours if recipe == "ours" else train_papers
    try:
        found = train(folder, setting, seed, FitSettings(choose_device(device)))
    except BrokenTrainingError:  # no object is learned
        nowhere = np.full((len(test.clip), OBJECTS, 2), np.nan)
        found = Detections(nowhere, nowhere, np.zeros(nowhere.shape[:2], dtype=bool), float("nan"))
    rows = measure(found, test, setting)
    seconds = round(time.monotonic() - began, 1)
    return [{**setting.columns(recipe, seed), **row, "seconds": seconds} for row in rows]


def train_ours(folder: Path, setting: Setting, seed: int, settings: FitSettings) -> Detections:
    """As ``track``: inspect, warm start, centre loss that fades, certify, calibrate."""
    test, inspection = _split(folder, "test"), _inspected(folder)
    options = TrackOptions(encoder_rf=setting.encoder_rf, decoder_rf=setting.decoder_rf, sigma=setting.sigma)
    plan = make_plan(inspection, options)
    plan = replace(plan, network=replace(plan.network, support=SUPPORT_SIGMAS * setting.sigma))
    detector = attempt(Setup(inspection, plan), seed, settings).detector
    observed = detector.observe(test.clip.frames)
    tracks = detector.tracks(observed, test.clip.numbers, test.clip.times_s)
    accuracy = _accuracy(detector, test, observed.z, observed.present)
    return Detections(tracks.z, tracks.positions, tracks.present, accuracy)


def train_papers(folder: Path, setting: Setting, seed: int, settings: FitSettings) -> Detections:
    """Appendix C.2: a positional network with three heatmaps, trained with the reconstruction loss alone."""
    training, test = _split(folder, "train"), _split(folder, "test")
    images, test_images = (_images(split).to(settings.device) for split in (training, test))
    network = NetworkConfig(
        training.clip.height, training.clip.width, setting.encoder_rf, setting.decoder_rf, setting.sigma,
        objects=OBJECTS, colours=images.shape[1],
    )  # fmt: skip
    model = new_network(network, seed).to(settings.device)
    earlier = _ZAfter(STEPS - STABLE_STEPS, model, test_images)
    settings = replace(settings, dense=True, callbacks=(earlier,))
    model = fit(model, images, papers_recipe(setting.experiment), seed, settings)
    with torch.no_grad():
        found, reconstruction = model(test_images)
        shift = measured_shift(model, images[:: max(1, len(images) // SHIFT_SAMPLE)]).double().cpu().numpy()
    accuracy = right_pixels(reconstruction, test_images, half_contrast(images)).float().mean().item()
    z = found.double().cpu().numpy()
    return Detections(z, z + shift, np.ones(z.shape[:2], dtype=bool), accuracy, earlier.z)


def papers_recipe(experiment: str) -> Recipe:
    learning_rate, batch_size = (1e-3, 150) if experiment == "fig5c" else (1e-2, 128)
    return replace(PAPER, epochs=STEPS, batch_size=batch_size, learning_rate=learning_rate)


class _ZAfter(Callback):
    """z of some images after so many epochs."""

    def __init__(self, epochs: int, model: Autoencoder, images: torch.Tensor) -> None:
        self._epochs, self._model, self._images = epochs, model, images
        self.z: Array | None = None

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        if epoch.epoch == self._epochs:
            with torch.no_grad():
                self.z = self._model.eval().encode(self._images).double().cpu().numpy()
            self._model.train()


def measure(found: Detections, test: RenderedSplit, setting: Setting) -> list[Row]:
    """Appendix C.2, Evaluation: the largest error of each object over the test images, and whether it was learned."""
    errors = largest_errors(found.z, test.positions)
    earlier = errors if found.earlier_z is None else largest_errors(found.earlier_z, test.positions)
    rows = []
    for index, name in enumerate(test.objects):
        heatmap = int(errors[:, index].argmin())
        raw = np.abs(found.z[:, heatmap] - test.positions[:, index]).max(axis=-1)
        calibrated = np.abs(found.positions[:, heatmap] - test.positions[:, index]).max(axis=-1)
        size = float(test.boxes[int(raw.argmax()), index, 2:].max())
        stable = abs(earlier[heatmap, index] - errors[heatmap, index]) < STABLE_PX
        rows.append(
            {
                "object": name,
                "size_min": setting.sizes.smallest,
                "size_max": setting.sizes.largest,
                "learned": is_learned(errors[:, index]) and bool(stable),
                "position_error": round(float(raw.max()), 4),
                "calibrated_error": round(float(calibrated.max()), 4),
                "bound_2sigma": round(setting.bound_for_object(size), 4),
                "size": round(size, 4),
                "calibrated_median": round(float(np.median(calibrated)), 4),
                "missing": round(1 - float(found.present[:, heatmap].mean()), 4),
                "reconstruction_accuracy": round(found.accuracy, 6),
            }
        )
    return rows


def largest_errors(found: Array, truth: Array) -> Array:
    """Of every heatmap against every object, over images and axes: (heatmaps, objects), px."""
    return np.asarray(np.abs(found[:, :, None] - truth[:, None]).max(axis=(0, 3)))


def is_learned(errors: Array) -> bool:
    """Of one object, by heatmap: does exactly one heatmap follow it?"""
    return int((errors < CUT).sum()) == 1


def _accuracy(detector: Detector, test: RenderedSplit, z: Array, present: NDArray[np.bool_]) -> float:
    device = next(detector.model.parameters()).device
    frames = frames_on(device, test.clip.frames, detector.background)
    with torch.no_grad():
        rendered = reconstruct(
            detector.model,
            torch.from_numpy(z).float().to(device),
            torch.from_numpy(present).to(device),
            frames.backgrounds,
        )
    images = frames.images / 255
    return right_pixels(rendered, images, half_contrast(images, frames.backgrounds[0])).float().mean().item()


def _images(split: RenderedSplit) -> torch.Tensor:
    return torch.from_numpy(split.clip.frames).permute(0, 3, 1, 2).float() / 255


@cache
def _inspected(folder: Path) -> Inspection:
    return inspect(_split(folder, "train").clip)


_split = cache(read_split)  # one process trains on a dataset many times
