"""From a recording to certified tracks: inspect, plan, train, certify, detect."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from withinpx.data.recording import OnFrame, Recording, Source, open_recording
from withinpx.data.selection import Frame
from withinpx.discovery.background import to_uint8
from withinpx.discovery.classes import Groups, as_classes, groups_of, seen_together, visible_groups
from withinpx.discovery.inspection import MOST_FRAMES, Inspection
from withinpx.discovery.inspection import inspect as inspect_clip
from withinpx.errors import BrokenTrainingError, InputError
from withinpx.files import check_is_new, write_atomically
from withinpx.tracking.attempt import ATTEMPTS, Setup
from withinpx.tracking.detect import CHUNK, Chunk, Collected, OnChunk, chunks, detect
from withinpx.tracking.detector import Detector
from withinpx.tracking.fitting import Fitted, Fitting, attempts_folder, make_setup
from withinpx.tracking.merit import Change
from withinpx.tracking.options import InspectOptions, TrackOptions
from withinpx.tracking.progress import Event, Report, reporting, silent
from withinpx.tracking.record import HYPOTHESES, Records, read_records
from withinpx.tracking.result import Result
from withinpx.tracking.views import Recorded
from withinpx.training.detector_folder import begin_run
from withinpx.training.device import choose_device
from withinpx.training.fit import FitSettings
from withinpx.training.log import LOG

DEFAULTS = TrackOptions()
SINCE = ("mm_per_px", "frames")  # options that runs of earlier versions do not name


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
    standard error, or is a function that receives events. ``resume`` continues an interrupted run in ``out``.
    ``settings`` (training settings; ``device`` is then ignored) and ``on_chunk`` (called with every chunk of frames as
    it is detected) are for programs that supervise a run.

    >>> import withinpx
    >>> result = withinpx.track("clip", channels=12, budget=1, progress=False)
    >>> result.tracks.objects, result.folder
    (3, None)
    """
    recording, options = open_recording(source), changed(options, changes)
    settings = settings or FitSettings(choose_device(device))
    with reporting(progress) as report:
        run = _Run(recording, options, settings, report, None if out is None else Path(out), on_chunk)
        return run.resume() if resume else run.start()


def inspect(
    source: Source, options: InspectOptions | None = None, *, progress: bool | Report = False, **changes: Any
) -> Inspection:
    """What moves in a recording, before any training. Further keywords are fields of ``InspectOptions``.

    ``progress`` shows bars on standard error, or is a function that receives events.

    >>> import withinpx
    >>> inspection = withinpx.inspect("clip")
    >>> len(inspection.objects)
    3
    """
    options = changed(options or InspectOptions(), changes)
    with reporting(progress) as report:
        return read_and_inspect(open_recording(source), options, report)


def changed(options: Any, changes: dict[str, Any]) -> Any:
    """Options with some fields changed; refuses names that they do not have."""
    try:
        return replace(options, **changes)
    except TypeError as error:
        raise InputError(f"{error}: the options are those of {type(options).__name__}.") from None


def prepare(
    recording: Recording, options: TrackOptions, report: Report = silent, on_frame: OnFrame | None = None
) -> Setup:
    """Decode a sample of the recording once, inspect it once, and plan the network for its best hypothesis."""
    return make_setup(read_and_inspect(recording, options, report, on_frame), options, report)


def read_and_inspect(
    recording: Recording, options: InspectOptions, report: Report = silent, on_frame: OnFrame | None = None
) -> Inspection:
    """Decode a sample of the recording once, and inspect it once."""

    def on_decoded(frame: Frame) -> None:
        report(Event("reading", frame.number + 1))
        if on_frame is not None:
            on_frame(frame)

    clip = recording.sample(options, MOST_FRAMES, on_frame=on_decoded)
    for gap in clip.lost:
        report(Event("reading", message=f"{recording.source}: {gap}"))

    def on_progress(done: int, total: int) -> None:
        report(Event("inspecting", done, total))

    return inspect_clip(clip, options.background, options.count, on_progress)


def run_config(recording: Recording, options: TrackOptions) -> dict[str, Any]:
    """What ``run.json`` says of a run; those of earlier versions know neither scales nor spans of frames."""
    config = {"data": recording.source, **asdict(options)}
    return {name: value for name, value in config.items() if name not in SINCE or value is not None}


@dataclass(frozen=True)
class _Run:
    recording: Recording
    options: TrackOptions
    settings: FitSettings
    report: Report
    out: Path | None
    on_chunk: OnChunk | None

    def start(self) -> Result:
        """Track into a new folder, or into memory."""
        if self.out is not None:
            check_is_new(self.out)
        return self._track(resume=False)

    def resume(self) -> Result:
        """Continue an interrupted run, or return a finished one; ``on_chunk`` then receives the recording once more."""
        if self.out is None:
            raise InputError("There is nothing to resume: name the folder of the interrupted run.")
        if not (self.out / LOG).exists():  # it is written last
            return self._track(resume=True)
        self._begin(resume=True)
        shutil.rmtree(self.out / ATTEMPTS, ignore_errors=True)
        detector = Detector.load(self.out)
        if self.on_chunk is not None:
            for chunk in chunks(detector, self.recording):
                self.on_chunk(chunk)
        return Result(detector, self.recording, self.out, hypotheses=read_records(self.out))

    def _begin(self, resume: bool) -> None:
        if self.out is not None:
            begin_run(self.out, run_config(self.recording, self.options), resume, may_change=("budget", HYPOTHESES))

    def _track(self, resume: bool) -> Result:
        started = time.monotonic()
        inspection = read_and_inspect(self.recording, self.options, self.report)
        self._begin(resume)
        return self._detect(*self._fitted(inspection, started))

    def _fitted(self, inspection: Inspection, started: float) -> tuple[Fitted, Records]:
        """The hypothesis that certifies the most. Objects that look alike are tried as classes."""
        may_be_classes = not (inspection.unordered or inspection.camera_moves)
        alike = seen_together(inspection.objects, inspection.alike) if may_be_classes else []
        as_alike = self._as_classes(inspection, alike, started) if alike else None
        by_classes = 0.0
        if as_alike is not None:
            if _is_complete(as_alike[0]):
                return as_alike
            by_classes = _explained(as_alike[0], inspection)
            if by_classes and by_classes >= _explainable_without(alike, inspection):
                return as_alike
        fitting = Fitting(inspection, self.options, self.settings, self.report, self.out)
        try:
            best = fitting.run(started)
        except (InputError, BrokenTrainingError):
            if as_alike is not None and by_classes:
                return as_alike
            raise
        twins = [refusal.objects for refusal in best.tried.refusals if refusal.reason == "distinct"]
        if may_be_classes and twins and as_alike is None:
            inspection = inspection.under(inspection.hypotheses[best.tried.trial.hypothesis])
            pairs = seen_together(inspection.objects, [(pair[0], pair[1]) for pair in twins])
            as_alike = self._as_classes(inspection, pairs, started) if pairs else None
            by_classes = 0.0 if as_alike is None else _explained(as_alike[0], inspection)
        if as_alike is not None and by_classes and by_classes >= _explained(best, inspection):
            return as_alike
        return best, fitting.records

    def _as_classes(
        self, inspection: Inspection, pairs: list[tuple[int, int]], started: float
    ) -> tuple[Fitted, Records] | None:
        """Fit classes of all objects; if none is certified, of those that look alike, without what is the only one."""
        groups = groups_of(len(inspection.objects), pairs)
        groups = visible_groups(inspection.objects, groups, self.options.largest_object)
        several = tuple(group for group in groups if len(group) > 1)
        best = self._fit_views(inspection, groups, started)
        if several in ((), groups) or (best is not None and _certifies(best[0])):
            return best
        alone = self._fit_views(inspection, several, started)
        return best if alone is None else alone

    def _fit_views(self, inspection: Inspection, groups: Groups, started: float) -> tuple[Fitted, Records] | None:
        """Fit views of one object each, with one heatmap for all of a group; None if there are no such views."""
        views = as_classes(inspection, groups)
        if views is None:
            return None
        isolated, classes = views
        count, kinds = sum(map(len, groups)), len(isolated.objects)
        message = f"{count} objects look alike: {kinds} class{'es' * (kinds != 1)}, examined one by one"
        self.report(Event("training", message=message))
        fitting = Fitting(isolated, self.options, self.settings, self.report, self.out, classes=classes)
        return fitting.run(started), fitting.records

    def _detect(self, best: Fitted, hypotheses: Records) -> Result:
        """Detect in every frame; with a folder, write everything into it, log.jsonl last."""
        detector, sharp = best.attempt.detector, best.setup.original
        clip = (best.setup.inspection if sharp is None or detector.sharp is None else sharp).clip
        background = None
        if sharp is not None:
            background = (to_uint8(sharp.background.images[0]), sharp.clip.selection)
        collected = Collected()

        def receive(chunk: Chunk) -> None:
            if self.out is None:
                collected.add(chunk)
            if self.on_chunk is not None:
                self.on_chunk(chunk)

        if self.out is not None:
            detector.save(self.out)
        as_recorded = clip.complete and not detector.background.light_varies
        detect(
            detector,
            self.recording,
            self.out,
            overlay=self.options.overlay,
            report=self.report,
            on_chunk=receive,
            frames=clip.stream() if as_recorded else None,  # no frame is decoded twice
            step_px=self.options.step,
            mm_per_px=self.options.mm_per_px,
        )
        if self.out is None:
            return Result(detector, self.recording, None, collected.tracks(), background, hypotheses)
        result = Result(detector, self.recording, self.out, background=background, hypotheses=hypotheses)
        self.report(Event("writing", 0, 2))
        result.write_report(self.out)
        self.report(Event("writing", 1, 2))
        attempts = self.out / attempts_folder(best.setup.inspection, best.setup.classes)
        rounds = [attempts / folder for folder in best.tried.trial.folders]
        write_atomically(self.out / LOG, b"".join((folder / LOG).read_bytes() for folder in rounds))
        shutil.rmtree(self.out / ATTEMPTS, ignore_errors=True)
        self.report(Event("writing", 2, 2))
        return result


def _is_complete(as_alike: Fitted) -> bool:
    """Are all objects of the clip in certified classes?"""
    classes = as_alike.setup.classes
    return as_alike.certificate.certified and classes is not None and classes.complete


def _explained(fitted: Fitted, inspection: Inspection) -> float:
    """The share of a clip's change that lies within the boxes of certified positions; 0 if no object is certified."""
    if not _certifies(fitted):
        return 0.0
    detector, count = fitted.attempt.detector, len(inspection.clip)
    if detector.classes is None:
        tracks = detector.tracks(fitted.attempt.seen, np.arange(count), np.full(count, np.nan))
        return Change.of(inspection).of_certified(tracks)
    recorded = Recorded(detector)
    for start in range(0, count, CHUNK):
        frames = range(start, min(start + CHUNK, count))
        recorded.add(inspection.clip.frames[start : start + CHUNK], frames, [np.nan] * len(frames))
    return Change.of(inspection).of_certified(recorded.tracks()[0])


def _explainable_without(alike: Sequence[tuple[int, int]], inspection: Inspection) -> float:
    """The most that heatmaps of their own could explain: those of objects that look ``alike`` are always refused."""
    joined = {index for pair in alike for index in pair}
    others = [obj for index, obj in enumerate(inspection.objects) if index not in joined]
    return Change.of(inspection).of_detections(others)


def _certifies(best: Fitted) -> bool:
    """Is any object certified?"""
    return any(obj.certified for obj in best.certificate.objects)
