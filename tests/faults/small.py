"""The smallest trainings and clips that still run every step, for tests that need hundreds of them; shared helpers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tracked_clip import write_images
from withinpx.cli import main
from withinpx.cli.common import NOTHING_CERTIFIED
from withinpx.data.scenes import BLUE, RED
from withinpx.data.stage import Camera, SceneObject, Stage
from withinpx.experiments import central
from withinpx.experiments.synthetic import SquaresRun, train
from withinpx.tracking import attempt
from withinpx.tracking.options import TrackOptions
from withinpx.training.callback import Callback
from withinpx.training.fit import FitSettings
from withinpx.training.log import Epoch
from withinpx.training.recipe import CLIP, Recipe

FRAMES, WIDTH, HEIGHT = 16, 40, 30
SQUARES = SquaresRun(
    encoder_rf=3,
    decoder_rf=5,
    object_size=3,
    image_size=16,
    channels=4,
    recipe=Recipe(name="small", epochs=6, batch_size=16, learning_rate=1e-3),
)
TRACK = TrackOptions(objects=2, channels=4, budget=0.0)
TRACK_COMMAND = "--objects 2 --channels 4 --budget 0 --device cpu"
QUICK_CLIP = replace(CLIP, warm_start_steps=4, batch_size=6)
QUICK_STEPS = 14  # seven epochs
Weights = dict[str, torch.Tensor]


class CrashError(Exception):
    """A crash during training."""


class CrashAfter(Callback):
    """Crashes after an epoch, before its checkpoint."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        if epoch.epoch == self._epoch:
            raise CrashError


def small_clip(folder: Path) -> Path:
    """A folder of images with two objects that cross the frame on separate trajectories."""
    share = np.linspace(0, 1, FRAMES)
    across = 7 + (WIDTH - 14) * share
    objects = (
        SceneObject("disc", RED, 7, np.stack([across, np.full(FRAMES, 8.3)], axis=1)),
        SceneObject("square", BLUE, 6, np.stack([WIDTH - across, np.full(FRAMES, 21.6)], axis=1)),
    )
    return write_images(folder, Stage(objects, WIDTH, HEIGHT, camera=Camera(0.005)).render().clip)


@contextmanager
def quick() -> Iterator[None]:
    """Clips and the paper's central settings train in a second or two each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt, "STEPS", QUICK_STEPS)
        patch.setattr(attempt, "CLIP", QUICK_CLIP)
        patch.setattr(central, "SETTINGS", (replace(SQUARES, recipe=CLIP), replace(SQUARES, decoder_rf=7)))
        yield


def trained_weights(run: SquaresRun, settings: FitSettings) -> Weights:
    return {name: value.clone() for name, value in train(run, settings).state_dict().items()}


def is_equal(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


def is_one_line(message: str) -> bool:
    """What every refusal must be: one sentence on one line."""
    return message.endswith(".") and "\n" not in message


def run_command(command: list[str]) -> None:
    """A command that may certify nothing: trainings this short need not succeed."""
    try:
        main(command)
    except SystemExit as stop:
        if stop.code != NOTHING_CERTIFIED:
            raise


def refused_command(capsys: pytest.CaptureFixture[str], *command: str | Path) -> list[str]:
    """The lines on standard error of a command that exits with status 2 and prints no result and no traceback."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in command])
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    lines = printed.err.splitlines()
    assert lines[-1].startswith("withinpx: ")
    return lines
