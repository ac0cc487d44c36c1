"""A rendered dataset as a folder: what lies where in it, and reading it again.

``dataset.json``, ``background.png``, and for each split ``train/000000.png``, ..., ``train/truth.csv`` and
``masks/train/000000.png``, ... So ``train`` and ``test`` are folders of images like any other.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from withinpx.data.blender import FINER, Pixels
from withinpx.data.clevr import Scene, Split
from withinpx.data.clip import Clip
from withinpx.data.images import image_paths, read_images
from withinpx.data.solids import Floats
from withinpx.errors import InputError
from withinpx.files import read_json

ABOUT, BACKGROUND, TRUTH, MASKS = "dataset.json", "background.png", "truth.csv", "masks"
COLUMNS = ("frame", "object", "x", "y", "w", "h", "full", "middle_x", "middle_y")


@dataclass(frozen=True)
class RenderedSplit:
    """The training or test pictures of a dataset, and all that is known of them."""

    folder: Path
    split: Split
    objects: tuple[str, ...]  # in words
    clip: Clip
    background: Pixels  # (height, width, 3): the scene without solids
    boxes: Floats  # (pictures, objects, 4): centre x, y, width, height, px
    middles: Floats  # (pictures, objects, 2): where the solids' middles are seen, px

    @property
    def positions(self) -> Floats:
        """(pictures, objects, 2): the centres of the boxes, px."""
        return self.boxes[..., :2]

    @cached_property
    def coverage(self) -> Floats:
        """(pictures, objects, height, width): which share of each pixel an object covers."""
        numbers = np.arange(1, len(self.objects) + 1)[:, None, None]
        paths = image_paths(self.folder / MASKS / self.split)
        return np.stack([_averaged(read_pixels(path) == numbers) for path in paths])


def read_split(folder: Path, split: Split) -> RenderedSplit:
    """A split of a dataset that was rendered to its end."""
    if not (folder / ABOUT).exists():
        raise InputError(f"{folder} is no rendered dataset, it has no {ABOUT}: name what `withinpx data clevr` made.")
    about = read_json(folder / ABOUT)
    if "measured" not in about:
        raise InputError(f"{folder} is not rendered to its end: `withinpx data clevr` with the same options goes on.")
    if not about[split]:
        raise InputError(f"{folder} has no {split} pictures.")
    with (folder / split / TRUTH).open(encoding="utf-8", newline="") as file:
        rows = [[float(row[name]) for name in COLUMNS] for row in csv.DictReader(file)]
    table = np.array(rows).reshape(about[split], len(about["objects"]), len(COLUMNS))
    return RenderedSplit(
        folder=folder,
        split=split,
        objects=tuple(about["objects"]),
        clip=read_images(folder / split),
        background=read_pixels(folder / BACKGROUND),
        boxes=table[..., 2:6],
        middles=table[..., 7:],
    )


def read_pixels(path: Path) -> Pixels:
    """The colours of a picture, or the numbers of a mask."""
    with Image.open(path) as image:
        return np.asarray(image)


def _averaged(fine: NDArray[np.bool_]) -> Floats:
    objects, height, width = fine.shape
    return np.asarray(fine.reshape(objects, height // FINER, FINER, width // FINER, FINER).mean(axis=(2, 4)))


def picture_path(folder: Path, split: Split, number: int) -> Path:
    """One picture."""
    return folder / split / f"{number:06d}.png"


def mask_path(folder: Path, split: Split, number: int) -> Path:
    """Its mask."""
    return folder / MASKS / split / f"{number:06d}.png"


def png(image: Image.Image) -> bytes:
    """The pixels and nothing else: Blender's own files hold the time of rendering."""
    content = io.BytesIO()
    image.save(content, "PNG", optimize=True)
    return content.getvalue()


def truth_table(scenes: Sequence[Scene]) -> str:
    """The table of true positions; ``experiments/truth.py`` reads it."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for frame, scene in enumerate(scenes):
        for number, (box, middle) in enumerate(zip(scene.boxes, scene.middles, strict=True)):
            rows.writerow([frame, number, *(f"{value:.4f}" for value in box), 1, *(f"{value:.4f}" for value in middle)])
    return text.getvalue()


def silhouette_boxes(labels: Pixels, objects: int) -> Floats:
    """The boxes of the silhouettes of a mask, in the picture's px: (objects, 4); no numbers where there is none."""
    boxes = np.full((objects, 4), np.nan)
    for number in range(objects):
        y, x = np.nonzero(labels == number + 1)
        if len(x):
            low, high = np.array([x.min(), y.min()]), np.array([x.max(), y.max()]) + 1
            boxes[number] = [*(low + high) / 2, *(high - low)]
    return boxes / FINER
