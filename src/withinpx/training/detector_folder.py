"""A trained detector on disk: ``model.safetensors`` and ``detector.json``, no pickle anywhere."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from withinpx.errors import InputError
from withinpx.files import new_folder, write_atomically, write_json
from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.model.background import BackgroundMode

WEIGHTS = "model.safetensors"
DESCRIPTION = "detector.json"
ASKED = "run.json"


def begin_run(folder: Path, asked: dict[str, Any], resume: bool) -> bool:
    """Make the folder of a training and note what was asked, or check that the one there was asked the same.

    The answer is whether its detector is finished already.
    """
    if not resume:
        write_json(new_folder(folder) / ASKED, asked)
    elif read_asked(folder) != json.loads(json.dumps(asked)):
        raise InputError(f"{folder} was started with other settings ({folder / ASKED}): resume with the same ones.")
    return (folder / DESCRIPTION).exists()


def read_asked(folder: Path) -> dict[str, Any]:
    """What was asked of the training in this folder."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.")
    try:
        asked: dict[str, Any] = json.loads((folder / ASKED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{folder} holds no training ({ASKED} is missing or broken).") from None
    return asked


def save_detector(folder: Path, model: Autoencoder, about: dict[str, Any]) -> None:
    """Write the weights, then the description that names their hash: a folder with a description is whole."""
    weights = save({name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()})
    write_atomically(folder / WEIGHTS, weights)
    network = asdict(model.config)
    write_json(
        folder / DESCRIPTION, {"network": network, "weights_sha256": hashlib.sha256(weights).hexdigest(), **about}
    )


def load_detector(folder: Path) -> tuple[Autoencoder, dict[str, Any]]:
    """The network, ready to detect, and all that ``detector.json`` says."""
    about = read_description(folder)
    try:
        weights = (folder / WEIGHTS).read_bytes()
    except OSError as error:
        raise InputError(f"The detector {folder} has no readable {WEIGHTS}: {error.strerror}.") from None
    if hashlib.sha256(weights).hexdigest() != about["weights_sha256"]:
        raise InputError(f"{folder / WEIGHTS} is not the file that {DESCRIPTION} describes: its hash differs.")
    try:
        network = dict(about["network"])
        network["background"] = BackgroundMode(network["background"])
        model = Autoencoder(NetworkConfig(**network))
        model.load_state_dict(load(weights))
    except (SafetensorError, RuntimeError, TypeError, KeyError, ValueError) as error:
        raise InputError(f"The detector {folder} cannot be loaded ({type(error).__name__}): train it again.") from None
    return model.eval(), about


def read_description(folder: Path) -> dict[str, Any]:
    """What ``detector.json`` says."""
    path = folder / DESCRIPTION
    if not folder.is_dir():
        raise InputError(f"There is no detector folder {folder}.")
    if not path.exists():
        raise InputError(f"{folder} holds no finished detector ({DESCRIPTION} is missing): finish it with --resume.")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(about, dict) or "network" not in about or "weights_sha256" not in about:
            raise ValueError
    except (ValueError, OSError):
        raise InputError(f"{path} cannot be read as the description of a detector.") from None
    return about
