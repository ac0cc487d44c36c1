"""From a recording to certified tracks: inspect, plan, train, certify, detect."""

import shutil
import time
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import Any

from withinpx.data.recording import Recording, Source, open_recording
from withinpx.discovery.background import to_uint8
from withinpx.discovery.inspection import MOST_FRAMES, Inspection
from withinpx.discovery.inspection import inspect as inspect_clip
from withinpx.errors import BrokenTrainingError, InputError
from withinpx.files import check_is_new, write_atomically
from withinpx.tracking.attempt import ATTEMPTS, Attempt, Setup, attempt, attempt_folder
from withinpx.tracking.detect import OnChunk, chunks, detect
from withinpx.tracking.detector import Detector
from withinpx.tracking.options import InspectOptions, TrackOptions
from withinpx.tracking.plan import make_plan, working_scale
from withinpx.tracking.progress import Event, Report, TrainingEvents, reporting
from withinpx.tracking.result import Result
from withinpx.tracking.tracks import Tracks
from withinpx.training.detector_folder import begin_run
from withinpx.training.device import choose_device
from withinpx.training.fit import FitSettings
from withinpx.training.log import LOG

MOST_BROKEN = 3  # seeds whose training may break before the clip is given up
DEFAULTS = TrackOptions()


def track(
    source: Source,
    options: TrackOptions = DEFAULTS,
    *,
    out: str | PathLike[str] | None = None,
    device: str = "auto",
    progress: bool | Report = True,
    resume: bool = False,
    settings: FitSettings | None = None,
    on_chunk: OnChunk | None = None,
    **changes: Any,
) -> Result:
    """Find the moving objects of a recording and prove, per frame, how far off each position can be.

    ``source`` is a video file, a folder of images, or an array (frames, height, width[, 3]) of uint8. Further keywords
    are fields of ``TrackOptions``. Nothing is written unless ``out`` names a new folder. ``progress`` shows bars on
    standard error, or is a function that receives events. ``settings`` and ``on_chunk`` are for programs that
    supervise a run: they replace ``device`` and receive every chunk of frames as it is detected.

    >>> import withinpx
    >>> result = withinpx.track("clip", objects=3, seed=0, progress=False)  # doctest: +SKIP
    """
    recording, options = open_recording(source), _changed(options, changes)
    settings = settings or FitSettings(choose_device(device))
    with reporting(progress) as report:
        return _track(recording, options, None if out is None else Path(out), settings, report, resume, on_chunk)


def _track(
    recording: Recording,
    options: TrackOptions,
    out: Path | None,
    settings: FitSettings,
    report: Report,
    resume: bool,
    on_chunk: OnChunk | None,
) -> Result:
    started = time.monotonic()
    config = {"data": recording.source, **asdict(options)}
    if out is not None and not resume:
        check_is_new(out)
    elif out is not None and (out / LOG).exists():  # written last: the run is finished
        begin_run(out, config, resume)
        return _finished(recording, out, on_chunk)
    setup = prepare(recording, options, report)
    if out is not None:
        begin_run(out, config, resume)
    best = _best_attempt(setup, options, out, settings, report, started)
    return _write(recording, out, best, setup, options, report, on_chunk)


def inspect(source: Source, options: InspectOptions | None = None, **changes: Any) -> Inspection:
    """What moves in a recording, before any training. Further keywords are fields of ``InspectOptions``.

    >>> import withinpx
    >>> inspection = withinpx.inspect("clip")
    >>> len(inspection.objects)
    3
    """
    options = _changed(options or InspectOptions(), changes)
    return inspect_clip(open_recording(source).sample(options, MOST_FRAMES), options.background)


def _changed(options: Any, changes: dict[str, Any]) -> Any:
    try:
        return replace(options, **changes)
    except TypeError as error:
        raise InputError(f"{error}: the options are those of {type(options).__name__}.") from None


def prepare(recording: Recording, options: TrackOptions, report: Report) -> Setup:
    """Decode a sample of the recording once, inspect it once, and plan the network for its working scale."""
    clip = recording.sample(options, MOST_FRAMES, on_frame=lambda frame: report(Event("reading", frame.number + 1)))
    for gap in clip.lost:
        report(Event("reading", message=f"{recording.source}: {gap}"))
    original = inspect_clip(clip, options.background)
    scale = working_scale(original)
    inspection = original.scaled(scale) if scale < 1 else original
    plan = make_plan(inspection, options)
    count = len(inspection.objects)
    report(Event("inspecting", message=f"{count} moving object{'s' * (count != 1)}. {plan.why}"))
    if scale < 1:
        low, high = original.sizes
        message = f"objects of {low:.0f} to {high:.0f} px are processed at {scale:g} of their size"
        report(Event("inspecting", message=message))
    for warning in plan.warnings:
        report(Event("inspecting", message=f"warning: {warning}"))
    return Setup(inspection, plan, original if scale < 1 else None)


def _best_attempt(
    setup: Setup, options: TrackOptions, out: Path | None, settings: FitSettings, report: Report, started: float
) -> Attempt:
    """Try one seed after another until all objects are certified or the time budget is spent."""
    settings = replace(settings, callbacks=(*settings.callbacks, TrainingEvents(report)))
    best: Attempt | None = None
    seed = options.seed
    while True:
        attempt_started = time.monotonic()
        if out is not None:
            folder = attempt_folder(out, seed)
            folder.mkdir(parents=True, exist_ok=True)
            settings = replace(settings, folder=folder)
        certified = False
        try:
            tried = attempt(setup, seed, settings)
        except BrokenTrainingError as error:
            if best is None and seed - options.seed >= MOST_BROKEN - 1:
                raise
            report(Event("training", message=f"seed {seed}: {error}"))
        else:
            best = tried if best is None or tried.merit > best.merit else best
            certified = tried.detector.certificate.certified
            report(Event("training", message=f"seed {seed}: {tried.detector.certificate.verdict}"))
        now = time.monotonic()
        if best is not None and (certified or 2 * now - started - attempt_started > options.budget):
            return best
        seed += 1


def _write(
    recording: Recording,
    out: Path | None,
    best: Attempt,
    setup: Setup,
    options: TrackOptions,
    report: Report,
    on_chunk: OnChunk | None,
) -> Result:
    """Detect in every frame; with a folder, write everything into it, log.jsonl last."""
    detector, clip = best.detector, setup.inspection.clip
    parts: list[Tracks] = []
    frames = clip.stream() if clip.complete else None
    background = None
    if setup.original is not None:
        sharp = setup.original
        background = (to_uint8(sharp.background.images[0]), sharp.clip.selection)
    if out is None:

        def keep(chunk: Any) -> None:
            parts.append(chunk.tracks)
            if on_chunk is not None:
                on_chunk(chunk)

        detect(detector, recording, report=report, on_chunk=keep, frames=frames)
        return Result(detector, recording, in_memory=Tracks.joined(parts), background=background)
    detector.save(out)
    detect(detector, recording, out, overlay=options.overlay, report=report, on_chunk=on_chunk, frames=frames)
    result = Result(detector, recording, out, background=background)
    result.write_report(out)
    write_atomically(out / LOG, (attempt_folder(out, best.seed) / LOG).read_bytes())
    shutil.rmtree(out / ATTEMPTS, ignore_errors=True)
    return result


def _finished(recording: Recording, out: Path, on_chunk: OnChunk | None) -> Result:
    """The result of an earlier run; ``on_chunk`` receives the recording once more."""
    shutil.rmtree(out / ATTEMPTS, ignore_errors=True)
    detector = Detector.load(out)
    if on_chunk is not None:
        for chunk in chunks(detector, recording):
            on_chunk(chunk)
    return Result(detector, recording, out)
