"""What happens to a run, as it happens: server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Event
from typing import Any

from withinpx.errors import InputError
from withinpx.files import read_json
from withinpx.studio.progress import read_progress
from withinpx.studio.refusal import Refusal
from withinpx.studio.runs import LOOKING, PLACES, PREVIEW, PROGRESS, Runs

EVERY_S = 0.25  # between two looks at the run
ALIVE_EVERY_S = 10.0  # a word that says that nothing happens
EPOCH = ("loss", "accuracy", "seed")


class Story:
    """What one listener was told of a run so far."""

    def __init__(self, runs: Runs, each: str) -> None:
        self._runs, self._id = runs, each
        self._folder = runs.folder(each)
        self._told = ""
        self._read = 0  # bytes of the progress
        self._stamp = self._looked = 0

    def news(self) -> list[str]:
        """What the listener does not know yet."""
        run = json.dumps(self._runs.told(self._runs[self._id]))
        new = [] if run == self._told else [f"event: run\ndata: {run}\n\n"]
        self._told = run
        return [*new, *self._looking(), *self._epochs(), *self._preview()]

    def _looking(self) -> list[str]:
        stamp = _stamp(self._folder / LOOKING)
        if stamp in (self._looked, 0):
            return []
        self._looked = stamp
        known = _read(self._folder / LOOKING)
        return [_event("looking", known)] if known else []

    def _epochs(self) -> list[str]:
        path = self._folder / PROGRESS
        size = path.stat().st_size if path.exists() else 0
        if size < self._read:  # another training began
            self._read = 0
        if size == self._read:
            return []
        lines, self._read = read_progress(path, self._read)
        return [_event("epoch", _epoch(line)) for line in lines if line["stage"] == "training"]

    def _preview(self) -> list[str]:
        stamp = _stamp(self._folder / PREVIEW)
        if stamp in (self._stamp, 0):
            return []
        self._stamp = stamp
        return [_event("preview", {"stamp": stamp, **_read(self._folder / PLACES)})]


async def events(runs: Runs, each: str, ending: Event) -> AsyncIterator[str]:
    """As long as somebody listens, the run is there, and the server does not end."""
    story = Story(runs, each)
    silent_s = 0.0
    while not ending.is_set():
        try:
            new = await asyncio.to_thread(story.news)
        except Refusal:  # deleted
            return
        for event in new:
            yield event
        silent_s = 0.0 if new else silent_s + EVERY_S
        if silent_s >= ALIVE_EVERY_S:
            silent_s = 0.0
            yield ": nothing new\n\n"
        await asyncio.sleep(EVERY_S)


def _event(name: str, what: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(what)}\n\n"


def _epoch(line: dict[str, Any]) -> dict[str, Any]:
    return {"epoch": line["done"], "of": line["of"], **{name: line[name] for name in EPOCH}}


def _stamp(path: Path) -> int:
    """When a file was last written, ms; 0 if it is not there."""
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except FileNotFoundError:
        return 0


def _read(path: Path) -> dict[str, Any]:
    """Nothing, if it is not there or no longer."""
    try:
        known: dict[str, Any] = read_json(path)
    except InputError:
        return {}
    return known
