"""Marks have the hues of their objects, and differ from the object, the background, paper and each other."""

from colorsys import rgb_to_hls

import cv2
import numpy as np
import pytest

from withinpx.palette import PAPER, RGB, colour_of, mark_colours, rgb

RED, GREEN, BLUE, YELLOW, MAGENTA = (200, 30, 30), (40, 150, 60), (30, 60, 190), (220, 190, 40), (180, 40, 160)
BLACK, GREY, WHITE = (20, 20, 20), (115, 120, 112), (235, 235, 235)


def difference(one: RGB, other: RGB) -> float:
    """In CIELAB, where 2 is just noticeable."""
    lab = cv2.cvtColor(np.array([[one, other]], np.float32) / 255, cv2.COLOR_RGB2Lab)[0]
    return float(np.linalg.norm(lab[0] - lab[1]))


def hue(colour: RGB) -> float:
    return 360 * rgb_to_hls(*(level / 255 for level in colour))[0]


def test_eighteen_objects_have_eighteen_colours() -> None:
    assert len({colour_of(index) for index in range(18)}) == 18
    assert colour_of(18) == colour_of(0)


@pytest.mark.parametrize("background", [BLACK, GREY, WHITE, (60, 120, 60)])
@pytest.mark.parametrize("colour", [RED, GREEN, BLUE, YELLOW, MAGENTA])
def test_a_coloured_object_is_marked_in_its_own_hue(colour: RGB, background: RGB) -> None:
    (mark,) = mark_colours([colour], background)
    apart = abs(hue(rgb(mark)) - hue(colour))
    assert min(apart, 360 - apart) < 30


@pytest.mark.parametrize("background", [BLACK, GREY, WHITE])
@pytest.mark.parametrize(
    "objects",
    [[RED], [RED, BLUE, YELLOW], [RED, GREEN, MAGENTA], [BLACK] * 5, [RED] * 4, [WHITE, BLACK, (120, 120, 120), BLUE]],
)
def test_marks_contrast_with_object_background_paper_and_each_other(objects: list[RGB], background: RGB) -> None:
    marks = [rgb(mark) for mark in mark_colours(objects, background)]
    for index, mark in enumerate(marks):
        for other in (objects[index], background, PAPER, *marks[:index]):
            assert difference(mark, other) >= 16


def test_grey_objects_get_the_palette_in_its_order() -> None:
    assert mark_colours([BLACK] * 3, WHITE) == [colour_of(index) for index in range(3)]


def test_objects_alike_in_colour_get_different_colours_of_the_palette() -> None:
    first, second, third = mark_colours([RED, (205, 35, 25), BLUE], GREY)
    palette = {colour_of(index) for index in range(18)}
    assert {first, second} <= palette
    assert first != second
    assert third not in palette


def test_any_number_of_objects_gets_marks() -> None:
    assert mark_colours([], GREY) == []
    assert len(mark_colours([BLACK] * 30, GREY)) == 30
    assert mark_colours([RED, BLUE], GREY) == mark_colours([RED, BLUE], GREY)
