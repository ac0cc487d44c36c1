"""Where objects that touch can be: their own places are never excluded, whatever else is there."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from withinpx.theory.touching import Silhouette, covered, covering, fewest_places, inside

SIDE, REACH = 48, 9
Mask = NDArray[np.bool_]


def disc(x: float, y: float, radius: float, side: int = SIDE) -> Mask:
    """A disc without a part on its right and at its bottom, so that its mirror images differ from it."""
    rows, columns = np.mgrid[:side, :side] + 0.5
    inside = (columns - x) ** 2 + (rows - y) ** 2 <= radius**2
    return np.asarray(inside & (columns - x < 0.6 * radius) & (rows - y < 0.8 * radius))


def silhouette(radius: float) -> Silhouette:
    """Of a disc anywhere in the middle pixel."""
    middle, side = REACH + np.linspace(0, 1, 9), 2 * REACH + 1
    discs = [disc(x, y, radius, side) for x in middle for y in middle]
    possible = np.logical_or.reduce(discs)
    return Silhouette(np.logical_and.reduce(discs), possible, possible, 0.1)


PLACES = st.tuples(st.floats(12, SIDE - 12), st.floats(12, SIDE - 12))


@given(st.lists(PLACES, min_size=1, max_size=4), st.floats(3, 7))
def test_every_object_is_at_a_place_where_it_lies_inside_what_changed(
    places: list[tuple[float, float]], radius: float
) -> None:
    changed = np.logical_or.reduce([disc(x, y, radius) for x, y in places])
    possible = inside(changed, silhouette(radius).sure)
    assert all(possible[int(y), int(x)] for x, y in places)


@given(st.lists(PLACES, min_size=1, max_size=4), st.floats(3, 7), st.randoms(use_true_random=False))
def test_one_of_the_objects_that_cover_a_pixel_is_at_the_places_of_that_pixel(
    places: list[tuple[float, float]], radius: float, random: Random
) -> None:
    own, discs = silhouette(radius), [disc(x, y, radius) for x, y in places]
    changed = np.logical_or.reduce(discs)
    rows, columns = np.nonzero(changed)
    at = random.randrange(len(rows))
    pixel = int(rows[at]), int(columns[at])
    left = covering(inside(changed, own.sure), own.possible, pixel)
    assert all(left[int(y), int(x)] for (x, y), shown in zip(places, discs, strict=True) if shown[pixel])


@given(PLACES, st.floats(4, 7), st.floats(0.7, 1.2), st.floats(0, 2 * np.pi))
def test_the_two_ends_of_a_pair_are_known_to_a_few_px(
    place: tuple[float, float], radius: float, apart: float, angle: float
) -> None:
    first = np.array(place)
    second = (first + 2 * radius * apart * np.array([np.cos(angle), np.sin(angle)])).clip(10, SIDE - 10)
    own = silhouette(radius)
    changed = disc(first[0], first[1], radius) | disc(second[0], second[1], radius)
    unexplained, members = changed.copy(), list[Mask]()
    possible = inside(changed, own.sure)
    while unexplained.any():
        (places,) = fewest_places([possible], [own], unexplained)
        assert places.any()
        members.append(places)
        unexplained &= ~covered(places, own.possible)
    for member in members:  # one of the two is at these places, and they are few
        assert any(member[int(y), int(x)] for x, y in (first, second))
    if np.linalg.norm(first - second) > 1.5 * radius:
        assert len(members) == 2
        assert all(np.ptp(np.nonzero(member), axis=1).max() <= radius for member in members)


def test_a_larger_silhouette_than_what_changed_has_no_place() -> None:
    assert not inside(disc(24, 24, 5), silhouette(7).sure).any()


def test_an_object_that_the_window_cuts_off_keeps_its_place() -> None:
    changed = disc(24, 24, 6)[:, 22:]
    assert inside(changed, silhouette(6).sure)[24, 2]
