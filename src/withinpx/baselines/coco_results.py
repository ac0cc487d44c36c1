"""Any other detector (CutLER, say): its boxes from a COCO-results file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from withinpx.baselines.detections import NOTHING, Found
from withinpx.errors import InputError
from withinpx.files import read_json


def read_results(
    path: Path, names: Sequence[str], dataset: Path | None = None, least_score: float = 0.0
) -> list[Found]:
    """The boxes of each image, in the file's order; none of an image that the file does not name.

    ``image_id`` is an image's place among the names, from 0, or its name; with a COCO ``dataset``, what that file calls
    it. ``least_score`` leaves out the boxes of which the detector is less sure.
    """
    if not path.is_file():
        raise InputError(f"There is no file of COCO results {path}.")
    results = read_json(path)
    if not isinstance(results, list):
        raise InputError(f"{path} does not hold COCO results: those are a list of boxes, each with its image_id.")
    if not results:
        raise InputError(f"{path} holds no box at all.")
    places = _places(names) if dataset is None else _places_of(dataset, names)
    boxes: list[list[list[float]]] = [[] for _ in names]
    scores: list[list[float]] = [[] for _ in names]
    for number, result in enumerate(results):
        image, box, score = _checked(path, number, result)
        place = places.get(image)
        if place is None:
            raise InputError(
                f"{path} is of other images: {image!r} is none of the {len(names)} here ({names[0]} to {names[-1]}); "
                "an image_id is the image's place, from 0, or its name."
            )
        if score >= least_score:
            boxes[place].append(box)
            scores[place].append(score)
    return [Found(np.array(own), np.array(sure)) if own else NOTHING for own, sure in zip(boxes, scores, strict=True)]


def _checked(path: Path, number: int, result: Any) -> tuple[int | str, list[float], float]:
    """Image, box and score of one result."""
    try:
        image, box, score = result["image_id"], [float(side) for side in result["bbox"]], float(result.get("score", 1))
    except (TypeError, KeyError, ValueError, AttributeError):
        raise InputError(
            f"Result {number} of {path} has no image_id and bbox: this is no file of COCO results."
        ) from None
    if not isinstance(image, int | str) or len(box) != 4 or not np.isfinite(box).all() or min(box[2:]) < 0:
        raise InputError(f"Result {number} of {path} has no box: bbox is left, top, width and height in px.")
    return image, box, score


def _places(names: Sequence[str]) -> dict[int | str, int]:
    """By number, by name, and by name without folder or ending where no two images share that."""
    places: dict[int | str, int] = dict(enumerate(range(len(names))))
    for shorten in (_whole, _without_folder, _without_ending, lambda name: _without_ending(_without_folder(name))):
        short = [shorten(name) for name in names]
        if len(set(short)) == len(short):
            places |= {name: place for place, name in enumerate(short)}
    return places


def _places_of(dataset: Path, names: Sequence[str]) -> dict[int | str, int]:
    """By the ids of a COCO data set."""
    held = read_json(dataset)
    known = _places(names)
    try:
        files = {image["id"]: str(image["file_name"]) for image in held["images"]}
    except (TypeError, KeyError):
        raise InputError(f"{dataset} is no COCO data set: it lists no images with id and file_name.") from None
    places = {}
    for image, file in files.items():
        place = known.get(file, known.get(_without_folder(file)))
        if place is not None:
            places[image] = place
    if not places:
        raise InputError(f"{dataset} is of other images: it names none of the {len(names)} here.")
    return places


def _whole(name: str) -> str:
    return name


def _without_folder(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _without_ending(name: str) -> str:
    return name.rsplit(".", 1)[0]
