"""Which device to train on."""

import torch

from withinpx.errors import InputError

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose_device(name: str = "auto") -> torch.device:
    """The device by name; ``auto`` takes the fastest there is."""
    if name not in DEVICES:
        raise InputError(f"There is no device {name}: choose one of {', '.join(DEVICES)}.")
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(each for each, there in available.items() if there)
    if not available[name]:
        raise InputError(f"The device {name} is not available on this machine: use --device auto.")
    if name == "cuda":
        torch.backends.cudnn.benchmark = True  # batches are all of one size
        torch.set_float32_matmul_precision("high")
    return torch.device(name)
