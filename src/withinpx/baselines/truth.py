"""Ground truth of several folders of images, from tables ``frame,object,x,y,w,h,full``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from withinpx.baselines.detections import Array
from withinpx.data.truth import read_true_boxes
from withinpx.errors import InputError


@dataclass(frozen=True)
class Truth:
    names: tuple[str, ...]  # of the objects
    boxes: Array  # (images, objects, 4): centre x, y, width, height, px; NaN where unknown or cut off

    @property
    def objects(self) -> int:
        return len(self.names)


def read_truth(tables: Sequence[Path], counts: Sequence[int]) -> Truth:
    """One table for each folder, with ``counts`` images in the folders; frames count from 0 in each table."""
    if len(tables) != len(counts):
        raise InputError(
            f"There are {len(counts)} folders of images and {len(tables)} tables of truth: give one for each."
        )
    rows = [read_true_boxes(table) for table in tables]
    names = tuple(sorted({box.object for table in rows for box in table}))
    boxes = np.full((sum(counts), len(names), 4), np.nan)
    offset = 0
    for table, count, path in zip(rows, counts, tables, strict=True):
        for box in table:
            if not 0 <= box.frame < count:
                raise InputError(f"{path} is of other images: it has a frame {box.frame} and there are {count} images.")
            boxes[offset + box.frame, names.index(box.object)] = box.x, box.y, box.width, box.height
        offset += count
    if not np.isfinite(boxes).any():
        raise InputError(f"{tables[0]} has no object that is wholly in its image: there is nothing to compare with.")
    return Truth(names, boxes)
