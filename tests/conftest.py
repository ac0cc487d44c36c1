"""What is trained once for all tests that need it: one tiny network, one small clip's detector."""

import os
from collections.abc import Iterator

import pytest
import torch
from hypothesis import settings

from tests.tracked_clip import TrackedClip, one_thread, track_once
from withinpx.experiments.synthetic import SquaresRun, train
from withinpx.model.autoencoder import Autoencoder
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import Recipe

settings.register_profile("repeatable", derandomize=True, deadline=None)  # --hypothesis-profile=default explores
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    """Tests in several processes share the cores: threads that wait for a core are many times slower than one."""
    workers = getattr(config, "workerinput", {}).get("workercount")
    if workers:
        threads = max(1, (os.cpu_count() or 1) // workers)
        torch.set_num_threads(threads)
        os.environ["OMP_NUM_THREADS"] = str(threads)  # of processes that tests start


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", action="store_true", help="fault tests in full, counts into results/torture.json")


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


@pytest.fixture(scope="module")
def alone() -> Iterator[None]:
    """Small computations, which several threads only slow down."""
    with one_thread():
        yield


@pytest.fixture(scope="session")
def tracked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TrackedClip:
    """A small clip, tracked once for all tests, which only read it."""
    temporary = tmp_path_factory.getbasetemp()  # where tests run in several processes, of this one
    return track_once(temporary.parent if hasattr(request.config, "workerinput") else temporary)
