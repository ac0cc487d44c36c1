"""A folder of images as a Clip, in the order of their names."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from withinpx.data.clip import MOST_PIXELS, Clip
from withinpx.data.selection import EVERYTHING, Frame, Selection
from withinpx.errors import InputError

ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp"})

FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")  # no other decoder is let near a file
SERIES = ("PNG", "TIFF", "WEBP")  # may hold several pictures; those of a JPEG are previews of the first
GREY = ("1", "L", "LA")
DEEP = ("I", "F")  # more than eight bits, grey


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
        pixels = read_image(path)
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


def read_image(path: Path) -> NDArray[np.uint8]:
    """One image file (height, width, 1 or 3 colours), upright."""
    with _opened(path) as picture:
        if picture.format in SERIES and getattr(picture, "n_frames", 1) > 1:
            raise InputError(f"{path} holds several pictures: save each as a file of its own.")
        upright = ImageOps.exif_transpose(picture)
        if upright.mode.startswith(DEEP):
            return _eight_bits(np.asarray(upright, dtype=np.float64), 1 if upright.mode == "F" else 65535, path)
        pixels = np.asarray(upright.convert("L" if upright.mode in GREY else "RGB"))
    return pixels.reshape(*pixels.shape[:2], -1)


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """The file with its header read. Whatever its decoder raises, here or later, becomes a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # a size that is too large is refused here
            picture = Image.open(path, formats=FORMATS)
        with picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise InputError(f"{path} is {_words(picture.size[::-1])}, too large to be read: scale it down.")
            yield picture
    except InputError:
        raise
    except Exception as error:  # decoders raise all kinds
        why = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path} cannot be read as an image ({why}): remove or replace it.") from None


def _eight_bits(pixels: NDArray[np.float64], full_scale: int, path: Path) -> NDArray[np.uint8]:
    """Sixteen-bit and floating-point greys, by their format's own full scale."""
    if not np.isfinite(pixels).all():
        raise InputError(f"{path} holds pixels that are no numbers: remove or replace it.")
    low, high = pixels.min(), pixels.max()
    if low < 0 or high > full_scale:
        raise InputError(f"{path} holds values from {low:g} to {high:g}: scale them to lie from 0 to {full_scale}.")
    return np.round(pixels / full_scale * 255).astype(np.uint8)[..., None]


def _natural_order(path: Path) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _words(size: tuple[int, ...]) -> str:
    return f"{size[1]}x{size[0]} px"


def _is_coloured(path: Path) -> bool:
    """By its header alone; what cannot be read is complained of when its turn comes."""
    try:
        with _opened(path) as picture:
            return picture.mode not in GREY and not picture.mode.startswith(DEEP)
    except InputError:
        return False
