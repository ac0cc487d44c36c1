"""Limits of speed, acceleration and distance hold for every true path within the bounds, and are no wider than that."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from withinpx.theory.motion import displacement_bound, mean_acceleration, mean_velocity, norm_limits

Array = NDArray[np.float64]
SLACK = 1e-9  # of floating point
SEEDS = st.integers(0, 2**32 - 1)
CORNERS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def reported(random: np.random.Generator, frames: int) -> tuple[Array, Array, Array, Array]:
    """A true path, positions reported within their bounds (often at the very edge), the bounds, and uneven times."""
    truth = np.cumsum(random.normal(0, random.uniform(0.01, 5), (frames, 2)), axis=0)
    bounds = random.uniform(0, 3, frames)
    errors = random.uniform(-1, 1, (frames, 2))
    errors = np.where(random.random((frames, 2)) < 0.5, np.sign(errors), errors)
    return truth, truth + errors * bounds[:, None], bounds, np.cumsum(random.uniform(0.01, 1, frames))


def limits(positions: Array, bounds: Array, times: Array) -> tuple[Array, Array, Array, Array]:
    """Mean velocities between consecutive frames, their bounds, and the limits of the speed."""
    reach = displacement_bound(bounds[:-1], bounds[1:], np.full(len(bounds) - 1, np.nan))
    velocity, bound = mean_velocity(np.diff(positions, axis=0), reach, np.diff(times))
    return velocity, bound, *norm_limits(velocity, bound)


@given(seed=SEEDS)
def test_the_true_speed_and_length_lie_within_their_limits(seed: int) -> None:
    truth, positions, bounds, times = reported(np.random.default_rng(seed), 12)
    velocity, bound, low, high = limits(positions, bounds, times)
    true_velocity = np.diff(truth, axis=0) / np.diff(times)[:, None]
    speed = np.linalg.norm(true_velocity, axis=-1)
    assert (np.abs(true_velocity - velocity).max(axis=-1) <= bound * (1 + SLACK) + SLACK).all()
    assert (low <= speed + SLACK).all()
    assert (speed <= high * (1 + SLACK) + SLACK).all()
    parts, seconds = np.linalg.norm(np.diff(truth, axis=0), axis=-1), np.diff(times)
    assert (np.cumsum(low * seconds) <= np.cumsum(parts) + SLACK).all()
    assert (np.cumsum(parts) <= np.cumsum(high * seconds) + SLACK).all()


@given(seed=SEEDS)
def test_the_true_acceleration_lies_within_its_limits(seed: int) -> None:
    truth, positions, bounds, times = reported(np.random.default_rng(seed), 12)
    velocity, bound, *_ = limits(positions, bounds, times)
    seconds = np.diff(times)
    found, reach = mean_acceleration(
        (velocity[:-1], velocity[1:]), (bound[:-1], bound[1:]), (seconds[:-1], seconds[1:])
    )
    true_velocity = np.diff(truth, axis=0) / seconds[:, None]
    expected = np.diff(true_velocity, axis=0) / ((times[2:] - times[:-2]) / 2)[:, None]
    assert (np.abs(found - expected).max(axis=-1) <= reach * (1 + SLACK) + SLACK).all()


@given(seed=SEEDS)
def test_the_limits_of_a_length_are_attained_and_no_point_of_the_square_is_beyond(seed: int) -> None:
    random = np.random.default_rng(seed)
    vector, bound = random.normal(0, 3, 2), np.array(random.uniform(0, 4))
    low, high = norm_limits(vector, bound)
    inside = vector + random.uniform(-bound, bound, (200, 2))
    lengths = np.linalg.norm(np.concatenate([inside, vector + bound * CORNERS]), axis=-1)
    assert lengths.max() == pytest.approx(high)
    assert lengths.min() >= low - SLACK
    nearest = np.clip(0.0, vector - bound, vector + bound)  # of the square, to the origin
    assert np.linalg.norm(nearest) == pytest.approx(low)


def test_the_bound_of_a_velocity_is_attained_if_both_positions_err_against_each_other() -> None:
    bounds, times = np.array([0.5, 0.25]), np.array([0.0, 0.1])
    positions = np.array([[0.0, 0.0], [10.0, 0.0]])
    truth = positions + np.array([[-0.5, 0.0], [0.25, 0.0]])
    velocity, bound, low, high = limits(positions, bounds, times)
    assert (velocity[0, 0], bound[0]) == pytest.approx((100, 7.5))
    assert (truth[1, 0] - truth[0, 0]) / 0.1 == pytest.approx(velocity[0, 0] + bound[0])
    assert (low[0], high[0]) == pytest.approx((92.5, np.hypot(107.5, 7.5)))


def test_the_bound_of_an_acceleration_is_attained_if_the_middle_position_errs_against_both() -> None:
    bounds, times = np.array([0.5, 0.25, 0.125]), np.array([0.0, 0.1, 0.4])
    positions = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0]])
    truth = positions + (bounds * [1, -1, 1])[:, None]
    velocity, bound, *_ = limits(positions, bounds, times)
    found, reach = mean_acceleration((velocity[:1], velocity[1:]), (bound[:1], bound[1:]), (np.r_[0.1], np.r_[0.3]))
    true_velocity = np.diff(truth, axis=0) / np.diff(times)[:, None]
    np.testing.assert_allclose(np.diff(true_velocity, axis=0)[0] / 0.2, found[0] + reach[0])
    assert reach[0] == pytest.approx((0.75 / 0.1 + 0.375 / 0.3) / 0.2)


def test_an_error_that_both_positions_share_cancels() -> None:
    one = np.array([0.5, 0.5, 0.5])
    assert displacement_bound(one, one, np.array([0.2, 3.0, np.nan])).tolist() == [0.2, 1.0, 1.0]
    assert np.isnan(displacement_bound(one, np.full(3, np.nan), np.full(3, np.nan))).all()


@pytest.mark.parametrize("weaker", [0.99, 0.9, 0.5])
def test_a_smaller_bound_would_be_wrong(weaker: float) -> None:
    """The same paths, with bounds that are a little too small: some true speed and acceleration is outside."""
    speeds = accelerations = 0
    for seed in range(50):
        truth, positions, bounds, times = reported(np.random.default_rng(seed), 12)
        velocity, bound, low, high = limits(positions, bounds * weaker, times)
        seconds = np.diff(times)
        true_velocity = np.diff(truth, axis=0) / seconds[:, None]
        speed = np.linalg.norm(true_velocity, axis=-1)
        speeds += int(((speed > high + SLACK) | (speed < low - SLACK)).sum())
        apart = (seconds[:-1], seconds[1:])
        found, reach = mean_acceleration((velocity[:-1], velocity[1:]), (bound[:-1], bound[1:]), apart)
        expected = np.diff(true_velocity, axis=0) / ((times[2:] - times[:-2]) / 2)[:, None]
        accelerations += int((np.abs(found - expected).max(axis=-1) > reach + SLACK).sum())
    assert speeds > 0
    assert accelerations > 0


@given(seed=SEEDS)
def test_the_acceleration_is_a_mean_of_the_true_one(seed: int) -> None:
    """Of a path with a known second derivative, with weights that rise and fall linearly, over uneven intervals."""
    random = np.random.default_rng(seed)
    polynomial = np.polynomial.Polynomial(random.normal(0, 1, 5))
    times = np.cumsum(random.uniform(0.2, 1, 3))
    positions = np.stack([polynomial(times), np.zeros(3)], axis=-1)
    velocity, bound, *_ = limits(positions, np.zeros(3), times)
    seconds = np.diff(times)
    found, _ = mean_acceleration((velocity[:1], velocity[1:]), (bound[:1], bound[1:]), (seconds[:1], seconds[1:]))
    fine = np.linspace(times[0], times[2], 20001)
    weights = np.interp(fine, times, [0, 1, 0])
    assert found[0, 0] == pytest.approx(np.average(polynomial.deriv(2)(fine), weights=weights), abs=1e-4)
