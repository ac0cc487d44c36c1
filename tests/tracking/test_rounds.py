"""A second round of training goes on from the first; the first network stays as it was."""

import numpy as np
import pytest

from tests.tracked_clip import small_stage, small_training
from withinpx.discovery.inspection import inspect
from withinpx.tracking import attempt
from withinpx.tracking.attempt import train
from withinpx.tracking.fitting import make_setup
from withinpx.tracking.options import TrackOptions
from withinpx.training.callback import Callback
from withinpx.training.fit import FitSettings
from withinpx.training.log import Epoch
from withinpx.training.recipe import Recipe


class Accuracies(Callback):
    def __init__(self) -> None:
        self.accuracies: list[float] = []
        self.warm_start_steps = 0

    def on_warm_start_step(self, step: int, recipe: Recipe) -> None:
        self.warm_start_steps += 1

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        self.accuracies.append(epoch.reconstruction_accuracy)


def test_a_second_round_goes_on_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = make_setup(inspect(small_stage().render().clip), TrackOptions(channels=8))
    first, second = Accuracies(), Accuracies()
    frames = np.arange(len(setup.inspection.clip))
    with small_training():
        monkeypatch.setattr(attempt, "STEPS", 24)
        network = train(setup, frames, 0, FitSettings(callbacks=(first,)))
        before = {name: value.clone() for name, value in network.state_dict().items()}
        longer = train(setup, frames, 0, FitSettings(callbacks=(second,)), earlier=network, length=2)
    assert first.warm_start_steps > 0
    assert second.warm_start_steps < first.warm_start_steps  # none but for heatmaps that lost their object
    assert len(second.accuracies) == 2 * len(first.accuracies)
    assert second.accuracies[0] > first.accuracies[0]
    assert second.accuracies[-1] > first.accuracies[-1]
    assert all((value == before[name]).all() for name, value in network.state_dict().items())
    assert longer is not network
