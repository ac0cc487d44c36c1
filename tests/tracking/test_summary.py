"""The summary says the same numbers as the table, and is drawn."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.tracking.scenes import HEIGHT, WIDTH, made_up
from withinpx.data.selection import Selection
from withinpx.tracking.summary import caption, draw_summary


def test_a_caption_has_the_objects_numbers() -> None:
    tracks = replace(made_up(), residual_px=np.full((8, 3), 0.12))
    assert caption(tracks, 0) == "object 0: 6 px, ±5.3 px, 8/8 frames certified, residual median 0.12 px"
    assert caption(tracks, 1) == "object 1: 6 px, ±4.0 px, 6/8 frames certified, residual median 0.12 px"
    refused = replace(tracks, certified=np.zeros((8, 3), np.bool_))
    assert caption(refused, 2) == "object 2: 6 px, no bound, 0/8 frames certified, residual median 0.12 px"
    absent = replace(refused, present=refused.certified)
    assert caption(absent, 0) == "object 0: no bound, 0/8 frames certified"


@pytest.mark.parametrize("colours", [1, 3])
def test_it_is_drawn(tmp_path: Path, colours: int) -> None:
    background = np.full((HEIGHT, WIDTH, colours), 90, np.uint8)
    thumbnails = [np.full((12, 12, colours), 200, np.uint8)] * 3
    path = draw_summary(tmp_path / "new" / "summary.png", background, made_up(), thumbnails, "three objects")
    with Image.open(path) as picture:
        assert min(picture.size) > 600
    assert [file.name for file in path.parent.iterdir()] == ["summary.png"]


def test_it_is_drawn_for_objects_never_seen_in_a_part_of_the_recording(tmp_path: Path) -> None:
    nobody = np.zeros((8, 3), np.bool_)
    tracks = replace(made_up(), present=nobody, certified=nobody, residual_px=np.full((8, 3), np.nan))
    selection = Selection(crop=(4, 6, 40, 28), scale=0.5)
    background = selection.of(np.full((HEIGHT, WIDTH, 3), 90, np.uint8))
    assert draw_summary(tmp_path / "summary.png", background, tracks, [], "nothing", selection=selection).exists()
