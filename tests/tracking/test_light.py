"""Detection divides out changes of the light as discovery does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.discovery.drawings import lit
from tests.tracked_clip import FRAMES, TrackedClip, small_training
from withinpx.experiments.truth import compare
from withinpx.tracking.detector import Detector
from withinpx.tracking.track import track


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
