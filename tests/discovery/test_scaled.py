"""Movers seen at one size, told in pictures of another."""

from dataclasses import replace

import numpy as np
import pytest

from withinpx.data import scenes
from withinpx.data.clip import Clip
from withinpx.data.selection import Selection
from withinpx.discovery.inspection import Inspection, inspect
from withinpx.discovery.objects import Blob, MovingObject

COLOUR = np.array([0.8, 0.2, 0.1])


def blob(frame: int = 0, x: float = 30.0, area: int = 100, size: int = 12) -> Blob:
    return Blob(frame, (x, 17.0), (int(x) - 6, 11, int(x) + 6, 23), area, COLOUR, 0.5, size)


def test_places_and_sizes_shrink_with_the_picture_and_areas_by_the_square() -> None:
    small = blob().scaled(0.5)
    assert small.centre == (15.0, 8.5)
    assert small.box == (12, 5, 18, 12)  # takes in every pixel that it touches
    assert (small.area, small.size) == (25, 6)


def test_its_colour_contrast_and_frame_stay() -> None:
    small = blob(frame=7).scaled(0.25)
    assert (small.frame, small.contrast) == (7, 0.5)
    np.testing.assert_array_equal(small.colour, COLOUR)


def test_even_the_smallest_is_a_pixel() -> None:
    speck = blob(area=6, size=2).scaled(0.1)
    assert (speck.area, speck.size) == (1, 1)


def test_a_mover_is_scaled_in_every_frame() -> None:
    mover = MovingObject((blob(0, 20), blob(1, 40), blob(4, 60)))
    small = mover.scaled(0.5)
    assert small.frames == mover.frames == [0, 1, 4]
    assert small.travel == mover.travel / 2 == 20
    assert small.sizes == (6, 6)
    assert small.weight == mover.weight / 4


@pytest.fixture(scope="module")
def large_and_small() -> tuple[Inspection, Inspection]:
    """The same clip, looked at as it is and at half its size."""
    clip = scenes.three_things(frames=16).clip
    half = Selection(scale=0.5)
    frames = np.stack([half.of(frame) for frame in clip.frames])
    return inspect(clip), inspect(Clip(frames, clip.times_s, clip.source, half))


def test_scaled_movers_are_where_the_smaller_pictures_show_them(large_and_small: tuple[Inspection, Inspection]) -> None:
    large, small = large_and_small
    joined = small.with_movers_of(large, 0.5)
    assert len(joined.objects) == len(small.objects) == 3
    for mover, expected in zip(joined.objects, small.objects, strict=True):
        there = {each.frame: each for each in mover.blobs}
        both = [(there[each.frame], each) for each in expected.blobs if each.frame in there]
        assert len(both) >= 14
        off = [np.abs(np.subtract(one.centre, other.centre)).max() for one, other in both]
        assert np.median(off) < 0.3


def test_all_but_the_movers_is_that_of_the_smaller_pictures(large_and_small: tuple[Inspection, Inspection]) -> None:
    large, small = large_and_small
    lamp = MovingObject((blob(0), blob(1)))
    joined = small.with_movers_of(replace(large, stationary=(lamp,)), 0.5)
    assert joined.images is small.images
    assert joined.background is small.background
    assert joined.camera is small.camera
    assert [each.blobs[0].centre for each in joined.stationary] == [(15.0, 8.5)]
