"""Atomic files and folders: written under a temporary name, flushed to the disk, then renamed."""

import csv
import io
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from withinpx.errors import InputError

PART = ".part"  # suffix of unfinished files and folders


def write_atomically(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content``; a crash at any moment leaves either the old or the new file."""
    with naming_file(path), atomic_file(path) as partial:
        partial.write_bytes(content)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a hidden file to write, which is renamed to ``path`` on success and removed on an error."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file to write.")
    partial = path.with_name(f".{path.name}{PART}")
    try:
        yield partial
        with partial.open("r+b") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder to fill, which is renamed to ``folder``; if that exists by then, it is kept instead.

    Leftovers of processes that died are removed.
    """
    for leftover in writable_folder(folder.parent).glob(f".{escape(folder.name)}.*{PART}"):
        with suppress(InputError), locked_folder(leftover):
            shutil.rmtree(leftover, ignore_errors=True)
    with naming_file(folder):
        partial = Path(mkdtemp(prefix=f".{folder.name}.", suffix=PART, dir=folder.parent))
    try:
        with locked_folder(partial):
            yield partial
            partial.chmod(0o755)  # temporary folders are private
            try:
                partial.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Add the file's name to an OSError."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def holds_only_partials(folder: Path) -> bool:
    """Whether a folder is empty except for leftovers of processes that died."""
    return all(path.suffix == PART for path in folder.iterdir())


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def write_json(path: Path, value: Any) -> None:
    write_atomically(path, (json.dumps(value, indent=2) + "\n").encode())


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{path} cannot be read as JSON.") from None


def new_folder(path: Path) -> Path:
    check_is_new(path)
    return writable_folder(path)


def check_is_new(path: Path) -> None:
    if path.exists():
        raise InputError(f"The output folder {path} exists already: name another, nothing was overwritten.")


def writable_folder(path: Path) -> Path:
    """Create the folder if needed, and check that it can be written to."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The output folder {path} cannot be made: {error.strerror}.") from None
    if not os.access(path, os.W_OK):
        raise InputError(f"The output folder {path} cannot be written to: choose another folder.")
    return path


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes; the lock also ends with the process, however that ends."""
    try:
        import fcntl  # noqa: PLC0415  (not on Windows, where there is no lock)
    except ImportError:
        yield
        return
    handle = os.open(writable_folder(folder), os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"Another process is writing to {folder}: wait for it or choose another folder.") from None
        yield
    finally:
        os.close(handle)
