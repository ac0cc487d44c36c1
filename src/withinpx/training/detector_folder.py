"""A trained detector on disk: ``model.safetensors`` and ``detector.json``, no pickle anywhere."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from withinpx.errors import InputError
from withinpx.files import holds_only_partials, new_folder, read_json, write_atomically, write_json
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, with_kinds

WEIGHTS = "model.safetensors"
DESCRIPTION = "detector.json"
RUN_CONFIG = "run.json"
SEAL = "sha256"  # of the description itself


def begin_run(folder: Path, config: dict[str, Any], resume: bool, may_change: Collection[str] = ()) -> bool:
    """Create the folder of a training with its ``run.json``, or check that the existing one has the same config.

    A resumed run may differ in the keys ``may_change``. Returns whether its detector is finished already.
    """
    if not resume:
        new_folder(folder)
    if not resume or (folder.is_dir() and holds_only_partials(folder)):
        write_json(folder / RUN_CONFIG, config)
    else:
        before, now = read_run_config(folder), json.loads(json.dumps(config))
        if {**before, **dict.fromkeys(may_change)} != {**now, **dict.fromkeys(may_change)}:
            raise InputError(
                f"{folder} was started with other settings ({folder / RUN_CONFIG}): resume with the same ones."
            )
    return (folder / DESCRIPTION).exists()


def read_run_config(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.")
    try:
        config: dict[str, Any] = json.loads((folder / RUN_CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{folder} holds no training ({RUN_CONFIG} is missing or broken).") from None
    return config


def save_detector(folder: Path, model: Autoencoder, about: dict[str, Any]) -> None:
    """Write the weights, then the description with their hash: a folder with a description is complete."""
    weights = save({name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()})
    write_atomically(folder / WEIGHTS, weights)
    description = {"network": asdict(model.config), "weights_sha256": hashlib.sha256(weights).hexdigest(), **about}
    write_json(folder / DESCRIPTION, {**description, SEAL: sealed(description)})


def load_detector(folder: Path) -> tuple[Autoencoder, dict[str, Any]]:
    """The network in evaluation mode, and the content of ``detector.json``."""
    about = read_description(folder)
    weights = read_checked(folder / WEIGHTS, about["weights_sha256"])
    try:
        config = NetworkConfig(**with_kinds(about["network"]))
        tensors = load(weights)
        with torch.device("meta"):  # shapes without memory: a manipulated config may be too large for any machine
            expected = Autoencoder(config).state_dict()
        if _shapes(tensors) != _shapes(expected):
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
    """The content of ``detector.json``, if its hash is right."""
    path = folder / DESCRIPTION
    if not folder.is_dir():
        raise InputError(f"There is no detector folder {folder}.")
    if not path.is_file():
        raise InputError(f"{folder} holds no finished detector ({DESCRIPTION} is missing): finish it with --resume.")
    about = read_json(path)
    if not isinstance(about, dict) or not isinstance(about.get("network"), dict) or "weights_sha256" not in about:
        raise InputError(f"{path} cannot be read as the description of a detector.")
    if about.get(SEAL) != sealed(about):
        raise InputError(f"{path} is not as it was saved, or of an earlier version: its own hash differs. Train again.")
    return about


def sealed(description: dict[str, Any]) -> str:
    """The hash of a description without its own."""
    content = {name: value for name, value in description.items() if name != SEAL}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_checked(path: Path, sha256: str) -> bytes:
    """The content of a detector's file, if its hash is right."""
    if not path.is_file():
        raise InputError(f"The detector {path.parent} has no {path.name}.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InputError(f"{path} is not the file that its detector was saved with: its hash differs.")
    return content


def _shapes(tensors: dict[str, torch.Tensor]) -> dict[str, tuple[torch.Size, torch.dtype]]:
    return {name: (value.shape, value.dtype) for name, value in tensors.items()}
