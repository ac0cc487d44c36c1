"""The summary shows the numbers of the table, at one width whatever the number of objects."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.tracking.scenes import HEIGHT, WIDTH, made_up, never_present, refused
from withinpx.data.selection import Selection
from withinpx.figures import save_figure
from withinpx.tracking.summary import caption, plot_summary
from withinpx.tracking.tracks import Tracks

IMAGE = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
THUMBNAIL = np.full((12, 12, 3), 200, np.uint8)


def test_a_caption_has_the_objects_numbers() -> None:
    tracks = replace(made_up(), residual_px=np.full((8, 3), 0.12))
    assert caption(tracks, 0) == "object 0: 6 px, ±5.8 px, 8/8 frames certified, residual median 0.12 px"
    assert caption(tracks, 1) == "object 1: 6 px, ±4.5 px, 6/8 frames certified, residual median 0.12 px"
    tracks.bounds[3, 0] = 42.0
    assert "object 0: 6 px, half within ±5.8 px, all within ±42.0 px, 8/8 frames certified" in caption(tracks, 0)
    without_bound = refused(tracks, np.ones((8, 3), np.bool_), "distinct")
    assert caption(without_bound, 2) == "object 2: 6 px, no bound, 0/8 frames certified, residual median 0.12 px"
    assert caption(never_present(tracks), 0) == "object 0: no bound, 0/8 frames certified"


@pytest.mark.parametrize("colours", [1, 3])
def test_a_summary_is_saved_as_an_image(tmp_path: Path, colours: int) -> None:
    thumbnails = [THUMBNAIL[..., :colours]] * 3
    figure = plot_summary(IMAGE[..., :colours], made_up(), thumbnails, "three objects")
    path = save_figure(figure, tmp_path / "new" / "summary.png")
    with Image.open(path) as image:
        assert min(image.size) > 600
    assert [file.name for file in path.parent.iterdir()] == ["summary.png"]


def test_objects_that_are_never_present_in_a_crop_are_summarised(tmp_path: Path) -> None:
    selection = Selection(crop=(4, 6, 40, 28), scale=0.5)
    image = selection.apply(IMAGE)
    figure = plot_summary(image, never_present(made_up()), [], "nothing", selection=selection)
    assert save_figure(figure, tmp_path / "summary.png").exists()


def many(objects: int) -> Tracks:
    """The made-up tracks over and over."""
    chosen = np.arange(objects) % 3
    names = (
        "positions",
        "sizes",
        "bounds",
        "z",
        "theorem_px",
        "residual_px",
        "present",
        "reasons",
        "sigma_px",
        "set_px",
        "angles_deg",
    )
    tracks = made_up()
    repeated: Any = {name: getattr(tracks, name)[:, chosen] for name in names}
    return replace(tracks, **repeated)


@pytest.mark.parametrize("objects", [1, 9, 24])
def test_the_page_is_as_wide_for_any_number_of_objects_and_nothing_leaves_it(objects: int, tmp_path: Path) -> None:
    title = "; ".join(["cage_17.mp4: none certified", *(f"object {index} refused: distinct" for index in range(24))])
    figure: Any = plot_summary(IMAGE, many(objects), [THUMBNAIL] * objects, title)
    used, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert 0 <= used.x0 < used.x1 <= width
    assert 0 <= used.y0 < used.y1 <= height
    with Image.open(save_figure(figure, tmp_path / "summary.png")) as image:
        assert image.width == 1920


def y_panel(tracks: Tracks) -> Any:
    """The axes of y over time."""
    figure = plot_summary(IMAGE, tracks, [], "", colours=["#111111", "#222222", "#333333"])
    return figure.axes[2]


def test_time_is_in_seconds_where_it_is_known() -> None:
    tracks = made_up()
    without_clock = replace(tracks, times_s=np.full(8, np.nan))
    assert y_panel(tracks).get_xlabel() == "time (s)"
    assert y_panel(without_clock).get_xlabel() == "frame"
    assert y_panel(replace(without_clock, unordered=True)).get_xlabel() == "image"


def test_trajectories_are_lines_and_unordered_images_dots_of_the_objects_colours() -> None:
    lines = y_panel(made_up()).get_lines()
    assert {line.get_color() for line in lines} == {"#111111", "#222222", "#333333"}
    assert {line.get_linestyle() for line in lines} == {"-", ":"}
    unordered = y_panel(replace(made_up(), unordered=True)).get_lines()
    assert {line.get_linestyle() for line in unordered} == {"None"}
    assert {line.get_marker() for line in unordered} == {".", "x"}


def test_the_band_is_the_bound_around_the_position_and_ends_where_it_is_refused() -> None:
    first, second, _ = y_panel(made_up()).collections
    outline = first.get_paths()[0].vertices[:, 1]
    assert (outline.min(), outline.max()) == (9.5 - 5.75, 9.5 + 5.75)
    assert len(second.get_paths()) == 2  # before and after the refused frames
