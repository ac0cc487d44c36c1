"""A detector over many recordings: one folder and one job each, on this machine or on a cluster.

On a cluster all nodes must see the same files under the same paths.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from withinpx.data.recording import Recording, open_recording
from withinpx.errors import InputError
from withinpx.files import atomic_folder, writable_folder
from withinpx.inference.run import Encoder
from withinpx.jobs.job import Engine, Job, JobCallback, Row, run_jobs
from withinpx.tracking.detect import Counts, check_first_frames, detect
from withinpx.tracking.detector import Detector
from withinpx.tracking.exports import check_formats, export
from withinpx.tracking.options import DetectOptions
from withinpx.tracking.progress import Report, silent
from withinpx.tracking.tracks import TRACKS, read_tracks
from withinpx.training.device import choose_device


@dataclass(frozen=True)
class Prepared:
    """A recording that passed the first checks, and a detector for it."""

    recording: Recording
    detector: Detector
    encoder: Encoder | None


def prepare(detector: Path, clip: Path, options: DetectOptions) -> Prepared:
    """Load the detector and check the first frames, before anything is written."""
    check_formats(options.export)
    loaded = Detector.load(detector).over(options.span)
    loaded = replace(loaded, model=loaded.model.to(choose_device(options.device)))
    recording = open_recording(clip)
    check_first_frames(loaded, recording)
    encoder = None
    if options.backend == "onnx":
        from withinpx.tracking.onnx_file import OnnxHeatmaps  # noqa: PLC0415  (an extra)

        encoder = OnnxHeatmaps(loaded)
    return Prepared(recording, loaded, encoder)


def detect_recording(
    prepared: Prepared, folder: Path, options: DetectOptions, report: Report = silent
) -> tuple[Counts, list[str]]:
    """Detect in one recording; counts of all positions, and the gaps that could not be decoded."""
    losses: list[str] = []
    detector = prepared.detector
    counts = detect(
        detector,
        prepared.recording,
        folder,
        overlay=options.overlay,
        sets=options.certificate == "sets",
        report=report,
        losses=losses,
        encoder=prepared.encoder,
        step_px=options.step,
        mm_per_px=options.mm_per_px,
    )
    if options.export:
        export(read_tracks(folder / TRACKS), folder, options.export, detector, Path(prepared.recording.source))
    return counts, losses


def detect_collection(
    detector: Path,
    clips: Sequence[Path],
    out: Path,
    options: DetectOptions,
    *,
    engine: Engine,
    callback: JobCallback | None = None,
) -> list[Row]:
    """One folder in ``out`` per recording; those that exist already are left alone.

    A recording that cannot be used stops no other: its row holds the sentence that says why.
    """
    Detector.load(detector)  # report a broken detector before anything is written
    folders = folders_for(clips, out)
    writable_folder(out)
    jobs = [
        Job(str(clip), detect_one, (detector.absolute(), clip.absolute(), folder.absolute(), options))
        for clip, folder in folders.items()
        if not folder.exists()
    ]
    done = run_jobs(jobs, engine, *([] if callback is None else [callback]))
    return [{**row, "clip": job.name} for job, rows in done for row in rows]


def detect_one(detector: Path, clip: Path, folder: Path, options: DetectOptions) -> list[Row]:
    """One recording; its folder gets its name when everything is in it."""
    try:
        prepared = prepare(detector, clip, options)
        with atomic_folder(folder) as part:
            counts, losses = detect_recording(prepared, part, options)
    except InputError as error:
        return [{"message": str(error), "failed": True, "certified": 0}]
    return [{"message": "; ".join([str(counts), *losses]), "failed": False, "certified": counts.certified}]


def folders_for(clips: Sequence[Path], out: Path) -> dict[Path, Path]:
    """The output folder of each recording: named after it, below the folder that all have in common."""
    absolute = [clip.absolute() for clip in clips]
    common = Path(os.path.commonpath([clip.parent for clip in absolute]))
    names = [clip if clip.is_dir() else clip.with_suffix("") for clip in absolute]
    folders = [out / name.relative_to(common) for name in names]
    for number, folder in enumerate(folders):
        if folder in folders[:number]:
            other = clips[folders.index(folder)]
            raise InputError(
                f"{other} and {clips[number]} would go to the same folder: detect them one after the other."
            )
    return dict(zip(clips, folders, strict=True))
