"""Jobs that stand for trainings, importable by any process."""

import os
import time
from pathlib import Path
from typing import Any

from withinpx.errors import InputError
from withinpx.experiments.fig4 import Setting


def train(setting: Setting, seeds: tuple[int, ...], epochs: int, device: str) -> list[dict[str, Any]]:
    """Rows as a training would answer: half of the bound as error; seed 2 is always discarded."""
    return [
        {
            **setting.columns(seed),
            "epochs": epochs,
            "reconstruction_accuracy": 0.5 if seed == 2 else 1.0,
            "accepted": seed != 2,
            "position_error": round(max(0.0, setting.bound() / 2), 4),
            "calibrated_error": 0.0001,
            "bound_encoder": setting.bound_encoder,
            "bound_decoder_mean": setting.bound_decoder_mean,
            "start": "fake",
            "seconds": 0.1,
        }
        for seed in seeds
    ]


def rows(name: str, seeds: tuple[int, ...]) -> list[dict[str, Any]]:
    """A row for each seed."""
    return [{"name": name, "seed": seed} for seed in seeds]


def rows_after(name: str, seeds: tuple[int, ...], began: Path, go: Path) -> list[dict[str, Any]]:
    """The same once ``go`` is there; leaves a file that tells where it began. On a Ray cluster only."""
    import ray  # noqa: PLC0415

    (began / f"{name}-{ray.get_runtime_context().get_node_id()}-{os.getpid()}").touch()
    while not go.exists():
        time.sleep(0.05)
    time.sleep(0.2)
    return rows(name, seeds)


def refused(sentence: str) -> list[dict[str, Any]]:
    """A mistake of the user's."""
    raise InputError(sentence)


def dies_at_first(name: str, log: Path) -> list[dict[str, Any]]:
    """Takes its whole process with it, the first time."""
    mark = log / name
    if not mark.exists():
        mark.touch()
        os._exit(1)
    return rows(name, (0,))


def always_dies() -> list[dict[str, Any]]:
    """Takes its whole process with it, every time."""
    os._exit(1)
