"""Tracks against a truth that nobody else saw: for reports only."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from withinpx.tracking.tracks import Tracks

NEAR_PX = 5.0  # a track this near to a thing's truth, or half its size, in half of the frames has found it


@dataclass(frozen=True)
class Against:
    """How tracks and truth compare."""

    found: int  # of the things
    median: float  # error of the certified calibrated positions, px
    largest: float
    largest_raw: float  # of certified z, along the worse axis
    outside: int  # certified positions outside their bound, raw or calibrated


def read_truth(path: Path, frames: int, offset: float = 0.0) -> NDArray[np.float64]:
    """(frames, objects, 2) in px; not a number where the truth is not known or the object is cut off.

    ``offset`` is added: 0.5 for a truth that counts from the centre of the first pixel.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["full"] == "1"]
    names = sorted({row["object"] for row in rows})
    truth = np.full((frames, len(names), 2), np.nan)
    for row in rows:
        if int(row["frame"]) < frames:
            truth[int(row["frame"]), names.index(row["object"])] = float(row["x"]) + offset, float(row["y"]) + offset
    return truth


def compare(tracks: Tracks, truth: NDArray[np.float64]) -> Against:
    """Tracks against truth (frames, things, 2), each thing with the track that is nearest to it on the whole."""
    away = np.linalg.norm(tracks.positions[:, :, None] - truth[:, None], axis=-1)  # (frames, tracks, things)
    away = np.where(tracks.present[:, :, None], away, np.where(np.isnan(away), np.nan, 1e3))
    typical = np.array([[_median(away[:, i, j]) for j in range(truth.shape[1])] for i in range(tracks.objects)])
    pairs = [
        (i, j)
        for i, j in zip(*linear_sum_assignment(typical), strict=True)
        if typical[i, j] < max(NEAR_PX, 0.5 * float(np.median(tracks.sizes[:, i])))
    ]
    errors, raw, outside = [], [], 0
    for i, j in pairs:
        known = tracks.certified[:, i] & ~np.isnan(truth[:, j]).any(axis=-1)
        off = (tracks.positions[:, i] - truth[:, j])[known]
        raw_off = np.abs((tracks.raw[:, i] - truth[:, j])[known]).max(axis=-1)
        errors.append(np.linalg.norm(off, axis=-1))
        raw.append(raw_off)
        bound = tracks.bound_px[known, i]
        outside += int(((raw_off > bound) | (np.abs(off).max(axis=-1) > bound)).sum())
    together = np.concatenate([*errors, np.zeros(0)])
    if not len(together):
        return Against(len(pairs), float("nan"), float("nan"), float("nan"), outside)
    return Against(
        len(pairs), float(np.median(together)), float(together.max()), float(np.concatenate(raw).max()), outside
    )


def _median(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 1e6
