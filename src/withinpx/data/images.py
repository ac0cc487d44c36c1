"""A folder of images as a Clip, in the order of their names."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from withinpx.data.clip import Clip
from withinpx.data.selection import EVERYTHING, Selection
from withinpx.errors import InputError

ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp"})


def read_images(folder: Path, frame_rate: float = 1.0, selection: Selection = EVERYTHING) -> Clip:
    """All images of a folder; frame_2 comes before frame_10. Without a clock, one every 1 / ``frame_rate`` seconds."""
    paths = image_paths(folder)
    frames = [_read(path) for path in paths]
    if any(frame.shape[2] == 3 for frame in frames):
        frames = [np.repeat(frame, 3, axis=2) if frame.shape[2] == 1 else frame for frame in frames]
    for path, frame in zip(paths, frames, strict=True):
        if frame.shape != frames[0].shape:
            raise InputError(
                f"{path.name} is {_words(frame)} and {paths[0].name} is {_words(frames[0])}: "
                f"the images of {folder} must all be of one size."
            )
    times = np.arange(len(frames)) / frame_rate
    stretch = [i for i, time_s in enumerate(times) if not (selection.is_before(time_s) or selection.is_after(time_s))]
    kept = [index for place, index in enumerate(stretch) if selection.keeps(place)]
    if not kept:
        raise InputError(f"{folder} has no image in the stretch asked for.")
    return Clip(np.stack([selection.of(frames[index]) for index in kept]), times[kept], str(folder), selection)


def image_paths(folder: Path) -> list[Path]:
    """The image files of a folder, by name, numbers in their own order."""
    if not folder.exists():
        raise InputError(f"There is no folder {folder}.")
    if not folder.is_dir():
        raise InputError(f"{folder} is a file: give the folder that holds the images.")
    paths = [path for path in folder.iterdir() if path.suffix.lower() in ENDINGS and not path.name.startswith(".")]
    if not paths:
        raise InputError(f"The folder {folder} holds no images ({', '.join(sorted(ENDINGS))}).")
    return sorted(paths, key=_natural_order)


def _read(path: Path) -> NDArray[np.uint8]:
    try:
        with Image.open(path) as picture:
            upright = ImageOps.exif_transpose(picture)
            if upright.mode.startswith(("I", "F")):
                return _eight_bits(np.asarray(upright, dtype=np.float64), path)
            grey = upright.mode in ("1", "L", "LA")
            pixels = np.asarray(upright.convert("L" if grey else "RGB"))
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(f"{path} cannot be read as an image ({error}): remove or replace it.") from None
    return pixels.reshape(*pixels.shape[:2], -1)


def _eight_bits(pixels: NDArray[np.float64], path: Path) -> NDArray[np.uint8]:
    """Sixteen-bit and floating-point greys, by their format's own full scale."""
    if not np.isfinite(pixels).all():
        raise InputError(f"{path} holds pixels that are no numbers: remove or replace it.")
    full_scale = 1.0 if pixels.max() <= 1 else 65535.0
    return np.round(np.clip(pixels / full_scale, 0, 1) * 255).astype(np.uint8)[..., None]


def _natural_order(path: Path) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _words(frame: NDArray[np.uint8]) -> str:
    return f"{frame.shape[1]}x{frame.shape[0]} px"
