"""Files that are either whole or not there: written beside their place, flushed to the disk, then renamed."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from withinpx.errors import InputError


def write_atomically(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content`` in one step; a crash at any moment leaves the old file or the new one."""
    beside = path.with_name(f".{path.name}.part")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def write_json(path: Path, value: Any) -> None:
    """A JSON file a person can read, written atomically."""
    write_atomically(path, (json.dumps(value, indent=2) + "\n").encode())


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{path} cannot be read as JSON.") from None


def new_folder(path: Path) -> Path:
    """Make a folder that was not there; never write into one that was."""
    check_is_new(path)
    return folder_for(path)


def check_is_new(path: Path) -> None:
    """Refuse a folder that is there already."""
    if path.exists():
        raise InputError(f"The output folder {path} exists already: name another, nothing was overwritten.")


def folder_for(path: Path) -> Path:
    """A folder that can be written to, made if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The output folder {path} cannot be made: {error.strerror}.") from None
    if not os.access(path, os.W_OK):
        raise InputError(f"The output folder {path} cannot be written to: choose another place.")
    return path


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """While this lasts no other process is here; it ends with the process, however that ends."""
    try:
        import fcntl  # noqa: PLC0415  (not on Windows, where nobody is kept out)
    except ImportError:
        yield
        return
    handle = os.open(folder_for(folder), os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"Another process is writing to {folder}: wait for it, or choose another place.") from None
        yield
    finally:
        os.close(handle)
