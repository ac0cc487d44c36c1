"""Whatever a person points at, as a Clip."""

from pathlib import Path

from withinpx.data.clip import Clip
from withinpx.data.images import read_images
from withinpx.data.selection import Selection
from withinpx.errors import InputError


def read_clip(path: Path, selection: Selection) -> Clip:
    """A folder of images, or a video file."""
    if path.is_dir():
        return read_images(path, selection=selection)
    if not path.exists():
        raise InputError(f"There is no file or folder {path}.")
    from withinpx.data.video import read_video  # noqa: PLC0415  (only those who read videos need PyAV)

    return read_video(path, selection)
