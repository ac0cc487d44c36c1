"""An inspection at a smaller scale: the same frames and objects, resized."""

from dataclasses import replace

import numpy as np
import pytest

from withinpx.data import scenes
from withinpx.discovery.background import difference
from withinpx.discovery.camera import camera_path, nearby_background
from withinpx.discovery.inspection import Inspection, inspect
from withinpx.discovery.objects import Blob, MovingObject

COLOUR = np.array([0.8, 0.2, 0.1])


def blob(frame: int = 0, x: float = 30.0, area: int = 100, size: int = 12) -> Blob:
    return Blob(frame, (x, 17.0), (int(x) - 6, 11, int(x) + 6, 23), area, COLOUR, size)


def test_positions_and_sizes_scale_and_areas_scale_by_the_square() -> None:
    small = blob().scaled(0.5)
    assert small.centre == (15.0, 8.5)
    assert small.box == (12, 5, 18, 12)  # every pixel that it touches
    assert (small.area, small.size) == (25, 6)


def test_colour_and_frame_stay() -> None:
    small = blob(frame=7).scaled(0.25)
    assert small.frame == 7
    np.testing.assert_array_equal(small.colour, COLOUR)


def test_the_smallest_blob_has_one_pixel() -> None:
    speck = blob(area=6, size=2).scaled(0.1)
    assert (speck.area, speck.size) == (1, 1)


def test_an_object_is_scaled_in_every_frame() -> None:
    obj = MovingObject((blob(0, 20), blob(1, 40), blob(4, 60)))
    small = obj.scaled(0.5)
    assert small.frames == obj.frames == [0, 1, 4]
    assert small.travel == obj.travel / 2 == 20
    assert small.sizes == (6, 6)
    assert small.weight == obj.weight / 4


@pytest.fixture(scope="module")
def full() -> Inspection:
    return inspect(scenes.three_objects(frames=16).clip)


@pytest.fixture(scope="module")
def half(full: Inspection) -> Inspection:
    return full.scaled(0.5)


def test_scaled_objects_are_where_the_smaller_frames_show_them(full: Inspection, half: Inspection) -> None:
    found = inspect(full.clip.scaled(0.5))
    assert len(half.objects) == len(found.objects) == 3
    for obj, expected in zip(half.objects, found.objects, strict=True):
        by_frame = {blob.frame: blob for blob in obj.blobs}
        both = [(by_frame[blob.frame], blob) for blob in expected.blobs if blob.frame in by_frame]
        assert len(both) >= 14
        off = [np.abs(np.subtract(one.centre, other.centre)).max() for one, other in both]
        assert np.median(off) < 0.3


def test_frames_and_background_are_those_of_the_smaller_clip(full: Inspection, half: Inspection) -> None:
    clip = full.clip.scaled(0.5)
    np.testing.assert_array_equal(half.clip.frames, clip.frames)
    assert half.clip.selection == clip.selection
    found = inspect(clip).background
    assert half.background.images.dtype == np.float32
    assert difference(half.background.images, found.images).max() < 0.02
    assert np.median(half.background.threshold) == pytest.approx(np.median(found.threshold), rel=0.1)
    disagree = half.background.changed(clip.frames) != found.changed(clip.frames)
    assert disagree.mean() < 1e-3


def test_stationary_objects_are_scaled(full: Inspection) -> None:
    small = replace(full, stationary=(MovingObject((blob(0), blob(1))),)).scaled(0.5)
    assert [obj.blobs[0].centre for obj in small.stationary] == [(15.0, 8.5)]


def test_the_noise_of_unordered_images_is_measured_by_their_own_rule(full: Inspection) -> None:
    small = replace(full, unordered=True).scaled(0.5)
    assert small.unordered
    assert small.background.threshold.shape == (48, 64)
    assert (small.background.threshold != full.scaled(0.5).background.threshold).any()


def test_the_background_of_a_moving_camera_is_that_of_detection(full: Inspection) -> None:
    images = np.repeat(full.background.images, 16, axis=0)
    small = replace(full, background=replace(full.background, images=images)).scaled(0.5)
    assert small.camera_moves
    assert small.background.images.shape == (16, 48, 64, 3)
    np.testing.assert_array_equal(small.camera, camera_path(small.clip.frames))
    expected = nearby_background(small.clip.frames, small.camera)
    np.testing.assert_array_equal(small.background.images, expected.images)
    np.testing.assert_array_equal(small.background.threshold, expected.threshold)


def test_full_scale_is_the_inspection_itself(full: Inspection) -> None:
    assert full.scaled(1) is full
