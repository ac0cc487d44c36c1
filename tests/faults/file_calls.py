"""Calls of this process that change files below a folder, counted by an audit hook; the n-th can be made to fail."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
CHANGES = ("os.rename", "os.mkdir")  # and opening a file to write
REMOVALS = ("os.remove", "os.rmdir", "shutil.rmtree")

_active: list[Callable[[str, tuple[Any, ...]], None]] = []  # at most one; audit hooks cannot be removed


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _active:
        _active[0](event, arguments)


class FileCalls:
    """Counts calls below a folder and runs ``action`` just before the n-th is carried out."""

    def __init__(self, folder: Path, n: int, action: Callable[[], None], removals: bool = False) -> None:
        self._folder, self._n, self._action = str(folder), n, action
        self._changes = CHANGES + REMOVALS if removals else CHANGES
        self.count = 0

    @contextmanager
    def watched(self) -> Iterator["FileCalls"]:
        if not _active:
            sys.addaudithook(_hook)
        _active[:] = [self._on_event]
        try:
            yield self
        finally:
            _active[:] = [lambda event, arguments: None]

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES
        if not (opened or event in self._changes) or not self._is_below_folder(arguments[0]):
            return
        if event == "os.mkdir" and Path(arguments[0]).exists():  # a mkdir that fails changes nothing
            return
        self.count += 1
        if self.count == self._n:
            self._action()

    def _is_below_folder(self, path: Any) -> bool:
        return isinstance(path, str | Path) and str(path).startswith(self._folder)
