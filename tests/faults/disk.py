"""What a process does to the files below a folder, call by call, and what is done to it for that."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
CHANGES = ("os.rename", "os.mkdir")  # and opening a file to write
REMOVALS = ("os.remove", "os.rmdir", "shutil.rmtree")

_watching: list[Callable[[str, tuple[Any, ...]], None]] = []  # at most one; Python has no way to take a hook away


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching:
        _watching[0](event, arguments)


class Calls:
    """Counts the calls below a folder, and does something at the n-th, before it is carried out."""

    def __init__(self, folder: Path, at: int, then: Callable[[], None], removals: bool = False) -> None:
        self._folder, self._at, self._then = str(folder), at, then
        self._changes = CHANGES + REMOVALS if removals else CHANGES
        self.count = 0

    @contextmanager
    def watched(self) -> Iterator["Calls"]:
        """While this lasts."""
        if not _watching:
            sys.addaudithook(_hook)
        _watching[:] = [self._told]
        try:
            yield self
        finally:
            _watching[:] = [lambda event, arguments: None]

    def _told(self, event: str, arguments: tuple[Any, ...]) -> None:
        opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES
        if not (opened or event in self._changes) or not self._concerns(arguments[0]):
            return
        if event == "os.mkdir" and Path(arguments[0]).exists():  # that it cannot be made changes nothing
            return
        self.count += 1
        if self.count == self._at:
            self._then()

    def _concerns(self, path: Any) -> bool:
        return isinstance(path, str | Path) and str(path).startswith(self._folder)
