"""Regions of a frame that differ from the background, each with the pixels that are nearest to it."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from withinpx.discovery.background import ByteImages
from withinpx.discovery.objects import Blob, Box, Changes, Mask, blob_masks, measured_blob

Cells = NDArray[np.int32]  # (height, width): the number of the region that is nearest to each pixel


@dataclass(frozen=True, eq=False)
class Region:
    """A detection with its pixels."""

    blob: Blob
    box: Box  # of the frame
    mask: Mask  # of the box

    @property
    def pixels(self) -> NDArray[np.float64]:
        """The centres (x, y) of its pixels, (k, 2)."""
        down, across = np.nonzero(self.mask)
        return np.column_stack([across + self.box[1].start, down + self.box[0].start]) + 0.5


def find_regions(changes: Changes) -> list[Region]:
    """The connected regions of a frame; their blobs are those of ``find_blobs``."""
    regions = []
    for view, box, mask in blob_masks(changes):
        left, top = view.corner
        own = slice(box[0].start + top, box[0].stop + top), slice(box[1].start + left, box[1].stop + left)
        regions.append(Region(measured_blob(view, mask, box), own, mask))
    return regions


def nearest_regions(size: tuple[int, int], regions: Sequence[Region]) -> Cells:
    """For every pixel of a frame of this height and width, which region is nearest; zeros if there is none.

    Every pixel belongs to one region: where another object is nearer, a pixel says nothing about this one.
    """
    owner = np.full(size, -1, np.int32)
    for number, region in enumerate(regions):
        owner[region.box][region.mask] = number
    covered = owner >= 0
    if not covered.any():
        return np.zeros(size, np.int32)
    elsewhere = np.where(covered, 0, 255).astype(np.uint8)
    _, labels = cv2.distanceTransformWithLabels(elsewhere, cv2.DIST_L2, cv2.DIST_MASK_5, labelType=cv2.DIST_LABEL_PIXEL)
    numbers = np.zeros(int(labels.max()) + 1, np.int32)
    numbers[labels[covered]] = owner[covered]
    return np.asarray(numbers[labels], np.int32)


def only_region(image: ByteImages, background: ByteImages, cells: Cells, number: int) -> ByteImages:
    """The frame with the background wherever another region is nearer: an image of one object."""
    return np.where((cells == number)[..., None], image, background)
