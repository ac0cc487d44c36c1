"""Jobs in place of trainings, importable by any process."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from withinpx.errors import InputError
from withinpx.experiments.fig4 import Mode, Setting
from withinpx.jobs.job import Row


def train(setting: Setting, seeds: Sequence[int], epochs: int, device: str, mode: Mode = "until learned") -> list[Row]:
    """Rows of figure 4 with half of the bound as error; seed 2 is always discarded."""
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


def rows(name: str, seeds: tuple[int, ...]) -> list[Row]:
    return [{"name": name, "seed": seed} for seed in seeds]


def rows_after(name: str, seeds: tuple[int, ...], began: Path, go: Path) -> list[Row]:
    """Rows once ``go`` exists; leaves a file that names the node and process it ran on. On a Ray cluster only."""
    import ray  # noqa: PLC0415

    (began / f"{name}-{ray.get_runtime_context().get_node_id()}-{os.getpid()}").touch()
    while not go.exists():
        time.sleep(0.05)
    time.sleep(0.2)
    return rows(name, seeds)


def refused(message: str) -> list[Row]:
    raise InputError(message)


def dies_at_first(name: str, log: Path) -> list[Row]:
    """Kills its process, the first time."""
    mark = log / name
    if not mark.exists():
        mark.touch()
        os._exit(1)
    return rows(name, (0,))


def always_dies() -> list[Row]:
    os._exit(1)
