"""The whole way: look at a clip, design a network, train it, certify it, and write down where everything is."""

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from withinpx.certificate.recorded import Recorded
from withinpx.data.recording import sample_clip, stream_clip
from withinpx.data.selection import EVERYTHING, Selection
from withinpx.discovery.background import ByteImages, to_uint8
from withinpx.discovery.inspection import MOST_FRAMES, inspect
from withinpx.errors import BrokenTrainingError
from withinpx.files import check_is_new, write_atomically
from withinpx.tracking.attempt import ATTEMPTS, Attempt, Job, attempt, folder_of, thumbnails
from withinpx.tracking.detect import TRACKS, EachChunk, chunks, detect
from withinpx.tracking.detector import Detector, load_clip_detector, save_clip_detector
from withinpx.tracking.page import PagePictures, write_page
from withinpx.tracking.plan import Wishes, make_plan, scaled, working_scale
from withinpx.tracking.summary import draw_summary
from withinpx.tracking.tracks import Tracks, read_tracks
from withinpx.training.detector_folder import begin_run
from withinpx.training.fit import FitSettings
from withinpx.training.log import LOG

MOST_BROKEN = 3  # seeds whose training may break before the clip is given up
Say = Callable[[str], None]


@dataclass(frozen=True)
class TrackSettings:
    """What a person may ask of ``track``."""

    selection: Selection = EVERYTHING
    wishes: Wishes = field(default_factory=Wishes)
    seed: int = 0
    budget_s: float = 600.0  # another seed is tried, if one is refused, while this has not passed
    overlay: bool = True


@dataclass(frozen=True)
class Tracked:
    """What came of it."""

    detector: Detector
    tracks: Tracks
    folder: Path


def track(
    path: Path,
    out: Path,
    asked: TrackSettings,
    settings: FitSettings,
    *,
    resume: bool = False,
    say: Say = lambda _: None,
    each_chunk: EachChunk | None = None,
) -> Tracked:
    """Train on a clip; write the detector, its certificate, the tracks, the overlay and the summary into a folder."""
    started = time.monotonic()
    wanted = {"data": str(path), **asdict(asked)}
    if not resume:
        check_is_new(out)
    elif (out / LOG).exists():  # which is written last
        begin_run(out, wanted, resume)
        return finished_before(path, out, each_chunk)
    job = look(path, asked, say)
    begin_run(out, wanted, resume)
    best: Attempt | None = None
    seed = asked.seed
    while True:
        attempt_started = time.monotonic()
        folder = folder_of(out, seed)
        folder.mkdir(parents=True, exist_ok=True)
        there = replace(settings, folder=folder)
        certified = False
        try:
            tried = attempt(job, seed, there)
        except BrokenTrainingError as error:
            if best is None and seed - asked.seed >= MOST_BROKEN - 1:
                raise
            say(f"seed {seed}: {error}")
        else:
            best = tried if best is None or tried.merit > best.merit else best
            certified = tried.detector.certificate.certified
            say(f"seed {seed}: {_verdict(tried)}")
        now = time.monotonic()
        if best is not None and (certified or 2 * now - started - attempt_started > asked.budget_s):
            return finish(path, out, best, job, overlay=asked.overlay, each_chunk=each_chunk)
        seed += 1


def look(path: Path, asked: TrackSettings, say: Say) -> Job:
    """Inspect a clip at the scale it will be worked on, and plan the network."""
    selection = asked.selection
    clip = sample_clip(path, selection, MOST_FRAMES)
    for stretch in clip.lost:
        say(f"{path}: {stretch}")
    recording = next(stream_clip(path)).whole
    inspection = inspect(clip, asked.wishes.background)
    recorded = None
    scale = working_scale(inspection)
    if scale < 1:
        low, high = inspection.sizes
        say(f"movers of {low:.0f} to {high:.0f} px are worked on at {scale:g} of their size")
        recorded = Recorded(clip.frames, inspection.background.images, 1 / scale)
        selection = scaled(selection, scale)
        smaller = inspect(sample_clip(path, selection, MOST_FRAMES), asked.wishes.background)
        inspection = smaller.with_movers_of(inspection, scale)
    plan = make_plan(inspection, asked.wishes, selection.scale)
    say(f"{len(inspection.objects)} thing(s) move. {plan.why}")
    for warning in plan.warnings:
        say(f"warning: {warning}")
    return Job(inspection, plan, selection, recording, str(path), recorded)


def finish(
    path: Path, out: Path, best: Attempt, job: Job, *, overlay: bool, each_chunk: EachChunk | None = None
) -> Tracked:
    """Write everything."""
    detector = best.detector
    save_clip_detector(out, detector, str(path))
    tracks, why = detect(detector, path, out, overlay=overlay, each_chunk=each_chunk)
    write_atomically(out / "certificate.txt", detector.certificate.text().encode())
    pictures = thumbnails(best)
    title = f"{Path(detector.certificate.source).name}: {_verdict(best)}"
    background, part = _background(job)
    draw_summary(out / "summary.png", background, tracks, pictures, title, selection=part)
    write_page(out / "certificate.html", detector.certificate, PagePictures(pictures, out / "summary.png", tracks, why))
    write_atomically(out / LOG, (folder_of(out, best.seed) / LOG).read_bytes())
    shutil.rmtree(out / ATTEMPTS, ignore_errors=True)
    return Tracked(detector, tracks, out)


def finished_before(path: Path, out: Path, each_chunk: EachChunk | None) -> Tracked:
    """What an earlier run wrote; ``each_chunk`` is given the recording once more."""
    shutil.rmtree(out / ATTEMPTS, ignore_errors=True)
    detector, _ = load_clip_detector(out)
    if each_chunk:
        for chunk in chunks(detector, path):
            each_chunk(chunk)
    return Tracked(detector, read_tracks(out / TRACKS, *detector.recording), out)


def _background(job: Job) -> tuple[ByteImages, Selection]:
    """What lies behind the movers, as sharp as it was seen, and the part of the recording that it is."""
    if job.recorded is None:
        return to_uint8(job.inspection.background.images[0]), job.selection
    return to_uint8(job.recorded.behind[0]), scaled(job.selection, job.recorded.zoom)


def _verdict(tried: Attempt) -> str:
    objects = tried.detector.certificate.objects
    refused = [f"object {each.object} refused: {each.failed}" for each in objects if not each.certified]
    return "; ".join([f"{len(objects) - len(refused)} of {len(objects)} objects certified", *refused])
