"""The backdrop is what lies behind, whatever passes before it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.data import scenes
from withinpx.data.motion import still
from withinpx.data.stage import GeneratedClip
from withinpx.discovery.background import BackgroundModel, Pictures, difference, fixed_background, to_float

SEEN = 0.1  # of full contrast: what an eye finds at once


def pictures(made: GeneratedClip) -> Pictures:
    return made.clip.frames.astype(np.float32) / np.float32(255)


def ground(made: GeneratedClip) -> NDArray[np.float32]:
    stage = made.stage
    return stage.ground.seen(stage.width, stage.height, (0, 0), stage.seed).astype(np.float32)


def without_things(made: GeneratedClip) -> GeneratedClip:
    away = still(made.stage.frames, (-50, -50))
    return replace(made.stage, things=tuple(replace(thing, path=away) for thing in made.stage.things)).render()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_rests_for_most_of_the_clip_and_then_moves_does_not_stay_in_the_backdrop(seed: int) -> None:
    made = scenes.slow_mover(seed=seed)
    images, behind = pictures(made), ground(made)
    median = np.median(images, axis=0).astype(np.float32)
    remains = [int((difference(one, behind) > SEEN).sum()) for one in (median, fixed_background(images).images[0])]
    assert remains[0] > 80  # the triangle, in the median
    assert remains[1] < 0.1 * remains[0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_passes_does_not_change_the_backdrop(seed: int) -> None:
    made = scenes.three_things(seed=seed)
    found, empty = (fixed_background(pictures(each)).images[0] for each in (made, without_things(made)))
    assert difference(found, empty).max() < 0.02
    assert difference(found, ground(made)).max() < 0.02


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.04])
def test_noise_alone_is_no_change(noise: float) -> None:
    images = pictures(without_things(scenes.three_things(frames=30, noise=noise)))
    assert fixed_background(images).changed(images).mean() < 1e-3


def test_a_thing_is_a_change_and_what_lies_around_it_is_none() -> None:
    made = scenes.three_things(frames=30)
    images = pictures(made)
    changed = fixed_background(images).changed(images)
    rows, columns = np.mgrid[: made.stage.height, : made.stage.width] + 0.5
    away = (
        np.abs(np.stack([columns, rows], axis=-1)[None, None] - made.truth[:, :, None, None]).max(axis=-1).min(axis=1)
    )
    assert changed[away < 2].mean() > 0.95  # px from a thing's middle
    assert changed[away > 9].mean() < 1e-3


def test_eight_bit_frames_change_where_their_pictures_do() -> None:
    draw = np.random.default_rng(0)
    still = draw.uniform(0, 1, (1, 40, 50, 3)).astype(np.float32)
    still[:, :4] = 0
    still[:, 4:8] = 1
    still[:, 8:20] = draw.integers(0, 256, (12, 50, 3)) / np.float32(255)  # limits that fall on whole levels
    threshold = draw.uniform(0.03, 0.3, (40, 50)).astype(np.float32)
    threshold[8:20] = draw.integers(8, 60, (12, 50)) / np.float32(255)
    backdrop = BackgroundModel(still, threshold)
    frames = draw.integers(0, 256, (60, 40, 50, 3), dtype=np.uint8)
    near = still[0] * 255 + draw.integers(-2, 3, still[0].shape) + threshold[..., None] * 255
    frames[:30] = np.clip(near + draw.integers(-1, 2, (30, *near.shape)), 0, 255).round()
    np.testing.assert_array_equal(backdrop.changed(frames), backdrop.changed(to_float(frames)))
