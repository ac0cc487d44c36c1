"""Appendix E: errors on frames that training saw, and on those between them."""

import numpy as np

from tests.tracked_clip import TrackedClip
from withinpx.experiments.videos import EVERY, OPTIONS, errors


def test_errors_are_of_the_frames_of_the_tracks_alone(tracked: TrackedClip) -> None:
    tracks, truth = tracked.detector.detect(tracked.made.clip.frames), tracked.made.truth
    assert OPTIONS.every == EVERY == 2
    found = errors(tracks[1::EVERY], truth)
    elsewhere = truth.copy()
    elsewhere[::EVERY] += 50
    assert errors(tracks[1::EVERY], elsewhere) == found
    assert (found["frames"], found["found"], found["outside_bound"]) == (len(truth) // 2, truth.shape[1], 0)
    offsets = (tracks.positions[1::2, :, None] - truth[1::2, None]) / (tracks.width, tracks.height)
    assert np.allclose(found["mse_of_positions"], np.nanmean(offsets**2, axis=(0, 3)).min(axis=0))
    assert max(found["mse_of_positions"]) < min(errors(tracks[::EVERY], elsewhere)["mse_of_positions"])


def test_errors_in_px_are_unknown_where_nothing_is_certified(tracked: TrackedClip) -> None:
    tracks = tracked.detector.detect(tracked.made.clip.frames)
    found = errors(tracks, tracked.made.truth + 500)
    assert found["found"] == 0
    assert found["median_px"] is found["max_px"] is found["raw_max_px"] is None
