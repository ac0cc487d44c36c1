"""Where the objects of images are: tables ``frame,object,x,y,w,h,full``, frames counted from 0 in each folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from withinpx.baselines.detections import Array
from withinpx.data.truth import read_true_boxes
from withinpx.errors import InputError


@dataclass(frozen=True)
class Truth:
    """The true boxes of all objects in all images."""

    names: tuple[str, ...]  # of the objects
    boxes: Array  # (images, objects, 4): centre x, y, width, height, px; not numbers where unknown or cut off

    @property
    def objects(self) -> int:
        """How many there are."""
        return len(self.names)


def read_truth_of(tables: Sequence[Path], counts: Sequence[int]) -> Truth:
    """One table for each folder of so many images, in the same order."""
    if len(tables) != len(counts):
        raise InputError(
            f"There are {len(counts)} folders of images and {len(tables)} tables of truth: give one for each."
        )
    rows = [read_true_boxes(table) for table in tables]
    names = tuple(sorted({box.object for table in rows for box in table}))
    boxes = np.full((sum(counts), len(names), 4), np.nan)
    before = 0
    for table, count, path in zip(rows, counts, tables, strict=True):
        for box in table:
            if not 0 <= box.frame < count:
                raise InputError(f"{path} is of other images: it has a frame {box.frame} and there are {count} images.")
            boxes[before + box.frame, names.index(box.object)] = box.x, box.y, box.width, box.height
        before += count
    if not np.isfinite(boxes).any():
        raise InputError(f"{tables[0]} has no object that is wholly in its image: there is nothing to compare with.")
    return Truth(names, boxes)
