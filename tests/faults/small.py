"""The smallest trainings and clips that still go all the way, for tests that need hundreds of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tracked_clip import write_pictures
from withinpx.data.scenes import BLUE, RED
from withinpx.data.stage import Camera, SceneObject, Stage
from withinpx.experiments import central
from withinpx.experiments.synthetic import SquaresRun
from withinpx.tracking import attempt
from withinpx.tracking.plan import Wishes
from withinpx.tracking.track import TrackSettings
from withinpx.training.callback import Callback
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
TRACK = TrackSettings(wishes=Wishes(objects=2, channels=4), budget_s=0.0)
TRACK_COMMAND = "--objects 2 --channels 4 --budget 0 --device cpu"
QUICK_CLIP = replace(CLIP, warm_start_steps=4, batch_size=6)
QUICK_STEPS = 14  # seven epochs


class CrashError(Exception):
    """A crash in the middle of training."""


class CrashAfter(Callback):
    """Breaks off after an epoch, before its checkpoint."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        if epoch.epoch == self._epoch:
            raise CrashError


def small_clip(folder: Path) -> Path:
    """Two things on ways of their own, as a folder of pictures."""
    share = np.linspace(0, 1, FRAMES)
    across = 7 + (WIDTH - 14) * share
    things = (
        SceneObject("disc", RED, 7, np.stack([across, np.full(FRAMES, 8.3)], axis=1)),
        SceneObject("square", BLUE, 6, np.stack([WIDTH - across, np.full(FRAMES, 21.6)], axis=1)),
    )
    return write_pictures(folder, Stage(things, WIDTH, HEIGHT, camera=Camera(0.005)).render().clip)


@contextmanager
def quick() -> Iterator[None]:
    """Clips and the paper's central settings in a second or two each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt, "STEPS", QUICK_STEPS)
        patch.setattr(attempt, "CLIP", QUICK_CLIP)
        patch.setattr(central, "SETTINGS", (replace(SQUARES, recipe=CLIP), replace(SQUARES, decoder_rf=7)))
        yield
