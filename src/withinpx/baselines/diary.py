"""Detections image by image on disk, so that a run can stop at any moment and go on."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from withinpx.baselines.detections import Found
from withinpx.errors import InputError
from withinpx.files import read_json, write_atomically, write_json

ABOUT, DIARY = "baseline.json", "detections.jsonl"


class Diary:
    """A line for each image that is done, in a folder of one method on one set of images.

    ``about`` says what was asked; a folder where something else was asked is refused.
    """

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self._path = folder / DIARY
        if not (folder / ABOUT).exists():
            write_json(folder / ABOUT, about)
        elif other := _differences(read_json(folder / ABOUT), about):
            raise InputError(f"{folder} holds another run (it has another {', '.join(other)}): name another folder.")
        self.found: dict[str, Found] = {}
        self.sizes: dict[str, tuple[int, int]] = {}  # width, height
        if self._path.exists():
            self._read()

    def _read(self) -> None:
        *lines, rest = self._path.read_bytes().split(b"\n")
        if rest:  # cut short by a crash: that image is done again
            write_atomically(self._path, b"".join(line + b"\n" for line in lines))
        for number, line in enumerate(lines, start=1):
            try:
                held = json.loads(line)
                boxes, scores = np.array(held["boxes"], np.float64), np.array(held["scores"], np.float64)
                self.found[held["image"]] = Found(boxes.reshape(len(scores), 4), scores)
                self.sizes[held["image"]] = held["width"], held["height"]
            except (ValueError, KeyError, TypeError):
                raise InputError(f"Line {number} of {self._path} is broken: take it out, and go on.") from None

    def add(self, image: str, size: tuple[int, int], found: Found) -> None:
        """One more image is done, safely on disk."""
        boxes, scores = found.boxes.round(4).tolist(), found.scores.round(6).tolist()
        held = {"image": image, "width": size[0], "height": size[1], "boxes": boxes, "scores": scores}
        with self._path.open("ab") as file:
            file.write((json.dumps(held, allow_nan=False) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())
        self.found[image], self.sizes[image] = found, size


def _differences(held: Any, about: dict[str, Any]) -> list[str]:
    if not isinstance(held, dict):
        return list(about)
    return [name for name in {**held, **about} if held.get(name) != about.get(name)]
