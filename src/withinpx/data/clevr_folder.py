"""The folder of a rendered dataset.

``dataset.json``, ``background.png``, and for each split ``train/000000.png``, ..., ``train/truth.csv`` and
``masks/train/000000.png``, ... So ``train`` and ``test`` can be read as any other folder of images.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from withinpx.data.blender import MASK_SCALE, Pixels
from withinpx.data.clevr import Scene, Split
from withinpx.data.clip import Clip
from withinpx.data.images import image_paths, read_images
from withinpx.data.solids import Floats
from withinpx.errors import InputError
from withinpx.files import read_json, write_atomically, write_csv

ABOUT, BACKGROUND, TRUTH, MASKS = "dataset.json", "background.png", "truth.csv", "masks"
COLUMNS = ("frame", "object", "x", "y", "w", "h", "full", "middle_x", "middle_y")


@dataclass(frozen=True)
class RenderedSplit:
    """The training or test images of a dataset with their ground truth."""

    folder: Path
    split: Split
    objects: tuple[str, ...]  # names
    clip: Clip
    background: Pixels  # (height, width, 3): the scene without solids
    boxes: Floats  # (images, objects, 4): centre x, y, width, height, px
    centres: Floats  # (images, objects, 2): projections of the solids' centres, px

    @property
    def positions(self) -> Floats:
        """(images, objects, 2): the centres of the boxes, px."""
        return self.boxes[..., :2]

    @cached_property
    def coverage(self) -> Floats:
        """(images, objects, height, width): the fraction of each pixel that an object covers."""
        labels = np.arange(1, len(self.objects) + 1)[:, None, None]
        paths = image_paths(self.folder / MASKS / self.split)
        return np.stack([_pixel_means(read_pixels(path) == labels) for path in paths])


def read_split(folder: Path, split: Split) -> RenderedSplit:
    """A split of a completely rendered dataset."""
    if not (folder / ABOUT).exists():
        raise InputError(f"{folder} is no rendered dataset, it has no {ABOUT}: name what `withinpx data clevr` made.")
    about = read_json(folder / ABOUT)
    if "measured" not in about:
        raise InputError(
            f"{folder} is not completely rendered: `withinpx data clevr` with the same options resumes it."
        )
    if not about[split]:
        raise InputError(f"{folder} has no {split} images.")
    rows = np.loadtxt(folder / split / TRUTH, delimiter=",", skiprows=1)
    table = rows.reshape(about[split], len(about["objects"]), len(COLUMNS))
    return RenderedSplit(
        folder=folder,
        split=split,
        objects=tuple(about["objects"]),
        clip=read_images(folder / split),
        background=read_pixels(folder / BACKGROUND),
        boxes=table[..., 2:6],
        centres=table[..., 7:],
    )


def read_pixels(path: Path) -> Pixels:
    """The colours of an image, or the labels of a mask."""
    with Image.open(path) as image:
        return np.asarray(image)


def write_png(path: Path, image: Image.Image) -> None:
    """The pixels without metadata: Blender's own files contain the time of rendering."""
    content = io.BytesIO()
    image.save(content, "PNG", optimize=True)
    write_atomically(path, content.getvalue())


def write_truth(path: Path, scenes: Sequence[Scene]) -> None:
    """The table of true positions; see ``data/truth.py``."""
    rows = []
    for frame, scene in enumerate(scenes):
        for index, (box, centre) in enumerate(zip(scene.boxes, scene.centres, strict=True)):
            rows.append([frame, index, *(f"{value:.4f}" for value in box), 1, *(f"{value:.4f}" for value in centre)])
    write_csv(path, COLUMNS, rows)


def image_path(folder: Path, split: Split, index: int) -> Path:
    return folder / split / f"{index:06d}.png"


def mask_path(folder: Path, split: Split, index: int) -> Path:
    return folder / MASKS / split / f"{index:06d}.png"


def silhouette_boxes(labels: Pixels, objects: int) -> Floats:
    """The boxes of the silhouettes in a mask, in px of the image: (objects, 4); NaN for objects without a pixel."""
    boxes = np.full((objects, 4), np.nan)
    for index in range(objects):
        y, x = np.nonzero(labels == index + 1)
        if len(x):
            low, high = np.array([x.min(), y.min()]), np.array([x.max(), y.max()]) + 1
            boxes[index] = [*(low + high) / 2, *(high - low)]
    return boxes / MASK_SCALE


def _pixel_means(masks: NDArray[np.bool_]) -> Floats:
    objects, height, width = masks.shape
    cells = masks.reshape(objects, height // MASK_SCALE, MASK_SCALE, width // MASK_SCALE, MASK_SCALE)
    return np.asarray(cells.mean(axis=(2, 4)))
