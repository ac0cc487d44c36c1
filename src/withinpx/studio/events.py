"""Changes of a run as server-sent events: ``run``, ``inspecting``, ``epoch`` and ``preview``."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Event
from typing import Any

from fastapi.sse import ServerSentEvent
from starlette.exceptions import HTTPException

from withinpx.errors import InputError
from withinpx.files import read_json
from withinpx.studio.runs import INSPECTING, PREVIEW, PREVIEW_POSITIONS, PROGRESS, Runs, read_progress

POLL_S = 0.25


async def run_events(runs: Runs, run_id: str, closing: Event) -> AsyncIterator[ServerSentEvent]:
    """Until the client disconnects, the run is deleted or the server closes."""
    watcher = RunWatcher(runs, run_id)
    while not closing.is_set():
        try:
            events = await asyncio.to_thread(watcher.events)
        except HTTPException:  # the run was deleted
            return
        for event in events:
            yield event
        await asyncio.sleep(POLL_S)


class RunWatcher:
    """Compares a run with what one client has been sent."""

    def __init__(self, runs: Runs, run_id: str) -> None:
        self._runs, self._id, self._folder = runs, run_id, runs.folder(run_id)
        self._run: dict[str, Any] = {}
        self._bytes_read = 0  # of progress.jsonl
        self._stamps: dict[str, int] = {}

    def events(self) -> list[ServerSentEvent]:
        """What has changed since the last call."""
        events = []
        run = self._runs.to_json(self._runs[self._id])
        if run != self._run:
            self._run = run
            events.append(ServerSentEvent(event="run", data=run))
        if self._changed(INSPECTING) and (progress := _read(self._folder / INSPECTING)):
            events.append(ServerSentEvent(event="inspecting", data=progress))
        events += [ServerSentEvent(event="epoch", data=epoch) for epoch in self._epochs()]
        if stamp := self._changed(PREVIEW):
            preview = {"stamp": stamp, **_read(self._folder / PREVIEW_POSITIONS)}
            events.append(ServerSentEvent(event="preview", data=preview))
        return events

    def _changed(self, name: str) -> int:
        """When the file was last written, ms; 0 if it is missing or the client knows it."""
        try:
            stamp = (self._folder / name).stat().st_mtime_ns // 1_000_000
        except FileNotFoundError:
            return 0
        known, self._stamps[name] = self._stamps.get(name, 0), stamp
        return stamp if stamp != known else 0

    def _epochs(self) -> list[dict[str, Any]]:
        path = self._folder / PROGRESS
        if path.exists() and path.stat().st_size < self._bytes_read:  # another training has started
            self._bytes_read = 0
        lines, self._bytes_read = read_progress(path, self._bytes_read)
        keys = ("total", "loss", "accuracy", "seed")
        return [
            {"epoch": line["done"], **{key: line[key] for key in keys}} for line in lines if line["stage"] == "training"
        ]


def _read(path: Path) -> dict[str, Any]:
    """Empty if the file is gone."""
    try:
        content: dict[str, Any] = read_json(path)
    except InputError:
        return {}
    return content
