"""The background of a fixed camera: quantiles over time, and what an object hides for most of the clip."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from tests.discovery.drawings import RED, disc, drawn, line, wall
from withinpx.discovery.fixed_camera import quantile
from withinpx.discovery.inspection import inspect

IMAGES = arrays(np.uint8, some.tuples(some.integers(1, 40), some.just(3), some.just(4), some.sampled_from([1, 3])))
SHARES = some.floats(0, 1)


def lower_quantile(values: NDArray[np.uint8], share: float) -> NDArray[np.uint8]:
    index = int(np.floor(share * (len(values) - 1)))
    return np.asarray(np.partition(values, index, axis=0)[index])


@given(IMAGES, SHARES)
def test_the_quantile_is_that_of_sorted_values(images: NDArray[np.uint8], share: float) -> None:
    np.testing.assert_array_equal(quantile(list(images), share), lower_quantile(images, share))


@pytest.mark.parametrize("parked", [36, 42, 48])
@pytest.mark.parametrize("comes", [False, True])
def test_an_object_that_is_parked_for_most_of_the_clip_leaves_no_ghost(parked: int, comes: bool) -> None:
    """It drives off at the end, or comes at the beginning."""
    drive = line(60 - parked, (30, 40), (110, 30))
    path = [*[(30.0, 40.0)] * parked, *drive]
    inspection = inspect(drawn(60, disc(path[::-1] if comes else path, 7, RED)))
    (obj,) = inspection.objects
    assert len(obj.blobs) > parked
    ghost = np.abs(255 * inspection.background.images[0] - wall()).max(axis=-1) > 20
    assert not ghost.any()
