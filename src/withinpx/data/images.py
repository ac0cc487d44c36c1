"""A folder of images as a Clip, in the order of their names."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from withinpx.data.clip import Clip
from withinpx.data.selection import EVERYTHING, Frame, Selection
from withinpx.errors import InputError

ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp"})

GREY = ("1", "L", "LA")


def read_images(folder: Path, frame_rate: float = 1.0, selection: Selection = EVERYTHING) -> Clip:
    """All images of a folder; frame_2 comes before frame_10. Without a clock, one every 1 / ``frame_rate`` seconds."""
    frames = list(stream_images(folder, frame_rate, selection))
    if not frames:
        raise InputError(f"{folder} has no image in the stretch asked for.")
    times = np.array([frame.time_s for frame in frames])
    return Clip(np.stack([frame.pixels for frame in frames]), times, str(folder), selection)


def stream_images(folder: Path, frame_rate: float = 1.0, selection: Selection = EVERYTHING) -> Iterator[Frame]:
    """The wanted images one after the other, all in colour if one of them is."""
    paths = image_paths(folder)
    coloured = any(_is_coloured(path) for path in paths)
    size: tuple[int, ...] | None = None
    place = 0
    for number, path in enumerate(paths):
        time_s = number / frame_rate
        pixels = read_picture(path)
        if size is not None and pixels.shape[:2] != size:
            raise InputError(
                f"{path.name} is {_words(pixels.shape)} and {paths[0].name} is {_words(size)}: "
                f"the images of {folder} must all be of one size."
            )
        size = pixels.shape[:2]
        if selection.is_before(time_s) or selection.is_after(time_s):
            continue
        if selection.keeps(place):
            pixels = np.repeat(pixels, 3, axis=2) if coloured and pixels.shape[2] == 1 else pixels
            yield Frame(selection.of(pixels), time_s, number, (size[1], size[0]))
        place += 1


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


def read_picture(path: Path) -> NDArray[np.uint8]:
    """One image file (height, width, 1 or 3 colours), upright."""
    try:
        with Image.open(path) as picture:
            upright = ImageOps.exif_transpose(picture)
            if upright.mode.startswith(("I", "F")):
                return _eight_bits(np.asarray(upright, dtype=np.float64), path)
            grey = upright.mode in GREY
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


def _words(size: tuple[int, ...]) -> str:
    return f"{size[1]}x{size[0]} px"


def _is_coloured(path: Path) -> bool:
    """By its header alone; what cannot be read is complained of when its turn comes."""
    try:
        with Image.open(path) as picture:
            return picture.mode not in GREY and not picture.mode.startswith(("I", "F"))
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError):
        return False
