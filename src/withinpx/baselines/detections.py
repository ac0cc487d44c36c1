"""The boxes that a detector found in images, in the detector's order, and the files they are stored in."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.data.images import image_paths, stream_images
from withinpx.errors import InputError
from withinpx.files import read_json, write_atomically, write_json

Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]  # (height, width, 3)

DETECTIONS, IMAGES, ABOUT, LOG = "detections.json", "images.json", "baseline.json", "detections.jsonl"


@dataclass(frozen=True)
class Detections:
    """The detections in one image."""

    boxes: Array  # (n, 4): left, top, width, height, px; (0, 0) is the corner of the first pixel
    scores: Array  # (n,)

    @property
    def centres(self) -> Array:
        return self.boxes[:, :2] + self.boxes[:, 2:] / 2


NO_DETECTIONS = Detections(np.empty((0, 4)), np.empty(0))


class ImageFolders:
    """The images of one folder or of several, one folder after the other, sorted by name in each."""

    def __init__(self, folders: Sequence[Path]) -> None:
        if not folders:
            raise InputError("There are no images: name a folder of images.")
        if len({folder.name for folder in folders}) < len(folders):
            raise InputError("Two folders of images have the same name: rename one to distinguish their images.")
        self._folders = folders
        files = [image_paths(folder) for folder in folders]
        self.counts = tuple(len(paths) for paths in files)  # of images in each folder
        self.names = tuple(  # with several folders: train/000000.png
            path.name if len(folders) == 1 else f"{path.parent.name}/{path.name}" for paths in files for path in paths
        )

    def read(self) -> Iterator[Pixels]:
        """One image after the other, in colour."""
        for folder in self._folders:
            for frame in stream_images(folder):
                yield np.repeat(frame.pixels, 3 // frame.pixels.shape[2], axis=2)


class DetectionLog:
    """Detections on disk, one line per image, so that a run can be interrupted at any time and resumed.

    ``about`` describes the run; a folder with another description is refused.
    """

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self._folder, self._path = folder, folder / LOG
        if not (folder / ABOUT).exists():
            write_json(folder / ABOUT, about)
        elif different := _differences(read_json(folder / ABOUT), about):
            raise InputError(f"{folder} holds another run (different: {', '.join(different)}): name another folder.")
        self.detections: dict[str, Detections] = {}  # by image name
        self._sizes: dict[str, tuple[int, int]] = {}  # width, height
        if self._path.exists():
            self._read()

    def _read(self) -> None:
        *lines, rest = self._path.read_bytes().split(b"\n")
        if rest:  # cut short by a crash: that image is processed again
            write_atomically(self._path, b"".join(line + b"\n" for line in lines))
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
                boxes, scores = np.array(entry["boxes"], np.float64), np.array(entry["scores"], np.float64)
                self.detections[entry["image"]] = Detections(boxes.reshape(len(scores), 4), scores)
                self._sizes[entry["image"]] = entry["width"], entry["height"]
            except (ValueError, KeyError, TypeError):
                raise InputError(f"Line {number} of {self._path} is broken: remove it, then run this again.") from None

    def add(self, image: str, size: tuple[int, int], found: Detections) -> None:
        boxes, scores = _rounded(found)
        entry = {"image": image, "width": size[0], "height": size[1], "boxes": boxes, "scores": scores}
        with self._path.open("ab") as file:
            file.write((json.dumps(entry, allow_nan=False) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())
        self.detections[image], self._sizes[image] = found, size

    def write_coco(self, names: Sequence[str]) -> None:
        sizes = [self._sizes[name] for name in names]
        write_coco(self._folder, names, sizes, [self.detections[name] for name in names])


def write_coco(
    folder: Path, names: Sequence[str], sizes: Sequence[tuple[int, int]], found: Sequence[Detections]
) -> None:
    """COCO results, each image's boxes in the detector's order, and the list of images.

    An image's id is its index. COCO measures from the corner of the first pixel, as we do.
    """
    lines = [
        json.dumps({"image_id": index, "category_id": 1, "bbox": box, "score": score}, allow_nan=False)
        for index, detections in enumerate(found)
        for box, score in zip(*_rounded(detections), strict=True)
    ]
    images = [
        {"id": index, "file_name": name, "width": width, "height": height}
        for index, (name, (width, height)) in enumerate(zip(names, sizes, strict=True))
    ]
    write_json(folder / IMAGES, {"images": images, "categories": [{"id": 1, "name": "object"}], "annotations": []})
    write_atomically(folder / DETECTIONS, ("[\n" + ",\n".join(lines) + "\n]\n").encode())


def _rounded(found: Detections) -> tuple[list[list[float]], list[float]]:
    return found.boxes.round(4).tolist(), found.scores.round(6).tolist()


def _differences(found: Any, about: dict[str, Any]) -> list[str]:
    if not isinstance(found, dict):
        return list(about)
    return [name for name in {**found, **about} if found.get(name) != about.get(name)]
