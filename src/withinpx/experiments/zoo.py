"""The zoo of generated clips, seed by seed: are the objects found and counted, and is every certified position true?"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from withinpx import track
from withinpx.data.zoo import WHOLE, ZooClip, zoo_clip
from withinpx.discovery.inspection import inspect
from withinpx.discovery.objects import MovingObject
from withinpx.errors import BrokenTrainingError, InputError
from withinpx.experiments.sweep import Experiment, check_counts
from withinpx.experiments.table import RunTable
from withinpx.experiments.truth import TrueObject, at_frames, found_objects, is_outside
from withinpx.jobs.job import Job, Row
from withinpx.tracking.tracks import Tracks

COLUMNS = {
    **dict.fromkeys(("seed", "frames", "width", "height"), int),
    "nuisances": str,
    **dict.fromkeys(("good", "objects_true", "objects_found", "count_right"), int),
    "recall": float,
    "positions": int,
    **dict.fromkeys(("certified", "outside", "seconds"), float),
}
NEAR = 0.5  # of the object's size: a detection this near is of the object
FOUND = 0.9  # of the frames in which an object is whole and apart: it is found if it is detected in so many


@dataclass(frozen=True)
class ZooExperiment(Experiment):
    """One row per clip. ``train`` of them, spread evenly over the seeds, are tracked and certified as well."""

    seeds: int = 300  # clips
    first_seed: int = 0
    train: int = 0
    budget: float = 120.0  # seconds of training per clip
    device: str = "auto"

    key, columns = ("seed",), COLUMNS

    def __post_init__(self) -> None:
        check_counts(clips=self.seeds)
        if self.first_seed < 0:
            raise InputError(f"The first seed is {self.first_seed}: give 0 or more.")
        if not 0 <= self.train <= self.seeds:
            raise InputError(f"{self.train} of {self.seeds} clips cannot be trained: give 0 to {self.seeds}.")

    @property
    def config(self) -> dict[str, Any]:
        return {"clips": self.seeds, "seed": self.first_seed, "train": self.train, "budget": self.budget}

    @property
    def trained(self) -> set[int]:
        """Seeds of the clips to train."""
        return {self.first_seed + index * self.seeds // self.train for index in range(self.train)}

    def jobs(self, table: RunTable) -> list[Job]:
        trained = self.trained
        return [
            Job(f"zoo {seed}", run_clip, (seed, seed in trained, self.budget, self.device))
            for seed in range(self.first_seed, self.first_seed + self.seeds)
            if {"seed": seed} not in table
        ]

    def progress(self, table: RunTable) -> str:
        runs = table.runs()
        right, outside = (sum(run[name] for run in runs if run[name] > 0) for name in ("count_right", "outside"))
        return f"count right in {right} of {len(runs)} clips, {outside:.0f} certified positions outside their bound"

    def report(self, table: RunTable, folder: Path) -> list[str]:
        """``summary.json``, ``README.md`` and ``zoo.jpg`` with the worst clips."""
        from withinpx.experiments.zoo_report import write_report  # noqa: PLC0415  (matplotlib)

        return write_report(table, folder)


def run_clip(seed: int, train: bool, budget: float, device: str) -> list[Row]:
    """Inspect one clip of the zoo, perhaps track it, and compare with its truth."""
    made = zoo_clip(seed)
    started = time.monotonic()
    found = detected_objects(made)
    seconds = time.monotonic() - started
    true = made.truth.shape[1]
    certified: int | str = ""
    outside: int | str = ""
    if train:
        started = time.monotonic()
        certified, outside = _certified(made, budget, device)
        seconds = time.monotonic() - started
    return [
        {
            "seed": seed,
            "frames": len(made.clip),
            "width": made.clip.width,
            "height": made.clip.height,
            "nuisances": " ".join(made.nuisances),
            "good": int(made.good),
            "objects_true": true,
            "objects_found": len(found),
            "count_right": int(len(found) == true),
            "recall": round(len(matched(made, found)) / true, 4),
            "positions": int((made.visible >= WHOLE).sum()),
            "certified": certified,
            "outside": outside,
            "seconds": round(seconds, 2),
        }
    ]


def detected_objects(made: ZooClip) -> Sequence[MovingObject]:
    """The objects of the best hypothesis; none where the clip is refused."""
    try:
        return inspect(made.clip).hypotheses[0].objects
    except InputError:
        return ()


def matched(made: ZooClip, found: Sequence[MovingObject]) -> dict[int, int]:
    """True object -> detected one, for those that are found; each detected object is used once."""
    shares = np.zeros((made.truth.shape[1], len(found)))
    for column, obj in enumerate(found):
        near = detections_near(made, obj)
        shares[:, column] = (near & made.apart).sum(axis=0) / np.maximum(made.apart.sum(axis=0), 1)
    rows, columns = linear_sum_assignment(np.where(shares >= FOUND, 1 + shares, 0), maximize=True)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return {row: column for row, column in pairs if shares[row, column] >= FOUND}


def detections_near(made: ZooClip, obj: MovingObject) -> NDArray[np.bool_]:
    """(frames, true objects): is the detected object there?"""
    centres = np.full((len(made.clip), 1, 2), np.nan)
    for blob in obj.blobs:
        centres[blob.frame, 0] = blob.centre
    distances = np.linalg.norm(made.truth - centres, axis=-1)
    return np.asarray(distances <= NEAR * made.sizes.max(axis=-1))


def _certified(made: ZooClip, budget: float, device: str) -> tuple[int, int]:
    try:
        tracks = track(made.clip, progress=False, budget=budget, device=device).tracks
    except (InputError, BrokenTrainingError):  # a refused clip has no certified position
        return 0, 0
    return count_certified(made, tracks)


def true_objects(made: ZooClip) -> list[TrueObject]:
    """In the frames that show all of them."""
    sizes = np.median(made.sizes.max(axis=-1), axis=0)
    return [
        TrueObject(str(index), np.flatnonzero(own), made.truth[own, index], float(sizes[index]))
        for index, own in enumerate((made.visible >= WHOLE).T)
    ]


def count_certified(made: ZooClip, tracks: Tracks) -> tuple[int, int]:
    """How many true positions carry a certified one, and how many certified positions are outside their bound."""
    objects = true_objects(made)
    certified = sum(
        int((at_frames(objects[index].frames, tracks, tracks.certified)[:, column] == 1).sum())
        for index, column in found_objects(objects, tracks).items()
    )
    return certified, sum(len(outside_frames(made, tracks, column)) for column in range(tracks.objects))


def outside_frames(made: ZooClip, tracks: Tracks, column: int) -> np.ndarray:
    """The frames in which a track's certified position is outside a bound around the object that it is of.

    That is the object that the track is usually nearest to; of objects that look alike, whose identity is certified
    apart from their positions, the one that is nearest in this frame. A position in a frame that shows nothing of the
    object is outside; frames that show a part of it are not compared.
    """
    rows = np.flatnonzero(tracks.certified[:, column])
    frames = tracks.frames[rows]  # the frames of a generated clip are numbered from 0
    if not len(rows):
        return frames
    positions, raw, theorem_px = (values[rows, column] for values in (tracks.positions, tracks.z, tracks.theorem_px))
    distances = np.linalg.norm(positions[:, None] - made.truth[frames], axis=-1)
    distances = np.where(np.isnan(distances), np.inf, distances)
    alike = tracks.proved is not None
    nearest = distances.argmin(axis=1) if alike else np.median(distances, axis=0).argmin()
    truth, shown = made.truth[frames, nearest], made.visible[frames, nearest]
    beyond = is_outside(positions, truth, tracks.bounds[rows, column])
    beyond |= is_outside(raw, truth, theorem_px) & ~(alike & np.isnan(theorem_px))  # none of a divided region's objects
    outside: np.ndarray = frames[beyond & ((shown >= WHOLE) | (shown == 0))]
    return outside
