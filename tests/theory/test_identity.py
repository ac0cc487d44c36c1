"""A proved link never joins two objects, however objects that look alike move, enter and leave."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from withinpx.theory.identity import at_border, gaps, proved_links

WIDTH, HEIGHT, STEP = 60.0, 40.0, 5.0
NOWHERE = np.zeros(1, np.bool_)


def box(x: float, y: float, bound: float = 0.0) -> NDArray[np.float64]:
    return np.array([[x - bound, y - bound, x + bound, y + bound]])


def boxes(*some: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate(some)


def nowhere(count: int) -> NDArray[np.bool_]:
    return np.zeros(count, np.bool_)


def test_the_gap_between_boxes_is_that_of_the_axis_on_which_they_are_further_apart() -> None:
    assert gaps(box(0, 0, 1), box(10, 4, 2)).tolist() == [[7.0]]
    assert gaps(box(0, 0, 3), box(2, 2, 3)).tolist() == [[0.0]]


def test_the_only_candidate_in_reach_is_the_object() -> None:
    assert proved_links(box(20, 20, 1), box(26, 20, 0.5), STEP, NOWHERE, NOWHERE).tolist() == [[True]]
    assert proved_links(box(20, 20, 1), box(26.6, 20, 0.5), STEP, NOWHERE, NOWHERE).tolist() == [[False]]


def test_a_second_candidate_in_either_frame_leaves_it_open() -> None:
    one, two = box(20, 20), boxes(box(22, 20), box(24, 20))
    assert not proved_links(one, two, STEP, NOWHERE, nowhere(2)).any()
    assert not proved_links(two, one, STEP, nowhere(2), NOWHERE).any()


def test_one_may_leave_as_another_enters_but_not_far_from_the_border() -> None:
    before, after = box(3, 20), box(2, 20)
    hidden = [at_border(some, STEP, WIDTH, HEIGHT) for some in (before, after)]
    assert not proved_links(before, after, STEP, *hidden).any()
    inner = box(6, 20)
    hidden = [at_border(some, STEP, WIDTH, HEIGHT) for some in (inner, after)]
    assert hidden[0].tolist() == [False]  # what was there cannot have left, and there is nowhere else
    assert proved_links(inner, after, STEP, *hidden).all()


@pytest.mark.parametrize(("x", "y"), [(4.0, 20.0), (56.0, 20.0), (30.0, 4.0), (30.0, 36.0)])
def test_every_side_of_the_frame_is_a_border(x: float, y: float) -> None:
    assert at_border(box(x, y), STEP, WIDTH, HEIGHT).all()
    assert not at_border(box(30, 20), STEP, WIDTH, HEIGHT).any()


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(2, 12), bound=st.floats(0, 4))
def test_no_proved_link_joins_two_objects(seed: int, count: int, bound: float) -> None:
    """Objects move by at most STEP along each axis, in and out of the frame; each is known to within a bound."""
    random = np.random.default_rng(seed)
    centres = random.uniform((-10, -10), (WIDTH + 10, HEIGHT + 10), (count, 2))
    for _ in range(4):
        moved = centres + random.uniform(-STEP, STEP, centres.shape)
        seen, candidates = [], []
        for places in (centres, moved):
            shown = np.flatnonzero(((places >= 0) & (places <= (WIDTH, HEIGHT))).all(axis=1))
            known = places[shown] + random.uniform(-bound, bound, (len(shown), 2))
            seen.append(shown)
            candidates.append(np.concatenate([known - bound, known + bound], axis=1))
        hidden = [at_border(some, STEP, WIDTH, HEIGHT) for some in candidates]
        links = proved_links(candidates[0], candidates[1], STEP, hidden[0], hidden[1])
        for row, column in zip(*np.nonzero(links), strict=True):
            assert seen[0][row] == seen[1][column]
        centres = moved
