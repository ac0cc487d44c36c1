"""What a training's own process does: ``track``, with somebody watching who writes down how far it is."""

import csv
import os
import shutil
import time
import traceback
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from withinpx.certificate.certificate import Certificate
from withinpx.errors import InputError, StoppedError
from withinpx.files import write_atomically, write_json
from withinpx.studio.frame_times import note_times
from withinpx.studio.preview import draw_preview
from withinpx.studio.process import Flag
from withinpx.studio.progress import Progress, Stage, add_progress
from withinpx.studio.reading import watched
from withinpx.studio.runs import CLIP, OUT, OUTCOME, PLACES, PREVIEW, PROGRESS, REASONS, Run
from withinpx.studio.settings import track_settings
from withinpx.tracking.detect import TRACKS, Chunk
from withinpx.tracking.detector import Detector, load_clip_detector
from withinpx.tracking.exports import export
from withinpx.tracking.masks import masks_of
from withinpx.tracking.track import track
from withinpx.tracking.tracks import Tracks, read_tracks
from withinpx.training.callback import Callback
from withinpx.training.detector_folder import RUN_CONFIG
from withinpx.training.device import choose_device
from withinpx.training.engine import Engine, SparseEngine
from withinpx.training.fit import FitSettings
from withinpx.training.log import Epoch
from withinpx.training.recipe import Recipe

CHECKPOINT_EVERY_S = 10.0
PREVIEW_EVERY_S = 1.5
VARIETY = 7  # pictures from one preview to the next
MOST_MASKS = 3000  # positions; a longer recording's COCO results have boxes alone


def work(folder: Path, run: Run, stop: Flag) -> None:
    """Train a run, or go on with it; what came of it is in ``outcome.json``, and nothing is if it was stopped."""
    os.chdir(folder / CLIP)  # so that nothing written, and no message, tells where that is
    try:
        outcome: dict[str, Any] = {"result": _train(run, Reporter(Path(".."), run, stop))}
    except StoppedError:
        return
    except InputError as error:
        outcome = {"error": str(error)}
    except Exception as error:
        traceback.print_exc()
        outcome = {"error": f"The training broke down ({type(error).__name__}): what it printed says more."}
    write_json(Path("..") / OUTCOME, outcome)


def _train(run: Run, reporter: "Reporter") -> dict[str, Any]:
    out = Path("..") / OUT
    if not reporter.is_over:
        resume = (out / RUN_CONFIG).exists()
        if not resume:
            shutil.rmtree(out, ignore_errors=True)
        reporter.tell("looking", 0, 1)
        settings = FitSettings(
            choose_device(), checkpoint_every_s=CHECKPOINT_EVERY_S, callbacks=(reporter,), stop=reporter.stop.is_set
        )
        with reporter:
            asked = track_settings(run.options)
            track(Path(run.name), out, asked, settings, resume=resume, each_chunk=reporter.chunk)
    reporter.tell("writing", 0, 1)
    detector, _ = load_clip_detector(out)
    tracks = read_tracks(out / TRACKS, *detector.recording)
    write_exports(out, detector, tracks)
    return result_of(detector.certificate, tracks)


def write_exports(out: Path, detector: Detector, tracks: Tracks) -> None:
    """The tables that other programs read."""
    masks = masks_of(detector, tracks) if tracks.present.sum() <= MOST_MASKS else None
    export(tracks, out, ("coco", "mot", "dlc"), masks)


def result_of(certificate: Certificate, tracks: Tracks) -> dict[str, Any]:
    """What came of it, in a few numbers and a sentence."""
    certified = sum(each.certified for each in certificate.objects)
    return {
        "certified": certificate.certified,
        "objects": len(certificate.objects),
        "positions": int(tracks.present.sum()),
        "certified_positions": int(tracks.certified.sum()),
        "sentence": f"{certified} of {len(certificate.objects)} objects certified",
    }


class Reporter(Callback):
    """Writes down how far a training is, and ends it when it shall stop."""

    def __init__(self, folder: Path, run: Run, stop: Flag) -> None:
        self.stop = stop
        self._folder, self._clip, self._frames = folder, Path(run.name), run.clip.frames
        self._part = run.options.crop or (0, 0, run.clip.width, run.clip.height)
        self._seed = run.options.seed
        self._engine: SparseEngine | None = None
        self._began = self._shown = time.monotonic()
        self._epochs = self._previews = 0
        self._detected = 0

    @property
    def is_over(self) -> bool:
        """Did ``track`` come to its end before this process began?"""
        return (self._folder / REASONS).exists()

    def __enter__(self) -> "Reporter":
        self._reasons = (self._folder / f".{REASONS}.part").open("w", newline="", encoding="utf-8")
        csv.writer(self._reasons).writerow(("frame", "object", "reason"))
        self._looking = ExitStack()
        self._reading = self._looking.enter_context(watched(self.read))
        return self

    def __exit__(self, kind: type[BaseException] | None, *of: object) -> None:
        self._looking.close()
        self._reasons.close()
        part = self._folder / f".{REASONS}.part"
        if kind is None:
            part.replace(self._folder / REASONS)
        else:
            part.unlink()

    def tell(self, stage: Stage, done: int, of: int, **more: float | None) -> None:
        """Write a line, if there is a reason to go on."""
        ends_by_itself = stage in ("warm start", "training") and self._epochs > 0  # and with a checkpoint (fit.py)
        if not ends_by_itself and self.stop.is_set():
            raise StoppedError("Training was stopped.")
        numbers: dict[str, Any] = more
        add_progress(self._folder / PROGRESS, Progress(stage, done, of, seed=self._seed, **numbers))

    def read(self, done: int, _: bool) -> None:
        """Some more frames are read, to be looked at."""
        self.tell("looking", done, max(done, self._frames))

    def on_start(self, engine: Engine, seed: int) -> None:
        """A training begins or goes on: the clip was looked at."""
        self._looking.close()
        note_times(self._clip, self._reading.times_s)
        self._engine = engine if isinstance(engine, SparseEngine) else None
        self._seed, self._epochs, self._began = seed, 0, time.monotonic()

    def on_warm_start_step(self, step: int, recipe: Recipe) -> None:
        """One more step of the warm start is done."""
        self.tell("warm start", step, max(step, recipe.warm_start_steps))
        if not self._epochs:
            self._began = time.monotonic()

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        """One more epoch is done."""
        self._epochs += 1
        pace = (time.monotonic() - self._began) / self._epochs
        numbers = {"loss": epoch.loss, "accuracy": epoch.reconstruction_accuracy}
        left = round(pace * (recipe.epochs - epoch.epoch), 1)
        self.tell("training", epoch.epoch, recipe.epochs, **numbers, seconds_left=left)
        last = epoch.epoch == recipe.epochs
        if self._engine is not None and (last or time.monotonic() - self._shown > PREVIEW_EVERY_S):
            self._show(self._engine)
        if last:
            self.tell("certifying", 0, 1, **numbers)

    def chunk(self, chunk: Chunk) -> None:
        """Some more frames are looked at by the finished detector."""
        self._detected += len(chunk.tracks)
        self.tell("detecting", self._detected, max(self._detected, self._frames))
        refused = np.argwhere(chunk.reasons != "").tolist()
        rows = [(int(chunk.tracks.frames[row]), each, str(chunk.reasons[row, each])) for row, each in refused]
        csv.writer(self._reasons).writerows(rows)

    def _show(self, engine: SparseEngine) -> None:
        number = VARIETY * self._previews % len(engine.scene.images)
        picture, places = draw_preview(engine, number)
        self._previews += 1
        self._shown = time.monotonic()
        write_atomically(self._folder / PREVIEW, picture)
        write_json(self._folder / PLACES, {"positions": [self._in_recording(place, engine) for place in places]})

    def _in_recording(self, place: list[float] | None, engine: SparseEngine) -> list[float] | None:
        """Px of the recording, for a person to read."""
        if place is None:
            return None
        scale = engine.model.config.width / self._part[2]
        return [round(place[axis] / scale + self._part[axis], 1) for axis in range(2)]
