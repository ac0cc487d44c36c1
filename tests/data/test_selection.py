"""A part of a recording at another size: every place in it is told exactly in the recording's pixels."""

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.data.selection import Selection

WIDTH, HEIGHT, REACH = 643, 371, 24
OFF_PX = 0.15  # a pixel is the mean of whole ones: each reaches up to half a pixel too far, on either side
NEAR, FAR = REACH + 0.3, (WIDTH - REACH - 0.7, HEIGHT - REACH - 0.7)
PLACES = [(NEAR, NEAR), (FAR[0], NEAR), (NEAR, FAR[1]), FAR, (310.4, 180.9)]  # the corners, and somewhere


def with_a_spot(x: float, y: float) -> NDArray[np.uint8]:
    """Bright in the dark, and soft: the middle of its light does not hang on single pixels."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    light = np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / (2 * (REACH / 4) ** 2))
    return np.asarray((light[..., None] * (250, 200, 150)).round().astype(np.uint8))


def middle(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Where its light is, (x, y)."""
    light = picture.sum(axis=-1).astype(np.float64)
    rows, columns = np.mgrid[: light.shape[0], : light.shape[1]] + 0.5
    return np.asarray(np.array([(light * columns).sum(), (light * rows).sum()]) / light.sum())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("scale", [0.23, 0.5, 0.77, 2.0])
def test_a_place_in_a_scaled_picture_is_that_place_in_the_recording(place: tuple[float, float], scale: float) -> None:
    selection = Selection(scale=scale)
    found = selection.to_recording(middle(selection.apply(with_a_spot(*place))))
    np.testing.assert_allclose(found, place, atol=OFF_PX)


def test_so_is_one_in_a_scaled_crop() -> None:
    selection = Selection(crop=(300, 150, 331, 207), scale=0.23)
    place = (300 + 331 - REACH - 6, 150 + 207 - REACH - 6)
    found = selection.to_recording(middle(selection.apply(with_a_spot(*place))))
    np.testing.assert_allclose(found, place, atol=OFF_PX)


@pytest.mark.parametrize(("scale", "shape"), [(0.23, (85, 147, 3)), (0.5, (185, 321, 3)), (0.001, (1, 1, 3))])
def test_no_pixel_of_a_scaled_picture_lies_partly_outside(scale: float, shape: tuple[int, ...]) -> None:
    full = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
    scaled = Selection(scale=scale).apply(full)
    assert scaled.shape == shape
    assert (scaled == 200).all()


def test_a_whole_pixel_is_not_lost_to_rounding() -> None:
    assert Selection(scale=0.07).apply(np.zeros((100, 300, 1), np.uint8)).shape == (7, 21, 1)
    assert Selection(scale=1 / 3).apply(np.zeros((48, 63, 1), np.uint8)).shape == (16, 21, 1)
    assert Selection(scale=0.29).apply(np.zeros((100, 200, 1), np.uint8)).shape == (29, 58, 1)  # 0.29 * 100 < 29


def test_a_pixel_of_a_picture_at_half_its_size_is_the_mean_of_four() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (9, 13, 3)).astype(np.uint8)
    means = picture[:8, :12].reshape(4, 2, 6, 2, 3).mean(axis=(1, 3))
    assert np.abs(Selection(scale=0.5).apply(picture) - means).max() <= 1


def test_what_is_not_scaled_is_the_same_pixels() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (9, 13, 3)).astype(np.uint8)
    np.testing.assert_array_equal(Selection().apply(picture), picture)
