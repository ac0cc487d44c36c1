"""The paper's evaluation protocol for baselines."""

import csv
from pathlib import Path

import numpy as np
import pytest

from withinpx.baselines.detections import Array, Detections
from withinpx.baselines.protocol import COLUMNS, Rule, object_positions, position_errors, score, write_errors
from withinpx.baselines.truth import Truth, read_truth
from withinpx.errors import InputError

IMAGES, OBJECTS, SIZE = 200, 3, 12.0


def truth_of(images: int = IMAGES) -> Truth:
    """Three distant objects, at new positions in every image."""
    centres = np.array([[20.0, 30], [60, 90], [100, 40]]) + np.random.default_rng(0).uniform(-9, 9, (images, 1, 2))
    sizes = np.full((images, OBJECTS, 2), SIZE)
    return Truth(("blue", "green", "red"), np.concatenate([centres, sizes], axis=2))


def exact_positions(truth: Truth) -> list[Array | None]:
    return [boxes[:, :2].copy() for boxes in truth.boxes]


def move(positions: list[Array | None], image: int, obj: int, x: float, y: float) -> None:
    in_image = positions[image]
    assert in_image is not None
    in_image[obj] += x, y


def boxes_at(*centres: tuple[float, float]) -> Detections:
    return Detections(np.array([[x - 3, y - 2, 6, 4] for x, y in centres]).reshape(-1, 4), np.ones(len(centres)))


def test_three_objects_in_four_sets_of_fifty_are_twelve_values() -> None:
    truth = truth_of()
    found = score(exact_positions(truth), truth)
    assert [(row.set, row.object) for row in found.values.itertuples()] == [
        (number, name) for number in range(4) for name in ("blue", "green", "red")
    ]
    assert {(row.images, row.images_used, row.error_px) for row in found.values.itertuples()} == {(50, 50, 0.0)}


def test_a_value_is_the_largest_error_of_its_set_along_the_worse_axis() -> None:
    truth = truth_of()
    positions = exact_positions(truth)
    move(positions, 49, 1, 3.0, -5.0)
    move(positions, 50, 1, 2.0, 1.5)
    move(positions, 51, 1, -1.0, 0)
    found = score(positions, truth)
    errors = {(row.set, row.object): row.error_px for row in found.values.itertuples() if row.error_px > 0}
    assert errors == {(0, "green"): pytest.approx(5.0), (1, "green"): pytest.approx(2.0)}
    assert found.values.loc[1, ["image", "size_px"]].tolist() == [49, SIZE]


def test_a_value_above_35_px_is_discarded_and_one_of_35_px_is_not() -> None:
    truth = truth_of()
    truth.boxes[:, :, 1] = np.round(truth.boxes[:, :, 1])
    positions = exact_positions(truth)
    move(positions, 0, 0, 0, 35.0)
    move(positions, 1, 1, 0, 35.5)
    move(positions, 2, 1, 0, 1.0)
    found = score(positions, truth)
    assert found.values.kept.tolist() == [True, False] + [True] * 10
    assert max(found.kept) == 35.0
    assert len(found.kept) == 11
    assert found.values.loc[1, ["error_px", "near_error_px"]].tolist() == [35.5, 1.0]


def test_predictions_are_assigned_with_the_smallest_sum_of_errors() -> None:
    truth = np.array([[10.0, 10], [20, 10], [90, 90]])
    mixed = np.array([[91.0, 88], [13, 10], [12, 10]])
    # Each prediction to its nearest object would give the first object two of them.
    assert position_errors(mixed, truth).tolist() == [2.0, 7.0, 2.0]
    assert position_errors(mixed[[2, 0, 1]], truth).tolist() == [2.0, 7.0, 2.0]


def test_an_object_cut_off_by_the_border_is_not_evaluated() -> None:
    truth = np.array([[10.0, 10], [np.nan, np.nan], [90, 90]])
    errors = position_errors(np.array([[90.0, 91], [10, 10], [50, 50]]), truth)
    assert errors[[0, 2]].tolist() == [0.0, 1.0]
    assert np.isnan(errors[1])


def test_sam_s_second_to_fourth_masks_are_the_objects() -> None:
    five = boxes_at((64, 64), (1, 1), (2, 2), (3, 3), (4, 4))
    taken = object_positions(five, 3, Rule.AFTER_THE_FIRST)
    assert taken is not None
    assert taken.tolist() == [[1, 1], [2, 2], [3, 3]]
    assert object_positions(boxes_at((64, 64), (1, 1), (2, 2)), 3, Rule.AFTER_THE_FIRST) is None


def test_other_detectors_must_find_exactly_three_boxes() -> None:
    found = {count: object_positions(boxes_at(*[(9, 9)] * count), 3, Rule.EXACTLY) for count in (0, 2, 3, 4)}
    assert [count for count, positions in found.items() if positions is not None] == [3]


def test_the_largest_blobs_are_used() -> None:
    taken = object_positions(boxes_at((1, 1), (2, 2), (3, 3), (4, 4)), 3, Rule.LARGEST)
    assert taken is not None
    assert taken.tolist() == [[1, 1], [2, 2], [3, 3]]
    assert object_positions(boxes_at((1, 1), (2, 2)), 3, Rule.LARGEST) is None


def test_the_fraction_of_used_images_is_reported() -> None:
    truth = truth_of()
    positions = exact_positions(truth)
    positions[10:60] = [None] * 50
    found = score(positions, truth)
    assert found.used.sum() == 150
    assert found.values.images_used[::3].tolist() == [10, 40, 50, 50]
    assert "150 of 200 images used (75.0%)" in str(found)


def test_a_set_without_a_single_usable_image_has_no_value(tmp_path: Path) -> None:
    truth = truth_of()
    positions = exact_positions(truth)
    positions[:50] = [None] * 50
    found = score(positions, truth)
    assert len(found.kept) == 9
    write_errors(tmp_path / "errors.csv", found)
    with (tmp_path / "errors.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 12
    assert (rows[0]["error_px"], rows[0]["kept"], rows[0]["images_used"]) == ("", "0", "0")
    assert (rows[3]["error_px"], rows[3]["kept"], rows[3]["size_px"]) == ("0.0000", "1", "12.0000")


def test_unusable_positions_are_refused() -> None:
    truth = truth_of()
    with pytest.raises(InputError, match="None of the 200 images could be used"):
        score([None] * IMAGES, truth)
    with pytest.raises(InputError, match="positions of 3 images and a truth of 200"):
        score([None] * 3, truth)
    with pytest.raises(InputError, match="There are 3 images"):
        score([None] * 3, truth_of(3))


def test_truths_of_several_folders_are_concatenated(tmp_path: Path) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("frame,object,x,y,w,h,full\n0,0,1.5,2.5,4,4,1\n1,0,3.5,2.5,4,4,0\n")
    test.write_text("frame,object,x,y,w,h,full\n0,0,7.5,8.5,4,5,1\n0,1,9,9,4,5,1\n")
    truth = read_truth([train, test], [2, 1])
    assert truth.names == ("0", "1")
    assert truth.boxes[0, 0].tolist() == [1.5, 2.5, 4, 4]
    assert np.isnan(truth.boxes[1]).all()  # the border cuts it off
    assert truth.boxes[2].tolist() == [[7.5, 8.5, 4, 5], [9, 9, 4, 5]]


def test_a_truth_of_other_images_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "truth.csv"
    with pytest.raises(InputError, match="There is no table"):
        read_truth([table], [1])
    table.write_text("frame,object,x,y,w,h,full\n7,0,1.5,2.5,4,4,1\n")
    with pytest.raises(InputError, match="it has a frame 7 and there are 5 images"):
        read_truth([table], [5])
    with pytest.raises(InputError, match="2 folders of images and 1 tables"):
        read_truth([table], [5, 5])
    table.write_text("frame,x\n1,2\n")
    with pytest.raises(InputError, match="is no table of true positions"):
        read_truth([table], [5])
