"""The process of a training: ``track``, with its progress and previews written to the run's folder."""

import os
import shutil
import time
import traceback
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from torch import Tensor

from withinpx.certificate.certificate import Certificate
from withinpx.errors import InputError, StoppedError
from withinpx.files import write_atomically, write_json
from withinpx.palette import colour_of
from withinpx.studio.frames import save_decoded_times
from withinpx.studio.queue import Flag
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
from withinpx.tracking.exports import export
from withinpx.tracking.progress import Event, Pace
from withinpx.tracking.result import Result, load_result
from withinpx.tracking.track import track
from withinpx.tracking.tracks import Tracks
from withinpx.training.callback import Callback
from withinpx.training.detector_folder import RUN_CONFIG
from withinpx.training.device import choose_device
from withinpx.training.engine import Engine
from withinpx.training.fit import FitSettings
from withinpx.training.log import LOG, Epoch
from withinpx.training.recipe import Recipe

CHECKPOINT_EVERY_S = 10.0
PREVIEW_EVERY_S = 1.5
REPORT_EVERY_S = 0.5  # while frames are decoded or detected
PREVIEW_STEP = 7  # frames from one preview to the next
MAX_MASKS = 3000  # positions; above it the COCO results have boxes only
GAP = 6  # px between two panels of a preview
MIN_SIDE = 240  # px; smaller panels are enlarged
COLUMNS = 5
ARM = 7  # px of a cross
Positions = list[list[float] | None]


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
        options = run.options.for_track()
        track(run.name, options, out=out, settings=settings, resume=resume, progress=reporter.on_event)
    reporter.report("writing", 0, 1)
    result = load_result(out)
    tracks = result.tracks
    if run.options.whole:
        save_decoded_times(Path(run.name), tracks.times_s.tolist())
    export(tracks, out, ("coco", "mot", "dlc"), result.detector if tracks.present.sum() <= MAX_MASKS else None)
    return {**result_of(result.certificate, tracks), "colours": colours_by_number(result)}


def colours_by_number(result: Result) -> list[str | None]:
    """The mark colour of each heatmap's object; None where a heatmap is unused."""
    if result.tracks.classes is not None:
        return list(result.colours)
    colours: list[str | None] = [None] * result.detector.model.config.objects
    for obj, colour in zip(result.certificate.objects, result.colours, strict=True):
        colours[obj.object] = colour
    return colours


def result_of(certificate: Certificate, tracks: Tracks) -> dict[str, Any]:
    """The summary that lists of runs show."""
    certified = sum(obj.certified for obj in certificate.objects)
    return {
        "certified": certificate.certified,
        "objects": tracks.objects,
        "positions": int(tracks.present.sum()),
        "certified_positions": int(tracks.certified.sum()),
        "message": f"{certified} of {len(certificate.objects)} objects certified",
    }


class Reporter(Callback):
    """Writes progress and previews, and raises ``StoppedError`` when the run is to stop."""

    def __init__(self, folder: Path, run: Run, stop: Flag) -> None:
        self.stop = stop
        self._folder, self._span = folder, run.options.frames or (0, run.clip.frames - 1)
        self._crop = run.options.crop or (0, 0, run.clip.width, run.clip.height)
        self._seed = run.options.seed
        self._engine: Engine | None = None
        self._previewed = self._reported = time.monotonic()
        self._epochs = self._previews = 0
        self._timed: tuple[str, int] = "", 0  # the stage whose pace is measured, and how far it was
        self._pace = Pace()
        self._training_left_s: float | None = None

    def report(self, stage: Stage, done: int, total: int, **more: Any) -> None:
        stops_itself = stage in ("warm start", "training") and self._epochs > 0  # after a checkpoint (fit.py)
        if not stops_itself and self.stop.is_set():
            raise StoppedError("Training was stopped.")
        add_progress(self._folder / PROGRESS, Progress(stage, done, total, seed=self._seed, **more))

    def on_event(self, event: Event) -> None:
        """Reading and detecting; trainings are reported by the callback's own methods, with their numbers.

        The time left in a training comes here, after each of its steps.
        """
        if event.stage in ("warm start", "training"):
            self._training_left_s = event.remaining_s or self._training_left_s
        if event.stage not in ("reading", "detecting") or not event.done:
            return
        first, last = self._span
        total = last + 1 if event.stage == "reading" else last + 1 - first  # skipped frames are read too
        if event.stage != self._timed[0] or event.done < self._timed[1]:
            self._pace = Pace()
        self._timed = event.stage, event.done
        seconds_left = self._pace.remaining_s(event.done, max(0, total - event.done))
        now = time.monotonic()
        if now - self._reported > REPORT_EVERY_S or event.done >= total:
            self._reported = now
            self.report(event.stage, event.done, max(event.done, total), seconds_left=seconds_left)

    def on_start(self, engine: Engine, seed: int) -> None:
        self._engine, self._seed, self._epochs, self._training_left_s = engine, seed, 0, None

    def on_warm_start_step(self, step: int, recipe: Recipe) -> None:
        total = max(step, recipe.warm_start_steps)
        self.report("warm start", step, total, seconds_left=self._training_left_s)

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        self._epochs += 1
        numbers = {"loss": epoch.loss, "accuracy": epoch.reconstruction_accuracy}
        last = epoch.epoch == recipe.epochs
        seconds_left = 0.0 if last else self._training_left_s
        self.report("training", epoch.epoch, recipe.epochs, **numbers, seconds_left=seconds_left)
        if self._engine is not None and (last or time.monotonic() - self._previewed > PREVIEW_EVERY_S):
            self._write_preview(self._engine)
        if last:
            self.report("certifying", 0, 1, **numbers)

    def _write_preview(self, engine: Engine) -> None:
        image, positions = render_preview(engine, PREVIEW_STEP * self._previews % len(engine.images))
        self._previews += 1
        self._previewed = time.monotonic()
        scale = engine.model.config.width / self._crop[2]
        in_recording = [
            position and [round(position[axis] / scale + self._crop[axis], 1) for axis in range(2)]
            for position in positions
        ]
        write_atomically(self._folder / PREVIEW, image)
        write_json(self._folder / PREVIEW_POSITIONS, {"positions": in_recording})


@torch.no_grad()
def render_preview(engine: Engine, number: int) -> tuple[bytes, Positions]:
    """Frame, reconstruction and heatmaps of one training image as a PNG, and the positions in it."""
    model, chosen = engine.model, torch.tensor([number], device=engine.latest_z.device)
    training = model.training
    model.eval()
    heatmaps = engine.heatmaps(chosen)
    z, codes = engine.latents(chosen)
    present = torch.ones_like(z[..., 0], dtype=torch.bool) if engine.present is None else engine.present[chosen]
    maps = model.decoder_maps(z, None, present, codes)
    reconstruction = model.background.compose(maps, engine.backgrounds_of(chosen))[0]
    model.train(training)
    maps = heatmaps[0].unsqueeze(1)
    low, high = (edge(maps, dim=(-2, -1), keepdim=True) for edge in (torch.amin, torch.amax))
    maps = (maps - low) / (high - low).clamp(min=1e-6)
    panels = [_to_uint8(image) for image in (engine.images[number], reconstruction, *maps)]
    positions = [
        position if there else None for position, there in zip(z[0].tolist(), present[0].tolist(), strict=True)
    ]
    return _side_by_side(panels, positions), positions


def _to_uint8(image: Tensor) -> NDArray[np.uint8]:
    """(c, h, w) from 0 to 1 as (h, w, 3)."""
    levels = (image.clamp(0, 1) * 255).round().byte().permute(1, 2, 0).cpu().numpy()
    return np.broadcast_to(levels, (*levels.shape[:2], 3))


def _side_by_side(panels: list[NDArray[np.uint8]], positions: Positions) -> bytes:
    height, width = panels[0].shape[:2]
    zoom = max(1, ceil(MIN_SIDE / max(height, width)))
    across, down = zoom * width + GAP, zoom * height + GAP
    columns, rows = min(COLUMNS, len(panels)), ceil(len(panels) / COLUMNS)
    sheet = Image.new("RGBA", (columns * across - GAP, rows * down - GAP))
    draw = ImageDraw.Draw(sheet)
    for index, panel in enumerate(panels):
        left, top = index % COLUMNS * across, index // COLUMNS * down
        enlarged = Image.fromarray(panel).resize((zoom * width, zoom * height), Image.Resampling.NEAREST)
        sheet.paste(enlarged, (left, top))
        for number, position in enumerate(positions):
            if position is not None and index in (0, 1, number + 2):  # a heatmap shows only its own object
                x, y = left + zoom * position[0], top + zoom * position[1]
                for line_width, colour in ((4, "#000000"), (2, colour_of(number))):
                    draw.line((x - ARM, y, x + ARM, y), fill=colour, width=line_width)
                    draw.line((x, y - ARM, x, y + ARM), fill=colour, width=line_width)
    content = BytesIO()
    sheet.save(content, "PNG", compress_level=1)
    return content.getvalue()
