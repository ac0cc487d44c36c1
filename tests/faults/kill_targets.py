"""Work that is killed at random moments. Started again in its folder, each target resumes.

All output is below ``work``. Next to it, ``done.txt`` has a line for each finished unit of work. The clip and the
detector that the targets share are one folder up.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from safetensors import safe_open

from tests.data.test_clevr import SilhouetteRenderer
from tests.experiments import fake_runs
from tests.faults.output_files import (
    contents,
    files_in,
    partial_files,
    table_rows,
    timeless_log,
    timeless_rows,
    timeless_run,
)
from tests.faults.small import SQUARES, TRACK, quick, run_command
from withinpx.data.clevr import ClevrSet
from withinpx.data.clevr_render import render_datasets
from withinpx.experiments.central import CentralExperiment
from withinpx.experiments.fig4 import SquaresExperiment, select_panels
from withinpx.experiments.run_folder import train_in_folder
from withinpx.experiments.sweep import run_experiment
from withinpx.jobs.job import Job, JobCallback
from withinpx.jobs.local import LocalEngine
from withinpx.tracking.exports import export
from withinpx.tracking.track import track
from withinpx.training.callback import Callback
from withinpx.training.checkpoint import CHECKPOINT
from withinpx.training.detector_folder import RUN_CONFIG
from withinpx.training.fit import FitSettings
from withinpx.training.log import LOG, Epoch
from withinpx.training.recipe import Recipe

OUT = Path("work") / "out"
DONE = "done.txt"
CLIP, DETECTOR = "clip", "detector"
RUN = replace(SQUARES, recipe=replace(SQUARES.recipe, epochs=12))
CLEVR = ClevrSet("shapes", 9, 19, train=4, test=2)
FORMATS: Any = ("coco", "mot", "dlc")
EXPORTS = ("coco_results.json", "coco_images.json", "mot.txt", "dlc.csv", "verdicts.csv")


class RecordEpochs(Callback):
    """Every epoch is a unit of work."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        record(self._folder, f"epoch {epoch.epoch}")


class RecordJobs(JobCallback):
    """Every job of a sweep is a unit of work."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def on_job(self, job: Job) -> None:
        record(self._folder, job.name)


def record(folder: Path, unit: str) -> None:
    with (folder / DONE).open("a", encoding="utf-8") as file:
        file.write(f"{unit}\n")


def recorded(folder: Path) -> list[str]:
    path = folder / DONE
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def recording_settings(folder: Path) -> FitSettings:
    return FitSettings(checkpoint_every_s=0, callbacks=(RecordEpochs(folder),))


def fit_squares(folder: Path) -> None:
    out = folder / OUT
    train_in_folder(RUN, out, recording_settings(folder), resume=out.exists())


def track_clip(folder: Path) -> None:
    out = folder / OUT
    with quick():
        result = track(
            folder.parent / CLIP,
            TRACK,
            out=out,
            settings=recording_settings(folder),
            resume=out.exists(),
            progress=False,
        )
    export(result.tracks, out, FORMATS, result.detector)


def sweep_central(folder: Path) -> None:
    experiment = CentralExperiment(replace(SQUARES.recipe, epochs=3), FitSettings(), seeds=3)
    with quick():
        table = run_experiment(folder / OUT, experiment, LocalEngine(), "", RecordJobs(folder))
        experiment.report(table, folder / OUT)


def sweep_figure(folder: Path) -> None:
    out = folder / OUT
    panels, train = select_panels("a", quick=True), partial(fake_training, folder)
    experiment = SquaresExperiment(panels, seeds=3, epochs=2, device="cpu", seeds_per_job=1, train=train)
    experiment.report(run_experiment(out, experiment, LocalEngine(), "withinpx reproduce fig4a"), out)


def fake_training(folder: Path, *arguments: Any) -> list[dict[str, Any]]:
    rows = fake_runs.train(*arguments)
    for row in rows:
        record(folder, f"{row['encoder_rf']} {row['seed']}")
    return rows


def render_images(folder: Path) -> None:
    render_datasets({folder / OUT: CLEVR}, SilhouetteRenderer)


def detect_in_several(folder: Path) -> None:
    clips = [str(folder.parent / name) for name in (CLIP, "again")]
    options = ["--out", str(folder / OUT), "--every", "2", "--export", *FORMATS, "--device", "cpu"]
    run_command(["detect", str(folder.parent / DETECTOR), *clips, *options])


def write_exports(folder: Path) -> None:
    """Commands, each once: a detector as ONNX, as a page and as an edited video, a clip as a sheet and as tracks."""
    out, clip, detector = folder / OUT, str(folder.parent / CLIP), str(folder.parent / DETECTOR)
    out.mkdir(parents=True, exist_ok=True)
    commands = {
        "detector.onnx": ["export", detector, "--onnx"],
        "detector.html": ["export", detector, "--html"],
        "new.mp4": ["edit", detector, "--path", "object=0:10,8:30,8", "--frames", "4"],
        "seen.png": ["inspect", clip],
        "detected": ["detect", detector, clip, "--every", "4", "--device", "cpu"],
    }
    for name, command in commands.items():
        if not (out / name).exists():
            run_command([*command, "--out", str(out / name)])
            record(folder, name)


@dataclass(frozen=True)
class Target:
    """A piece of work, and how its output folder alone shows what of it is finished."""

    run: Callable[[Path], None]
    finished_units: Callable[[Path], list[str]]  # need not be repeated; named as in ``done.txt``
    finished_files: Callable[[Path], list[Path]]  # need not be written again
    kills: int  # of 200


def _none(out: Path) -> list[Any]:
    return []


def _epochs(out: Path, attempt: str, last: str) -> list[str]:
    """Those before the last checkpoint; all, if the file that is written last exists."""
    checkpoint = out / attempt / CHECKPOINT
    if (out / last).exists():
        epochs = 1000
    elif checkpoint.exists():
        with safe_open(checkpoint, framework="pt") as file:
            epochs = int(file.metadata()["epoch"]) + 1
    else:
        epochs = 1
    return [f"epoch {number}" for number in range(1, epochs)]


def _all_if_over(out: Path, last: str) -> list[Path]:
    """All files, if the one that is written last exists; exports follow it and are written again."""
    if not (out / last).exists():
        return []
    partials = partial_files(out)
    return [path for path in files_in(out) if path.name not in EXPORTS and path not in partials]


def _central_jobs(out: Path) -> list[str]:
    parts = {"encoder": "encoder_rf", "decoder": "decoder_rf", "object": "object_size", "seed": "seed"}
    return [", ".join(f"{word} {row[column]}" for word, column in parts.items()) for row in table_rows(out)]


def _in_visible_folders(out: Path) -> list[Path]:
    return [path for path in files_in(out) if not any(part.startswith(".") for part in path.relative_to(out).parts)]


def _images_with_masks(out: Path) -> list[Path]:
    """An image is finished together with its mask."""
    images = [path for split in ("train", "test") for path in (out / split).glob("[!.]*.png")]
    pairs = [(path, out / "masks" / path.relative_to(out)) for path in images]
    return [path for pair in pairs if pair[1].exists() for path in pair]


TARGETS = {
    "fit": Target(
        fit_squares, partial(_epochs, attempt="", last="detector.json"), partial(_all_if_over, last="detector.json"), 40
    ),
    "track": Target(
        track_clip,
        partial(_epochs, attempt="attempts/hypothesis-0-seed-0", last=LOG),
        partial(_all_if_over, last=LOG),
        25,
    ),
    "sweep": Target(sweep_central, _central_jobs, _none, 25),
    "figure": Target(
        sweep_figure, lambda out: [f"{row['encoder_rf']} {row['seed']}" for row in table_rows(out)], _none, 30
    ),
    "render": Target(render_images, _none, _images_with_masks, 40),
    "detect": Target(detect_in_several, _none, _in_visible_folders, 20),
    "export": Target(write_exports, lambda out: [path.name for path in out.iterdir()], _in_visible_folders, 20),
}


def result(out: Path) -> dict[str, Any]:
    """The final files, without what records the time and the number of starts."""
    found: dict[str, Any] = contents(out)
    for name in ("about.json", "summary.md"):
        found.pop(name, None)
    if LOG in found:
        found[LOG] = timeless_log(found[LOG])
    if RUN_CONFIG in found:
        found[RUN_CONFIG] = timeless_run(found[RUN_CONFIG])
    if "runs.csv" in found:
        found["runs.csv"] = timeless_rows(out)
    return found
