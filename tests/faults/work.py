"""What is killed at random moments: each piece of work goes on where it was when it is begun again in its folder.

All that is written lies below ``work``; beside it, ``done.txt`` has a line for each unit of work that came to its end.
What several pieces share, a clip and a detector, lies one folder up.
"""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from safetensors import safe_open

from tests.data.test_clevr import DrawnStage
from tests.experiments import fake_runs
from tests.faults.small import SQUARES, TRACK, quick
from withinpx.cli import main
from withinpx.data.clevr import ClevrSet
from withinpx.data.clevr_render import render_datasets
from withinpx.experiments import central, fig4_figures, fig4_sweep
from withinpx.experiments.fig4 import Setting, chosen
from withinpx.experiments.run_folder import train_in_folder
from withinpx.jobs.local import LocalEngine
from withinpx.tracking.detect import TRACKS
from withinpx.tracking.exports import export
from withinpx.tracking.masks import masks_of
from withinpx.tracking.track import track
from withinpx.tracking.tracks import read_tracks
from withinpx.training.callback import Callback
from withinpx.training.checkpoint import CHECKPOINT
from withinpx.training.fit import FitSettings
from withinpx.training.log import LOG, Epoch
from withinpx.training.recipe import Recipe

OUT = Path("work") / "out"
DONE = "done.txt"
CLIP, DETECTOR = "clip", "detector"
RUN = replace(SQUARES, recipe=replace(SQUARES.recipe, epochs=12))
CLEVR = ClevrSet("shapes", 9, 19, train=4, test=2)
FORMATS: Any = ("coco", "mot", "dlc")
WHEN = ("seconds", "date")  # columns that say when a run was, not what came of it


class Noting(Callback):
    """Every epoch is a unit of work."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        note(self._folder, f"epoch {epoch.epoch}")


def note(folder: Path, unit: str) -> None:
    with (folder / DONE).open("a", encoding="utf-8") as file:
        file.write(f"{unit}\n")


def noted(folder: Path) -> list[str]:
    path = folder / DONE
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def watched(folder: Path) -> FitSettings:
    return FitSettings(checkpoint_every_s=0, callbacks=(Noting(folder),))


def fit_squares(folder: Path) -> None:
    out = folder / OUT
    train_in_folder(RUN, out, watched(folder), resume=out.exists())


def track_clip(folder: Path) -> None:
    out = folder / OUT
    with quick():
        done = track(folder.parent / CLIP, out, TRACK, watched(folder), resume=out.exists())
    tracks = read_tracks(out / TRACKS, *done.detector.recording)
    export(tracks, out, FORMATS, masks_of(done.detector, tracks))


def sweep_central(folder: Path) -> None:
    with quick():
        central.run_central(folder / OUT, replace(SQUARES.recipe, epochs=3), 3, FitSettings(), partial(note, folder))


def sweep_figure(folder: Path) -> None:
    out = folder / OUT
    asked = fig4_sweep.Asked(chosen("a", quick=True), seeds=3, epochs=2, device="cpu", at_once=1)
    table = fig4_sweep.sweep(out, asked, partial(pretend, folder), LocalEngine(), "withinpx reproduce fig4a")
    fig4_sweep.summarise_folder(out, table, out)
    fig4_figures.draw(table, out, "a")


def pretend(folder: Path, setting: Setting, seeds: tuple[int, ...], epochs: int, device: str) -> list[dict[str, Any]]:
    rows = fake_runs.train(setting, seeds, epochs, device)
    for row in rows:
        note(folder, f"{row['encoder_rf']} {row['seed']}")
    return rows


def render_pictures(folder: Path) -> None:
    render_datasets({folder / OUT: CLEVR}, DrawnStage)


def detect_in_several(folder: Path) -> None:
    clips = [str(folder.parent / name) for name in (CLIP, "again")]
    options = ["--out", str(folder / OUT), "--every", "2", "--export", *FORMATS, "--device", "cpu"]
    main(["detect", str(folder.parent / DETECTOR), *clips, *options])


def write_exports(folder: Path) -> None:
    """A detector as a network and as a new film, a clip on a sheet and as tracks: each command once."""
    out, clip, detector = folder / OUT, str(folder.parent / CLIP), str(folder.parent / DETECTOR)
    out.mkdir(parents=True, exist_ok=True)
    commands = {
        "detector.onnx": ["export", detector, "--onnx"],
        "new.mp4": ["edit", detector, "--path", "object=0:10,8:30,8", "--frames", "4"],
        "seen.png": ["inspect", clip],
        "detected": ["detect", detector, clip, "--every", "4", "--device", "cpu"],
    }
    for name, command in commands.items():
        if not (out / name).exists():
            main([*command, "--out", str(out / name)])
            note(folder, name)


@dataclass(frozen=True)
class Piece:
    """A piece of work, and how to tell what of it is finished, by what lies in its folder alone."""

    act: Callable[[Path], None]
    units: Callable[[Path], list[str]]  # that need not be done again, as ``done.txt`` calls them
    files: Callable[[Path], list[Path]]  # that need not be written again
    kills: int  # of 200


def _nothing(out: Path) -> list[Any]:
    return []


def _all(out: Path) -> list[Path]:
    return [path for path in out.rglob("*") if path.is_file()]


def _epochs(out: Path, attempt: str, last: str) -> list[str]:
    """Those before the last checkpoint; all, when what is written last is there."""
    path, over = out / attempt / CHECKPOINT, (out / last).exists()
    if not over and not path.exists():
        return []
    if over:
        return [f"epoch {number}" for number in range(1, 1000)]
    with safe_open(path, framework="pt") as file:
        return [f"epoch {number}" for number in range(1, 1 + int(file.metadata()["epoch"]))]


def _if_over(out: Path, last: str) -> list[Path]:
    """All files, when what is written last is there; exports come after that, and are written again."""
    exports = ("coco_results.json", "coco_images.json", "mot.txt", "dlc.csv")
    return [path for path in _all(out) if path.name not in exports] if (out / last).exists() else []


def _rows(out: Path) -> list[dict[str, str]]:
    path = out / "runs.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _said_rows(out: Path) -> list[str]:
    return [", ".join(f"{name} {value}" for name, value in row.items()) for row in _rows(out)]


def _of_finished_folders(out: Path) -> list[Path]:
    return [path for path in _all(out) if not any(part.startswith(".") for part in path.relative_to(out).parts)]


def _pictures_with_masks(out: Path) -> list[Path]:
    """A picture is finished with its mask."""
    pictures = [path for split in ("train", "test") for path in (out / split).glob("[!.]*.png")]
    pairs = [(path, out / "masks" / path.relative_to(out)) for path in pictures]
    return [path for pair in pairs if pair[1].exists() for path in pair]


PIECES = {
    "fit": Piece(
        fit_squares, partial(_epochs, attempt="", last="detector.json"), partial(_if_over, last="detector.json"), 40
    ),
    "track": Piece(track_clip, partial(_epochs, attempt="attempts/seed-0", last=LOG), partial(_if_over, last=LOG), 25),
    "sweep": Piece(sweep_central, _said_rows, _nothing, 25),
    "figure": Piece(
        sweep_figure, lambda out: [f"{row['encoder_rf']} {row['seed']}" for row in _rows(out)], _nothing, 30
    ),
    "render": Piece(render_pictures, _nothing, _pictures_with_masks, 40),
    "detect": Piece(detect_in_several, _nothing, _of_finished_folders, 20),
    "export": Piece(write_exports, lambda out: [path.name for path in out.iterdir()], _of_finished_folders, 20),
}


def result(out: Path) -> dict[str, Any]:
    """All that is left in the end, without what says when it was and in how many goes."""
    found: dict[str, Any] = {path.relative_to(out).as_posix(): path.read_bytes() for path in _all(out)}
    for name in ("about.json", "summary.md"):
        found.pop(name, None)
    if LOG in found:
        found[LOG] = [{**json.loads(line), "elapsed_s": 0} for line in found[LOG].splitlines()]
    if "runs.csv" in found:
        found["runs.csv"] = [{**row, **dict.fromkeys(WHEN)} for row in _rows(out)]
    return found
