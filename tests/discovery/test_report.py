"""What a person is told before any training: what moves, what looks alike, and what that means for the theorem."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from withinpx.data.clip import Clip
from withinpx.data.scenes import three_things, twins
from withinpx.data.selection import Selection
from withinpx.discovery.contact_sheet import cut_out, draw_sheet
from withinpx.discovery.inspection import Inspection, inspect
from withinpx.discovery.objects import Blob, MovingObject
from withinpx.discovery.report import (
    colour_name,
    hex_colour,
    inspection_json,
    inspection_rows,
    outlooks,
    places_text,
    seen_stretches,
)

TRIO, TWINS = (make(frames=24, width=96, height=72).clip for make in (three_things, twins))


@pytest.fixture(scope="module")
def trio() -> Inspection:
    return inspect(TRIO)


@pytest.fixture(scope="module")
def pair() -> Inspection:
    return inspect(TWINS)


def mover(*places: tuple[int, float], colour: tuple[float, ...] = (0.5, 0.5, 0.5), size: int = 10) -> MovingObject:
    """Seen in these frames, at these x."""
    blobs = (
        Blob(frame, (x, 20.0), (round(x) - 5, 15, round(x) + 5, 25), 100, np.array(colour), 0.4, size)
        for frame, x in places
    )
    return MovingObject(tuple(blobs))


def moved_by_the_camera(inspection: Inspection, by: float) -> Inspection:
    count = len(inspection.images)
    camera = np.stack([np.linspace(0, by, count), np.zeros(count)], axis=-1)
    pictures = np.repeat(inspection.background.images, count, axis=0)
    return replace(inspection, camera=camera, background=replace(inspection.background, images=pictures))


def test_the_terminal_is_told_of_every_mover(trio: Inspection) -> None:
    text = "\n".join(inspection_rows(TRIO, trio))
    assert "24 frames of 96x72 px" in text
    assert "still: one picture for all frames" in text
    assert "levels of 255" in text
    assert {word for word in ("red", "blue", "yellow") if word in text} == {"red", "blue", "yellow"}
    assert text.count("looks met") == 3
    assert "DOUBTFUL" not in text


def test_twins_are_named_before_any_training(pair: Inspection) -> None:
    (one, other) = pair.alike[0]
    rows = inspection_rows(TWINS, pair)
    assert f"  movers {one} and {other} look alike" in rows
    assert [each.met for each in outlooks(TWINS, pair)] == [True, True, False]
    assert "DOUBTFUL" in rows[-1]


def test_numbers_are_the_recordings_own(trio: Inspection) -> None:
    half = replace(TRIO, selection=Selection(crop=(10, 20, 192, 144), scale=0.5))
    whole, scaled = (inspection_json(clip, trio)["movers"][0] for clip in (TRIO, half))
    assert scaled["size_px"] == pytest.approx([2 * size for size in whole["size_px"]])
    assert scaled["travel_px"] == pytest.approx(2 * whole["travel_px"], abs=0.02)
    x, y = whole["first_seen_at"]
    assert scaled["first_seen_at"] == pytest.approx([2 * x + 10, 2 * y + 20], abs=0.02)


def test_the_same_is_said_as_json(pair: Inspection) -> None:
    said = json.loads(json.dumps(inspection_json(TWINS, pair)))
    assert (said["background"], said["camera_travel_px"], said["frames"]) == ("still", 0, 24)
    assert said["alike"] == [list(each) for each in pair.alike]
    assert [each["name"] for each in said["assumptions"]] == ["background", "places", "distinct"]
    assert len(said["movers"]) == 3


def test_a_moving_camera_is_told_with_its_travel(trio: Inspection) -> None:
    moving = moved_by_the_camera(trio, 33.0)
    assert "moving camera, by up to 33 px" in "\n".join(inspection_rows(TRIO, moving))
    assert inspection_json(TRIO, moving)["camera_travel_px"] == 33.0


def test_what_hardly_moves_and_what_stays_is_said(trio: Inspection) -> None:
    shy = replace(trio, objects=(mover((0, 20), (1, 26)),), stationary=(mover((0, 40), (1, 40.5)),))
    text = "\n".join(inspection_rows(TRIO, shy))
    assert "mover 0 travels less than one size of its own" in text
    assert "stays in place: something of 10 px at (40, 20), seen in 2 frames" in text
    assert places_text(mover((0, 20), (1, 26))) == "barely"
    assert places_text(mover((0, 20), (1, 31))) == "yes"


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        ((0.86, 0.16, 0.13), "red"),
        ((0.16, 0.34, 0.90), "blue"),
        ((0.93, 0.80, 0.14), "yellow"),
        ((0.2, 0.7, 0.3), "green"),
        ((0.85, 0.75, 0.63), "beige"),
        ((0.05,), "black"),
        ((0.5,), "grey"),
        ((0.97,), "white"),
    ],
)
def test_a_colour_has_a_word(colour: tuple[float, ...], name: str) -> None:
    assert colour_name(mover((0, 20), (1, 40), colour=colour)) == name


def test_a_grey_thing_has_a_colour_too() -> None:
    assert hex_colour(mover((0, 20), colour=(1.0,))) == "#FFFFFF"


def test_gaps_part_the_stretches_in_which_it_is_seen() -> None:
    assert seen_stretches(mover((2, 0), (3, 0), (4, 0), (8, 0), (11, 0), (12, 0))) == [(2, 4), (8, 8), (11, 12)]


def test_a_cut_out_is_centred_and_grey_beyond_the_border() -> None:
    picture = np.zeros((20, 30, 1), np.float32)
    picture[4:7, 9:12] = 1
    middle = cut_out(picture, (10.5, 5.5), 5)
    assert middle[1:4, 1:4].all() and middle.sum() == 9
    corner = cut_out(picture, (0.0, 0.0), 6)
    assert corner.shape == (6, 6, 1)
    assert (corner[:3] == 0.5).all() and (corner[3:, 3:] == 0).all()


def grey(clip: Clip) -> Clip:
    return replace(clip, frames=clip.frames.mean(axis=-1, keepdims=True).astype(np.uint8))


@pytest.mark.parametrize("clip", [TRIO, grey(TRIO)], ids=["colour", "grey"])
def test_the_sheet_is_drawn(tmp_path: Path, clip: Clip) -> None:
    path = draw_sheet(tmp_path / "new" / "inspection.png", clip, inspect(clip))
    with Image.open(path) as picture:
        assert min(picture.size) > 900
    assert [file.name for file in path.parent.iterdir()] == ["inspection.png"]


def test_more_movers_than_fit_are_counted(tmp_path: Path, trio: Inspection) -> None:
    crowd = replace(trio, objects=trio.objects[:1] * 15, stationary=trio.objects[1:2])
    with Image.open(draw_sheet(tmp_path / "a.png", TRIO, moved_by_the_camera(crowd, 9))) as many:
        tall = many.height
    with Image.open(draw_sheet(tmp_path / "b.png", TRIO, trio)) as few:
        assert few.height < tall < 4 * few.height
