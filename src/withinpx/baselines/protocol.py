"""The paper's evaluation of baselines (app. C.2), for the boxes of any detector.

The training and test images of a dataset together are split into four sets of 50. A position error is the largest
|position - truth| along either axis over the images of a set, for each object: 3 objects x 4 sets = 12 values. Values
above 35 px are discarded.

The paper leaves two points open:

- Which prediction belongs to which object. Here: the assignment with the smallest sum of errors, image by image. No
  detector identifies the objects, and this is the rule that favours it most.
- Whether 35 px limits a value or each image's error. Here: a value, as the sentence reads; the result of the other
  reading is stored beside it (``near_error_px``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from withinpx.baselines.detections import Array, Detections
from withinpx.baselines.truth import Truth
from withinpx.errors import InputError
from withinpx.files import write_atomically

SETS = 4
MAX_ERROR = 35.0  # px
NEAR = 2.0  # px, for the summary
COLUMNS = (
    "set",  # from 0
    "object",
    "images",  # in the set
    "images_used",
    "error_px",  # empty where no image could be used
    "kept",  # at most MAX_ERROR
    "image",  # index of the image with the largest error
    "size_px",  # the object's larger side there
    "near_error_px",  # the largest of the images' errors up to MAX_ERROR
)


class Rule(Enum):
    """Which boxes of an image are taken for its objects."""

    AFTER_THE_FIRST = "the first is the background, the next ones are the objects"  # SAM
    EXACTLY = "as many as there are objects, else the image is discarded"  # CutLER, and any other detector
    LARGEST = "the first ones, the largest; with too few, the image is discarded"  # blobs


@dataclass(frozen=True)
class Score:
    """The result of a method on a dataset."""

    values: pd.DataFrame  # one position error per set and object; see COLUMNS
    errors: Array  # (images, objects), px; NaN where an image could not be used

    @property
    def used(self) -> NDArray[np.bool_]:
        """(images,): which images could be used."""
        return np.asarray(np.isfinite(self.errors).any(axis=1))

    @property
    def kept(self) -> list[float]:
        """The values that are not discarded, px."""
        return [float(error) for error in self.values.error_px[self.values.kept]]

    def __str__(self) -> str:
        single = self.errors[np.isfinite(self.errors)]
        used = int(self.used.sum())
        largest = f", the largest {max(self.kept):.2f} px" if self.kept else ""
        return (
            f"{used} of {len(self.used)} images used ({used / len(self.used):.1%}); {len(self.kept)} of "
            f"{len(self.values)} values within {MAX_ERROR:g} px{largest}; single positions: median error "
            f"{np.median(single):.2f} px, {np.mean(single <= NEAR):.1%} within {NEAR:g} px, "
            f"worst {single.max():.2f} px."
        )


def object_positions(found: Detections, objects: int, rule: Rule) -> Array | None:
    """The centres (objects, 2) of the boxes taken for the objects; None if the image cannot be used."""
    if rule is Rule.AFTER_THE_FIRST:
        return found.centres[1 : objects + 1] if len(found.boxes) > objects else None
    if rule is Rule.LARGEST:
        return found.centres[:objects] if len(found.boxes) >= objects else None
    return found.centres if len(found.boxes) == objects else None


def score(positions: Sequence[Array | None], truth: Truth) -> Score:
    """Compare the positions (objects, 2) of each image with the truth; None where an image cannot be used."""
    if len(positions) != len(truth.boxes):
        raise InputError(f"There are positions of {len(positions)} images and a truth of {len(truth.boxes)}.")
    if len(positions) < SETS:
        raise InputError(f"There are {len(positions)} images: the protocol needs {SETS} sets of them.")
    errors = np.full(truth.boxes.shape[:2], np.nan)
    for image, found in enumerate(positions):
        if found is not None:
            errors[image] = position_errors(found, truth.boxes[image, :, :2])
    if not np.isfinite(errors).any():
        raise InputError(f"None of the {len(positions)} images could be used: in none were the objects found.")
    rows = [
        _value(number, images, obj, errors, truth)
        for number, images in enumerate(np.array_split(np.arange(len(positions)), SETS))
        for obj in range(truth.objects)
    ]
    return Score(pd.DataFrame(rows, columns=list(COLUMNS)), errors)


def position_errors(positions: Array, truth: Array) -> Array:
    """The distance of each object (objects, 2) from its prediction along the worse axis: (objects,)."""
    errors = np.full(len(truth), np.nan)
    known = np.flatnonzero(np.isfinite(truth).all(axis=1))
    found = positions[np.isfinite(positions).all(axis=1)]
    distances = np.abs(truth[known, None] - found[None]).max(axis=-1)
    objects, predictions = linear_sum_assignment(distances)
    errors[known[objects]] = distances[objects, predictions]
    return errors


def _value(number: int, images: NDArray[np.int64], obj: int, errors: Array, truth: Truth) -> dict[str, Any]:
    in_set = errors[images, obj]
    used = int(np.isfinite(in_set).sum())
    row = {"set": number, "object": truth.names[obj], "images": len(images), "images_used": used, "kept": False}
    if not used:
        return row
    worst = int(images[np.nanargmax(in_set)])
    return row | {
        "error_px": errors[worst, obj],
        "kept": bool(errors[worst, obj] <= MAX_ERROR),
        "image": worst,
        "size_px": truth.boxes[worst, obj, 2:].max(),
        "near_error_px": max(in_set[in_set <= MAX_ERROR], default=np.nan),
    }


def write_errors(path: Path, result: Score) -> None:
    table = result.values.astype({"kept": int, "image": "Int64"})
    write_atomically(path, table.to_csv(index=False, float_format="%.4f", lineterminator="\n").encode())
