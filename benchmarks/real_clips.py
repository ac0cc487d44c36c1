"""withinpx on real clips with known positions, against the blob finders a person would pick instead, frame by frame.

    pip install "withinpx[bench]"
    python benchmarks/real_clips.py CLIPS_FOLDER --runs RUNS_FOLDER --out results/real

A run folder that is there is read, one that is not is made by ``withinpx track``. The truth serves this comparison
only: to say which track is which object, and to give the blob finders the nearest of their blobs in every frame.
"""

import csv
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from blobs import PIXEL_CENTRE, baselines, nearest
from withinpx import InputError, __version__
from withinpx.data.clip import Clip
from withinpx.data.recording import read_clip
from withinpx.data.selection import EVERYTHING
from withinpx.experiments.truth import NEAR_PX, Array, TrueObject, at_frames, is_outside, matched, read_objects
from withinpx.files import writable_folder, write_atomically
from withinpx.tracking.tracks import Tracks, read_tracks

OURS = "withinpx"
MISSING_PX = 35.0  # a position farther away than this is of something else

READING = f"""Distances are Euclidean, in px, from a position to the truth, in the frames that show the whole object;
`median px` and `max px` are of withinpx's calibrated positions, `raw` of its z. `mse image units` is the mean of
((dx / width)^2 + (dy / height)^2) / 2, of the calibrated positions. `frames` have a position to compare; `missing` is
the share of the object's frames without one within {MISSING_PX:g} px. `found`: within half the object's size (at least
{NEAR_PX:g} px) of the truth in most of its frames. `outside` and `outside calibrated` count certified
positions farther off in x or y than the bound plus the accuracy of the truth: they must be 0.

The blob finders are told which blob is nearest to the truth in every frame; withinpx is told no position, only
`--background nearby` where the camera moves. Several truths were themselves made from colour or background
differences: distances below `truth accuracy px` rank nothing."""


@dataclass(frozen=True)
class RealClip:
    """A clip whose positions are known, and how well."""

    name: str
    frames: str  # a video or a folder of images, in the clips folder
    accuracy_px: float  # of its truth: the worst that its source states
    size_px: float | None = None  # larger side of an object, where the truth does not say
    options: tuple[str, ...] = ()  # for ``withinpx track``

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
    RealClip("flies", "flies_moving_crop/full.mp4", 1, size_px=40, options=("--background", "nearby")),
    RealClip("paraglider", "moving_camera_paraglider/paraglider.mp4", 4, options=("--background", "nearby")),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """How one method does on one object; None is what it does not have."""

    clip: str
    object: str
    method: str
    found: bool  # within the object's reach in most of its frames
    frames: int  # with a position to compare
    missing: float  # share of the object's frames without a position within MISSING_PX
    certified_share: float | None = None  # of the object's frames
    raw_median_px: float | None = None  # |z - truth|, Euclidean
    raw_max_px: float | None = None
    median_px: float | None = None  # |position - truth|, Euclidean
    max_px: float | None = None
    mse_image_units: float | None = None  # mean of ((dx / width)^2 + (dy / height)^2) / 2 of the positions
    bound_px: float | None = None  # median
    outside: int | None = None  # certified z farther off in x or y than bound + accuracy of the truth
    outside_calibrated: int | None = None  # the same of the calibrated positions
    truth_accuracy_px: float


def run_folder(clip: RealClip, video: Path, runs: Path) -> Path:
    """Where withinpx's results on this clip are; made when they are not there."""
    folder = runs / clip.name
    if not folder.exists():
        command = [sys.executable, "-m", "withinpx", "track", str(video), "--out", str(folder), *clip.options]
        subprocess.run(command, check=False)  # noqa: S603  (a failed run is a result: nothing was found)
    return folder


def row_of_positions(clip: RealClip, truth: TrueObject, method: str, positions: Array, picture: Clip) -> Row:
    """What can be said of any method: its position in each of the object's frames (f, 2), nan where it has none."""
    offsets = positions - truth.positions
    distances = np.linalg.norm(offsets, axis=-1)
    known = ~np.isnan(distances)
    some = bool(known.any())
    squares = (offsets[known] / (picture.width, picture.height)) ** 2
    return Row(
        clip=clip.name,
        object=truth.name,
        method=method,
        found=bool((distances < truth.reach).mean() > 0.5),
        frames=int(known.sum()),
        missing=1 - float((distances <= MISSING_PX).mean()),
        median_px=float(np.median(distances[known])) if some else None,
        max_px=float(distances[known].max()) if some else None,
        mse_image_units=float(squares.mean()) if some else None,
        truth_accuracy_px=clip.accuracy_px,
    )


def row_of_track(clip: RealClip, truth: TrueObject, tracks: Tracks, track: int, picture: Clip) -> Row:
    """withinpx on one object: also z, the bound, and whether every certified position keeps it."""
    positions, raw, bound, certified = (
        at_frames(truth.frames, tracks, column)[:, track]
        for column in (tracks.positions, tracks.z, tracks.bound_px, tracks.certified)
    )
    promised = certified == 1
    known_bounds = bound[~np.isnan(bound)]

    def outside(places: Array) -> int:
        return int((promised & is_outside(places, truth.positions, bound + clip.accuracy_px)).sum())

    of_raw = row_of_positions(clip, truth, OURS, raw, picture)
    return replace(
        row_of_positions(clip, truth, OURS, positions, picture),
        certified_share=float(promised.mean()),
        raw_median_px=of_raw.median_px,
        raw_max_px=of_raw.max_px,
        bound_px=float(np.median(known_bounds)) if len(known_bounds) else None,
        outside=outside(raw),
        outside_calibrated=outside(positions),
    )


def rows_of_withinpx(clip: RealClip, objects: list[TrueObject], folder: Path, picture: Clip) -> Iterator[Row | str]:
    """One row an object, and a sentence on what the rows do not show."""
    table = folder / "tracks.csv"
    tracks = read_tracks(table, picture.width, picture.height) if table.exists() else None
    pairs = matched(objects, tracks) if tracks else {}
    for number, truth in enumerate(objects):
        if tracks and number in pairs:
            yield row_of_track(clip, truth, tracks, pairs[number], picture)
        else:
            yield row_of_positions(clip, truth, OURS, np.full_like(truth.positions, np.nan), picture)
    if tracks is None:
        yield f"{clip.name}: withinpx left no tracks.csv (remove its run folder to try again)."
        return
    spare = sorted(set(range(tracks.objects)) - set(pairs.values()))
    if spare:
        certified = int((tracks.certified & tracks.present)[:, spare].sum())
        yield f"{clip.name}: tracks that match no object of the truth: {len(spare)}, certified in {certified} places."
    if not (folder / "certificate.json").exists():
        yield f"{clip.name}: the run has no certificate."


def rows_of_baselines(clip: RealClip, objects: list[TrueObject], picture: Clip) -> Iterator[Row]:
    """One row an object and blob finder, the nearest blob of each frame taken."""
    size = float(np.median([each.size for each in objects]))
    for method, find in baselines().items():
        blobs = find(picture.frames, size)
        for truth in objects:
            places = zip(truth.frames.tolist(), truth.positions, strict=True)
            chosen = np.array([nearest(blobs[frame], place) for frame, place in places])
            yield row_of_positions(clip, truth, method, chosen, picture)


@dataclass(frozen=True)
class RealClips:
    """withinpx and blob finders on real clips with known positions."""

    clips: Annotated[Path, tyro.conf.Positional]  # the folder of the clips
    out: Path  # where real_clips.md and real_clips.csv go
    runs: Path | None = None  # withinpx's results, one folder a clip; those missing are made
    only: tuple[str, ...] = ()  # names of clips; all when none is given
    baselines_only: bool = False  # leave withinpx out

    def run(self) -> None:
        """Compare, write both files, print the table."""
        results = [each for clip in self._chosen() for each in self._results(clip)]
        rows = [each for each in results if isinstance(each, Row)]
        notes = [each for each in results if isinstance(each, str)]
        text = markdown(self._command(), rows, notes)
        out = writable_folder(self.out)
        write_atomically(out / "real_clips.csv", csv_text(rows).encode())
        write_atomically(out / "real_clips.md", text.encode())
        print(text)

    def _chosen(self) -> list[RealClip]:
        names = [clip.name for clip in CLIPS]
        unknown = [name for name in self.only if name not in names]
        if unknown:
            raise InputError(f"There is no clip {unknown[0]}: the names are {', '.join(names)}.")
        if self.runs is None and not self.baselines_only:
            raise InputError("Give --runs, a folder for withinpx's results, or --baselines-only.")
        return [clip for clip in CLIPS if not self.only or clip.name in self.only]

    def _results(self, clip: RealClip) -> Iterator[Row | str]:
        print(f"{clip.name} ...", file=sys.stderr, flush=True)
        video = self.clips / clip.frames
        picture = read_clip(video, EVERYTHING)
        objects = read_objects(self.clips / clip.truth, PIXEL_CENTRE)
        if clip.size_px is not None:
            objects = [replace(each, size=clip.size_px) for each in objects]
        if self.runs is not None and not self.baselines_only:
            yield from rows_of_withinpx(clip, objects, run_folder(clip, video, self.runs), picture)
        yield from rows_of_baselines(clip, objects, picture)

    def _command(self) -> str:
        """As given, but for the places on this machine."""
        only = ["--only", *self.only] if self.only else []
        ours = ["--baselines-only"] if self.baselines_only else ["--runs", "RUNS_FOLDER"]
        return shlex.join(["python", "benchmarks/real_clips.py", "CLIPS_FOLDER", *ours, "--out", "OUT", *only])


def csv_text(rows: list[Row]) -> str:
    """One line per clip, object and method."""
    text = StringIO()
    writer = csv.DictWriter(text, [each.name for each in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value, 6) for name, value in asdict(row).items()} for row in rows)
    return text.getvalue()


def markdown(command: str, rows: list[Row], notes: list[str]) -> str:
    """The same rows as a table, with what a reader must know to read it."""
    names = [each.name for each in fields(Row)]
    lines = ["| " + " | ".join(name.replace("_", " ") for name in names) + " |", "|" + " --- |" * len(names)]
    lines += ["| " + " | ".join(map(_cell, asdict(row).values())) + " |" for row in rows]
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    when = datetime.now(UTC).date().isoformat()
    made = f"Made by `{command}` with withinpx {__version__} on {when} ({machine})."
    return "\n".join(["# Real clips", "", made, "", READING, "", *lines, "", *[f"- {note}" for note in notes]]) + "\n"


def _cell(value: object, digits: int = 3) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Entry point; bad input ends with one sentence and status 2."""
    try:
        tyro.cli(RealClips, description=__doc__).run()
    except InputError as error:
        print(f"real_clips: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
