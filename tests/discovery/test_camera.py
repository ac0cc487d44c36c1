"""What rested before a moving camera does not stay in its backdrops; what the scene itself shows does."""

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.data.stage import Ground
from withinpx.discovery.background import Pictures, difference
from withinpx.discovery.camera import without_resting

FRAMES, WIDTH, HEIGHT = 16, 48, 36
RESTING = slice(4, 9)  # frames
THING = (slice(10, 18), slice(20, 30))  # rows, columns


@pytest.fixture
def dark() -> Pictures:
    """Backdrops of a camera that pans over a dark ground."""
    ground = Ground((0.12, 0.13, 0.1), 0.02)
    return np.stack([ground.seen(WIDTH, HEIGHT, (4 * frame, frame), 0) for frame in range(FRAMES)]).astype(np.float32)


def with_a_thing(pictures: Pictures, brightness: float = 0.9) -> Pictures:
    spoiled = pictures.copy()
    spoiled[(RESTING, *THING)] = brightness
    return spoiled


def beside_the_thing() -> NDArray[np.bool_]:
    """(f, h, w): more than 2 px from it, or when it is not there."""
    near = np.zeros((FRAMES, HEIGHT, WIDTH), np.bool_)
    near[RESTING, 8:20, 18:32] = True
    return ~near


def test_a_bright_thing_that_rested_on_a_dark_scene_is_gone(dark: Pictures) -> None:
    spoiled = with_a_thing(dark)
    cleaned = without_resting(spoiled)
    assert difference(spoiled, dark).max() > 0.7
    assert difference(cleaned, dark).max() < 0.15
    assert cleaned.dtype == np.float32


def test_nothing_else_changes(dark: Pictures) -> None:
    spoiled = with_a_thing(dark)
    elsewhere = beside_the_thing()
    np.testing.assert_array_equal(without_resting(spoiled)[elsewhere], dark[elsewhere])


def test_backdrops_without_such_a_thing_stay_as_they_are(dark: Pictures) -> None:
    np.testing.assert_array_equal(without_resting(dark), dark)


def test_a_scene_that_is_itself_as_bright_and_dark_stays_as_it_is() -> None:
    """Where the scene varies by as much, nobody can say what is a thing."""
    ground = Ground((0.5, 0.5, 0.5), 0.3)
    wild = np.stack([ground.seen(WIDTH, HEIGHT, (9 * frame, 5 * frame), 0) for frame in range(FRAMES)])
    spoiled = with_a_thing(wild.astype(np.float32))
    np.testing.assert_array_equal(without_resting(spoiled), spoiled)


def test_noise_and_rounding_are_no_thing() -> None:
    noise = np.random.default_rng(0).normal(0, 0.002, (FRAMES, HEIGHT, WIDTH, 3))
    even = (0.3 + noise).astype(np.float32)
    np.testing.assert_array_equal(without_resting(even), even)
