"""Compare tracks with ground truth. For reports only: training and certification never see a true position."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from withinpx.data.truth import read_true_boxes
from withinpx.tracking.tracks import Tracks

Array = NDArray[np.float64]

NEAR_PX = 5.0  # an object is found by a track within this distance, or half its size, in half of the frames


@dataclass(frozen=True)
class TrueObject:
    """True positions of one object, in the frames that show all of it."""

    name: str
    frames: NDArray[np.int64]  # (f,), numbered as in the tracks
    positions: Array  # (f, 2), px
    size: float = 0.0  # larger side, px; 0 if unknown

    @property
    def tolerance(self) -> float:
        """How near a position must be to belong to this object, px."""
        return max(NEAR_PX, self.size / 2)

    def only(self, frames: NDArray[np.bool_]) -> "TrueObject":
        """A subset of its frames (f,)."""
        return replace(self, frames=self.frames[frames], positions=self.positions[frames])


@dataclass(frozen=True)
class Comparison:
    """Tracks against truth; errors are NaN where no position is certified."""

    found: int  # objects
    median: float  # error of the certified calibrated positions, px
    largest: float
    largest_raw: float  # of certified z, along the worse axis
    outside: int  # certified frames with z outside theorem_px or (x, y) outside bound_px


def read_objects(path: Path, offset: float = 0.0) -> list[TrueObject]:
    """Objects of a table of true positions, without the frames in which the border cuts them.

    ``offset`` is added: 0.5 for a truth whose origin is the centre of the first pixel.
    """
    boxes = read_true_boxes(path)
    objects = []
    for name in sorted({box.object for box in boxes}):
        own = [box for box in boxes if box.object == name]
        frames, positions = np.array([box.frame for box in own]), np.array([[box.x, box.y] for box in own])
        size = float(np.median([max(box.width, box.height) for box in own]))
        objects.append(TrueObject(name, frames, positions + offset, size))
    return objects


def read_truth(path: Path, frames: int, offset: float = 0.0) -> Array:
    """The same table as (frames, objects, 2), px; NaN where the position is unknown or the object is cut off."""
    objects = read_objects(path, offset)
    truth = np.full((frames, len(objects), 2), np.nan)
    for index, obj in enumerate(objects):
        within = obj.frames < frames
        truth[obj.frames[within], index] = obj.positions[within]
    return truth


def at_frames(frames: NDArray[np.int64], tracks: Tracks, values: NDArray[Any]) -> Array:
    """A column of the tracks (f, n, ...) in these frames; NaN where the track is not present."""
    column = np.where(tracks.present.reshape(*tracks.present.shape, *[1] * (values.ndim - 2)), values, np.nan)
    found = np.full((len(frames), *values.shape[1:]), np.nan)
    _, wanted, available = np.intersect1d(frames, tracks.frames, return_indices=True)
    found[wanted] = column[available]
    return found


def typical_distances(obj: TrueObject, tracks: Tracks) -> Array:
    """The median distance of each track (n,) from an object, px; the image diagonal where the track is absent."""
    far = float(np.hypot(tracks.width, tracks.height))  # else a track present in one frame could match best
    if not len(obj.frames):
        return np.full(tracks.objects, far)
    positions = at_frames(obj.frames, tracks, tracks.positions)  # (f, n, 2)
    distances = np.linalg.norm(positions - obj.positions[:, None], axis=-1)
    return np.asarray(np.median(np.where(np.isnan(distances), far, distances), axis=0))


def match(objects: Sequence[TrueObject], tracks: Tracks) -> dict[int, int]:
    """Object -> track: the assignment with the smallest sum of typical distances, each track used once."""
    costs = np.array([typical_distances(obj, tracks) for obj in objects]).reshape(len(objects), tracks.objects)
    return dict(zip(*(side.tolist() for side in linear_sum_assignment(costs)), strict=True))


def found_objects(objects: Sequence[TrueObject], tracks: Tracks) -> dict[int, int]:
    """Object -> track, for the objects that their matching track is usually near."""
    return {
        index: column
        for index, column in match(objects, tracks).items()
        if typical_distances(objects[index], tracks)[column] < objects[index].tolerance
    }


def is_outside(positions: Array, truth: Array, bound: Array) -> NDArray[np.bool_]:
    """Which positions (f, 2) are farther from the truth than their bound (f,), in x or y: the theorem is per axis."""
    return np.asarray(~(np.abs(positions - truth).max(axis=-1) <= bound))


def compare(tracks: Tracks, truth: Array) -> Comparison:
    """Tracks against truth (frames, objects, 2), each object with its matching track."""
    known = np.asarray(np.isfinite(truth).all(axis=-1))
    objects = [
        TrueObject(str(index), frames, truth[frames, index])
        for index in range(truth.shape[1])
        for frames in [np.flatnonzero(known[:, index])]
    ]
    found, errors, raw_errors, outside = 0, [np.zeros(0)], [np.zeros(0)], 0
    for index, track in match(objects, tracks).items():
        obj = objects[index]
        half_size = 0.5 * float(np.median(tracks.sizes[:, track]))
        if typical_distances(obj, tracks)[track] >= max(obj.tolerance, half_size):
            continue
        found += 1
        positions, raw, bound, theorem_px, certified = (
            at_frames(obj.frames, tracks, column)[:, track]
            for column in (tracks.positions, tracks.z, tracks.bounds, tracks.theorem_px, tracks.certified)
        )
        sure = certified == 1
        errors.append(np.linalg.norm(positions - obj.positions, axis=-1)[sure])
        raw_errors.append(np.abs(raw - obj.positions).max(axis=-1)[sure])
        beyond = is_outside(raw, obj.positions, theorem_px) | is_outside(positions, obj.positions, bound)
        outside += int(beyond[sure].sum())
    all_errors, all_raw = np.concatenate(errors), np.concatenate(raw_errors)
    if not len(all_errors):
        return Comparison(found, float("nan"), float("nan"), float("nan"), outside)
    return Comparison(found, float(np.median(all_errors)), float(all_errors.max()), float(all_raw.max()), outside)
