"""One tiny network, trained once for all tests that need a trained one."""

import pytest
from hypothesis import settings

from withinpx.experiments.synthetic import SquaresRun, train
from withinpx.model.autoencoder import Autoencoder
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import Recipe

settings.register_profile("repeatable", derandomize=True, deadline=None)  # --hypothesis-profile=default explores
settings.load_profile("repeatable")

TINY = SquaresRun(
    encoder_rf=5,
    decoder_rf=9,
    object_size=5,
    sigma=0.8,
    image_size=30,
    channels=12,
    recipe=Recipe(name="tiny", epochs=80, batch_size=75, learning_rate=3e-3, warm_start_steps=80),
)


@pytest.fixture(scope="session")
def tiny_run() -> SquaresRun:
    return TINY


@pytest.fixture(scope="session")
def tiny_model() -> Autoencoder:
    return train(TINY, FitSettings())
