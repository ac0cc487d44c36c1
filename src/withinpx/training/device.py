"""Devices and their arithmetic."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from withinpx.errors import InputError

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose_device(name: str = "auto") -> torch.device:
    """The device by name; ``auto`` is the fastest one available."""
    if name not in DEVICES:
        raise InputError(f"There is no device {name}: choose one of {', '.join(DEVICES)}.")
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, found in available.items() if found)
    if not available[name]:
        raise InputError(f"The device {name} is not available on this machine: use --device auto.")
    if name == "cuda":
        torch.set_float32_matmul_precision("high")
    return torch.device(name)


@contextmanager
def denormals_as_zero() -> Iterator[None]:
    """Flush denormal numbers to zero.

    The far tails of heatmaps produce many, and a CPU computes with them some fifty times slower. Threads inherit the
    mode from the one that starts them: enter before the first large computation.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
