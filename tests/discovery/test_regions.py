"""Every pixel belongs to the nearest detection, and a view shows the pixels of one."""

import numpy as np
import pytest

from withinpx.data.swarm import swarm_clip
from withinpx.discovery.background import BackgroundModel
from withinpx.discovery.classes import (
    Classes,
    areas_of_one,
    as_classes,
    groups_of,
    seen_together,
    visible_groups,
    without_multiples,
)
from withinpx.discovery.inspection import inspect
from withinpx.discovery.objects import MovingObject, find_blobs, find_changes
from withinpx.discovery.regions import find_regions, nearest_regions, only_region

BACKGROUND = BackgroundModel(np.full((1, 40, 60, 1), 0.2, np.float32), np.full((40, 60), 0.05, np.float32))


def frame(*places: tuple[int, int], side: int = 8) -> np.ndarray:
    image = np.full((40, 60, 1), 51, np.uint8)
    for x, y in places:
        image[y : y + side, x : x + side] = 220
    return image


def test_regions_are_the_blobs_with_their_pixels() -> None:
    changes = find_changes(frame((10, 10), (40, 20)), BACKGROUND, 0)
    regions, blobs = find_regions(changes), find_blobs(changes)
    assert [region.blob.centre for region in regions] == [blob.centre for blob in blobs]
    for region in regions:
        left, top, right, bottom = region.blob.box
        rows, columns = np.nonzero(region.mask)
        found = (columns.min() + region.box[1].start, rows.min() + region.box[0].start)
        assert found == (left, top)
        assert region.mask.sum() == region.blob.area == (right - left) * (bottom - top)


def test_cells_meet_halfway_between_two_objects() -> None:
    regions = find_regions(find_changes(frame((10, 10), (30, 10)), BACKGROUND, 0))
    cells = nearest_regions((40, 60), regions)
    first = int(cells[14, 12])
    assert (cells[14, :23] == first).all()  # 17 is the last column of one, 30 the first of the other
    assert (cells[14, 25:] != first).all()


def test_a_view_shows_one_object_over_the_background() -> None:
    image = frame((10, 10), (30, 10))
    regions = find_regions(find_changes(image, BACKGROUND, 0))
    cells = nearest_regions((40, 60), regions)
    views = [only_region(image, BACKGROUND.bytes[0], cells, number) for number in range(2)]
    alone = [frame((10, 10)), frame((30, 10))]
    assert sorted(view.tobytes() for view in views) == sorted(view.tobytes() for view in alone)


def test_without_regions_everything_is_one_cell() -> None:
    assert not nearest_regions((4, 5), []).any()


def test_what_looks_alike_in_pairs_is_one_class() -> None:
    assert groups_of(5, [(0, 2), (2, 4)]) == ((0, 2, 4), (1,), (3,))
    assert groups_of(2, []) == ((0,), (1,))


def test_regions_are_one_object_several_or_none_by_their_area() -> None:
    classes = Classes((50.0, 80.0))
    blobs = find_blobs(find_changes(frame((10, 10), (30, 10)), BACKGROUND, 0))
    assert all(classes.is_one(blob) for blob in blobs)
    (touching,) = find_blobs(find_changes(frame((10, 10), (18, 10)), BACKGROUND, 0))
    assert not classes.is_one(touching)
    assert len(classes.find(frame((10, 10), (40, 30)), BACKGROUND)) == 2
    assert not Classes((200.0, 300.0)).find(frame((10, 10)), BACKGROUND)


def test_the_area_of_one_object_leaves_out_those_that_touch() -> None:
    alone = find_blobs(find_changes(frame((10, 10)), BACKGROUND, 0))
    touching = find_blobs(find_changes(frame((10, 10), (18, 10)), BACKGROUND, 0))
    low, high = areas_of_one([*alone * 8, *touching * 2])
    assert low < 64 < high < 128


def test_every_view_of_a_swarm_shows_one_disc() -> None:
    made = swarm_clip(3)
    inspection = inspect(made.clip)
    count = len(inspection.objects)
    views = as_classes(inspection, groups_of(count, inspection.alike))
    assert views is not None
    isolated, classes = views
    assert classes.complete
    assert len(isolated.objects) == 1
    assert len(isolated.objects[0].blobs) == len(isolated.clip)
    area = np.pi / 4 * made.sizes.max() ** 2
    usual = np.median([blob.area for blob in isolated.objects[0].blobs])
    assert classes.areas[0] < usual < classes.areas[1] < 2 * area
    changed = isolated.background.changed(isolated.clip.frames).sum(axis=(1, 2))
    assert np.median(changed) == pytest.approx(area, rel=0.3)


def test_classes_know_whether_other_objects_are_left_out() -> None:
    inspection = inspect(swarm_clip(3).clip)
    some = as_classes(inspection, (tuple(range(1, len(inspection.objects))),))
    assert some is not None
    assert not some[1].complete
    assert not some[1].scaled(0.5).complete


def test_only_objects_that_are_seen_together_can_be_a_class() -> None:
    made = swarm_clip(3)
    inspection = inspect(made.clip)
    assert seen_together(inspection.objects, inspection.alike) == inspection.alike
    first = inspection.objects[0]
    halves = MovingObject(first.blobs[: len(first.blobs) // 2]), MovingObject(first.blobs[len(first.blobs) // 2 :])
    assert not seen_together(halves, [(0, 1)])


def test_two_that_move_together_are_no_class_of_their_own() -> None:
    """Their region has the colour of the others and is larger than one of them."""
    alone, both, other = frame((10, 10)), frame((10, 10), (18, 10)), frame((10, 10), side=12)
    other[other == 220] = 120
    one, pair, darker = (
        MovingObject(tuple(find_blobs(find_changes(image, BACKGROUND, 0)))) for image in (alone, both, other)
    )
    assert without_multiples([one, one, pair], ((0, 1), (2,)), 3) == ((0, 1),)
    assert without_multiples([one, one, darker], ((0, 1), (2,)), 3) == ((0, 1), (2,))
    assert without_multiples([one, pair], ((0,), (1,)), 3) == ((0,), (1,))


def test_a_part_of_one_that_is_seen_now_and_then_is_no_class_of_its_own() -> None:
    one, part = (
        MovingObject(tuple(find_blobs(find_changes(frame((10, 10), side=side), BACKGROUND, 0)))) for side in (8, 4)
    )
    assert without_multiples([one, one, part], ((0, 1), (2,)), 3) == ((0, 1),)  # in one frame of three
    assert without_multiples([one, one, part], ((0, 1), (2,)), 1) == ((0, 1), (2,))  # in all: a smaller object


def test_specks_are_left_out_where_the_network_cannot_see_them() -> None:
    one, speck = (
        MovingObject(tuple(find_blobs(find_changes(frame((10, 10), side=side), BACKGROUND, 0)))) for side in (8, 3)
    )
    assert visible_groups([one, one, speck], ((0, 1), (2,)), 8.0) == ((0, 1), (2,))
    assert visible_groups([one, one, speck], ((0, 1), (2,)), 4.0) == ((0, 1),)
