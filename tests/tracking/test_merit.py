"""Attempts are compared by the change that certified positions explain."""

from dataclasses import replace

import numpy as np

from tests.tracked_clip import TrackedClip
from withinpx.certificate.certificate import Certificate
from withinpx.data.clip import Clip
from withinpx.discovery.inspection import inspect
from withinpx.tracking.attempt import Attempt
from withinpx.tracking.merit import Change, explained_change, merit


def square_clip() -> Clip:
    """A bright square of 40 px and a faint one of 20 px in frames larger than the grid of samples."""
    frames = np.full((12, 300, 400, 1), 100, np.uint8)
    for index, frame in enumerate(frames):
        frame[50:90, 25 * index : 25 * index + 40] = 200
        frame[200:220, 380 - 25 * index : 400 - 25 * index] = 150
    return Clip(frames)


def test_change_is_measured_by_contrast_and_area() -> None:
    change = Change.of(inspect(square_clip()))
    assert change.step == 2
    x = 25.0 * np.arange(12)
    corners = np.stack([np.stack([x, np.full(12, 50.0)], -1), np.stack([x + 40, np.full(12, 90.0)], -1)], 1)[:, None]
    everywhere = np.ones((12, 1), np.bool_)
    assert np.isclose(change.within(corners, everywhere), 16 / 18, atol=0.02)
    assert np.isclose(change.within(np.repeat(corners, 2, axis=1), np.ones((12, 2), np.bool_)), 16 / 18, atol=0.02)
    assert np.isclose(change.within(corners, everywhere & (np.arange(12) < 6)[:, None]), 8 / 18, atol=0.02)
    assert change.within(corners, ~everywhere) == 0
    outside = corners - np.array([0.0, 500.0])
    assert change.within(outside, everywhere) == 0


def test_what_inspection_followed_holds_the_change_of_its_objects() -> None:
    inspection = inspect(square_clip())
    change = Change.of(inspection)
    large, _ = sorted(inspection.objects, key=lambda obj: -obj.sizes[1])
    assert change.of_detections(inspection.objects) > 0.98
    assert np.isclose(change.of_detections([large]), 16 / 18, atol=0.02)
    assert change.of_detections([]) == 0


def refused(certificate: Certificate, index: int) -> Certificate:
    """The same certificate with one object's equivariance not met."""
    content = certificate.to_json()
    content["objects"][index]["checks"][-1]["met"] = False
    return Certificate.from_json(content)


def test_an_attempt_is_worth_the_change_its_certified_objects_explain(tracked: TrackedClip) -> None:
    detector = tracked.detector
    clip = tracked.made.clip
    change = Change.of(inspect(clip))
    whole = Attempt(detector, detector.observe(clip.frames))
    assert explained_change(whole, change) > 0.8
    frames = np.arange(len(clip))
    tracks = detector.tracks(whole.seen, frames, np.full(len(clip), np.nan))
    assert np.isclose(change.of_certified(tracks), explained_change(whole, change), atol=0.02)
    less = Attempt(replace(detector, certificate=refused(detector.certificate, 0)), whole.seen)
    assert explained_change(less, change) < 0.8 * explained_change(whole, change)
    assert merit(less, change) < merit(whole, change)
