"""Crash-safe training state: one safetensors file, replaced atomically, no pickle."""

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Adam

from withinpx.errors import InputError
from withinpx.files import write_atomically

CHECKPOINT = "checkpoint.safetensors"


def save_checkpoint(folder: Path, model: nn.Module, optimiser: Adam, seen: dict[str, Tensor], epoch: int) -> None:
    """All that the next epoch depends on: weights, batch-norm statistics, Adam's moments and the epoch's number.

    ``seen`` are the positions of the objects in earlier epochs, by which convergence and lost objects are detected.
    """
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    tensors |= {f"seen.{name}": value for name, value in seen.items()}
    for index, moments in optimiser.state_dict()["state"].items():
        tensors |= {f"adam.{index}.{name}": torch.as_tensor(value) for name, value in moments.items()}
    content = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    write_atomically(folder / CHECKPOINT, save(content, metadata={"epoch": str(epoch)}))


def load_checkpoint(folder: Path, model: nn.Module, optimiser: Adam, seen: dict[str, Tensor]) -> int:
    """Restore the state in place; returns the last finished epoch, 0 if there is no checkpoint."""
    path = folder / CHECKPOINT
    if not path.exists():
        return 0
    try:
        with safe_open(path, framework="pt") as file:
            epoch = int(file.metadata()["epoch"])
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        model.load_state_dict(_under("model.", tensors))
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in _under("adam.", tensors).items():
            index, moment = name.split(".")
            moments.setdefault(int(index), {})[moment] = value
        optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
        for name, value in seen.items():
            value.copy_(tensors[f"seen.{name}"])
    except (SafetensorError, RuntimeError, KeyError, TypeError, ValueError, OSError) as error:
        raise InputError(
            f"The checkpoint {path} cannot be read ({type(error).__name__}): train again into another folder."
        ) from None
    return epoch


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
