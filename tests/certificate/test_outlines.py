"""Which objects are rigid, so that their templates tell where their centres are."""

import numpy as np

from withinpx.certificate.outlines import changes_size, moves_within

RANDOM = np.random.default_rng(0)
BLUR = 1.0


def test_an_object_whose_size_varies_is_not_rigid() -> None:
    steady, turning = 20 + RANDOM.normal(0, 0.3, 60), 20 + 4 * np.sin(np.arange(60))
    assert not changes_size(steady, np.ones(60), BLUR)
    assert changes_size(turning, np.ones(60), BLUR)


def test_growth_in_perspective_is_expected() -> None:
    expected = np.linspace(0.7, 1.4, 60)
    assert not changes_size(20 * expected, expected, BLUR)
    assert changes_size(20 * expected, np.ones(60), BLUR)


def test_a_size_that_is_never_known_does_not_vary() -> None:
    assert not changes_size(np.full(9, np.nan), np.ones(9), BLUR)


def test_the_middle_of_an_object_that_turns_moves_against_its_position() -> None:
    positions = RANDOM.uniform(20, 80, (60, 2))
    angles = np.linspace(0, 12, 60)
    turning = positions + 1.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    shaded = positions + np.array([3.0, 0.0]) + RANDOM.normal(0, 0.2, (60, 2))  # a shadow moves it once and for all
    assert moves_within(turning, positions, size=13.0, blur=BLUR)
    assert not moves_within(shaded, positions, size=13.0, blur=BLUR)
    assert not moves_within(np.full((60, 2), np.nan), positions, size=13.0, blur=BLUR)
