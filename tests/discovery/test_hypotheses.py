"""What a clip shows: what counts as one object, what as two, and what as none."""

from unittest.mock import Mock

import numpy as np
import pytest

from tests.discovery.drawings import (
    BLUE,
    HEIGHT,
    RED,
    WIDTH,
    YELLOW,
    Colour,
    Draw,
    Levels,
    disc,
    drawn,
    line,
    moved,
    scattered,
    shadow,
    wall,
)
from withinpx.data.clip import Clip
from withinpx.discovery.camera import nearby_background
from withinpx.discovery.inspection import inspect

PALE = (205, 200, 198)


def scattered_discs(
    images: int, radii: tuple[float, ...], colours: list[tuple[float, float, float]], seed: int
) -> Clip:
    paths = scattered(images, radii, seed)
    layers = [disc(path, radius, colour) for path, radius, colour in zip(paths, radii, colours, strict=True)]
    return drawn(images, *layers, seed=seed)


def three_in_rows(frames: int = 40) -> Clip:
    rows = line(frames, (10, 10), (86, 14)), line(frames, (86, 36), (10, 32)), line(frames, (12, 60), (84, 56))
    return drawn(frames, disc(rows[0], 5, RED), disc(rows[1], 6, BLUE), disc(rows[2], 7, YELLOW))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_discs_of_one_colour_and_different_sizes_are_that_many_objects_in_unordered_images(seed: int) -> None:
    radii = (4.0, 6.5, 10.0)
    inspection = inspect(scattered_discs(24, radii, [PALE] * 3, seed))
    assert inspection.unordered
    assert len(inspection.objects) == 3
    sizes = sorted(np.median(obj.sizes) for obj in inspection.objects)
    assert sizes == pytest.approx([2 * radius for radius in radii], abs=2)
    assert all(len(obj.blobs) == 24 for obj in inspection.objects)


@pytest.mark.parametrize(("radius", "seed"), [(6, 0), (9, 1), (12, 0)])
def test_stills_of_one_object_show_one_object_without_order(radius: float, seed: int) -> None:
    """The large disc is often so near to its last position that it could be followed."""
    inspection = inspect(scattered_discs(40, (radius,), [RED], seed))
    assert inspection.unordered
    assert [len(obj.blobs) for obj in inspection.objects] == [40]


@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_a_given_number_of_objects_is_that_of_every_hypothesis(wanted: int) -> None:
    inspection = inspect(three_in_rows(), objects=wanted)
    assert {len(hypothesis.objects) for hypothesis in inspection.hypotheses} == {wanted}
    assert len(inspection.objects) == wanted


@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_a_given_number_of_objects_is_that_of_unordered_images(wanted: int) -> None:
    inspection = inspect(scattered_discs(40, (5, 6, 8), [RED, BLUE, YELLOW], 0), objects=wanted)
    assert inspection.unordered
    assert len(inspection.objects) == wanted


@pytest.mark.parametrize("colour", [(190, 140, 80), (90, 150, 110)])
@pytest.mark.parametrize("light", [0.55, 0.7])
def test_a_shadow_beside_its_object_on_a_coloured_wall_is_no_object(colour: Colour, light: float) -> None:
    path = line(40, (12, 20), (70, 34))
    clip = drawn(40, shadow(moved(path, 14, 14), 6, light), disc(path, 6, BLUE), ground=wall(colour))
    (obj,) = inspect(clip).objects
    assert len(obj.blobs) == 40


def flickering(strength: float, block: int, frames: int, seed: int) -> Draw:
    """Blocks that change at random in every frame, in every second stripe of 12 px, as in a compressed video."""
    cells = (frames, -(-HEIGHT // block), -(-WIDTH // block), 1)
    noise = np.random.default_rng(seed).normal(0, strength, cells).repeat(block, 1).repeat(block, 2)
    stripes = (np.arange(WIDTH) // 12 % 2)[:, None]

    def draw(image: Levels, frame: int) -> None:
        image += noise[frame, :HEIGHT, :WIDTH] * stripes

    return draw


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_flickering_texture_is_no_object(seed: int) -> None:
    clip = drawn(60, flickering(18, 4, 60, seed), disc(line(60, (8, 12), (88, 60)), 6, RED), noise=1.5, seed=seed)
    assert len(inspect(clip).objects) == 1


@pytest.mark.parametrize("missed", [0, 3, 5])
def test_a_ball_that_flies_through_once_is_one_object_although_it_is_missed_on_its_way(missed: int) -> None:
    path = [*[None] * 20, *line(18, (-5, 50), (101, 22)), *[None] * 22]
    path[27 : 27 + missed] = [None] * missed
    (obj,) = inspect(drawn(60, disc(path, 5, YELLOW))).objects
    assert len(obj.blobs) >= 16 - missed
    assert obj.travel > 0.8 * WIDTH


@pytest.mark.parametrize("light", [0.7, 0.5])
def test_a_ball_that_flies_into_the_shade_is_one_object(light: float) -> None:
    """It is missed in two frames, and after them it is darker."""
    path = [*[None] * 20, *line(18, (-5, 50), (101, 22)), *[None] * 22]
    bright, dark = [*path[:28], *[None] * 32], [*[None] * 30, *path[30:]]
    red, green, blue = (light * level for level in YELLOW)
    (obj,) = inspect(drawn(60, disc(bright, 5, YELLOW), disc(dark, 5, (red, green, blue)))).objects
    assert obj.travel > 0.8 * WIDTH


def test_two_parts_at_a_constant_offset_are_one_object_and_two_in_another_hypothesis() -> None:
    path = line(40, (12, 40), (80, 50))
    inspection = inspect(drawn(40, disc(path, 6, RED), disc(moved(path, 0, -14), 4, YELLOW)))
    assert len(inspection.objects) == 1
    assert 2 in {len(hypothesis.objects) for hypothesis in inspection.hypotheses}


def swaying(amplitude: float) -> Draw:
    """A patch of leaves that moves to and fro."""
    leaves = np.random.default_rng(3).normal(0, 60, (HEIGHT, WIDTH + 20, 1))
    for axis in (0, 1):  # leaves are larger than a pixel
        leaves = (np.roll(leaves, 1, axis) + 2 * leaves + np.roll(leaves, -1, axis)) / 4

    def draw(image: Levels, frame: int) -> None:
        shift = 10 + round(amplitude * np.sin(0.7 * frame))
        image[10:60, 50:90] += leaves[10:60, 50 + shift : 90 + shift]

    return draw


@pytest.mark.parametrize("amplitude", [1, 2])
def test_leaves_that_sway_are_no_object(amplitude: float) -> None:
    clip = drawn(60, swaying(amplitude), disc(line(60, (8, 40), (88, 36)), 6, RED))
    (obj,) = inspect(clip).objects
    assert obj.travel > 0.6 * WIDTH


def test_look_alikes_that_are_seen_together_are_two_objects() -> None:
    clip = drawn(40, disc(line(40, (12, 16), (84, 22)), 6, RED), disc(line(40, (84, 55), (12, 50)), 6, RED))
    inspection = inspect(clip)
    assert len(inspection.objects) == 2
    assert inspection.alike == [(0, 1)]


def test_look_alikes_that_are_never_seen_together_are_one_object() -> None:
    there = [*line(26, (-8, 20), (104, 30)), *[None] * 34]
    back = [*[None] * 34, *line(26, (104, 50), (-8, 60))]
    (obj,) = inspect(drawn(60, disc(there, 6, RED), disc(back, 6, RED))).objects
    assert {frame // 30 for frame in obj.frames} == {0, 1}


def test_two_objects_that_cross_are_not_a_third_where_they_overlap() -> None:
    clip = drawn(60, disc(line(60, (10, 10), (86, 62)), 7, RED), disc(line(60, (10, 62), (86, 10)), 7, BLUE))
    inspection = inspect(clip)
    assert len(inspection.objects) == 2
    together = next(one for one in inspection.hypotheses if "overlap" in one.why)
    assert len(together.objects) == 3


@pytest.mark.parametrize("contrast", [10, 20])
def test_a_still_camera_before_a_noisy_texture_gets_no_moving_background(
    monkeypatch: pytest.MonkeyPatch, contrast: float
) -> None:
    """A background for every frame takes most of the time of an inspection."""
    calls = Mock(wraps=nearby_background)
    monkeypatch.setattr("withinpx.discovery.inspection.nearby_background", calls)
    grain = np.random.default_rng(0).normal(0, 4 * contrast, (HEIGHT, WIDTH, 1))
    for axis in (0, 1):
        grain = (np.roll(grain, 1, axis) + 2 * grain + np.roll(grain, -1, axis)) / 4
    clip = drawn(50, disc(line(50, (10, 12), (86, 60)), 8, RED), ground=wall() + grain, noise=6)
    inspection = inspect(clip)
    assert len(inspection.objects) == 1
    assert not inspection.camera_moves
    calls.assert_not_called()
