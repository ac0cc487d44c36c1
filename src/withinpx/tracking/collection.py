"""A detector over many recordings: a folder each, one job each, on this machine or on a cluster.

On a cluster all nodes see the same files: a recording and its folder have one path everywhere.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from withinpx.data.selection import EVERYTHING, Selection
from withinpx.errors import InputError
from withinpx.files import atomic_folder, writable_folder
from withinpx.jobs.job import Engine, Job, JobWatcher, Row, watched
from withinpx.tracking.detect import TRACKS, Progress, check_first_frames, detect, footage
from withinpx.tracking.detector import Detector, Encoder, load_clip_detector
from withinpx.tracking.exports import Format, export
from withinpx.tracking.masks import masks_of
from withinpx.tracking.tracks import read_tracks


@dataclass(frozen=True)
class Request:
    """What is asked of every recording."""

    detector: Path
    selection: Selection = EVERYTHING
    overlay: bool = True
    export: tuple[Format, ...] = ()
    device: str = "auto"
    backend: str = "torch"

    def load(self) -> Detector:
        """The detector, where it will compute, for the stretch of time that was asked for."""
        from withinpx.training.device import choose_device  # noqa: PLC0415

        loaded, _ = load_clip_detector(self.detector)
        model = loaded.model.to(choose_device(self.device))
        return replace(loaded, model=model, selection=footage(loaded, self.selection))


@dataclass(frozen=True)
class Found:
    """A recording in a few words."""

    certified: float  # share of the positions
    refused: tuple[str, ...]  # the reasons of the others
    lost: tuple[str, ...]  # stretches that could not be read

    def __str__(self) -> str:
        refused = f"; refused: {', '.join(self.refused)}" if self.refused else ""
        return f"{self.certified:.0%} of the positions are certified{refused}"


@dataclass(frozen=True)
class Ready:
    """A recording that can be looked at, and all that it takes."""

    clip: Path
    detector: Detector
    encoder: Encoder | None


def prepare(request: Request, clip: Path) -> Ready:
    """Load the detector and look at the first frames; what cannot be used is refused before anything is written."""
    detector = request.load()
    check_first_frames(detector, clip)
    return Ready(clip, detector, _encoder(request, detector))


def detect_recording(request: Request, ready: Ready, folder: Path, progress: Progress | None = None) -> Found:
    """All that was asked of one recording, into a folder."""
    detector, encoder = ready.detector, ready.encoder
    lost: list[str] = []
    tracks, why = detect(
        detector, ready.clip, folder, overlay=request.overlay, progress=progress, losses=lost, encoder=encoder
    )
    if request.export:
        table = read_tracks(folder / TRACKS, *detector.recording)
        export(table, folder, request.export, masks_of(detector, table))
    refused = sorted({str(word) for word in why.ravel() if word})
    share = float(tracks.certified.mean()) if tracks.certified.size else 0.0
    return Found(share, tuple(refused), tuple(lost))


def detect_collection(
    request: Request, clips: Sequence[Path], out: Path, engine: Engine, callback: JobWatcher | None = None
) -> list[Row]:
    """A folder in ``out`` for each recording; those that have theirs already are left alone.

    A recording that cannot be used stops no other: its row has the sentence, in ``said``.
    """
    load_clip_detector(request.detector)  # one that cannot be used is said before anything is written
    folders = folders_for(clips, out)
    writable_folder(out)
    request = replace(request, detector=request.detector.absolute())
    jobs = [
        Job(str(clip), detect_one, (request, clip.absolute(), folder.absolute()))
        for clip, folder in folders.items()
        if not folder.exists()
    ]
    done = watched(jobs, engine, *([] if callback is None else [callback]))
    return [{**row, "clip": job.name} for job, rows in done for row in rows]


def detect_one(request: Request, clip: Path, folder: Path) -> list[Row]:
    """One recording, whole or not at all: its folder gets its name when everything is in it."""
    try:
        ready = prepare(request, clip)
        with atomic_folder(folder) as beside:
            found = detect_recording(request, ready, beside)
    except InputError as error:
        return [{"said": str(error), "refused": True}]
    return [{"said": "; ".join([str(found), *found.lost]), "refused": False}]


def folders_for(clips: Sequence[Path], out: Path) -> dict[Path, Path]:
    """Where each recording's answer goes: named as the recording is, below the folder that all have in common."""
    absolute = [clip.absolute() for clip in clips]
    common = Path(os.path.commonpath([clip.parent for clip in absolute]))
    names = [each if each.is_dir() else each.with_suffix("") for each in absolute]
    folders = [out / name.relative_to(common) for name in names]
    for number, folder in enumerate(folders):
        if folder in folders[:number]:
            other = clips[folders.index(folder)]
            raise InputError(f"{other} and {clips[number]} would go to the same folder: give them one after the other.")
    return dict(zip(clips, folders, strict=True))


def _encoder(request: Request, detector: Detector) -> Encoder | None:
    from withinpx.tracking.onnx_file import OnnxHeatmaps  # noqa: PLC0415  (an extra)

    return OnnxHeatmaps(detector) if request.backend == "onnx" else None
