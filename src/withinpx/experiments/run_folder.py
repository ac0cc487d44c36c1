"""A training on squares as a folder: its config (``run.json``), log, checkpoint and finished detector."""

from dataclasses import asdict, replace
from pathlib import Path

from withinpx import __version__
from withinpx.errors import InputError
from withinpx.experiments.synthetic import SquaresRun, train
from withinpx.model.autoencoder import Autoencoder, with_kinds
from withinpx.theory.bound import SizeRange, check_network
from withinpx.training.detector_folder import begin_run, load_detector, read_run_config, save_detector
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import Recipe


def train_in_folder(run: SquaresRun, folder: Path, settings: FitSettings, resume: bool = False) -> Autoencoder:
    """Train into a new folder, or resume an interrupted one; a finished one is only loaded."""
    check_network(run.encoder_rf, run.decoder_rf, SizeRange(run.object_size, run.object_size))
    if begin_run(folder, asdict(run), resume):
        return load_detector(folder)[0]
    model = train(run, replace(settings, folder=folder))
    save_detector(folder, model, {"data": "squares", "version": __version__})
    return model


def load_run(folder: Path) -> tuple[Autoencoder, SquaresRun]:
    """A finished training on squares."""
    model, _ = load_detector(folder)
    config = read_run_config(folder)
    try:
        return model, SquaresRun(**with_kinds({**config, "recipe": Recipe(**config["recipe"])}))
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{folder} was not trained on squares: there is no truth to evaluate it against.") from None
