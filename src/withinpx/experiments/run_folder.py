"""A training on squares as a folder: what was asked (``run.json``), the log, the checkpoint, the finished detector."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from withinpx import __version__
from withinpx.errors import InputError
from withinpx.experiments.synthetic import SquaresRun, train
from withinpx.files import new_folder, write_json
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import BackgroundMode
from withinpx.training.detector_folder import DESCRIPTION, load_detector, save_detector
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import Recipe

ASKED = "run.json"


def train_in_folder(run: SquaresRun, folder: Path, settings: FitSettings, resume: bool = False) -> Autoencoder:
    """Train into a new folder, or go on with one that was interrupted; a finished one is only loaded."""
    if not resume:
        write_json(new_folder(folder) / ASKED, asdict(run))
    elif read_run(folder) != run:
        raise InputError(f"{folder} was started with other settings ({folder / ASKED}): resume with the same ones.")
    elif (folder / DESCRIPTION).exists():
        return load_detector(folder)[0]
    model = train(run, replace(settings, folder=folder))
    save_detector(folder, model, {"data": "squares", "version": __version__})
    return model


def load_run(folder: Path) -> tuple[Autoencoder, SquaresRun]:
    """A finished run."""
    model, _ = load_detector(folder)
    return model, read_run(folder)


def read_run(folder: Path) -> SquaresRun:
    """What was asked of the run in this folder."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.")
    try:
        asked: dict[str, Any] = json.loads((folder / ASKED).read_text(encoding="utf-8"))
        asked["background"] = BackgroundMode(asked["background"])
        asked["recipe"] = Recipe(**asked["recipe"])
        return SquaresRun(**asked)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder} holds no training on squares ({ASKED}: {type(error).__name__}).") from None
