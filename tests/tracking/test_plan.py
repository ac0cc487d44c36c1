"""From the sizes of the objects to the scale that they are processed at, and the network for it."""

import numpy as np
import pytest

from withinpx.data.clip import Clip
from withinpx.discovery.inspection import Inspection, inspect
from withinpx.errors import InputError
from withinpx.tracking.fitting import make_setup
from withinpx.tracking.options import LARGEST_OBJECT, TrackOptions
from withinpx.tracking.plan import working_scale

SIDE = 44  # px of the object


@pytest.fixture(scope="module")
def inspection() -> Inspection:
    """A bright square that crosses a grey frame."""
    frames = np.full((16, 120, 160, 1), 90, np.uint8)
    for index, frame in enumerate(frames):
        frame[30 + index : 30 + index + SIDE, 7 * index : 7 * index + SIDE] = 210
    return inspect(Clip(frames, np.arange(16) / 25, "square"))


def test_objects_above_25_px_are_scaled_down_unless_another_size_is_given(inspection: Inspection) -> None:
    usual, own_size = (make_setup(inspection, options) for options in (TrackOptions(), TrackOptions(largest_object=60)))
    assert 0.5 < usual.inspection.clip.selection.scale < 25 / SIDE + 0.01
    assert usual.plan.network.decoder_rf <= 31
    assert own_size.original is None
    assert (own_size.inspection.clip.width, own_size.inspection.clip.height) == (160, 120)
    assert SIDE <= own_size.plan.network.encoder_rf <= own_size.plan.network.decoder_rf <= SIDE + 8
    assert own_size.plan.bound < usual.plan.bound  # px of the recording


def test_the_scale_makes_the_largest_object_as_large_as_asked_for_and_no_larger(inspection: Inspection) -> None:
    largest = inspection.sizes[1]
    for side in (10.0, 25.0, 40.0):
        assert side - 1 <= working_scale(inspection, side) * largest <= side
    assert working_scale(inspection, largest) == 1.0


@pytest.mark.parametrize("side", [0.0, -3.0, LARGEST_OBJECT + 1, float("nan")])
def test_a_size_that_no_network_renders_is_refused(side: float) -> None:
    with pytest.raises(InputError, match="largest object is"):
        TrackOptions(largest_object=side)
