"""Tracks against a truth that nobody else saw: for reports only."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from withinpx.data.truth import read_true_boxes
from withinpx.tracking.tracks import Tracks

Array = NDArray[np.float64]

NEAR_PX = 5.0  # a track this near to a thing's truth, or half its size, in half of the frames has found it


@dataclass(frozen=True)
class TrueObject:
    """Where one thing is, in the frames that show the whole of it."""

    name: str
    frames: NDArray[np.int64]  # (f,), as the tracks number them
    positions: Array  # (f, 2), px
    size: float = 0.0  # larger side, px; 0 where the truth does not say

    @property
    def reach(self) -> float:
        """How near a position must be to be of this thing, px."""
        return max(NEAR_PX, self.size / 2)


@dataclass(frozen=True)
class Against:
    """How tracks and truth compare."""

    found: int  # of the things
    median: float  # error of the certified calibrated positions, px
    largest: float
    largest_raw: float  # of certified z, along the worse axis
    outside: int  # certified positions outside their bound, raw or calibrated


def read_objects(path: Path, offset: float = 0.0) -> list[TrueObject]:
    """The things of a table of positions, without the frames in which the border cuts them.

    ``offset`` is added: 0.5 for a truth that counts from the centre of the first pixel.
    """
    boxes = read_true_boxes(path)
    return [
        TrueObject(
            name,
            np.array([box.frame for box in own]),
            np.array([[box.x, box.y] for box in own]) + offset,
            float(np.median([max(box.width, box.height) for box in own])),
        )
        for name in sorted({box.object for box in boxes})
        for own in [[box for box in boxes if box.object == name]]
    ]


def read_truth(path: Path, frames: int, offset: float = 0.0) -> Array:
    """The same table as (frames, objects, 2) in px; not a number where it is not known or the object is cut off."""
    objects = read_objects(path, offset)
    truth = np.full((frames, len(objects), 2), np.nan)
    for each, thing in enumerate(objects):
        within = thing.frames < frames
        truth[thing.frames[within], each] = thing.positions[within]
    return truth


def at_frames(frames: NDArray[np.int64], tracks: Tracks, values: NDArray[Any]) -> Array:
    """A column of the tracks (f, n, ...) in these frames; not a number where the track is not present."""
    column = np.where(tracks.present.reshape(*tracks.present.shape, *[1] * (values.ndim - 2)), values, np.nan)
    found = np.full((len(frames), *values.shape[1:]), np.nan)
    _, ours, theirs = np.intersect1d(frames, tracks.frames, return_indices=True)
    found[ours] = column[theirs]
    return found


def typical_distances(thing: TrueObject, tracks: Tracks) -> Array:
    """How far each track (n,) is from a thing in half of its frames, px; where it is absent, it is far away."""
    far = float(np.hypot(tracks.width, tracks.height))  # else a track of one lucky frame would win
    if not len(thing.frames):
        return np.full(tracks.objects, far)
    positions = at_frames(thing.frames, tracks, tracks.positions)  # (f, n, 2)
    distances = np.linalg.norm(positions - thing.positions[:, None], axis=-1)
    return np.asarray(np.median(np.where(np.isnan(distances), far, distances), axis=0))


def matched(objects: Sequence[TrueObject], tracks: Tracks) -> dict[int, int]:
    """Which track is which thing: the assignment with the smallest sum of typical distances, each track used once."""
    costs = np.array([typical_distances(each, tracks) for each in objects]).reshape(len(objects), tracks.objects)
    return dict(zip(*(side.tolist() for side in linear_sum_assignment(costs)), strict=True))


def is_outside(places: Array, truth: Array, bound: Array) -> NDArray[np.bool_]:
    """Which places (f, 2) are farther off than they may be (f,), in x or y: the theorem's bound is per axis."""
    return np.asarray(~(np.abs(places - truth).max(axis=-1) <= bound))


def compare(tracks: Tracks, truth: Array) -> Against:
    """Tracks against truth (frames, things, 2), each thing with the track that is nearest to it on the whole."""
    known = np.asarray(np.isfinite(truth).all(axis=-1))
    objects = [
        TrueObject(str(each), there, truth[there, each])
        for each in range(truth.shape[1])
        for there in [np.flatnonzero(known[:, each])]
    ]
    found, errors, raw_errors, outside = 0, [np.zeros(0)], [np.zeros(0)], 0
    for number, track in matched(objects, tracks).items():
        thing = objects[number]
        if typical_distances(thing, tracks)[track] >= max(thing.reach, 0.5 * float(np.median(tracks.sizes[:, track]))):
            continue
        found += 1
        positions, raw, bound, certified = (
            at_frames(thing.frames, tracks, column)[:, track]
            for column in (tracks.positions, tracks.z, tracks.bound_px, tracks.certified)
        )
        sure = certified == 1
        errors.append(np.linalg.norm(positions - thing.positions, axis=-1)[sure])
        raw_errors.append(np.abs(raw - thing.positions).max(axis=-1)[sure])
        beyond = is_outside(raw, thing.positions, bound) | is_outside(positions, thing.positions, bound)
        outside += int(beyond[sure].sum())
    together, together_raw = np.concatenate(errors), np.concatenate(raw_errors)
    if not len(together):
        return Against(found, float("nan"), float("nan"), float("nan"), outside)
    return Against(found, float(np.median(together)), float(together.max()), float(together_raw.max()), outside)
