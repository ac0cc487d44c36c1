"""Appendix E: errors on frames that training saw, and on those between them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tracked_clip import TrackedClip
from withinpx.cli import main
from withinpx.experiments import videos
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


def test_receptive_fields_that_are_given_reach_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def reproduce_video(clip: Path, truth: Path | None, out: Path, **options: Any) -> dict[str, Any]:
        asked.append(options)
        return {}

    monkeypatch.setattr(videos, "reproduce_video", reproduce_video)
    command = ["reproduce", "minipool", "--clip", str(tmp_path), "--out", str(tmp_path / "out"), "--device", "cpu"]
    main([*command, "--encoder-rf", "21", "--decoder-rf", "23"])
    main(command)
    assert [{name: options.get(name) for name in ("encoder_rf", "decoder_rf")} for options in asked] == [
        {"encoder_rf": 21, "decoder_rf": 23},
        {"encoder_rf": None, "decoder_rf": None},
    ]
