"""How the paper measures its baselines (app. C.2, Baselines), on any detector's boxes or positions.

The training and the test images of a dataset together are four sets of 50. A position error is the largest
|position - truth| along either axis over the images of a set, for each object: 3 objects x 4 sets = 12 values. Those
above 35 px are discarded.

Two things the paper leaves open:

- Which prediction is of which object. Here the assignment, image by image, that makes the sum of the errors smallest:
  no detector says which object it found, and this is the rule that is kindest to it.
- Whether 35 px are the limit of a value or of each image's error. Here of a value, as the sentence reads; what the
  other reading gives stands beside it (``near_error``).
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from withinpx.baselines.detections import Array, Found
from withinpx.baselines.truth import Truth
from withinpx.errors import InputError
from withinpx.files import write_atomically

SETS = 4
CUT = 35.0  # px
NEAR = 2.0  # px, for the summary
COLUMNS = ("set", "object", "images", "images_used", "error_px", "kept", "image", "size_px", "near_error_px")


class Rule(Enum):
    """Which boxes of an image are taken for its objects."""

    AFTER_THE_FIRST = "the first is the background, the next ones are the objects"  # SAM
    EXACTLY = "as many as there are objects, else the image is discarded"  # CutLER, and any other detector
    LARGEST = "the first ones, the largest; too few, and the image is discarded"  # blobs


@dataclass(frozen=True)
class Value:
    """One position error."""

    number: int  # of the set, from 0
    thing: str  # the object's name
    images: int  # in the set
    used: int  # of them
    error: float  # px; not a number where no image could be used
    kept: bool  # not above the cut
    image: int  # where the error is largest, by its place among all images; -1 where none could be used
    size: float  # the object's larger side there, px
    near_error: float  # the largest of the images' errors that are not above the cut, px


@dataclass(frozen=True)
class Score:
    """A method on a dataset."""

    values: tuple[Value, ...]
    errors: Array  # (images, objects), px; not numbers where an image could not be used

    @property
    def used(self) -> NDArray[np.bool_]:
        """(images,): which could be used."""
        return np.asarray(np.isfinite(self.errors).any(axis=1))

    @property
    def kept(self) -> list[float]:
        """The values that are not discarded, px."""
        return [value.error for value in self.values if value.kept]

    def __str__(self) -> str:
        single = self.errors[np.isfinite(self.errors)]
        used = int(self.used.sum())
        largest = f", the largest {max(self.kept):.2f} px" if self.kept else ""
        return (
            f"{used} of {len(self.used)} images used ({used / len(self.used):.1%}); {len(self.kept)} of "
            f"{len(self.values)} values within {CUT:g} px{largest}; single positions: median error "
            f"{np.median(single):.2f} px, {np.mean(single <= NEAR):.1%} within {NEAR:g} px, "
            f"worst {single.max():.2f} px."
        )


def chosen(found: Found, objects: int, rule: Rule) -> Array | None:
    """The centres (objects, 2) of the boxes taken for the objects; none if the image cannot be used."""
    if rule is Rule.AFTER_THE_FIRST:
        return found.centres[1 : objects + 1] if len(found.boxes) > objects else None
    if rule is Rule.LARGEST:
        return found.centres[:objects] if len(found.boxes) >= objects else None
    return found.centres if len(found.boxes) == objects else None


def score(positions: Sequence[Array | None], truth: Truth) -> Score:
    """Positions of each image (objects, 2), or none where it cannot be used, against the truth."""
    if len(positions) != len(truth.boxes):
        raise InputError(f"There are positions of {len(positions)} images and a truth of {len(truth.boxes)}.")
    if len(positions) < SETS:
        raise InputError(f"There are {len(positions)} images: the protocol wants {SETS} sets of them.")
    errors = np.full(truth.boxes.shape[:2], np.nan)
    for number, own in enumerate(positions):
        if own is not None:
            errors[number] = position_errors(own, truth.boxes[number, :, :2])
    if not np.isfinite(errors).any():
        raise InputError(f"None of the {len(positions)} images could be used: in none were the objects found.")
    sets = np.array_split(np.arange(len(positions)), SETS)
    values = tuple(
        _value(number, images, each, errors, truth)
        for number, images in enumerate(sets)
        for each in range(truth.objects)
    )
    return Score(values, errors)


def position_errors(positions: Array, truth: Array) -> Array:
    """How far each object's truth (objects, 2) is from its prediction, along the worse axis: (objects,)."""
    errors = np.full(len(truth), np.nan)
    known = np.flatnonzero(np.isfinite(truth).all(axis=1))
    found = positions[np.isfinite(positions).all(axis=1)]
    distances = np.abs(truth[known, None] - found[None]).max(axis=-1)
    objects, predictions = linear_sum_assignment(distances)
    errors[known[objects]] = distances[objects, predictions]
    return errors


def _value(number: int, images: NDArray[np.int64], each: int, errors: Array, truth: Truth) -> Value:
    own = errors[images, each]
    name, used = truth.names[each], int(np.isfinite(own).sum())
    if not used:
        return Value(number, name, len(images), 0, np.nan, False, -1, np.nan, np.nan)
    worst = int(images[np.nanargmax(own)])
    near = own[own <= CUT]
    return Value(
        number,
        name,
        len(images),
        used,
        error=float(errors[worst, each]),
        kept=bool(errors[worst, each] <= CUT),
        image=worst,
        size=float(truth.boxes[worst, each, 2:].max()),
        near_error=float(near.max()) if len(near) else np.nan,
    )


def write_errors(path: Path, measured: Score) -> None:
    """The values as a table; what is not a number is left empty."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for value in measured.values:
        numbers = [value.error, value.size, value.near_error]
        error, size, near = ("" if np.isnan(number) else f"{number:.4f}" for number in numbers)
        image = value.image if value.image >= 0 else ""
        rows.writerow([value.number, value.thing, value.images, value.used, error, int(value.kept), image, size, near])
    write_atomically(path, text.getvalue().encode())
