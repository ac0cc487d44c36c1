"""The marks of a detector's objects have the objects' own hues."""

from colorsys import rgb_to_hsv

import numpy as np
import pytest

from tests.tracked_clip import TrackedClip
from withinpx.data.scenes import BLUE, RED, YELLOW
from withinpx.palette import rgb
from withinpx.tracking.colours import object_colours, own_colours
from withinpx.tracking.tracks import read_tracks


def test_a_colour_is_the_mean_over_the_object_alone() -> None:
    red, grey = np.full((20, 20, 3), 128, np.uint8), np.full((20, 20, 1), 128, np.uint8)
    red[5:9, 6:12], grey[4:8, 4:8] = (200, 20, 40), 30
    assert own_colours([red, grey]) == [(200, 20, 40), (30, 30, 30)]


@pytest.mark.usefixtures("alone")
def test_a_red_disc_is_marked_red_and_a_blue_square_blue(tracked: TrackedClip) -> None:
    marks = object_colours(tracked.detector, read_tracks(tracked.folder / "tracks.csv"))
    assert len(marks) == 3  # none for the spare heatmap
    hues, expected = (
        [rgb_to_hsv(*colour)[0] for colour in colours] for colours in (map(rgb, marks), (RED, BLUE, YELLOW))
    )
    apart = np.abs(np.sort(hues)[:, None] - np.sort(expected)[None])
    apart = np.minimum(apart, 1 - apart)
    assert (apart.min(axis=0) < 0.1).all()  # each object's hue is among the marks'
