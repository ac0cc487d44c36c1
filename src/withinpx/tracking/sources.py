"""Which clips are meant: files, folders of images, folders of videos, patterns."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from withinpx.data.images import ENDINGS
from withinpx.errors import InputError

VIDEO_ENDINGS = frozenset(
    {".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".mts", ".m2ts", ".ts", ".wmv", ".flv", ".ogv"}
)


@dataclass(frozen=True)
class Sources:
    """The clips, and how what was named has been read."""

    clips: tuple[Path, ...]
    alone: bool  # one clip was named as such: not a folder of videos, nor a pattern
    notes: tuple[str, ...] = ()


def find_clips(named: Sequence[Path], out: Path) -> Sources:
    """The clips of files, folders and patterns, each once. What a pattern finds in ``out`` is of an earlier run."""
    if not named:
        raise InputError("A clip is required: name a video file, a folder of images or a folder of videos.")
    clips: dict[Path, Path] = {}
    notes: list[str] = []
    for source in named:
        for clip in _clips_of(source, out, notes):
            clips.setdefault(normal(clip), clip)
    alone = len(named) == 1 and list(clips.values()) == [named[0]]
    return Sources(tuple(clips.values()), alone, tuple(notes))


def normal(path: Path) -> Path:
    """The absolute path without `..`; links stay, for a clip is called what it was named."""
    return Path(os.path.normpath(path.absolute()))


def _clips_of(source: Path, out: Path, notes: list[str]) -> Iterator[Path]:
    if source.is_dir():
        yield from _clips_of_folder(source, notes)
    elif source.exists():
        yield source
    elif has_magic(str(source)):
        yield from _matches(source, out, notes)
    else:
        raise InputError(f"There is no file or folder {source}.")


def _clips_of_folder(folder: Path, notes: list[str]) -> list[Path]:
    """A folder of images is one clip, a folder of videos several; if it holds both, what there is more of."""
    images, videos = (_files(folder, endings) for endings in (ENDINGS, VIDEO_ENDINGS))
    if not videos:  # also an empty folder, which is refused as a clip
        return [folder]
    if len(images) > len(videos):
        notes.append(f"{folder}: {_count(images, 'image')}, read as one clip; {_count(videos, 'video')} left out")
        return [folder]
    beside = f"; {_count(images, 'image')} left out" if images else ""
    notes.append(f"{folder}: {_count(videos, 'video')}, each a clip of its own{beside}")
    return videos


def _matches(pattern: Path, out: Path, notes: list[str]) -> list[Path]:
    paths = map(Path, sorted(glob(str(pattern), recursive=True)))  # noqa: PTH207  (Path.glob takes no absolute pattern)
    found = [path for path in paths if normal(out) not in (normal(path), *normal(path).parents)]
    clips = [
        clip
        for path in found
        if path.is_dir() or path.suffix.lower() in VIDEO_ENDINGS
        for clip in (_clips_of_match(path, notes) if path.is_dir() else [path])
    ]
    if not clips:
        what = f"only {_count(found, 'other file')}" if found else "nothing"
        raise InputError(f"{pattern} matches {what}: name videos, folders of images or folders of videos.")
    notes.append(f"{pattern}: {_count(clips, 'clip')}")
    return clips


def _clips_of_match(folder: Path, notes: list[str]) -> list[Path]:
    """A folder without images and videos of its own may well match a pattern; it is left out."""
    return _clips_of_folder(folder, notes) if _files(folder, ENDINGS | VIDEO_ENDINGS) else []


def _files(folder: Path, endings: frozenset[str]) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"The folder {folder} cannot be read: {error.strerror}.") from None
    return [path for path in entries if path.suffix.lower() in endings and not path.name.startswith(".")]


def _count(some: Sequence[object], name: str) -> str:
    return f"{len(some)} {name}{'s' * (len(some) != 1)}"
