"""Changes of the light are divided out: the same objects are found as without them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.discovery.drawings import BLUE, RED, disc, drawn, line, lit
from withinpx.data.clip import Clip
from withinpx.data.zoo import zoo_clip
from withinpx.discovery.exposure import gains_against, in_light_of, measured_gains, normalised, varies
from withinpx.discovery.inspection import inspect

TIME = np.linspace(0, 1, 60)
LIGHT = {
    "slow drift": 1 + 0.15 * np.sin(2 * np.pi * TIME),
    "flicker": 1 + 0.06 * np.random.default_rng(0).uniform(-1, 1, 60),
    "darker from some frame on": np.where(TIME < 0.4, 1, 0.75),
    "brighter from some frame on": np.where(TIME < 0.6, 1, 1.3),
}


@pytest.fixture(scope="module")
def clip() -> Clip:
    return drawn(60, disc(line(60, (12, 16), (84, 22)), 6, RED), disc(line(60, (84, 55), (12, 50)), 7, BLUE))


@pytest.mark.parametrize("gains", LIGHT.values(), ids=LIGHT.keys())
def test_the_same_objects_are_found_in_varying_light(clip: Clip, gains: NDArray[np.float64]) -> None:
    expected, found = inspect(clip), inspect(replace(clip, frames=lit(clip.frames, gains)))
    assert found.background.light_varies
    assert not expected.background.light_varies
    assert len(found.objects) == len(expected.objects) == 2
    for obj, other in zip(found.objects, expected.objects, strict=True):
        assert obj.frames == other.frames
        assert np.abs(obj.centres - other.centres).max() < 0.5


@pytest.mark.parametrize("seed", [516, 19, 67])
def test_objects_of_the_zoo_are_counted_in_varying_light(seed: int) -> None:
    made = zoo_clip(seed)
    assert {"drift", "exposure"} & set(made.nuisances)
    assert len(inspect(made.clip).objects) == made.truth.shape[1]


@pytest.mark.parametrize("gains", LIGHT.values(), ids=LIGHT.keys())
def test_gains_are_measured_up_to_the_light_of_the_whole_clip(clip: Clip, gains: NDArray[np.float64]) -> None:
    frames = lit(clip.frames, gains)
    measured = measured_gains(frames)
    ratio = measured / gains[:, None]
    assert np.abs(ratio / np.median(ratio, axis=0) - 1).max() < 0.01
    assert varies(frames, measured)
    assert not varies(clip.frames, measured_gains(clip.frames))


def test_frames_are_brought_to_the_light_of_the_background(clip: Clip) -> None:
    background = inspect(clip).background
    darker = lit(clip.frames, np.full(60, 0.8))
    assert in_light_of(background, darker) is darker  # the light of this clip does not vary
    restored = in_light_of(replace(background, light_varies=True), darker)
    assert np.abs(restored.astype(int) - clip.frames).max() <= 1
    gains = gains_against(darker, background.images)
    assert gains == pytest.approx(np.full((60, 3), 0.8), rel=0.01)
    np.testing.assert_array_equal(normalised(darker, gains), restored)
