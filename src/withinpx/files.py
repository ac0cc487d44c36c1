"""Files that are either whole or not there: written beside their place, flushed to the disk, then renamed."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from withinpx.errors import InputError

PART = ".part"  # how the names of unfinished files end


def write_atomically(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content`` in one step; a crash at any moment leaves the old file or the new one."""
    with naming_file(path), atomic_file(path) as beside:
        beside.write_bytes(content)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A hidden file to write, which takes the name ``path`` at the end, and is removed if something goes wrong."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file to write.")
    beside = path.with_name(f".{path.name}{PART}")
    try:
        yield beside
        with beside.open("r+b") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A hidden folder to fill, which takes the name ``folder`` at the end; if another process was first, that stands.

    What a process that died has left of it is removed.
    """
    for left in writable_folder(folder.parent).glob(f".{escape(folder.name)}.*{PART}"):
        with suppress(InputError), locked_folder(left):
            shutil.rmtree(left, ignore_errors=True)
    with naming_file(folder):
        beside = Path(mkdtemp(prefix=f".{folder.name}.", suffix=PART, dir=folder.parent))
    try:
        with locked_folder(beside):
            yield beside
            beside.chmod(0o755)  # temporary folders are private
            try:
                beside.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """An error of the disk says which file it was."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def holds_only_partials(folder: Path) -> bool:
    """Is there nothing in it but what a process that died has left unfinished?"""
    return all(path.suffix == PART for path in folder.iterdir())


def write_json(path: Path, value: Any) -> None:
    """A JSON file a person can read, written atomically."""
    write_atomically(path, (json.dumps(value, indent=2) + "\n").encode())


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{path} cannot be read as JSON.") from None


def new_folder(path: Path) -> Path:
    """Make a folder that was not there; never write into one that was."""
    check_is_new(path)
    return writable_folder(path)


def check_is_new(path: Path) -> None:
    """Refuse a folder that is there already."""
    if path.exists():
        raise InputError(f"The output folder {path} exists already: name another, nothing was overwritten.")


def writable_folder(path: Path) -> Path:
    """A folder that can be written to, made if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The output folder {path} cannot be made: {error.strerror}.") from None
    if not os.access(path, os.W_OK):
        raise InputError(f"The output folder {path} cannot be written to: choose another place.")
    return path


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """While this lasts no other process is here; it ends with the process, however that ends."""
    try:
        import fcntl  # noqa: PLC0415  (not on Windows, where nobody is kept out)
    except ImportError:
        yield
        return
    handle = os.open(writable_folder(folder), os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"Another process is writing to {folder}: wait for it, or choose another place.") from None
        yield
    finally:
        os.close(handle)
