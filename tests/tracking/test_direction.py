"""Directions: the axis of an outline, with the end that leads; empty where either is not known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tracking.scenes import made_up
from withinpx.tracking.direction import Directions, has_axis, object_angles
from withinpx.tracking.tracks import TracksWriter, read_tracks

FRAMES, LENGTH = 400, 20.0
SIZES = np.full((FRAMES, 2), LENGTH)
Array = NDArray[np.float64]


def walk(seed: int = 0) -> tuple[Array, Array]:
    """Directions (f,), in degrees, and positions (f, 2) of an animal that turns, rests, and goes where it points."""
    random = np.random.default_rng(seed)
    degrees = np.cumsum(random.normal(0, 8, FRAMES))
    speed = np.where(np.arange(FRAMES) % 100 < 60, 2.0, 0.0)
    steps = speed[:, None] * np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], axis=-1)
    return (degrees + 180) % 360 - 180, np.cumsum(steps, axis=0)


def seen(degrees: Array, elongation: float = 0.5, noise: float = 0.02, seed: int = 1) -> Array:
    """The elongations (f, 2) that outlines show."""
    doubled = np.radians(2 * degrees)
    exact = elongation * np.stack([np.cos(doubled), np.sin(doubled)], axis=-1)
    return np.asarray(exact + np.random.default_rng(seed).normal(0, noise, exact.shape))


def apart(angles: Array, degrees: Array) -> Array:
    return np.asarray(np.abs((angles - degrees + 180) % 360 - 180))


@pytest.mark.parametrize("seed", range(4))
def test_the_end_that_leads_is_found_also_while_the_animal_rests(seed: int) -> None:
    degrees, positions = walk(seed)
    angles = object_angles(seen(degrees), positions, SIZES)
    assert np.isfinite(angles).all()
    assert apart(angles, degrees).max() < 15
    assert np.median(apart(angles, degrees)) < 2


def test_an_animal_that_backs_up_for_half_its_length_is_not_turned_around() -> None:
    positions = np.zeros((FRAMES, 2))
    positions[:, 0] = np.interp(np.arange(FRAMES), [0, 190, 210, FRAMES], [0, 190, 180, 380])
    angles = object_angles(seen(np.zeros(FRAMES)), positions, SIZES)
    assert np.abs(angles).max() < 15


def test_a_round_object_has_no_axis() -> None:
    noise = np.random.default_rng(0).normal(0, 0.02, (10_000, 2))
    assert has_axis(noise).mean() == pytest.approx(0.01, abs=0.005)
    assert has_axis(noise + np.array([0.2, 0])).all()


def test_an_object_that_does_not_move_has_no_leading_end() -> None:
    positions = np.random.default_rng(0).normal(0, 0.3, (FRAMES, 2))
    assert np.isnan(object_angles(seen(np.full(FRAMES, 30.0)), positions, SIZES)).all()


def test_frames_without_an_outline_have_no_angle_and_cost_the_others_nothing() -> None:
    degrees, positions = walk()
    elongations = seen(degrees)
    hidden = np.arange(FRAMES) % 50 < 7
    elongations[hidden], positions[hidden] = np.nan, np.nan
    angles = object_angles(elongations, positions, SIZES)
    assert np.isnan(angles[hidden]).all()
    assert apart(angles, degrees)[~hidden].max() < 15
    assert np.isnan(object_angles(np.full((FRAMES, 2), np.nan), positions, SIZES)).all()
    assert np.isnan(object_angles(elongations[:1], positions[:1], SIZES[:1])).all()


def test_angles_are_written_when_all_frames_are_there(tmp_path: Path) -> None:
    tracks = made_up()
    angles = np.random.default_rng(0).uniform(-180, 180, tracks.present.shape).round(1)
    angles[~tracks.present] = np.nan
    with TracksWriter(tmp_path / "tracks.csv") as writer:
        writer.add(tracks[:3])
        writer.add(tracks[3:])
        writer.finish(angles)
    read = read_tracks(tmp_path / "tracks.csv")
    np.testing.assert_array_equal(read.angles_deg, angles)
    np.testing.assert_allclose(read.bounds, tracks.bounds, rtol=0, atol=5e-5)
    with TracksWriter(tmp_path / "whole.csv") as writer:
        writer.add(replace(tracks, angles_deg=angles))
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "tracks.csv").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_the_size_of_the_chunks_does_not_matter() -> None:
    tracks = made_up()
    elongations = np.random.default_rng(0).normal(0.5, 0.02, (*tracks.present.shape, 2))
    whole, parts = Directions(), Directions()
    whole.add(tracks, elongations)
    for row in range(len(tracks)):
        parts.add(tracks[row : row + 1], elongations[row : row + 1])
    np.testing.assert_array_equal(whole.angles_deg(), parts.angles_deg())
    assert np.isfinite(whole.angles_deg()).any()
