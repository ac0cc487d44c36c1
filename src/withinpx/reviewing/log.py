"""``review.json``: everything that a person did to a run's tracks, in its order; nothing is ever taken out of it."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any

from withinpx.errors import InputError
from withinpx.files import naming_file, read_json, write_json
from withinpx.reviewing.operations import Operation, parse_operation

REVIEW = "review.json"  # in the folder of a run
UNDO, REDO = "undo", "redo"  # entries beside the operations


@dataclass(frozen=True)
class ReviewLog:
    """The entries of the file: operations, and which of them were taken back or done again.

    >>> log = ReviewLog("").after({"op": "rename", "object": 0, "name": "left ball"})
    >>> log.after({"op": "undo"}).operations, log.after({"op": "undo"}).revision
    ((), 2)
    """

    tracks: str  # the digest of the tracks.csv that it is about
    entries: tuple[dict[str, Any], ...] = ()

    @property
    def revision(self) -> int:
        return len(self.entries)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Those that count."""
        return self._folded[0]

    @property
    def undone(self) -> tuple[Operation, ...]:
        """Those that can be done again, the next one last."""
        return self._folded[1]

    @cached_property
    def _folded(self) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
        done: list[Operation] = []
        undone: list[Operation] = []
        for entry in self.entries:
            kind = entry.get("op")
            if kind in (UNDO, REDO):
                source, target = (done, undone) if kind == UNDO else (undone, done)
                if not source:
                    raise InputError(f"There is nothing to {kind}.")
                target.append(source.pop())
            else:
                done.append(parse_operation(entry))
                undone.clear()
        return tuple(done), tuple(undone)

    def after(self, entry: dict[str, Any]) -> "ReviewLog":
        """With one more entry, which must make sense; whether it fits the tracks is seen when it is applied."""
        log = replace(self, entries=(*self.entries, entry))
        _ = log._folded
        return log

    def save(self, path: Path) -> None:
        write_json(path, {"tracks_sha256": self.tracks, "entries": self.entries})


def timed(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry with the time of the day at which it was made."""
    return {**entry, "at": datetime.now(UTC).isoformat(timespec="seconds")}


def digest_of(tracks: Path) -> str:
    with naming_file(tracks), tracks.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def read_log(path: Path, tracks: Path) -> ReviewLog:
    """The review of a table of tracks, empty if there is no file; one of other tracks is refused."""
    digest = digest_of(tracks)
    if not path.exists():
        return ReviewLog(digest)
    content = read_json(path)
    entries = content.get("entries") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path} is no review: it has no list of entries.")
    if content.get("tracks_sha256") != digest:
        raise InputError(
            f"{path} is the review of other tracks, {tracks.name} has changed since: move {path.name} away to begin "
            "anew."
        )
    log = ReviewLog(digest, tuple(entries))
    try:
        _ = log.operations
    except InputError as error:
        raise InputError(f"{path} is broken: {error}") from None
    return log
