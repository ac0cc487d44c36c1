"""The report of an inspection, as text, JSON and a contact sheet: what moves, and do the assumptions look met?"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from withinpx.data.clip import Clip
from withinpx.data.scenes import three_objects, twins
from withinpx.data.selection import Selection
from withinpx.discovery.contact_sheet import cut_out, save_contact_sheet
from withinpx.discovery.inspection import Inspection, inspect
from withinpx.discovery.objects import Blob, MovingObject
from withinpx.discovery.report import assumptions, colour_name, displacement_text, hex_colour, seen_intervals

TRIO = three_objects(frames=24, width=96, height=72).clip


@pytest.fixture(scope="module")
def trio() -> Inspection:
    return inspect(TRIO)


@pytest.fixture(scope="module")
def pair() -> Inspection:
    return inspect(twins(frames=24, width=96, height=72).clip)


def obj(*seen: tuple[int, float], colour: tuple[float, ...] = (0.5, 0.5, 0.5), size: int = 10) -> MovingObject:
    """Seen in these frames at these x."""
    return MovingObject(
        tuple(
            Blob(frame, (x, 20.0), (round(x) - 5, 15, round(x) + 5, 25), 100, np.array(colour), size)
            for frame, x in seen
        )
    )


def with_moving_camera(inspection: Inspection, by: float) -> Inspection:
    count = len(inspection.clip)
    camera = np.stack([np.linspace(0, by, count), np.zeros(count)], axis=-1)
    images = np.repeat(inspection.background.images, count, axis=0)
    return replace(inspection, camera=camera, background=replace(inspection.background, images=images))


def test_the_text_lists_every_object(trio: Inspection) -> None:
    text = str(trio)
    assert "24 frames of 96x72 px" in text
    assert "still: one image for all frames" in text
    assert "levels of 255" in text
    assert all(word in text for word in ("red", "blue", "yellow"))
    assert text.count("looks met") == 3
    assert "DOUBTFUL" not in text


def test_repr_is_one_line(trio: Inspection) -> None:
    clip = replace(TRIO, source="/films/pool.mp4", selection=Selection(scale=0.5))
    small = replace(trio, clip=clip, objects=(obj((0, 20), (1, 40), size=5), obj((0, 20), (1, 40), size=6)))
    assert repr(small) == "Inspection(pool.mp4: 2 moving objects of 10 to 12 px, fixed camera)"
    assert repr(with_moving_camera(small, 5)).endswith("of 10 to 12 px, moving camera)")
    assert repr(replace(small, unordered=True)).endswith("of 10 to 12 px, unordered images)")
    assert "1 moving object of 10 px," in repr(replace(small, objects=small.objects[:1]))


def test_objects_that_look_alike_are_reported(pair: Inspection) -> None:
    ((one, other),) = pair.alike
    lines = str(pair).splitlines()
    assert f"  objects {one} and {other} look alike" in lines
    assert [check.met for check in assumptions(pair)] == [True, True, False]
    assert "DOUBTFUL" in lines[-1]


def test_numbers_are_in_pixels_of_the_recording(trio: Inspection) -> None:
    part = replace(TRIO, selection=Selection(crop=(10, 20, 192, 144), scale=0.5))
    whole, scaled = (inspection.to_json()["objects"][0] for inspection in (trio, replace(trio, clip=part)))
    assert scaled["size_px"] == pytest.approx([2 * size for size in whole["size_px"]])
    assert scaled["travel_px"] == pytest.approx(2 * whole["travel_px"], abs=0.02)
    x, y = whole["first_seen_at"]
    assert scaled["first_seen_at"] == pytest.approx([2 * x + 10, 2 * y + 20], abs=0.02)


def test_the_json_holds_the_same_facts(pair: Inspection) -> None:
    found = json.loads(json.dumps(pair.to_json()))
    assert (found["background"], found["camera_travel_px"], found["frames"]) == ("still", 0, 24)
    assert found["alike"] == [list(indices) for indices in pair.alike]
    assert [check["name"] for check in found["assumptions"]] == ["background", "displacement", "distinct"]
    assert len(found["objects"]) == 3
    assert not found["unordered"]


def test_a_moving_camera_is_reported_with_its_travel(trio: Inspection) -> None:
    moving = with_moving_camera(trio, 33.0)
    assert "moving camera, by up to 33 px" in str(moving)
    assert moving.to_json()["camera_travel_px"] == 33.0


def test_small_displacements_and_stationary_objects_are_reported(trio: Inspection) -> None:
    shy = replace(trio, objects=(obj((0, 20), (1, 26)),), stationary=(obj((0, 40), (1, 40.5)),))
    assert "object 0 travels less than its own size" in str(shy)
    assert "stationary: a change of 10 px at (40, 20), seen in 2 frames" in str(shy)
    assert displacement_text(obj((0, 20), (1, 26))) == "barely"
    assert displacement_text(obj((0, 20), (1, 31))) == "yes"


def test_long_lists_are_cut_in_the_text_and_complete_in_the_json(trio: Inspection) -> None:
    first = trio.hypotheses[0]
    many = replace(trio, stationary=(obj((0, 40), (1, 40.5)),) * 9, hypotheses=(first,) * 8)
    assert str(many).count("stationary: a change") == 5
    assert "and 4 more changes that stay where they are" in str(many)
    assert f"and 3 more, of score {first.score:.3f} or less" in str(many)
    assert (len(many.to_json()["stationary"]), len(many.to_json()["hypotheses"])) == (9, 8)


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
def test_colours_have_names(colour: tuple[float, ...], name: str) -> None:
    assert colour_name(obj((0, 20), (1, 40), colour=colour)) == name


def test_a_grey_object_has_a_colour_too() -> None:
    assert hex_colour(obj((0, 20), colour=(1.0,))) == "#FFFFFF"


def test_intervals_end_at_gaps() -> None:
    assert seen_intervals(obj((2, 0), (3, 0), (4, 0), (8, 0), (11, 0), (12, 0))) == [(2, 4), (8, 8), (11, 12)]


def test_a_cut_out_is_centred_and_grey_beyond_the_border() -> None:
    image = np.zeros((20, 30, 1), np.uint8)
    image[4:7, 9:12] = 255
    middle = cut_out(image, (10.5, 5.5), 5)
    assert middle[1:4, 1:4].all() and middle.sum() == 9
    corner = cut_out(image, (0.0, 0.0), 6)
    assert corner.shape == (6, 6, 1)
    assert (corner[:3] == 0.5).all() and (corner[3:, 3:] == 0).all()


@pytest.mark.parametrize("colours", [3, 1])
def test_the_contact_sheet_is_saved(tmp_path: Path, colours: int) -> None:
    frames = TRIO.frames if colours == 3 else TRIO.frames.mean(axis=-1, keepdims=True).astype(np.uint8)
    inspection = inspect(Clip(frames))
    assert isinstance(inspection.plot(), Figure)
    path = save_contact_sheet(tmp_path / "new" / "inspection.png", inspection)
    with Image.open(path) as image:
        assert min(image.size) > 900
    assert [file.name for file in path.parent.iterdir()] == ["inspection.png"]


def test_objects_that_do_not_fit_are_counted(tmp_path: Path, trio: Inspection) -> None:
    crowd = replace(trio, objects=trio.objects[:1] * 15, stationary=trio.objects[1:2])
    with Image.open(save_contact_sheet(tmp_path / "a.png", with_moving_camera(crowd, 9))) as many:
        tall = many.height
    with Image.open(save_contact_sheet(tmp_path / "b.png", trio)) as few:
        assert few.height < tall < 4 * few.height
