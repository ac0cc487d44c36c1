"""Calibration: the shift from z to the object's centre, constant or varying over the frame."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.certificate.observed import seen_at
from withinpx.certificate.calibration import FEWEST, Shift, fit_shift, fit_shifts, shifts_at
from withinpx.certificate.certificate import Certificate, Limits, ObjectCertificate
from withinpx.data.clip import Clip
from withinpx.data.selection import Selection
from withinpx.discovery.background import BackgroundModel
from withinpx.discovery.inspection import Inspection
from withinpx.discovery.objects import Blob, MovingObject
from withinpx.model.autoencoder import NetworkConfig, new_network
from withinpx.model.background import BackgroundMode
from withinpx.tracking.attempt import Setup, calibrate
from withinpx.tracking.detector import ROUNDING_PX, Detector
from withinpx.tracking.plan import Plan

WIDTH, HEIGHT = 100, 40
Points = NDArray[np.float64]


def places(count: int, seed: int = 0) -> Points:
    """(count, 2), all over the picture."""
    return np.random.default_rng(seed).uniform((0, 0), (WIDTH, HEIGHT), (count, 2))


def noise(count: int, seed: int = 0, strength: float = 0.2) -> Points:
    return strength * np.random.default_rng((seed, 1)).normal(size=(count, 2))


def s_curve(where: Points) -> Points:
    """From -2 to 2 px in x, over the width of the picture; 0.5 px in y everywhere."""
    return np.stack([2 * np.tanh((where[:, 0] - WIDTH / 2) / 12), np.full(len(where), 0.5)], axis=1)


def off(shift: Shift, where: Points, expected: Points) -> float:
    return float(np.abs(shift.at(where) - expected).max())


@pytest.mark.parametrize("seed", range(5))
def test_a_shift_that_varies_over_the_frame_is_followed(seed: int) -> None:
    where, others = places(120, seed), places(50, seed + 100)
    shift = fit_shift(where, s_curve(where) + noise(120, seed), varies=True)
    assert np.abs(shift.at(others) - s_curve(others)).mean() < 0.15
    assert off(shift, others, s_curve(others)) < 0.8
    unvarying = fit_shift(where, s_curve(where), varies=False)
    assert off(unvarying, others, s_curve(others)) > 1.5


def test_noise_around_a_constant_is_hardly_ever_followed() -> None:
    followed = 0
    for seed in range(40):
        steps = np.array([1.5, -0.5]) + noise(60, seed)
        shift = fit_shift(places(60, seed), steps, varies=True)
        followed += off(shift, places(9), np.median(steps, axis=0)) > 0
        assert np.abs(shift.at(places(50)) - (1.5, -0.5)).mean() < 0.1  # half of the noise
    assert followed <= 4


def test_a_few_frames_that_are_off_do_not_move_a_constant() -> None:
    steps = np.tile([1.0, 2.0], (40, 1))
    steps[:9] += 30
    assert off(fit_shift(places(40), steps, varies=False), places(5), np.array([1.0, 2.0])) == 0


def test_too_few_measurements_give_a_constant() -> None:
    where = places(FEWEST - 1)
    shift = fit_shift(where, s_curve(where), varies=True)
    assert off(shift, places(9), np.median(s_curve(where), axis=0)) == 0


def test_without_measurements_the_shift_is_zero() -> None:
    assert off(fit_shift(np.zeros((0, 2)), np.zeros((0, 2)), varies=True), places(9), np.zeros(2)) == 0


def test_far_from_all_measurements_the_nearest_counts() -> None:
    shift = Shift(np.array([[10.0, 10.0], [20.0, 10.0]]), np.array([[1.0, 0.0], [3.0, 0.0]]), bandwidth=1.0)
    assert shift.at(np.array([[-500.0, 10.0], [900.0, 10.0], [15.0, 10.0]])).tolist() == [[1, 0], [3, 0], [2, 0]]


def test_known_centres_are_used_first_and_rendered_centres_else() -> None:
    raw = places(40).reshape(20, 2, 2)
    seen = seen_at(raw + 9, z=raw, body=raw + np.array([3, 4]))
    body = np.full(raw.shape, np.nan)
    body[::2, 0] = raw[::2, 0] + (1, -1)
    shifts = fit_shifts(seen, body, varies=False)
    found = shifts_at(shifts, raw)
    assert found.shape == raw.shape
    np.testing.assert_allclose(found[:, 0], np.broadcast_to((1, -1), (20, 2)))
    np.testing.assert_allclose(found[:, 1], np.broadcast_to((3, 4), (20, 2)))


def test_frames_without_the_whole_object_do_not_count() -> None:
    raw = places(20).reshape(20, 1, 2)
    body = raw + np.array([1, 2])
    body[:8] += 50
    body[12:] -= 50
    seen = seen_at(raw, body=body)
    seen.present[:8] = False
    seen.at_border[12:] = True
    (shift,) = fit_shifts(seen, body, varies=False)
    np.testing.assert_allclose(shift.at(raw[:3, 0]), np.broadcast_to((1, 2), (3, 2)))


def a_detector(shift: tuple[Shift, ...], selection: Selection) -> Detector:
    """Untrained."""
    config = NetworkConfig(
        12,
        14,
        encoder_rf=3,
        decoder_rf=3,
        sigma=0.8,
        support=2.0,
        objects=len(shift),
        colours=3,
        channels=2,
        background=BackgroundMode.LAYERED,
    )
    background = BackgroundModel(np.full((1, 12, 14, 3), 0.5, np.float32), np.full((12, 14), 0.05, np.float32))
    objects = tuple(ObjectCertificate(index, (5, 5), 4.0, (0, 0), Limits(1.0), ()) for index in range(len(shift)))
    certificate = Certificate("made up", 10, 2, 5, 3, 0.8, 2.0, selection.scale, objects)
    return Detector(new_network(config, 0).eval(), background, selection, (28, 24), shift, certificate)


def test_a_loaded_detector_has_the_same_shifts(tmp_path: Path) -> None:
    where = places(30)
    shift = (Shift(where, s_curve(where) + noise(30), 3.0), Shift.constant(np.array([1 / 3, -2.0])))
    a_detector(shift, Selection()).save(tmp_path)
    loaded = Detector.load(tmp_path)
    raw = np.stack([places(50, 7), places(50, 8)], axis=1)
    np.testing.assert_array_equal(shifts_at(loaded.shifts, raw), shifts_at(shift, raw))


def test_a_position_is_z_plus_its_shift_plus_the_offset_of_its_frame() -> None:
    raw = np.array([[[6.0, 5.0]], [[8.0, 7.0]]])
    offset = np.array([[[0.25, -0.5]], [[0.0, 0.0]]])
    detector = a_detector((Shift.constant(np.array([1.0, 2.0])),), Selection(crop=(10, 20, 28, 24), scale=0.5))
    tracks = detector.tracks(seen_at(raw, 4.0, offset=offset), np.arange(2), np.arange(2) / 25)
    np.testing.assert_allclose(tracks.positions[:, 0], np.array([[10 + 14.5, 20 + 13], [10 + 18, 20 + 18]]))
    np.testing.assert_allclose(tracks.z[:, 0], np.array([[10 + 12, 20 + 10], [10 + 16, 20 + 14]]))


def test_the_bound_includes_the_distance_between_the_object_and_its_rendering_with_shadow() -> None:
    """The theorem is about the centre of everything rendered, shadow included."""
    drawn = np.array([[[6.0, 5.0]], [[8.0, 7.0]]])
    detector = a_detector((Shift.constant(np.array([1.0, 2.0])),), Selection(scale=0.5))
    frames, times_s = np.arange(2), np.arange(2) / 25
    same = detector.tracks(seen_at(drawn, 4.0, z=drawn - (1, 2)), frames, times_s)
    np.testing.assert_allclose(same.theorem_px, 4.0 + ROUNDING_PX)  # of the certificate alone
    aside = detector.tracks(seen_at(drawn - (0.5, 1.5), 4.0, z=drawn - (1, 2)), frames, times_s)
    np.testing.assert_allclose(
        aside.theorem_px, ROUNDING_PX + 4.0 + 1.5 / 0.5
    )  # the worse axis, in px of the recording
    offset = np.full(drawn.shape, 0.5)
    moved = detector.tracks(seen_at(drawn, 4.0, z=drawn - (1, 2), offset=offset), frames, times_s)
    np.testing.assert_allclose(moved.theorem_px, ROUNDING_PX + 4.0 + 0.5 / 0.5)  # the residual, once


def test_leakage_residual_and_distance_add_up_in_the_bound() -> None:
    drawn = np.array([[[6.0, 5.0]]])
    detector = a_detector((Shift.constant(np.array([1.0, 0.0])),), Selection(scale=0.5))
    seen = seen_at(drawn, 4.0, leakage=np.array([[0.3]]), offset=np.array([[[0.0, -0.2]]]))
    tracks = detector.tracks(seen, np.arange(1), np.zeros(1))
    np.testing.assert_allclose(tracks.theorem_px, ROUNDING_PX + 4.0 + (0.3 + 0.2 + 1.0) / 0.5)


def test_outliers_are_left_out() -> None:
    where = places(150)
    steps = s_curve(where) + noise(150, strength=0.1)
    steps[::15] += (30.0, -20.0)  # another object's centre
    shift = fit_shift(where, steps, varies=True)
    assert len(shift.shifts) == 140
    assert np.abs(shift.at(where) - s_curve(where)).max() < 1.5


def test_in_unordered_images_the_shift_leads_to_the_blobs() -> None:
    raw, offset = places(30).reshape(30, 1, 2), noise(30).reshape(30, 1, 2)
    seen = seen_at(raw, body=raw + np.array([5, 5]), offset=offset)  # the rendering is elsewhere
    shown = raw + np.array([1, -2]) + offset  # an offset is of its frame alone: it is no part of the shift
    blobs = tuple(Blob(frame, (x, y), (0, 0, 8, 8), 64, np.ones(3), 8) for frame, (x, y) in enumerate(shown[:, 0]))
    clip = Clip(np.zeros((30, HEIGHT, WIDTH, 3), np.uint8))
    background = BackgroundModel(np.zeros((1, HEIGHT, WIDTH, 3), np.float32), np.zeros((HEIGHT, WIDTH), np.float32))
    inspection = Inspection(clip, background, (MovingObject(blobs),), (), np.zeros((30, 2)), unordered=True)
    network = NetworkConfig(HEIGHT, WIDTH, 5, 9, 0.8, background=BackgroundMode.LAYERED)
    setup = Setup(inspection, Plan(network, 1, 5.0, ""))
    np.testing.assert_allclose(calibrate(setup, seen)[0].at(raw[:, 0]), np.broadcast_to((1, -2), (30, 2)), atol=1e-5)
    ordered = replace(setup, inspection=replace(inspection, unordered=False))
    np.testing.assert_allclose(calibrate(ordered, seen)[0].at(raw[:, 0]), np.broadcast_to((5, 5), (30, 2)))


def test_the_bound_around_the_position_adds_its_distance_from_z() -> None:
    rendered = np.array([[[6.0, 5.0]]])
    detector = a_detector((Shift.constant(np.array([1.0, 2.0])),), Selection(scale=0.5))
    tracks = detector.tracks(seen_at(rendered, 4.0, z=rendered - (1, 2)), np.arange(1), np.zeros(1))
    np.testing.assert_allclose(tracks.bounds, tracks.theorem_px + 2 / 0.5)  # the larger axis, px of the recording


def test_a_refused_position_has_no_bound() -> None:
    rendered = np.array([[[6.0, 5.0]], [[6.0, 5.0]]])
    detector = a_detector((Shift.constant(np.zeros(2)),), Selection())
    seen = seen_at(rendered, 4.0, explained=np.array([[1.0], [0.1]]))
    tracks = detector.tracks(seen, np.arange(2), np.zeros(2))
    assert tracks.reasons[:, 0].tolist() == ["", "reconstruction"]
    assert np.isnan(tracks.bounds[:, 0]).tolist() == [False, True]
    assert np.isnan(tracks.theorem_px[:, 0]).tolist() == [False, True]
