"""An object's centre by its outline: it lies in the range whatever the object's shape, or there is no range."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from withinpx.inference.outline import EDGE_PX, Outline, View, centre_range

SIDE, FINE = 96, 4  # px, and samples per px along each axis
OUTLINE = Outline(strength=0.5, noise=0.03)
NO_OTHERS = np.zeros((0, 4), int)
Shape = NDArray[np.bool_]
Array = NDArray[np.float64]
COLUMNS, ROWS = ((axis + 0.5) / FINE for axis in np.mgrid[: SIDE * FINE, : SIDE * FINE][::-1])


def polygon(corners: Array) -> Shape:
    """A convex one, on the fine grid."""
    inside = np.ones_like(COLUMNS, bool)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        inside &= (x1 - x0) * (ROWS - y0) - (y1 - y0) * (COLUMNS - x0) >= 0
    return inside


def disc(x: float, y: float, radius: float) -> Shape:
    return np.asarray((COLUMNS - x) ** 2 + (ROWS - y) ** 2 <= radius**2)


def view_of(shape: Shape, *, noise: float = 0.0, blur: float = 0.0, others: NDArray[np.intp] = NO_OTHERS) -> View:
    """A frame that shows a shape at half of full contrast."""
    covered = shape.reshape(SIDE, FINE, SIDE, FINE).mean(axis=(1, 3))
    if blur:
        covered = ndimage.gaussian_filter(covered, blur)
    levels = 0.3 + 0.5 * covered + noise * np.random.default_rng(0).standard_normal(covered.shape)
    rows, columns = np.nonzero(covered > 0.5)
    middle = np.array([columns.mean(), rows.mean()]) + 0.5
    box = np.array([np.ptp(columns), np.ptp(rows)], np.float64) + 1
    frame = (levels.clip(0, 1)[..., None] * 255).round().astype(np.uint8)
    return View(frame, np.full((SIDE, SIDE, 1), 0.3, np.float32), middle, box, 4.0, others)


def box_middle(shape: Shape) -> Array:
    return np.array([(axis[shape].min() + axis[shape].max()) / 2 for axis in (COLUMNS, ROWS)])


@pytest.mark.parametrize("angle", np.linspace(0, 2 * np.pi, 9)[:-1])
@pytest.mark.parametrize("corners", [3, 4, 7])
@pytest.mark.parametrize(("noise", "blur"), [(0.0, 0.0), (0.006, 0.0), (0.006, 1.5)])
def test_the_middle_of_the_box_and_the_centroid_are_in_the_range(
    angle: float, corners: int, noise: float, blur: float
) -> None:
    turns = angle + 2 * np.pi * np.arange(corners) / corners
    shape = polygon(np.array([47.3, 51.8]) + 14 * np.stack([np.cos(turns), np.sin(turns)], axis=1))
    found = centre_range(OUTLINE, view_of(shape, noise=noise, blur=blur))
    assert found is not None
    for centre in (box_middle(shape), np.array([COLUMNS[shape].mean(), ROWS[shape].mean()])):
        assert (found.low <= centre).all()
        assert (centre <= found.high).all()
    assert (found.high - found.low).max() / 2 < 4


def test_a_tail_moves_the_range_little() -> None:
    body = disc(40, 48, 12)
    tail = (COLUMNS > 40) & (COLUMNS < 80) & (np.abs(ROWS - 48) < 1.5)
    without, tailed = (centre_range(OUTLINE, view_of(shape)) for shape in (body, body | tail))
    assert without is not None
    assert tailed is not None
    assert (tailed.low <= [40, 48]).all()
    assert (tailed.high >= [40, 48]).all()
    assert (tailed.high - without.high).max() < 4  # the box with the tail is 14 px further


def test_a_cross_keeps_its_arms() -> None:
    upright = (np.abs(COLUMNS - 48) < 5) & (np.abs(ROWS - 48) < 30)
    shape = upright | ((np.abs(COLUMNS - 48) < 16) & (np.abs(ROWS - 40) < 9))
    found = centre_range(OUTLINE, view_of(shape))
    assert found is not None
    assert (found.low <= box_middle(shape)).all()
    assert (box_middle(shape) <= found.high).all()


@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.5, 0.8])
def test_a_sharp_edge_is_known_to_a_fraction_of_a_pixel(fraction: float) -> None:
    """The range is as wide as the allowance for edges, and hardly wider; its middle is the object's."""
    shape = (np.abs(COLUMNS - 48 - fraction) < 12) & (np.abs(ROWS - 40 + fraction) < 9)
    found = centre_range(OUTLINE, view_of(shape))
    assert found is not None
    assert np.abs((found.low + found.high) / 2 - box_middle(shape)).max() < 0.1
    assert (found.high - found.low).max() / 2 < EDGE_PX / 2 + 0.3
    assert found.size == pytest.approx(24, abs=0.6)


def test_a_tail_may_leave_the_frame() -> None:
    tail = (COLUMNS > 40) & (np.abs(ROWS - 48) < 1.5)
    found = centre_range(OUTLINE, view_of(disc(40, 48, 12) | tail))
    assert found is not None
    assert (found.low <= [40, 48]).all()
    assert (found.high >= [40, 48]).all()


def test_an_object_cut_off_by_the_border_has_no_range() -> None:
    assert centre_range(OUTLINE, view_of(disc(8, 48, 12))) is None


def test_an_object_that_touches_another_has_no_range() -> None:
    both = disc(36, 48, 10) | disc(54, 48, 10)
    assert centre_range(OUTLINE, view_of(both, others=np.array([[44, 38, 64, 58]]))) is None


def test_an_unknown_object_nearby_leaves_no_range() -> None:
    alone, both = view_of(disc(36, 48, 10)), view_of(disc(36, 48, 10) | disc(56, 48, 7))
    assert centre_range(OUTLINE, alone) is not None
    assert centre_range(OUTLINE, View(both.frame, both.background, alone.middle, alone.box, 12.0, NO_OTHERS)) is None


def test_a_faint_reflection_nearby_cannot_be_the_object() -> None:
    """It is nowhere as strong as half of the object."""
    alone, both = view_of(disc(36, 48, 10)), view_of(disc(36, 48, 10) | disc(56, 48, 7))
    frame = both.frame.copy()
    frame[:, 47:] = (0.4 * (frame[:, 47:] - 76.5) + 76.5).astype(np.uint8)
    assert centre_range(OUTLINE, View(frame, both.background, alone.middle, alone.box, 12.0, NO_OTHERS)) is not None


def test_the_edges_of_a_faint_object_are_not_clear() -> None:
    assert not Outline(strength=0.1, noise=0.03).is_clear
    assert Outline(strength=0.2, noise=0.03).is_clear


@pytest.mark.parametrize("degrees", [-80, -30, 0, 20, 45, 90])
def test_the_elongation_is_at_twice_the_angle_of_the_body_whatever_the_tail(degrees: float) -> None:
    along, across = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y = COLUMNS - 48, ROWS - 48
    forward, sideways = x * along + y * across, y * along - x * across
    body = (forward / 16) ** 2 + (sideways / 8) ** 2 <= 1
    tail = (np.abs(forward + sideways + 14) < 1.2) & (forward < -8) & (forward > -28)  # at an angle to the body
    for shape in (body, body | tail):
        found = centre_range(OUTLINE, view_of(shape, noise=0.006))
        assert found is not None
        angle = np.degrees(np.arctan2(*found.elongation[::-1])) / 2
        assert abs((angle - degrees + 90) % 180 - 90) < 3
        assert np.hypot(*found.elongation) == pytest.approx((16**2 - 8**2) / (16**2 + 8**2), abs=0.05)


def test_a_disc_is_not_elongated() -> None:
    found = centre_range(OUTLINE, view_of(disc(48.3, 47.9, 14), noise=0.006))
    assert found is not None
    assert np.hypot(*found.elongation) < 0.03
