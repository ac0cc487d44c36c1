"""A moving camera: its path, and backgrounds in which no resting object remains."""

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.data.stage import Ground
from withinpx.discovery.background import FloatImages, difference, to_uint8
from withinpx.discovery.camera import camera_path, nearby_background, without_resting

FRAMES, WIDTH, HEIGHT = 16, 48, 36
RESTING = slice(4, 9)  # frames
BOX = (slice(10, 18), slice(20, 30))  # rows, columns


def panned(ground: Ground, step: tuple[float, float], size: tuple[int, int] = (WIDTH, HEIGHT)) -> FloatImages:
    """What a camera sees that moves over the ground by (x, y) px per frame."""
    views = [ground.render(*size, (step[0] * frame, step[1] * frame), 0) for frame in range(FRAMES)]
    return np.stack(views).astype(np.float32)


@pytest.fixture
def dark() -> FloatImages:
    return panned(Ground((0.12, 0.13, 0.1), 0.02), (4, 1))


def with_object(images: FloatImages, brightness: float = 0.9) -> FloatImages:
    images = images.copy()
    images[(RESTING, *BOX)] = brightness
    return images


def test_a_bright_object_that_rested_on_a_dark_scene_is_removed(dark: FloatImages) -> None:
    spoiled = with_object(dark)
    cleaned = without_resting(spoiled)
    assert difference(spoiled, dark).max() > 0.7
    assert difference(cleaned, dark).max() < 0.15
    assert cleaned.dtype == np.float32


def test_nothing_else_changes(dark: FloatImages) -> None:
    near: NDArray[np.bool_] = np.zeros(dark.shape[:3], np.bool_)
    near[RESTING, 8:20, 18:32] = True  # within 2 px
    np.testing.assert_array_equal(without_resting(with_object(dark))[~near], dark[~near])


def test_backgrounds_without_a_resting_object_stay_as_they_are(dark: FloatImages) -> None:
    np.testing.assert_array_equal(without_resting(dark), dark)


def test_a_scene_as_bright_and_dark_as_an_object_stays_as_it_is() -> None:
    spoiled = with_object(panned(Ground((0.5, 0.5, 0.5), 0.3), (9, 5)))
    np.testing.assert_array_equal(without_resting(spoiled), spoiled)


def test_noise_and_rounding_are_no_resting_object() -> None:
    noise = np.random.default_rng(0).normal(0, 0.002, (FRAMES, HEIGHT, WIDTH, 3))
    even = (0.3 + noise).astype(np.float32)
    np.testing.assert_array_equal(without_resting(even), even)


def test_the_path_and_the_backgrounds_of_a_panning_camera_are_found() -> None:
    images = panned(Ground((0.4, 0.4, 0.4), 0.2), (1.5, -0.5), (96, 72))
    path = camera_path(to_uint8(images))
    np.testing.assert_allclose(np.diff(path, axis=0), np.tile((-1.5, 0.5), (FRAMES - 1, 1)), atol=0.2)
    model = nearby_background(to_uint8(images), path)
    assert np.median(difference(model.images, images)) < 0.01


def test_a_fixed_camera_has_no_path() -> None:
    images = panned(Ground((0.4, 0.4, 0.4), 0.2), (1.5, -0.5), (96, 72))
    np.testing.assert_allclose(camera_path(to_uint8(images[:1].repeat(3, axis=0))), 0, atol=0.01)
