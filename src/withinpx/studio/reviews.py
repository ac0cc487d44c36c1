"""What people change in the tracks of finished runs, for the page: reviews on disk, and the tracks that they give."""

import json
from collections import OrderedDict
from collections.abc import Sequence
from http import HTTPStatus
from math import isnan
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException

from withinpx.files import writable_folder
from withinpx.reviewing.log import REVIEW, ReviewLog, digest_of, read_log, timed
from withinpx.reviewing.operations import Operation
from withinpx.reviewing.reviewed import Reviewed, apply
from withinpx.studio.runs import OUT, Runs
from withinpx.tracking.tracks import TRACKS, Tracks, read_tracks, rounded_up

MAX_CACHED = 3  # tables of tracks
Json = dict[str, Any]


class Reviews:
    """One request at a time: an operation is on disk before the next one is read."""

    def __init__(self, runs: Runs) -> None:
        self._runs, self._lock = runs, Lock()
        self._cached: OrderedDict[Path, tuple[tuple[float, int], Tracks]] = OrderedDict()

    def show(self, run_id: str) -> Json:
        """The review, and all in which the reviewed tracks differ from the network's."""
        with self._lock:
            log, tracks = self._log(run_id), self._tracks(run_id)
            return review_json(log, apply(tracks, ()), apply(tracks, log.operations), alike=tracks.classes is not None)

    def change(self, run_id: str, revision: int, entry: Json) -> Json:
        """The review with one more entry, and what that changes in the tracks that the page has."""
        with self._lock:
            log, tracks = self._log(run_id), self._tracks(run_id)
            if revision != log.revision:
                message = (
                    "The review has changed meanwhile, perhaps in another window: load it again and repeat the step if "
                    "it is still needed."
                )
                raise HTTPException(HTTPStatus.CONFLICT, message)
            changed = log.after(timed(entry))
            before, after = apply(tracks, log.operations), apply(tracks, changed.operations)
            path = self._path(run_id)
            writable_folder(path.parent)
            changed.save(path)
            return review_json(changed, before, after, alike=tracks.classes is not None)

    def csv(self, run_id: str) -> bytes:
        """The reviewed tracks as a table."""
        with self._lock:
            return apply(self._tracks(run_id), self._log(run_id).operations).to_csv()

    def _log(self, run_id: str) -> ReviewLog:
        return read_log(self._path(run_id), self._table(run_id))

    def _table(self, run_id: str) -> Path:
        return self._runs.folder(run_id) / OUT / TRACKS

    def _path(self, run_id: str) -> Path:
        if self._runs[run_id].demo:
            digest = digest_of(self._table(run_id))[:16]  # a later version may come with another demo
            return self._runs.notes_folder(run_id) / f"{digest}.{REVIEW}"
        return self._runs.folder(run_id) / OUT / REVIEW

    def _tracks(self, run_id: str) -> Tracks:
        path, clip = self._table(run_id), self._runs[run_id].clip
        found = path.stat()
        stamp, tracks = self._cached.pop(path, (None, None))
        if tracks is None or stamp != (found.st_mtime, found.st_size):
            has_size = path.with_suffix(".json").exists()
            tracks = read_tracks(path) if has_size else read_tracks(path, clip.width, clip.height)
        self._cached[path] = (found.st_mtime, found.st_size), tracks
        while len(self._cached) > MAX_CACHED:
            self._cached.popitem(last=False)
        return tracks


def review_json(log: ReviewLog, before: Reviewed, after: Reviewed, *, alike: bool) -> Json:
    return {
        "revision": log.revision,
        "undo": _next(log.operations),
        "redo": _next(log.undone),
        "objects": after.tracks.objects,
        "names": list(after.names),
        "gone": list(after.gone),
        "sizes": _usual_sizes(after.tracks),
        "changes": _changes(before, after, alike=alike),
    }


def to_text(review: Json) -> bytes:
    """As JSON; a long review is a large one, and FastAPI's own encoder is slow."""
    return json.dumps(review, allow_nan=False, separators=(",", ":")).encode()


def _next(operations: Sequence[Operation]) -> str | None:
    return operations[-1].text if operations else None


def _usual_sizes(tracks: Tracks) -> list[float | None]:
    """The larger side of each object's usual box, px."""
    sides, seen = tracks.sizes.max(axis=-1), tracks.present
    return [
        round(float(np.median(sides[seen[:, number], number])), 1) if seen[:, number].any() else None
        for number in range(tracks.objects)
    ]


def _changes(before: Reviewed, after: Reviewed, *, alike: bool) -> list[Json]:
    """For each object that changed, the columns that the page shows, from the first to the last changed row."""
    old, new = _columns(before, alike=alike), _columns(after, alike=alike)
    changes = []
    for number in range(after.tracks.objects):
        rows = np.flatnonzero(_differs(old, new, number))
        if len(rows):
            span = slice(int(rows[0]), int(rows[-1]) + 1)
            columns = {name: _plain(values[span, number]) for name, values in new.items()}
            changes.append({"object": number, "from": span.start, **columns})
    return changes


def _differs(old: dict[str, NDArray[Any]], new: dict[str, NDArray[Any]], number: int) -> NDArray[np.bool_]:
    if number >= old["present"].shape[1]:
        return np.ones(len(old["present"]), np.bool_)
    differs = np.zeros(len(old["present"]), np.bool_)
    for name, values in new.items():
        was, now = old[name][:, number], values[:, number]
        both_unknown = np.isnan(was) & np.isnan(now) if now.dtype.kind == "f" else False
        differs |= (was != now) & ~np.asarray(both_unknown)
    return differs


def _columns(reviewed: Reviewed, *, alike: bool) -> dict[str, NDArray[Any]]:
    """As in the page's tracks; ``moved``: a person put the network's position into this object.

    ``identity`` is of objects that look alike: where a link is a person's, there is no doubt of the network to show.
    """
    tracks, seen = reviewed.tracks, reviewed.tracks.present[..., None]
    found = seen & ~reviewed.person[..., None]
    (x, y), (z_x, z_y) = (
        np.moveaxis(np.where(shown, pair, np.nan).round(4), -1, 0)
        for shown, pair in ((seen, tracks.positions), (found, tracks.z))
    )
    identity = np.where(reviewed.seams | (not alike), np.nan, tracks.identity_certified)
    return {
        **{"x": x, "y": y, "z_x": z_x, "z_y": z_y, "bound_px": rounded_up(tracks.bounds)},
        **{"present": tracks.present, "certified": tracks.certified, "reason": tracks.reasons},
        **{"identity": identity, "moved": reviewed.identity_person & ~reviewed.person, "checked": reviewed.checked},
    }


def _plain(values: NDArray[Any]) -> list[Any]:
    """With None, which is null in JSON, for NaN."""
    listed: list[Any] = values.tolist()
    return [None if isnan(value) else value for value in listed] if values.dtype.kind == "f" else listed
