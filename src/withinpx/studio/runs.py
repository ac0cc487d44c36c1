"""Runs on disk: one folder each, named by its id, described by a ``run.json`` that is whole at any moment."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any, Literal

from withinpx.errors import InputError
from withinpx.files import read_json, writable_folder, write_json
from withinpx.studio.progress import last_progress
from withinpx.studio.refusal import no_such_run

State = Literal["ready", "waiting", "training", "stopped", "finished", "failed"]
DESCRIPTION, CLIP, OUT, PROGRESS, PREVIEW = "run.json", "clip", "out", "progress.jsonl", "preview.png"
PLACES, OUTCOME, REASONS, INSPECTION = "preview.json", "outcome.json", "reasons.csv", "inspection.json"
LOOKING, WANTED = "looking.json", "wanted.json"  # how far an inspection is, and with which options one is wanted
OF_A_TRAINING = (OUT, PROGRESS, PREVIEW, PLACES, OUTCOME, REASONS)
ARRIVING, LEAVING = ".arriving-", ".leaving-"  # folders that are not runs yet, or no longer
ACTIVE = ("waiting", "training")
UNDER_WAY = (*ACTIVE, "stopped")  # whose progress is worth telling


@dataclass(frozen=True)
class Footage:
    """What is known of a clip before it is looked at."""

    width: int  # px
    height: int
    frames: int
    seconds: float
    pictures: bool = False  # a folder of images


@dataclass(frozen=True)
class Options:
    """What a person may choose."""

    objects: int | None = None  # None finds the number
    crop: tuple[int, int, int, int] | None = None  # left, top, width, height, px of the recording
    background: Literal["auto", "layered", "perspective", "nearby"] = "auto"
    target: float | None = None  # px of the recording
    seed: int = 0
    quick: bool = False  # one seed, and a narrow network

    @classmethod
    def from_json(cls, known: dict[str, Any]) -> "Options":
        """Back from JSON."""
        crop = known.get("crop")
        return cls(**{**known, "crop": None if crop is None else tuple(crop)})


@dataclass(frozen=True)
class Run:
    """One clip and what was made of it."""

    id: str
    name: str
    created: str
    clip: Footage
    options: Options = field(default_factory=Options)
    state: State = "ready"
    error: str | None = None
    result: dict[str, Any] | None = None
    trained: Options | None = None  # what the files in ``out`` were made with
    queued: float = 0.0  # when it was last put into the queue, s
    demo: bool = False

    @classmethod
    def from_json(cls, known: dict[str, Any]) -> "Run":
        """Back from ``run.json``."""
        trained = known.get("trained")
        return cls(
            **{
                **known,
                "clip": Footage(**known["clip"]),
                "options": Options.from_json(known["options"]),
                "trained": None if trained is None else Options.from_json(trained),
            }
        )


def new_id() -> str:
    """Sixteen hexadecimal digits that nobody can guess."""
    return secrets.token_hex(8)


def now() -> str:
    """The time, to the millisecond: the newest run comes first."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Runs:
    """All runs. What they are is in memory; every change of it is on the disk before anybody is told."""

    def __init__(self, home: Path, demo: Path | None = None) -> None:
        self._lock = RLock()
        self.root = writable_folder(home / "runs")
        for left in [*self.root.glob(f"{ARRIVING}*"), *self.root.glob(f"{LEAVING}*")]:
            shutil.rmtree(left, ignore_errors=True)
        self._folders = {path.name: path for path in self.root.iterdir() if (path / DESCRIPTION).exists()}
        self._runs: dict[str, Run] = {}
        for each, folder in self._folders.items():
            with suppress(InputError, TypeError, KeyError):  # one that cannot be read does not keep others from sight
                run = Run.from_json(read_json(folder / DESCRIPTION))
                self._runs[each] = replace(run, id=each)
        self.demo = ""
        if demo is not None:
            run = replace(Run.from_json(read_json(demo / DESCRIPTION)), demo=True)
            self.demo, self._runs[run.id], self._folders[run.id] = run.id, run, demo

    def __iter__(self) -> Iterator[Run]:
        with self._lock:
            return iter(sorted(self._runs.values(), key=lambda run: (not run.demo, run.created), reverse=True))

    def __contains__(self, each: str) -> bool:
        return each in self._runs

    def __getitem__(self, each: str) -> Run:
        with self._lock:
            if each not in self._runs:
                raise no_such_run()
            return self._runs[each]

    def folder(self, each: str) -> Path:
        """Where a run keeps its files."""
        if each not in self._folders:
            raise no_such_run()
        return self._folders[each]

    def clip(self, each: str) -> Path:
        """The recording: a file, or a folder of images."""
        return self.folder(each) / CLIP / self[each].name

    def arriving(self, each: str) -> Path:
        """Where a clip is gathered until it is known to be one; what is left here is removed at the next start."""
        folder = self.root / f"{ARRIVING}{each}"
        (folder / CLIP).mkdir(parents=True)
        return folder

    def add(self, run: Run, arrived: Path) -> Run:
        """A new run, from the folder that its clip arrived in."""
        write_json(arrived / DESCRIPTION, asdict(run))
        with self._lock:
            arrived.rename(self.root / run.id)
            self._runs[run.id], self._folders[run.id] = run, self.root / run.id
        return run

    def change(self, each: str, **what: Any) -> Run:
        """Say something new of a run."""
        with self._lock:
            run = replace(self[each], **what)
            write_json(self.folder(each) / DESCRIPTION, asdict(run))
            self._runs[each] = run
            return run

    def delete(self, each: str) -> None:
        """Forget a run and remove its files."""
        with self._lock:
            folder = self.folder(each)
            leaving = folder.with_name(f"{LEAVING}{each}")
            folder.rename(leaving)
            del self._runs[each], self._folders[each]
        shutil.rmtree(leaving, ignore_errors=True)

    def forget_training(self, each: str) -> None:
        """Remove what a training left, so that the next one begins anew."""
        for name in OF_A_TRAINING:
            path = self.folder(each) / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def told(self, run: Run) -> dict[str, Any]:
        """A run as the page sees it."""
        progress = last_progress(self.folder(run.id) / PROGRESS) if run.state in UNDER_WAY else None
        known = asdict(run)
        del known["queued"]
        return {**known, "progress": progress}
