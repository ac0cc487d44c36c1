"""Which device to train on."""

from collections.abc import Iterator
from contextlib import contextmanager

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
        torch.set_float32_matmul_precision("high")
    return torch.device(name)


@contextmanager
def denormals_as_zero() -> Iterator[None]:
    """While this lasts, numbers below 1e-38 are zero, as they might as well be.

    The far tails of heatmaps make many of them, and a CPU computes with them some fifty times slower. Threads take it
    over from the one that starts them: begin before the first large computation.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
