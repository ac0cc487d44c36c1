"""Changes of the light are divided out: the same objects are found, and detection divides them out as well."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.discovery.drawings import BLUE, RED, disc, drawn, line
from tests.tracked_clip import FRAMES, TrackedClip, small_training
from withinpx.data.clip import Clip
from withinpx.data.zoo import zoo_clip
from withinpx.discovery.exposure import gains_against, in_light_of, measured_gains, normalised, varies
from withinpx.discovery.inspection import inspect
from withinpx.experiments.truth import compare
from withinpx.tracking.detector import Detector
from withinpx.tracking.track import track

TIME = np.linspace(0, 1, 60)
LIGHT = {
    "slow drift": 1 + 0.15 * np.sin(2 * np.pi * TIME),
    "flicker": 1 + 0.06 * np.random.default_rng(0).uniform(-1, 1, 60),
    "darker from some frame on": np.where(TIME < 0.4, 1, 0.75),
    "brighter from some frame on": np.where(TIME < 0.6, 1, 1.3),
}


def lit(frames: NDArray[np.uint8], gains: NDArray[np.float64]) -> NDArray[np.uint8]:
    return np.asarray((frames * gains[:, None, None, None]).round().clip(0, 255), np.uint8)


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
    measured = measured_gains(lit(clip.frames, gains))
    ratio = measured / gains[:, None]
    assert np.abs(ratio / np.median(ratio, axis=0) - 1).max() < 0.01
    assert varies(measured)
    assert not varies(measured_gains(clip.frames))


def test_frames_are_brought_to_the_light_of_the_background(clip: Clip) -> None:
    background = inspect(clip).background
    darker = lit(clip.frames, np.full(60, 0.8))
    assert in_light_of(background, darker) is darker  # the light of this clip does not vary
    restored = in_light_of(replace(background, light_varies=True), darker)
    assert np.abs(restored.astype(int) - clip.frames).max() <= 1
    gains = gains_against(darker, background.images)
    assert gains == pytest.approx(np.full((60, 3), 0.8), rel=0.01)
    np.testing.assert_array_equal(normalised(darker, gains), restored)


def test_a_detector_observes_darker_frames_as_it_does_its_own(tracked: TrackedClip) -> None:
    detector = tracked.detector
    aware = replace(detector, background=replace(detector.background, light_varies=True))
    frames = tracked.made.clip.frames
    darker = lit(frames, np.full(FRAMES, 0.85))
    used = [obj.object for obj in detector.certificate.objects]
    expected = detector.observe(frames).z[:, used]
    assert np.abs(aware.observe(darker).z[:, used] - expected).max() < 0.5
    assert np.abs(detector.observe(darker).z[:, used] - expected).max() > 0.5


@pytest.mark.parametrize("light_varies", [False, True])
def test_a_saved_detector_keeps_whether_the_light_varies(
    tracked: TrackedClip, tmp_path: Path, light_varies: bool
) -> None:
    detector = tracked.detector
    replace(detector, background=replace(detector.background, light_varies=light_varies)).save(tmp_path)
    assert Detector.load(tmp_path).background.light_varies is light_varies


@pytest.mark.usefixtures("alone")
def test_a_clip_whose_light_changes_midway_is_tracked_as_without(tracked: TrackedClip) -> None:
    made = tracked.made
    frames = lit(made.clip.frames, np.where(np.arange(FRAMES) < 14, 1.0, 0.8))
    with small_training():
        result = track(frames, channels=12, device="cpu", progress=False)
    assert result.detector.background.light_varies
    assert result.tracks.objects == 3
    assert result.certificate.certified
    assert compare(result.tracks, made.truth).outside == 0
