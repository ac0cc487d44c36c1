"""A run stops when its images are reconstructed and its positions have settled; a failing one is abandoned."""

from dataclasses import replace

import torch

from withinpx.data.squares import Squares
from withinpx.model.autoencoder import NetworkConfig, new_network
from withinpx.training.convergence import CHECK_STEPS, CONVERGED_ACCURACY, CONVERGED_PX, Convergence
from withinpx.training.engine import DenseEngine
from withinpx.training.log import Epoch
from withinpx.training.recipe import FIGURE

IMAGES = torch.from_numpy(Squares(object_size=3, padding=3, image_size=20).train().images)
CONFIG = NetworkConfig(20, 20, encoder_rf=3, decoder_rf=5, sigma=0.8, channels=4)
EPOCHS = 5
MANY = CHECK_STEPS // EPOCHS * FIGURE.batch_size  # images, so that a check is due every EPOCHS


def engine() -> DenseEngine:
    made = DenseEngine(new_network(CONFIG, 0), IMAGES)
    made.latest_z[:] = 7.0
    return made


def epochs(count: int, accuracy: float = 1.0) -> list[Epoch]:
    return [Epoch(number, 0.0, accuracy, 0.0) for number in range(1, count + 1)]


def test_it_is_checked_every_few_epochs_and_only_if_the_recipe_stops_early() -> None:
    learned = Convergence(engine(), MANY, FIGURE)
    assert [learned.is_over(epochs(count)) for count in range(1, EPOCHS + 1)] == [False] * (EPOCHS - 1) + [True]
    assert not Convergence(engine(), MANY, replace(FIGURE, stop_when_converged=False)).is_over(epochs(EPOCHS))


def test_one_epoch_below_the_threshold_is_not_converged() -> None:
    dipped = [*epochs(EPOCHS - 1), Epoch(EPOCHS, 0.0, CONVERGED_ACCURACY - 1e-5, 0.0)]
    assert not Convergence(engine(), MANY, FIGURE).is_over(dipped)


def test_positions_that_still_move_are_not_converged() -> None:
    moving = engine()
    learned = Convergence(moving, MANY, FIGURE)
    moving.latest_z[3, 0, 1] += 2 * CONVERGED_PX
    assert not learned.is_over(epochs(EPOCHS))
    assert learned.is_over(epochs(2 * EPOCHS))  # settled since


def test_images_never_seen_are_not_converged() -> None:
    unseen = engine()
    unseen.latest_z[5] = torch.nan
    assert not Convergence(unseen, MANY, FIGURE).is_over(epochs(EPOCHS))


def test_failing_runs_are_abandoned_and_slow_ones_get_three_times_as_long() -> None:
    few = 10 * FIGURE.batch_size  # ten steps an epoch
    assert FIGURE.max_steps == 600
    assert not Convergence(engine(), few, FIGURE).is_over(epochs(55, accuracy=0.99))
    assert Convergence(engine(), few, FIGURE).is_over(epochs(60, accuracy=0.99))
    assert not Convergence(engine(), few, FIGURE).is_over(epochs(60, accuracy=0.9995))
    assert Convergence(engine(), few, FIGURE).is_over(epochs(180, accuracy=0.9995))
