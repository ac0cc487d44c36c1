"""Reading another detector's COCO results."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from withinpx.baselines.coco_results import read_results
from withinpx.baselines.detections import DETECTIONS, IMAGES, Detections, write_coco
from withinpx.errors import InputError

NAMES = ("train/000000.png", "train/000001.png", "test/000000.png")


def written(folder: Path, *results: Any) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps(list(results)))
    return path


def box(image: int | str, left: float, score: float = 1.0) -> dict[str, Any]:
    return {"image_id": image, "category_id": 1, "bbox": [left, 2.0, 4.0, 6.0], "score": score}


def counts(found: list[Detections]) -> list[int]:
    return [len(detections.boxes) for detections in found]


def test_boxes_keep_image_and_order(tmp_path: Path) -> None:
    found = read_results(written(tmp_path, box(2, 9), box(0, 5), box(2, 1)), NAMES)
    assert counts(found) == [1, 0, 2]
    assert found[2].centres.tolist() == [[11, 5], [3, 5]]


def test_images_can_be_given_by_name(tmp_path: Path) -> None:
    named = written(tmp_path, box("test/000000.png", 1), box("train/000001", 2), box("000001.png", 3))
    with pytest.raises(InputError, match=r"'000001.png' is none of the 3 here"):  # both folders contain a 000000.png
        read_results(named, NAMES)
    named = written(tmp_path, box("test/000000.png", 1), box("train/000001", 2))
    assert counts(read_results(named, NAMES)) == [0, 1, 1]
    assert counts(read_results(written(tmp_path, box("b.png", 1), box("a", 2)), ["a.png", "b.png"])) == [1, 1]


def test_image_ids_can_be_those_of_a_coco_dataset(tmp_path: Path) -> None:
    dataset = tmp_path / "dataset.json"
    dataset.write_text(json.dumps({"images": [{"id": 70 + n, "file_name": name} for n, name in enumerate(NAMES)]}))
    assert counts(read_results(written(tmp_path, box(72, 1)), NAMES, dataset)) == [0, 0, 1]
    with pytest.raises(InputError, match="of other images: 2 is none"):
        read_results(written(tmp_path, box(2, 1)), NAMES, dataset)
    with pytest.raises(InputError, match="names none of the 1 here"):
        read_results(written(tmp_path, box(2, 1)), ["else.png"], dataset)


def test_boxes_with_a_low_score_can_be_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, box(0, 1, 0.9), box(0, 2, 0.5), box(0, 3, 0.1))
    assert counts(read_results(path, NAMES, least_score=0.5)) == [2, 0, 0]


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([box(3, 1)], "is of other images: 3 is none of the 3 here"),
        ([box(-1, 1)], "is of other images"),
        ([box("else.png", 1)], "is of other images: 'else.png'"),
        ([], "holds no boxes"),
        ([{"image_id": 0}], "Result 0 of .* has no image_id and bbox"),
        ([box(0, 1), {**box(0, 1), "bbox": [1, 2, 3]}], "Result 1 of .* has no valid box"),
        ([{**box(0, 1), "bbox": [1, 2, -3, 4]}], "has no valid box"),
        ([{**box(0, 1), "image_id": None}], "has no valid box"),
    ],
)
def test_results_of_other_images_or_without_boxes_are_refused(tmp_path: Path, results: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_results(written(tmp_path, *results), NAMES)


def test_a_file_without_coco_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file of COCO results"):
        read_results(tmp_path / "none.json", NAMES)
    path = tmp_path / "results.json"
    path.write_text("[{")
    with pytest.raises(InputError, match="cannot be read as JSON"):
        read_results(path, NAMES)
    path.write_text('{"images": []}')
    with pytest.raises(InputError, match="does not hold COCO results"):
        read_results(path, NAMES)


def test_what_is_written_reads_the_same(tmp_path: Path) -> None:
    found = [
        Detections(np.array([[1.5, 2, 3, 4], [9, 8, 7, 6]]), np.array([0.5, 1.0])),
        Detections(np.empty((0, 4)), np.empty(0)),
    ]
    write_coco(tmp_path, NAMES[:2], [(32, 24)] * 2, found)
    again = read_results(tmp_path / DETECTIONS, NAMES[:2], tmp_path / IMAGES)
    assert counts(again) == [2, 0]
    assert np.array_equal(again[0].boxes, found[0].boxes)
    assert np.array_equal(again[0].scores, found[0].scores)
