"""What a detector found in images: boxes in the detector's own order, and the COCO results they are kept as."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from withinpx.data.images import image_paths, stream_images
from withinpx.errors import InputError
from withinpx.files import write_atomically, write_json

Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]  # (height, width, 3)

DETECTIONS, IMAGES = "detections.json", "images.json"


@dataclass(frozen=True)
class Found:
    """The boxes of one image."""

    boxes: Array  # (n, 4): left, top, width, height, px; (0, 0) is the corner of the first pixel
    scores: Array  # (n,): how sure the detector is

    @property
    def centres(self) -> Array:
        """(n, 2): the middles of the boxes."""
        return self.boxes[:, :2] + self.boxes[:, 2:] / 2


NOTHING = Found(np.empty((0, 4)), np.empty(0))


@dataclass(frozen=True)
class Images:
    """The images of one folder or of several, one folder after the other."""

    folders: tuple[Path, ...]
    paths: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Sequence[Path]) -> "Images":
        """In each folder in the order of their names."""
        if not folders:
            raise InputError("There is nothing to look at: name a folder of images.")
        if len({folder.name for folder in folders}) < len(folders):
            raise InputError("Two folders of images have the same name: their images could not be told apart.")
        return cls(tuple(folders), tuple(path for folder in folders for path in image_paths(folder)))

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def names(self) -> tuple[str, ...]:
        """With their folder's name where there are several folders: train/000000.png."""
        if len(self.folders) == 1:
            return tuple(path.name for path in self.paths)
        return tuple(f"{path.parent.name}/{path.name}" for path in self.paths)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many images each folder has."""
        return tuple(sum(path.parent == folder for path in self.paths) for folder in self.folders)

    def read(self) -> Iterator[Pixels]:
        """One after the other, in colour: (height, width, 3)."""
        for folder in self.folders:
            for frame in stream_images(folder):
                pixels = frame.pixels
                yield np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels

    def __str__(self) -> str:
        return " and ".join(str(folder) for folder in self.folders)


def write_coco(folder: Path, names: Sequence[str], sizes: Sequence[tuple[int, int]], found: Sequence[Found]) -> None:
    """COCO results, each image's boxes in the detector's order, and the list of images beside them.

    An image's id is its place among the images, from 0. COCO measures from the corner of the first pixel, as we do.
    """
    results = [
        {"image_id": number, "category_id": 1, "bbox": box, "score": score}
        for number, each in enumerate(found)
        for box, score in zip(each.boxes.round(4).tolist(), each.scores.round(6).tolist(), strict=True)
    ]
    lines = ",\n".join(json.dumps(result, allow_nan=False) for result in results)
    images = [
        {"id": number, "file_name": name, "width": width, "height": height}
        for number, (name, (width, height)) in enumerate(zip(names, sizes, strict=True))
    ]
    write_json(folder / IMAGES, {"images": images, "categories": [{"id": 1, "name": "object"}], "annotations": []})
    write_atomically(folder / DETECTIONS, f"[\n{lines}\n]\n".encode())
