"""The process of a training: ``track``, with its progress written to the run's folder."""

import os
import shutil
import time
import traceback
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from withinpx.certificate.certificate import Certificate
from withinpx.errors import InputError, StoppedError
from withinpx.files import write_atomically, write_json
from withinpx.studio.frames import save_decoded_times
from withinpx.studio.options import track_settings
from withinpx.studio.preview import render_preview
from withinpx.studio.process import Flag
from withinpx.studio.read_progress import reading_progress
from withinpx.studio.runs import (
    CLIP,
    OUT,
    OUTCOME,
    PREVIEW,
    PREVIEW_POSITIONS,
    PROGRESS,
    Progress,
    Run,
    Stage,
    add_progress,
)
from withinpx.tracking.detect import TRACKS, Chunk
from withinpx.tracking.detector import load_clip_detector
from withinpx.tracking.exports import export
from withinpx.tracking.masks import masks_of
from withinpx.tracking.track import track
from withinpx.tracking.tracks import Tracks, read_tracks
from withinpx.training.callback import Callback
from withinpx.training.detector_folder import RUN_CONFIG
from withinpx.training.device import choose_device
from withinpx.training.engine import Engine, SparseEngine
from withinpx.training.fit import FitSettings
from withinpx.training.log import LOG, Epoch
from withinpx.training.recipe import Recipe

CHECKPOINT_EVERY_S = 10.0
PREVIEW_EVERY_S = 1.5
PREVIEW_STEP = 7  # frames from one preview to the next
MAX_MASKS = 3000  # positions; above it the COCO results have boxes only


def work(folder: Path, run: Run, stop: Flag) -> None:
    """Train a run or resume it. The outcome is in ``outcome.json``, which is not written if the run was stopped."""
    os.chdir(folder / CLIP)  # relative paths keep the user's folders out of files and messages
    try:
        outcome: dict[str, Any] = {"result": _train(run, Reporter(Path(".."), run, stop))}
    except StoppedError:
        return
    except InputError as error:
        outcome = {"error": str(error)}
    except Exception as error:
        traceback.print_exc()
        outcome = {"error": f"The training failed ({type(error).__name__}): see what withinpx studio printed."}
    write_json(Path("..") / OUTCOME, outcome)


def _train(run: Run, reporter: "Reporter") -> dict[str, Any]:
    out = Path("..") / OUT
    if not (out / LOG).exists():  # which ``track`` writes last
        resume = (out / RUN_CONFIG).exists()
        if not resume:
            shutil.rmtree(out, ignore_errors=True)
        reporter.report("reading", 0, 1)
        settings = FitSettings(
            choose_device(), checkpoint_every_s=CHECKPOINT_EVERY_S, callbacks=(reporter,), stop=reporter.stop.is_set
        )
        with reporter:
            asked = track_settings(run.options)
            track(Path(run.name), out, asked, settings, resume=resume, each_chunk=reporter.on_chunk)
    reporter.report("writing", 0, 1)
    detector, _ = load_clip_detector(out)
    tracks = read_tracks(out / TRACKS, *detector.recording)
    masks = masks_of(detector, tracks) if tracks.present.sum() <= MAX_MASKS else None
    export(tracks, out, ("coco", "mot", "dlc"), masks)
    return result_of(detector.certificate, tracks)


def result_of(certificate: Certificate, tracks: Tracks) -> dict[str, Any]:
    """The summary that lists of runs show."""
    certified = sum(obj.certified for obj in certificate.objects)
    return {
        "certified": certificate.certified,
        "objects": len(certificate.objects),
        "positions": int(tracks.present.sum()),
        "certified_positions": int(tracks.certified.sum()),
        "message": f"{certified} of {len(certificate.objects)} objects certified",
    }


class Reporter(Callback):
    """Writes progress and previews, and raises ``StoppedError`` when the run is to stop."""

    def __init__(self, folder: Path, run: Run, stop: Flag) -> None:
        self.stop = stop
        self._folder, self._clip, self._frames = folder, Path(run.name), run.clip.frames
        self._crop = run.options.crop or (0, 0, run.clip.width, run.clip.height)
        self._seed = run.options.seed
        self._engine: SparseEngine | None = None
        self._started = self._previewed = time.monotonic()
        self._epochs = self._previews = self._detected = 0

    def __enter__(self) -> "Reporter":
        self._reading = ExitStack()
        self._read = self._reading.enter_context(reading_progress(self.on_read))
        return self

    def __exit__(self, *_: object) -> None:
        self._reading.close()

    def report(self, stage: Stage, done: int, total: int, **more: Any) -> None:
        stops_itself = stage in ("warm start", "training") and self._epochs > 0  # after a checkpoint (fit.py)
        if not stops_itself and self.stop.is_set():
            raise StoppedError("Training was stopped.")
        add_progress(self._folder / PROGRESS, Progress(stage, done, total, seed=self._seed, **more))

    def on_read(self, done: int) -> None:
        self.report("reading", done, max(done, self._frames))

    def on_start(self, engine: Engine, seed: int) -> None:
        self._reading.close()
        save_decoded_times(self._clip, self._read.times_s)
        self._engine = engine if isinstance(engine, SparseEngine) else None
        self._seed, self._epochs, self._started = seed, 0, time.monotonic()

    def on_warm_start_step(self, step: int, recipe: Recipe) -> None:
        self.report("warm start", step, max(step, recipe.warm_start_steps))
        if not self._epochs:
            self._started = time.monotonic()

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        self._epochs += 1
        epoch_s = (time.monotonic() - self._started) / self._epochs
        numbers = {"loss": epoch.loss, "accuracy": epoch.reconstruction_accuracy}
        seconds_left = round(epoch_s * (recipe.epochs - epoch.epoch), 1)
        self.report("training", epoch.epoch, recipe.epochs, **numbers, seconds_left=seconds_left)
        last = epoch.epoch == recipe.epochs
        if self._engine is not None and (last or time.monotonic() - self._previewed > PREVIEW_EVERY_S):
            self._write_preview(self._engine)
        if last:
            self.report("certifying", 0, 1, **numbers)

    def on_chunk(self, chunk: Chunk) -> None:
        self._detected += len(chunk.tracks)
        self.report("detecting", self._detected, max(self._detected, self._frames))

    def _write_preview(self, engine: SparseEngine) -> None:
        image, positions = render_preview(engine, PREVIEW_STEP * self._previews % len(engine.scene.images))
        self._previews += 1
        self._previewed = time.monotonic()
        scale = engine.model.config.width / self._crop[2]
        in_recording = [
            position and [round(position[axis] / scale + self._crop[axis], 1) for axis in range(2)]
            for position in positions
        ]
        write_atomically(self._folder / PREVIEW, image)
        write_json(self._folder / PREVIEW_POSITIONS, {"positions": in_recording})
