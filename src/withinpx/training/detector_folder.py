"""A trained detector on disk: ``model.safetensors`` and ``detector.json``, no pickle anywhere."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from withinpx.errors import InputError
from withinpx.files import holds_only_partials, new_folder, read_json, write_atomically, write_json
from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.model.background import BackgroundMode

WEIGHTS = "model.safetensors"
DESCRIPTION = "detector.json"
RUN_CONFIG = "run.json"
SEAL = "sha256"  # of the description itself


def begin_run(folder: Path, asked: dict[str, Any], resume: bool) -> bool:
    """Make the folder of a training and note what was asked, or check that the one there was asked the same.

    The answer is whether its detector is finished already.
    """
    if not resume:
        new_folder(folder)
    if not resume or (folder.is_dir() and holds_only_partials(folder)):
        write_json(folder / RUN_CONFIG, asked)
    elif {**read_run_config(folder), "budget_s": 0} != {
        **json.loads(json.dumps(asked)),
        "budget_s": 0,
    }:  # more may be given
        raise InputError(
            f"{folder} was started with other settings ({folder / RUN_CONFIG}): resume with the same ones."
        )
    return (folder / DESCRIPTION).exists()


def read_run_config(folder: Path) -> dict[str, Any]:
    """What was asked of the training in this folder."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.")
    try:
        asked: dict[str, Any] = json.loads((folder / RUN_CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{folder} holds no training ({RUN_CONFIG} is missing or broken).") from None
    return asked


def save_detector(folder: Path, model: Autoencoder, about: dict[str, Any]) -> None:
    """Write the weights, then the description that names their hash: a folder with a description is whole."""
    weights = save({name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()})
    write_atomically(folder / WEIGHTS, weights)
    description = {"network": asdict(model.config), "weights_sha256": hashlib.sha256(weights).hexdigest(), **about}
    write_json(folder / DESCRIPTION, {**description, SEAL: sealed(description)})


def load_detector(folder: Path) -> tuple[Autoencoder, dict[str, Any]]:
    """The network, ready to detect, and all that ``detector.json`` says."""
    about = read_description(folder)
    weights = read_checked(folder / WEIGHTS, about["weights_sha256"])
    try:
        network = dict(about["network"])
        network["background"] = BackgroundMode(network["background"])
        config, tensors = NetworkConfig(**network), load(weights)
        with torch.device("meta"):  # sizes and no memory: what they say may be too large for any machine
            wanted = Autoencoder(config).state_dict()
        if _sizes(tensors) != _sizes(wanted):
            raise InputError(
                f"{folder / WEIGHTS} does not fit the network that {DESCRIPTION} describes: train it again."
            )
        model = Autoencoder(config)
        model.load_state_dict(tensors)
    except InputError:
        raise
    except (SafetensorError, RuntimeError, TypeError, KeyError, ValueError, OverflowError) as error:
        raise InputError(f"The detector {folder} cannot be loaded ({type(error).__name__}): train it again.") from None
    return model.eval(), about


def read_description(folder: Path) -> dict[str, Any]:
    """What ``detector.json`` says, if nobody has changed it."""
    path = folder / DESCRIPTION
    if not folder.is_dir():
        raise InputError(f"There is no detector folder {folder}.")
    if not path.is_file():
        raise InputError(f"{folder} holds no finished detector ({DESCRIPTION} is missing): finish it with --resume.")
    about = read_json(path)
    if not isinstance(about, dict) or "network" not in about or "weights_sha256" not in about:
        raise InputError(f"{path} cannot be read as the description of a detector.")
    if about.get(SEAL) != sealed(about):
        raise InputError(f"{path} is not as it was saved, or of an earlier version: its own hash differs. Train again.")
    return about


def sealed(description: dict[str, Any]) -> str:
    """The hash of all that a description says, itself aside."""
    said = {name: value for name, value in description.items() if name != SEAL}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def read_checked(path: Path, sha256: str) -> bytes:
    """A file of a detector, if it is the one that was saved with it."""
    if not path.is_file():
        raise InputError(f"The detector {path.parent} has no {path.name}.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InputError(f"{path} is not the file that its detector was saved with: its hash differs.")
    return content


def _sizes(tensors: dict[str, torch.Tensor]) -> dict[str, tuple[torch.Size, torch.dtype]]:
    return {name: (value.shape, value.dtype) for name, value in tensors.items()}
