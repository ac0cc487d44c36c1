"""Runs on disk: one folder per run, named by its id and described by a ``run.json`` that is replaced atomically."""

import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from threading import RLock
from typing import Any, Literal

from pydantic import TypeAdapter
from starlette.exceptions import HTTPException

from withinpx.files import writable_folder, write_json
from withinpx.reviewing.log import REVIEW
from withinpx.studio.options import Options
from withinpx.tracking.tracks import TRACKS

State = Literal["ready", "waiting", "training", "stopped", "finished", "failed"]
Stage = Literal["reading", "inspecting", "warm start", "training", "certifying", "detecting", "writing"]
DESCRIPTION, CLIP, INSPECTION, INSPECTING = "run.json", "clip", "inspection.json", "inspecting.json"
OUT, PROGRESS, PREVIEW, OUTCOME = "out", "progress.jsonl", "preview.png", "outcome.json"
PREVIEW_POSITIONS = "preview.json"
EARLIER_REVIEWS = "earlier reviews"  # of trainings that were begun anew
TRAINING_FILES = (OUT, PROGRESS, PREVIEW, PREVIEW_POSITIONS, OUTCOME)
UPLOADING, DELETING = ".uploading-", ".deleting-"  # prefixes of folders that are not runs
ACTIVE = ("waiting", "training")
TAIL = 4096  # bytes of progress.jsonl that hold its last line for certain


@dataclass(frozen=True)
class Footage:
    """What is known of a clip without decoding all of it."""

    width: int  # px
    height: int
    frames: int
    seconds: float
    images: bool = False  # a folder of images


@dataclass(frozen=True)
class Run:
    """A clip, its options and what became of it."""

    id: str
    name: str
    created: str
    clip: Footage
    options: Options = field(default_factory=Options)
    state: State = "ready"
    error: str | None = None
    result: dict[str, Any] | None = None
    trained: Options | None = None  # the options that the files in ``out`` were made with
    queued: float = 0.0  # when it was last put into the queue, s
    demo: bool = False


class Runs:
    """All runs, kept in memory; a change is on disk before anyone sees it."""

    def __init__(self, home: Path, demo: Path) -> None:
        self._lock = RLock()
        self.root = writable_folder(home / "runs")
        self._runs: dict[str, Run] = {}
        for folder in list(self.root.iterdir()):
            if folder.name.startswith((UPLOADING, DELETING)):
                shutil.rmtree(folder, ignore_errors=True)
                continue
            with suppress(OSError, ValueError):  # an unreadable run must not hide the others
                self._runs[folder.name] = replace(_read_run(folder), id=folder.name)
        run = replace(_read_run(demo), demo=True)
        self.demo, self._demo_folder, self._runs[run.id] = run.id, demo, run

    def __iter__(self) -> Iterator[Run]:
        """Newest first, the demo last."""
        with self._lock:
            return iter(sorted(self._runs.values(), key=lambda run: (not run.demo, run.created), reverse=True))

    def __getitem__(self, run_id: str) -> Run:
        try:
            return self._runs[run_id]
        except KeyError:
            message = "There is no such run: it may have been deleted."
            raise HTTPException(HTTPStatus.NOT_FOUND, message) from None

    def folder(self, run_id: str) -> Path:
        return self._demo_folder if self[run_id].demo else self.root / run_id

    def notes_folder(self, run_id: str) -> Path:
        """Of a run's scale, and of the review of the demo, whose own folder is part of the package."""
        return self.root.parent / "demo" if self[run_id].demo else self.root / run_id

    def clip(self, run_id: str) -> Path:
        """The recording: a file, or a folder of images."""
        return self.folder(run_id) / CLIP / self[run_id].name

    @contextmanager
    def upload_folder(self) -> Iterator[Path]:
        """A folder for an incoming clip, removed unless ``add`` turns it into a run."""
        folder = self.root / f"{UPLOADING}{secrets.token_hex(8)}"
        (folder / CLIP).mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def add(self, folder: Path, name: str, clip: Footage) -> Run:
        """A new run from an upload folder."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        run = Run(secrets.token_hex(8), name, now, clip)
        write_json(folder / DESCRIPTION, asdict(run))
        with self._lock:
            folder.rename(self.root / run.id)
            self._runs[run.id] = run
        return run

    def change(self, run_id: str, **changes: Any) -> Run:
        with self._lock:
            run = replace(self[run_id], **changes)
            write_json(self.folder(run_id) / DESCRIPTION, asdict(run))
            self._runs[run_id] = run
            return run

    def delete(self, run_id: str) -> None:
        with self._lock:
            folder = self.folder(run_id).rename(self.root / f"{DELETING}{run_id}")
            del self._runs[run_id]
        shutil.rmtree(folder, ignore_errors=True)

    def delete_training(self, run_id: str) -> None:
        """Remove what a training wrote, so that the next one starts from scratch. A person's review is kept."""
        _keep_review(self.folder(run_id))
        for name in TRAINING_FILES:
            path = self.folder(run_id) / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def to_json(self, run: Run) -> dict[str, Any]:
        """A run as the page gets it."""
        shown = asdict(run)
        del shown["queued"]
        path = self.folder(run.id) / PROGRESS
        return {**shown, "progress": last_progress(path) if run.state in (*ACTIVE, "stopped") else None}


@dataclass(frozen=True)
class Progress:
    """One line of ``progress.jsonl``."""

    stage: Stage
    done: int
    total: int
    loss: float | None = None
    accuracy: float | None = None
    seconds_left: float | None = None
    seed: int = 0


def add_progress(path: Path, progress: Progress) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(progress)) + "\n")


def read_progress(path: Path, start: int = 0) -> tuple[list[dict[str, Any]], int]:
    """The complete lines from byte ``start`` on, and the byte after them."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            text = file.read()
    except FileNotFoundError:
        return [], 0
    complete = text[: text.rfind(b"\n") + 1]
    lines = []
    for line in complete.splitlines():
        with suppress(ValueError):  # a crash can cut a line short
            parsed = json.loads(line)
            if isinstance(parsed, dict):
                lines.append(parsed)
    return lines, start + len(complete)


def last_progress(path: Path) -> dict[str, Any] | None:
    size = path.stat().st_size if path.exists() else 0
    lines, _ = read_progress(path, max(0, size - TAIL))
    return lines[-1] if lines else None


def _keep_review(folder: Path) -> None:
    """Move a review away with the tracks that it is about; `withinpx export` reads that folder too."""
    out, earlier = folder / OUT, folder / EARLIER_REVIEWS
    if not (out / REVIEW).exists():
        return
    kept = earlier / str(1 + len(list(earlier.iterdir())) if earlier.exists() else 1)
    kept.mkdir(parents=True)
    for path in (out / name for name in (REVIEW, TRACKS, Path(TRACKS).with_suffix(".json").name)):
        if path.exists():
            path.rename(kept / path.name)


def _read_run(folder: Path) -> Run:
    return TypeAdapter(Run).validate_json((folder / DESCRIPTION).read_bytes())
