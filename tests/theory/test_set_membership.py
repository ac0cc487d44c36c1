"""Set membership: the rule that excludes cells of the search grid, and what follows for a position."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withinpx.theory.set_membership import alike_interval, centre_interval, cramer_rao, half_width, position_bound
from withinpx.theory.set_membership import cell_residual as bound_of_cell


@given(seed=st.integers(0, 10_000), spread=st.floats(0.0, 3.0))
def test_no_rendering_in_a_cell_leaves_a_smaller_residual_than_the_bound(seed: int, spread: float) -> None:
    random = np.random.default_rng(seed)
    corners = random.normal(size=40) + spread * random.normal(size=(4, 40))  # differences from the frame
    mean = corners.mean(axis=0)
    lower = bound_of_cell(corners @ mean, np.array(mean @ mean))
    x, y = random.uniform(size=(2, 200, 1))
    between = (1 - y) * ((1 - x) * corners[0] + x * corners[1]) + y * ((1 - x) * corners[2] + x * corners[3])
    assert lower <= np.linalg.norm(between, axis=1).min() + 1e-9


def test_the_bound_of_a_cell_is_sharp_where_its_corners_are_alike() -> None:
    corner = np.array([3.0, 4.0])
    assert bound_of_cell(np.full(4, corner @ corner), np.array(corner @ corner)) == pytest.approx(5.0)


def test_a_cell_that_the_frame_lies_within_is_never_excluded() -> None:
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    mean = corners.mean(axis=0)
    assert bound_of_cell(corners @ mean, np.array(mean @ mean)) <= 0


def test_a_set_is_as_wide_as_its_furthest_end_along_each_axis() -> None:
    low, high = np.array([[1.0, 5.0]]), np.array([[2.5, 5.5]])
    np.testing.assert_allclose(half_width(low, high, np.array([[2.0, 5.4]])), [[1.0, 0.4]])


@given(
    edges=st.tuples(*[st.floats(0, 3)] * 4),
    first=st.floats(0, 1),
    last=st.floats(0, 1),
)
def test_the_middle_of_a_box_between_two_boxes_is_within_g(edges: tuple[float, ...], first: float, last: float) -> None:
    near_gap, far_gap, width, start = edges
    outer, inner = (start, start + near_gap + width + far_gap), (start + near_gap, start + near_gap + width)
    middle, g = centre_interval(outer, inner)
    true = (start + first * near_gap + inner[1] + last * far_gap) / 2
    assert abs(true - middle) <= g + 1e-9
    assert g == pytest.approx((near_gap + far_gap) / 4)


@given(seed=st.integers(0, 10_000), ratio=st.floats(1.0, 8.0))
def test_the_middle_of_a_box_whose_ends_are_alike_lies_in_the_interval_of_their_ratio(seed: int, ratio: float) -> None:
    """Where the strength falls to a share is known to an interval; true edges are at shares at most a ratio apart."""
    random = np.random.default_rng(seed)
    shares = np.sort(random.uniform(0.05, 0.5, 6))
    near, far = (side * np.sort(random.uniform(1, 4, 6))[::-1] for side in (-1, 1))
    slack = random.uniform(0, 0.2, (2, 6))
    intervals = [
        np.stack([edges - known, edges + known], axis=-1) for edges, known in zip((near, far), slack, strict=True)
    ]
    low, high = alike_interval(intervals[0], intervals[1], shares, shares, ratio)
    for one, other in random.integers(0, 6, (20, 2)):
        if max(shares[one] / shares[other], shares[other] / shares[one]) <= ratio:
            true = (near[one] + random.uniform(-1, 1) * slack[0, one] + far[other]) / 2
            assert low - 1e-9 <= true <= high + 1e-9
    anyhow = alike_interval(intervals[0], intervals[1], shares, shares, np.inf)
    middle, g = centre_interval(
        (intervals[0][:, 0].min(), intervals[1][:, 1].max()), (intervals[0][:, 1].max(), intervals[1][:, 0].min())
    )
    assert anyhow == pytest.approx((middle - g, middle + g))
    assert anyhow[0] <= low <= high <= anyhow[1]


def test_a_position_has_the_smaller_of_both_bounds_on_its_larger_axis() -> None:
    sets = np.array([[0.4, 0.2], [0.4, 0.2], [np.nan, np.nan]])
    tolerance = np.array([0.1, 0.5])
    theorem, distance = np.array([6.0, 0.5, 6.0]), np.array([1.0, 0.1, 1.0])
    np.testing.assert_allclose(position_bound(sets, tolerance, theorem, distance), [0.7, 0.6, 7.0])


def test_the_floor_falls_with_the_slope_and_rises_with_the_noise() -> None:
    assert cramer_rao(4.0, 0.2) == pytest.approx(0.05)
    assert cramer_rao(0.0, 0.2) == np.inf
