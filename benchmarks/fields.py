"""At which size large objects are best processed: the same clips with several values of ``largest_object``.

    python benchmarks/fields.py --out results/fields --seeds 718 732 --largest 25 60
    python benchmarks/fields.py --out results/fields --seeds --clips CLIPS_FOLDER --names mouse one_ball

``track`` is given the clip alone; the truth is used for the comparison only. Every clip is run with one setting after
the other, and what is in the table is not run again.
"""

import os
import platform
import shlex
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from blobs import PIXEL_CENTRE
from clip_sweep import main, sets_of
from real_clips import CLIPS
from result_tables import cell, markdown_table
from withinpx import InputError, __version__, track
from withinpx.certificate.outlines import TIGHT, TIGHT_PX
from withinpx.data.clip import Clip
from withinpx.data.recording import read_clip
from withinpx.data.zoo import zoo_clip
from withinpx.errors import BrokenTrainingError
from withinpx.experiments.truth import TrueObject, at_frames, found_objects, is_outside, read_objects
from withinpx.experiments.zoo import true_objects
from withinpx.files import write_atomically
from withinpx.tracking.result import Result

TABLE, REPORT = "objects.csv", "README.md"
KEY = ["clip", "largest_object", "object"]
Row = dict[str, object]

READING = f"""One row per true object. `largest object` is the side, px, to which larger objects are scaled down for the
network; `scale` is what follows for the clip. Positions are those of whole objects. `tight`: with a certified position
whose `bound px` is correct and at most {TIGHT_PX:g} px or {TIGHT:.0%} of the object's size, whichever is larger.
`border`: refused because the object reaches the border of the frame. `outside`: certified positions further from the
truth along x or y than `bound px` and the accuracy of the truth; it must be 0. Medians are over the certified
positions. `cpu s` is the processor time of `track` on one core, `wall s` its wall time beside other work on the same
machine; `detect ms` is the processor time of `detect` per frame."""


def run(options: Namespace) -> None:
    path = options.out / TABLE
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {(row["clip"], row["largest_object"]) for row in rows}
    for known in chosen_clips(options):
        for largest in options.largest:
            if (known.name, largest) in done:
                continue
            rows += run_clip(known, largest, options.budget)
            options.out.mkdir(parents=True, exist_ok=True)
            table = pd.DataFrame(rows).sort_values(KEY)
            write_atomically(path, table.to_csv(index=False, lineterminator="\n").encode())
    write_atomically(options.out / REPORT, markdown(options, pd.DataFrame(rows).sort_values(KEY)).encode())


@dataclass(frozen=True, eq=False)
class Known:
    """A clip with known positions."""

    name: str
    clip: Clip
    objects: list[TrueObject]
    accuracy_px: float = 0.0  # of its truth


def chosen_clips(options: Namespace) -> Iterator[Known]:
    for seed in options.seeds:
        made = zoo_clip(seed)
        yield Known(f"zoo {seed}", made.clip, true_objects(made))
    for real in CLIPS:
        if real.name in options.names:
            objects = read_objects(options.clips / real.truth, PIXEL_CENTRE)
            yield Known(real.name, read_clip(options.clips / real.frames), objects, real.accuracy_px)


def run_clip(known: Known, largest: float, budget: float) -> list[Row]:
    """One row per true object."""
    clip, objects = known.clip, known.objects
    wall, cpu = time.monotonic(), time.process_time()
    result: Result | None = None
    with suppress(InputError, BrokenTrainingError):  # a refused clip has no certified position
        result = track(clip, progress=False, budget=budget, device="cpu", largest_object=largest)
    times: Row = {"cpu_s": round(time.process_time() - cpu, 1), "wall_s": round(time.monotonic() - wall, 1)}
    if result is not None:
        cpu = time.process_time()
        result.detector.detect(clip)
        times["detect_ms"] = round(1000 * (time.process_time() - cpu) / len(clip), 1)
    found = {} if result is None else found_objects(objects, result.tracks)
    rows = []
    for index, obj in enumerate(objects):
        about: Row = {"clip": known.name, "object": index, "largest_object": largest}
        about |= {"scale": None if result is None else result.detector.scale, "size_px": round(obj.size, 1)}
        about["positions"] = len(obj.frames)
        compared = {} if result is None or index not in found else compare(obj, result, found[index], known.accuracy_px)
        rows.append({**about, **compared, **times})
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def compare(obj: TrueObject, result: Result, column: int, accuracy: float) -> Row:
    tracks = result.tracks
    positions, bounds, theorem, certified, border = (
        at_frames(obj.frames, tracks, values)[:, column]
        for values in (tracks.positions, tracks.bounds, tracks.theorem_px, tracks.certified, tracks.reasons == "border")
    )
    sure = certified == 1
    outside = sure & is_outside(positions, obj.positions, bounds + accuracy)
    tight = sure & ~outside & (bounds <= np.maximum(TIGHT_PX, TIGHT * obj.size))
    errors = np.abs(positions - obj.positions).max(axis=-1)
    medians = {"theorem_px": theorem, "bound_px": bounds, "error_px": errors}
    return {
        "sets": sets_of(result, column),
        "certified": int(sure.sum()),
        "tight": int(tight.sum()),
        "border": int((border == 1).sum()),
        "outside": int(outside.sum()),
        **{name: round(float(np.median(values[sure])), 3) if sure.any() else None for name, values in medians.items()},
    }


def markdown(options: Namespace, table: pd.DataFrame) -> str:
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    made = f"Made by `{command(options)}` with withinpx {__version__} on {datetime.now(UTC):%Y-%m-%d} ({machine})."
    rows = [[cell(value) for value in row] for row in table.to_numpy().tolist()]
    lines = ["# Large objects at their own size", "", made, "", READING, "", *summary(table), ""]
    return "\n".join([*lines, *markdown_table(table.columns, rows)]) + "\n"


def summary(table: pd.DataFrame) -> list[str]:
    """Over the clips that were run with every setting."""
    settings = table["largest_object"].nunique()
    complete = table.groupby("clip")["largest_object"].transform("nunique") == settings
    rows = []
    for largest, own in table[complete].groupby("largest_object"):
        positions, (certified, tight, border, outside) = (
            own["positions"].sum(),
            (int(own[name].sum()) for name in ("certified", "tight", "border", "outside")),
        )
        per_clip = own.groupby("clip")[["cpu_s", "detect_ms"]].first()
        shares = [f"{100 * part / positions:.1f} %" for part in (certified, tight, border)]
        medians = [float(own[name].median()) for name in ("theorem_px", "bound_px", "error_px")]
        sums = [round(float(per_clip["cpu_s"].sum())), float(per_clip["detect_ms"].mean())]
        rows.append([f"{largest:g}", len(per_clip), int(positions), *shares, outside, *medians, *sums])
    names = ["largest_object", "clips", "positions", "certified", "tight", "border", "outside"]
    return markdown_table([*names, "theorem_px", "bound_px", "error_px", "cpu_s", "detect_ms"], rows)


def command(options: Namespace) -> str:
    """Without the paths of this machine."""
    flags = ["--seeds", *map(str, options.seeds)]
    flags += ["--clips", "CLIPS_FOLDER", "--names", *options.names] if options.names else []
    flags += ["--largest", *(f"{largest:g}" for largest in options.largest), "--budget", f"{options.budget:g}"]
    return shlex.join(["python", "benchmarks/fields.py", "--out", "results/fields", *flags])


def parsed(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help=f"folder for {TABLE} and {REPORT}")
    parser.add_argument("--seeds", type=int, nargs="*", default=(), help="of generated clips")
    parser.add_argument("--clips", type=Path, help="folder of the real clips")
    parser.add_argument("--names", nargs="*", default=(), help="of real clips, as in real_clips.py")
    parser.add_argument("--largest", type=float, nargs="+", default=(25.0, 60.0), help="values of largest_object, px")
    parser.add_argument("--budget", type=float, default=10.0, help="of `track`, seconds per clip")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main("fields", run, parsed)
