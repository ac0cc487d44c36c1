"""Frames that show an object by itself: neither another object nor anything else is near it."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.certificate.observed import seen_at
from withinpx.certificate.case import Case, Footage
from withinpx.discovery.background import BackgroundModel
from withinpx.inference.overlap import changed_around

SIDE, SIZE, FRAMES = 60, 8, 40
BACKGROUND = BackgroundModel(np.full((1, SIDE, SIDE, 1), 0.2, np.float32), np.full((SIDE, SIDE), 0.05, np.float32))
CENTRES = np.stack([np.full((FRAMES, 1), 30.0), np.linspace(15, 45, FRAMES).round()[:, None]], axis=-1)  # (f, 1, 2)
VISITED = [7, 8, 9, 30]  # frames in which something comes near


def frames_with(beside: list[int]) -> NDArray[np.uint8]:
    """A square that moves down; in these frames, something 4 px wide is 2 px to its right."""
    images = np.full((FRAMES, SIDE, SIDE, 1), 51, np.uint8)
    for frame, (x, y) in enumerate(CENTRES[:, 0].astype(int)):
        images[frame, y - 4 : y + 4, x - 4 : x + 4] = 200
        if frame in beside:
            images[frame, y - 2 : y + 2, x + 6 : x + 10] = 150
    return images


def case_of(images: NDArray[np.uint8], **changes: Any) -> Case:
    footage = Footage(images, BACKGROUND, images, BACKGROUND, 1.0)
    unused: Any = None
    return Case(unused, unused, seen_at(CENTRES, float(SIZE), **changes), (), np.arange(0, FRAMES, 5), footage)


def test_frames_in_which_something_that_no_heatmap_follows_comes_near_do_not_count() -> None:
    alone = case_of(frames_with(VISITED)).alone[:, 0]
    assert np.flatnonzero(~alone).tolist() == VISITED


def test_a_speck_is_no_visitor() -> None:
    """Four pixels beside a box of a hundred."""
    images = frames_with([])
    x, y = CENTRES[7, 0].astype(int)
    images[7, y : y + 2, x + 6 : x + 8] = 150
    assert BACKGROUND.changed(images[[7]])[0, y : y + 2, x + 6 : x + 8].all()
    assert case_of(images, box=np.full(CENTRES.shape, 10.0)).alone.all()


def test_what_always_goes_with_an_object_is_no_visitor() -> None:
    """Its shadow, or a limb that is not rendered."""
    assert case_of(frames_with(list(range(FRAMES)))).alone.all()


def test_an_object_that_is_absent_is_not_seen_by_itself() -> None:
    present = np.ones((FRAMES, 1), bool)
    present[3] = False
    alone = case_of(frames_with([]), present=present).alone[:, 0]
    assert np.flatnonzero(~alone).tolist() == [3]


@pytest.mark.parametrize(("right", "expected"), [(3, 0), (4, 1), (7, 1), (8, 0)])
def test_pixels_count_beyond_the_box_and_up_to_4_px_from_it(right: int, expected: int) -> None:
    """The box ends 4 px to the right of the centre."""
    seen = seen_at(np.full((1, 1, 2), 30.0), float(SIZE))
    changed = np.zeros((SIDE, SIDE), bool)
    changed[30, 30 + right] = True
    assert changed_around(seen, [changed])[0, 0] == expected
