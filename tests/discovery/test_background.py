"""The background is the scene without its objects, whatever passes before it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.data import scenes
from withinpx.data.motion import still
from withinpx.data.stage import GeneratedClip
from withinpx.discovery import background
from withinpx.discovery.background import (
    BackgroundModel,
    Images,
    difference,
    quiet_difference,
    temporal_median,
    to_float,
    usual_difference,
)
from withinpx.discovery.fixed_camera import fixed_background

VISIBLE = 0.1  # of full contrast


def ground(made: GeneratedClip) -> NDArray[np.float32]:
    stage = made.stage
    return stage.ground.render(stage.width, stage.height, (0, 0), stage.seed).astype(np.float32)


def empty(made: GeneratedClip) -> GeneratedClip:
    away = still(made.stage.frames, (-50, -50))
    return replace(made.stage, objects=tuple(replace(thing, path=away) for thing in made.stage.objects)).render()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_object_that_rests_for_most_of_the_clip_is_not_in_the_background(seed: int) -> None:
    made = scenes.slow_object(seed=seed)
    images = temporal_median(made.clip.frames), fixed_background(made.clip.frames).images
    in_median, remaining = (int((difference(image, ground(made)) > VISIBLE).sum()) for image in images)
    assert in_median > 80
    assert remaining < 0.1 * in_median


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_passing_objects_do_not_change_the_background(seed: int) -> None:
    made = scenes.three_objects(seed=seed)
    found, expected = (fixed_background(clip.clip.frames).images for clip in (made, empty(made)))
    assert difference(found, expected).max() < 0.02
    assert difference(found, ground(made)).max() < 0.02


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.04])
def test_noise_is_no_change(noise: float) -> None:
    frames = empty(scenes.three_objects(frames=30, noise=noise)).clip.frames
    assert fixed_background(frames).changed(frames).mean() < 1e-3


def test_pixels_of_an_object_change_and_those_around_it_do_not() -> None:
    made = scenes.three_objects(frames=30)
    changed = fixed_background(made.clip.frames).changed(made.clip.frames)
    rows, columns = np.mgrid[: made.stage.height, : made.stage.width] + 0.5
    pixels = np.stack([columns, rows], axis=-1)[None, None]
    away = np.abs(pixels - made.truth[:, :, None, None]).max(axis=-1).min(axis=1)  # px from an object's centre
    assert changed[away < 2].mean() > 0.95
    assert changed[away > 9].mean() < 1e-3


@pytest.fixture
def random_model() -> BackgroundModel:
    random = np.random.default_rng(0)
    image = random.uniform(0, 1, (1, 40, 50, 3)).astype(np.float32)
    image[:, :4] = 0
    image[:, 4:8] = 1
    image[:, 8:20] = random.integers(0, 256, (12, 50, 3)) / np.float32(255)  # limits that fall on whole levels
    threshold = random.uniform(0.03, 0.3, (40, 50)).astype(np.float32)
    threshold[8:20] = random.integers(8, 60, (12, 50)) / np.float32(255)
    return BackgroundModel(image, threshold)


def test_uint8_frames_change_where_the_same_floats_do(random_model: BackgroundModel) -> None:
    random = np.random.default_rng(1)
    frames = random.integers(0, 256, (60, 40, 50, 3), dtype=np.uint8)
    limit = 255 * (random_model.images[0] + random_model.threshold[..., None])
    frames[:30] = np.clip(limit + random.integers(-3, 4, (30, *limit.shape)), 0, 255).round()
    np.testing.assert_array_equal(random_model.changed(frames), random_model.changed(to_float(frames)))


def test_a_pixel_counts_with_three_changed_neighbours() -> None:
    model = BackgroundModel(np.zeros((1, 9, 12, 1), np.float32), np.full((9, 12), 0.1, np.float32))
    frame = np.zeros((1, 9, 12, 1), np.uint8)
    frame[0, :2, :2] = 200  # in the corner
    frame[0, 4, 5:8] = 200  # three in a row
    frame[0, 7, 10] = 200
    assert np.argwhere(model.changed(frame)[0]).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_given_backgrounds_replace_the_model_s_own(random_model: BackgroundModel) -> None:
    """The saved detector of a moving camera has one image, and each frame brings its own background."""
    frames = np.random.default_rng(2).integers(0, 256, (3, 40, 50, 3), dtype=np.uint8)
    assert not random_model.changed(frames, to_float(frames)).any()
    np.testing.assert_array_equal(
        random_model.changed(frames, np.repeat(random_model.images, 3, axis=0)), random_model.changed(frames)
    )


@pytest.mark.parametrize("count", [8, 9])
def test_statistics_do_not_depend_on_the_block_size_or_the_type(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    frames = np.random.default_rng(3).integers(0, 256, (count, 20, 15, 3), dtype=np.uint8)
    floats, middle = to_float(frames), np.full((1, 20, 15, 3), 0.5, np.float32)

    def statistics(images: Images) -> list[NDArray[np.float32]]:
        return [temporal_median(images), usual_difference(images, middle), quiet_difference(images, middle)]

    whole = statistics(floats)
    np.testing.assert_array_equal(whole[0][0], np.median(floats, axis=0))
    monkeypatch.setattr(background.by_rows, "__kwdefaults__", {"block": 1000})
    for expected, *blockwise in zip(whole, statistics(frames), statistics(floats), strict=True):
        for found in blockwise:
            np.testing.assert_array_equal(found, expected)
