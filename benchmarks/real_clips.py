"""withinpx on real clips with known positions, compared with blob finders frame by frame.

    pip install "withinpx[bench]"
    python benchmarks/real_clips.py CLIPS_FOLDER --runs RUNS_FOLDER --out results/real

Run folders that exist are read, missing ones are made by ``withinpx track``. The truth is used for this comparison
only: to match tracks with objects, and to give the blob finders the nearest of their blobs in every frame.
"""

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import tyro

from blobs import PIXEL_CENTRE, baselines, nearest
from result_tables import cell, markdown_table
from withinpx import InputError, __version__
from withinpx.certificate.outlines import TIGHT, TIGHT_PX
from withinpx.data.clip import Clip
from withinpx.data.recording import read_clip
from withinpx.data.selection import EVERYTHING, Selection
from withinpx.experiments.truth import NEAR_PX, Array, TrueObject, at_frames, is_outside, match, read_objects
from withinpx.files import writable_folder, write_atomically
from withinpx.tracking.tracks import Tracks, read_tracks

OURS = "withinpx"
MISSING_PX = 35.0  # a position farther from the truth belongs to something else

READING = f"""Distances are Euclidean, in px, from a position to the truth, in the frames that show the whole object;
`median px` and `max px` are of withinpx's calibrated positions, `raw` of its z. `mse image units` is the mean of
((dx / width)^2 + (dy / height)^2) / 2, of the calibrated positions. `frames` have a position to compare; `missing` is
the share of the object's frames without one within {MISSING_PX:g} px. `found`: within half the object's size (at least
{NEAR_PX:g} px) of the truth in most of its frames. `outside` and `outside calibrated` count certified
positions farther from the truth in x or y than the bound plus the accuracy of the truth: they must be 0.
`tight share` is of the object's frames: certified, correct by that measure, and to within 1 px or a tenth of the
object's size.

For the blob finders, the blob nearest to the truth is taken in every frame. withinpx is given no position, only
`--background nearby` where the camera moves. Several truths were themselves made from colour or background
differences: distances below `truth accuracy px` rank nothing."""


@dataclass(frozen=True)
class RealClip:
    """A clip with known positions."""

    name: str
    frames: str  # a video or a folder of images, in the clips folder
    accuracy_px: float  # of its truth: the worst that its source states
    size_px: float | None = None  # larger side of an object, if the truth has none
    options: tuple[str, ...] = ()  # for ``withinpx track``
    long: bool = False  # too long for blob finders that hold all frames

    @property
    def truth(self) -> str:
        """The table of positions, in the clips folder."""
        return f"{self.frames.removesuffix('_png').removesuffix('.mp4')}_gt.csv"


CLIPS = (
    RealClip("two_balls", "pool_carom/two_balls_png", 0.5),
    RealClip("three_balls", "pool_carom/three_balls_png", 0.5),
    RealClip("onecar_black", "traffic_overhead/onecar_black.mp4", 4),
    RealClip("onecar_teal", "traffic_overhead/onecar_teal.mp4", 4),
    RealClip("one_ball", "thrown_balls/one_ball.mp4", 3),
    RealClip("mouse", "mouse_openfield/m3v1_stride4.mp4", 1),
    RealClip("pendulum", "pendulum/ball_png", 9),  # of the red part, 8 px below the middle of ball and clamp
    RealClip("parking_lot", "traffic_parkinglot/car_png", 5),
    RealClip("mouse_arena", "mouse_arena/mouse.mp4", 2, size_px=40, long=True),
    RealClip("flies_fixed", "flies_fixed/stride10.mp4", 1, size_px=35),
    RealClip(
        "tractor", "tractor_field/tractor.mp4", 90
    ),  # of the cab, up to half of tractor and trailer from the middle
    RealClip("flies", "flies_moving_crop/full.mp4", 1, size_px=40, options=("--background", "nearby")),
    RealClip("paraglider", "moving_camera_paraglider/paraglider.mp4", 4, options=("--background", "nearby")),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """The result of one method on one object; None where it does not apply."""

    clip: str
    object: str
    method: str
    found: bool  # within the object's tolerance in most of its frames
    frames: int  # with a position to compare
    missing: float  # share of the object's frames without a position within MISSING_PX
    certified_share: float | None = None  # of the object's frames
    tight_share: float | None = None  # of the object's frames: with a bound of at most 1 px or a tenth of its size
    raw_median_px: float | None = None  # |z - truth|, Euclidean
    raw_max_px: float | None = None
    median_px: float | None = None  # |position - truth|, Euclidean
    max_px: float | None = None
    mse_image_units: float | None = None  # mean of ((dx / width)^2 + (dy / height)^2) / 2 of the positions
    bound_px: float | None = None  # median, around the calibrated position
    theorem_px: float | None = None  # median, around z
    outside: int | None = None  # certified z farther from the truth in x or y than theorem_px + accuracy of the truth
    outside_calibrated: int | None = None  # certified positions farther off than bound_px + accuracy of the truth
    truth_accuracy_px: float


def compare_positions(clip: RealClip, truth: TrueObject, method: str, positions: Array, shown: Clip) -> Row:
    """Of any method: its position in each of the object's frames (f, 2), NaN where it has none."""
    offsets = positions - truth.positions
    distances = np.linalg.norm(offsets, axis=-1)
    known = ~np.isnan(distances)
    squares = (offsets[known] / (shown.width, shown.height)) ** 2
    return Row(
        clip=clip.name,
        object=truth.name,
        method=method,
        found=bool((distances < truth.tolerance).mean() > 0.5),
        frames=int(known.sum()),
        missing=1 - float((distances <= MISSING_PX).mean()),
        median_px=float(np.median(distances[known])) if known.any() else None,
        max_px=float(distances[known].max()) if known.any() else None,
        mse_image_units=float(squares.mean()) if known.any() else None,
        truth_accuracy_px=clip.accuracy_px,
    )


def compare_track(clip: RealClip, truth: TrueObject, tracks: Tracks, track: int, shown: Clip) -> Row:
    """withinpx on one object: also z, the bound, and whether every certified position keeps it."""
    positions, raw, bound, theorem_px, sizes, certified = (
        at_frames(truth.frames, tracks, column)[:, track]
        for column in (tracks.positions, tracks.z, tracks.bounds, tracks.theorem_px, tracks.sizes, tracks.certified)
    )
    certified = certified == 1
    inside = ~is_outside(positions, truth.positions, bound + clip.accuracy_px)
    tight = certified & inside & (bound <= np.maximum(TIGHT_PX, TIGHT * sizes.max(axis=-1)))

    def outside(found: Array, limit: Array) -> int:
        return int((certified & is_outside(found, truth.positions, limit + clip.accuracy_px)).sum())

    of_z = compare_positions(clip, truth, OURS, raw, shown)
    return replace(
        compare_positions(clip, truth, OURS, positions, shown),
        certified_share=float(certified.mean()),
        tight_share=float(tight.mean()),
        raw_median_px=of_z.median_px,
        raw_max_px=of_z.max_px,
        bound_px=float(np.nanmedian(bound)) if not np.isnan(bound).all() else None,
        theorem_px=float(np.nanmedian(theorem_px)) if not np.isnan(theorem_px).all() else None,
        outside=outside(raw, theorem_px),
        outside_calibrated=outside(positions, bound),
    )


def rows_of_withinpx(clip: RealClip, objects: list[TrueObject], folder: Path, shown: Clip) -> Iterator[Row | str]:
    """One row per object, and notes on what the rows do not show."""
    table = folder / "tracks.csv"
    tracks = read_tracks(table, shown.width, shown.height) if table.exists() else None
    pairs = match(objects, tracks) if tracks else {}
    for index, truth in enumerate(objects):
        if tracks and index in pairs:
            yield compare_track(clip, truth, tracks, pairs[index], shown)
        else:
            yield compare_positions(clip, truth, OURS, np.full_like(truth.positions, np.nan), shown)
    if tracks is None:
        yield f"{clip.name}: withinpx left no tracks.csv (remove its run folder to try again)."
        return
    spare = sorted(set(range(tracks.objects)) - set(pairs.values()))
    if spare:
        certified = int((tracks.certified & tracks.present)[:, spare].sum())
        yield f"{clip.name}: tracks that match no true object: {len(spare)}, certified in {certified} positions."
    if not (folder / "certificate.json").exists():
        yield f"{clip.name}: the run has no certificate."


def rows_of_baselines(clip: RealClip, objects: list[TrueObject], shown: Clip) -> Iterator[Row]:
    """One row per object and blob finder, with the nearest blob of each frame."""
    size = float(np.median([obj.size for obj in objects]))
    for method, find in baselines().items():
        blobs = find(shown.frames, size)
        for obj in objects:
            pairs = zip(obj.frames.tolist(), obj.positions, strict=True)
            chosen = np.array([nearest(blobs[frame], position) for frame, position in pairs])
            yield compare_positions(clip, obj, method, chosen, shown)


@dataclass(frozen=True)
class RealClips:
    """withinpx and blob finders on real clips with known positions."""

    clips: Annotated[Path, tyro.conf.Positional]  # the folder of the clips
    out: Path  # folder for real_clips.md and real_clips.csv
    runs: Path | None = None  # withinpx's results, one folder per clip; missing ones are made
    only: tuple[str, ...] = ()  # names of clips; all if none is given
    baselines_only: bool = False  # leave withinpx out

    def run(self) -> None:
        results = [result for clip in self._chosen() for result in self._results(clip)]
        rows = pd.DataFrame([asdict(result) for result in results if isinstance(result, Row)], dtype=object)
        text = markdown(self._command(), rows, [note for note in results if isinstance(note, str)])
        out = writable_folder(self.out)
        csv = rows.map(cell, digits=6).to_csv(index=False, lineterminator="\n")
        write_atomically(out / "real_clips.csv", csv.encode())
        write_atomically(out / "real_clips.md", text.encode())
        print(text)

    def _chosen(self) -> list[RealClip]:
        names = [clip.name for clip in CLIPS]
        if unknown := [name for name in self.only if name not in names]:
            raise InputError(f"There is no clip {unknown[0]}: the names are {', '.join(names)}.")
        if self.runs is None and not self.baselines_only:
            raise InputError("Give --runs, a folder for withinpx's results, or --baselines-only.")
        return [clip for clip in CLIPS if not self.only or clip.name in self.only]

    def _results(self, clip: RealClip) -> Iterator[Row | str]:
        print(f"{clip.name} ...", file=sys.stderr, flush=True)
        video = self.clips / clip.frames
        shown = read_clip(video, Selection(end=1.0) if clip.long else EVERYTHING)
        objects = read_objects(self.clips / clip.truth, PIXEL_CENTRE)
        if clip.size_px is not None:
            objects = [replace(obj, size=clip.size_px) for obj in objects]
        if self.runs is not None and not self.baselines_only:
            folder = self.runs / clip.name
            if not folder.exists():
                command = [sys.executable, "-m", "withinpx", "track", str(video), "--out", str(folder), *clip.options]
                subprocess.run(command, check=False)  # noqa: S603  (a failed run is a result: no object was found)
            yield from rows_of_withinpx(clip, objects, folder, shown)
        if not clip.long:
            yield from rows_of_baselines(clip, objects, shown)

    def _command(self) -> str:
        """The command without the paths of this machine."""
        only = ["--only", *self.only] if self.only else []
        ours = ["--baselines-only"] if self.baselines_only else ["--runs", "RUNS_FOLDER"]
        return shlex.join(["python", "benchmarks/real_clips.py", "CLIPS_FOLDER", *ours, "--out", "OUT", *only])


def markdown(command: str, rows: pd.DataFrame, notes: list[str]) -> str:
    lines = markdown_table(rows, rows.to_numpy().tolist())
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    made = f"Made by `{command}` with withinpx {__version__} on {datetime.now(UTC):%Y-%m-%d} ({machine})."
    return "\n".join(["# Real clips", "", made, "", READING, "", *lines, "", *[f"- {note}" for note in notes]]) + "\n"


if __name__ == "__main__":
    try:
        tyro.cli(RealClips, description=__doc__).run()
    except InputError as error:
        print(f"real_clips: {error}", file=sys.stderr)
        sys.exit(2)
