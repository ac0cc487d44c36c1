"""Boxes of any other detector (CutLER, for example) from a file of COCO results."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from withinpx.baselines.detections import NO_DETECTIONS, Detections
from withinpx.errors import InputError
from withinpx.files import read_json

ImageId = int | str


def read_results(
    path: Path, names: Sequence[str], dataset: Path | None = None, least_score: float = 0.0
) -> list[Detections]:
    """The boxes of each image in the file's order.

    An ``image_id`` is an image's index, or its name; with a COCO ``dataset``, the id in that file. Boxes with a score
    below ``least_score`` are left out.
    """
    if not path.is_file():
        raise InputError(f"There is no file of COCO results {path}.")
    results = read_json(path)
    if not isinstance(results, list):
        raise InputError(f"{path} does not hold COCO results: those are a list of boxes, each with its image_id.")
    if not results:
        raise InputError(f"{path} holds no boxes.")
    index_of = _indices_by_name(names) if dataset is None else _indices_by_id(dataset, names)
    boxes: list[list[list[float]]] = [[] for _ in names]
    scores: list[list[float]] = [[] for _ in names]
    for number, result in enumerate(results):
        image, box, score = _parse(path, number, result)
        index = index_of.get(image)
        if index is None:
            raise InputError(
                f"{path} is of other images: {image!r} is none of the {len(names)} here ({names[0]} to {names[-1]}); "
                "an image_id is the image's index, from 0, or its name."
            )
        if score >= least_score:
            boxes[index].append(box)
            scores[index].append(score)
    return [
        Detections(np.array(image_boxes), np.array(image_scores)) if image_boxes else NO_DETECTIONS
        for image_boxes, image_scores in zip(boxes, scores, strict=True)
    ]


def _parse(path: Path, number: int, result: Any) -> tuple[ImageId, list[float], float]:
    """Image, box and score of one result."""
    try:
        image, box, score = result["image_id"], [float(side) for side in result["bbox"]], float(result.get("score", 1))
    except (TypeError, KeyError, ValueError, AttributeError):
        raise InputError(
            f"Result {number} of {path} has no image_id and bbox: this is no file of COCO results."
        ) from None
    if not isinstance(image, int | str) or len(box) != 4 or not np.isfinite(box).all() or min(box[2:]) < 0:
        raise InputError(f"Result {number} of {path} has no valid box: bbox is left, top, width and height in px.")
    return image, box, score


def _indices_by_name(names: Sequence[str]) -> dict[ImageId, int]:
    """By index, by name, and by name without folder or suffix where that is unique."""
    paths = [PurePosixPath(name) for name in names]
    index_of: dict[ImageId, int] = {index: index for index in range(len(names))}
    for keys in (
        list(names),
        [path.name for path in paths],
        [str(path.with_suffix("")) for path in paths],
        [path.stem for path in paths],
    ):
        if len(set(keys)) == len(keys):
            index_of |= {key: index for index, key in enumerate(keys)}
    return index_of


def _indices_by_id(dataset: Path, names: Sequence[str]) -> dict[ImageId, int]:
    """By the image ids of a COCO dataset."""
    content, known = read_json(dataset), _indices_by_name(names)
    try:
        files = {image["id"]: str(image["file_name"]) for image in content["images"]}
    except (TypeError, KeyError):
        raise InputError(f"{dataset} is no COCO dataset: it lists no images with id and file_name.") from None
    found = {image: known.get(file, known.get(PurePosixPath(file).name)) for image, file in files.items()}
    index_of = {image: index for image, index in found.items() if index is not None}
    if not index_of:
        raise InputError(f"{dataset} is of other images: it names none of the {len(names)} here.")
    return index_of
