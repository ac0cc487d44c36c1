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
FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")  # Pillow may use no other decoder
MULTI_FRAME = ("PNG", "TIFF", "WEBP")  # may hold several images; the others in a JPEG are previews
GREY = ("1", "L", "LA")
DEEP = ("I", "F")  # grey with more than eight bits


def read_images(folder: Path, frame_rate: float | None = None, selection: Selection = EVERYTHING) -> Clip:
    """All images of a folder, frame_2 before frame_10. Their times are unknown unless a frame rate is given."""
    return Clip.of(list(stream_images(folder, selection, frame_rate)), str(folder), selection, [])


def stream_images(
    folder: Path, selection: Selection = EVERYTHING, frame_rate: float | None = None, step: int = 1
) -> Iterator[Frame]:
    """The selected images one by one, or every ``step``-th of them; all in colour if one of the folder is.

    Start and end of the selection count one image per second where no frame rate is given.
    """
    paths = image_paths(folder)
    coloured = any(_is_coloured(path) for path in paths)
    first: tuple[str, tuple[int, ...]] | None = None
    for number in select_images(folder, selection, frame_rate)[::step]:
        path = paths[number]
        pixels = read_image(path)
        size = pixels.shape[:2]
        first = first or (path.name, size)
        if size != first[1]:
            raise InputError(
                f"{path.name} is {_size_text(size)} and {first[0]} is {_size_text(first[1])}: "
                f"the images of {folder} must all be of one size."
            )
        pixels = np.repeat(pixels, 3, axis=2) if coloured and pixels.shape[2] == 1 else pixels
        clock = number / frame_rate if frame_rate else np.nan
        yield Frame(selection.apply(pixels), clock, number, (size[1], size[0]))


def select_images(folder: Path, selection: Selection, frame_rate: float | None = None) -> list[int]:
    """The numbers of the selected images, in the order of their names."""
    times_s = np.arange(len(image_paths(folder))) / (frame_rate or 1.0)
    return list(map(int, selection.indices(times_s)))


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
    """One image file (height, width, 1 or 3 colours), rotated as its EXIF orientation says."""
    with _opened(path) as image:
        if image.format in MULTI_FRAME and getattr(image, "n_frames", 1) > 1:
            raise InputError(f"{path} holds several images: save each as a file of its own.")
        upright = ImageOps.exif_transpose(image)
        if upright.mode.startswith(DEEP):
            return _eight_bits(np.asarray(upright, dtype=np.float64), 1 if upright.mode == "F" else 65535, path)
        pixels = np.asarray(upright.convert("L" if upright.mode in GREY else "RGB"))
    return pixels.reshape(*pixels.shape[:2], -1)


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """The image with its header read. Any error of its decoder, here or later, becomes an InputError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the size is checked below
            image = Image.open(path, formats=FORMATS)
        with image:
            if image.width * image.height > MOST_PIXELS:
                raise InputError(f"{path} is {_size_text(image.size[::-1])}, too large to be read: scale it down.")
            yield image
    except InputError:
        raise
    except Exception as error:  # decoders raise errors of many types
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path} cannot be read as an image ({reason}): remove or replace it.") from None


def _eight_bits(pixels: NDArray[np.float64], full_scale: int, path: Path) -> NDArray[np.uint8]:
    """Convert 16-bit and floating-point grey values by the full scale of their format."""
    if not np.isfinite(pixels).all():
        raise InputError(f"{path} holds pixels that are not finite: remove or replace it.")
    low, high = pixels.min(), pixels.max()
    if low < 0 or high > full_scale:
        raise InputError(f"{path} holds values from {low:g} to {high:g}: scale them to lie from 0 to {full_scale}.")
    return np.round(pixels / full_scale * 255).astype(np.uint8)[..., None]


def _natural_order(path: Path) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _size_text(size: tuple[int, ...]) -> str:
    return f"{size[1]}x{size[0]} px"


def _is_coloured(path: Path) -> bool:
    """Judged by the header; a file that cannot be read is reported when it is decoded."""
    try:
        with _opened(path) as image:
            return image.mode not in GREY and not image.mode.startswith(DEEP)
    except InputError:
        return False
