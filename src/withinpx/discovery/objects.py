"""Detections: regions of a frame that differ from the background, and objects made of them, one per frame at most."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from withinpx.discovery.background import LEVEL, NEIGHBOURS, BackgroundModel, ByteImages, to_float
from withinpx.discovery.fixed_camera import absolute_difference, largest_colour

SMALLEST_AREA = 6  # px: less is noise
STANDS_OUT = 8.0  # of Blob.strength: what stands out less is flicker
CLOSING = 2  # px: parts of one object are at most twice this far apart
STRONG = 0.35  # of a blob's high contrast: objects that touch are separated where both are fainter than this,
PART = 0.25  # if each has this share of their strong pixels
THIN = 0.12  # of the root of its area: parts thinner than twice this do not count for an object's size

DARKEST_SHADOW = 0.3  # of the background's light
LITTLE = 0.1  # of a blob: a shadow that is smaller, or an object that would be, is none
SAME_HUE = 10 * LEVEL  # how far a shadow's colours may be from the background's with less light

Mask = NDArray[np.bool_]
Box = tuple[slice, slice]  # rows, columns


@dataclass(frozen=True, eq=False)
class Blob:
    """One connected region of one frame."""

    frame: int
    centre: tuple[float, float]  # (x, y), px, without its shadow
    box: tuple[int, int, int, int]  # left, top, right, bottom; the last two not included
    area: int
    colour: NDArray[np.float64]  # mean of its strong pixels
    size: int  # larger side of its box, px, without thin parts such as a tail
    shaded: float = 0.0  # share of its pixels that could be shadow: the background, darker
    tinted: float = 0.0  # share of its pixels where the background has a hue that a shadow would keep
    strength: float = np.inf  # mean contrast over the threshold, times the root of its area
    cut_off: bool = False  # does it touch the border of the frame? Then only a part of the object may be seen

    @property
    def appearance(self) -> NDArray[np.float64]:
        """Its colour, and the logarithm of its area."""
        return np.append(self.colour, np.log(self.area))

    def scaled(self, by: float) -> "Blob":
        """The same blob in frames of another size."""
        (x, y), (left, top, right, bottom) = self.centre, self.box
        box = (int(left * by), int(top * by), math.ceil(right * by), math.ceil(bottom * by))
        area, size = max(1, round(self.area * by**2)), max(1, round(self.size * by))
        return replace(self, centre=(x * by, y * by), box=box, area=area, size=size)

    def joined(self, other: "Blob") -> "Blob":
        """Both as one detection."""
        share = other.area / (self.area + other.area)
        x, y = (1 - share) * np.array(self.centre) + share * np.array(other.centre)
        low, high = np.minimum(self.box, other.box), np.maximum(self.box, other.box)
        box = (int(low[0]), int(low[1]), int(high[2]), int(high[3]))
        colour = (1 - share) * self.colour + share * other.colour
        larger = max(self, other, key=lambda blob: blob.area)
        size = max(box[2] - box[0], box[3] - box[1], larger.size)
        return replace(
            larger,
            centre=(float(x), float(y)),
            box=box,
            area=self.area + other.area,
            colour=colour,
            size=size,
            cut_off=self.cut_off or other.cut_off,
        )


@dataclass(frozen=True, eq=False)
class MovingObject:
    """One object, or a part of its track: at most one blob per frame."""

    blobs: tuple[Blob, ...]

    def scaled(self, by: float) -> "MovingObject":
        """The same object in frames of another size."""
        return MovingObject(tuple(blob.scaled(by) for blob in self.blobs))

    @cached_property
    def frames(self) -> list[int]:
        """In which it is seen apart from other objects."""
        return [blob.frame for blob in self.blobs]

    @cached_property
    def centres(self) -> NDArray[np.float64]:
        """(blobs, 2): x, y, px."""
        return np.array([blob.centre for blob in self.blobs])

    @cached_property
    def boxes(self) -> NDArray[np.float64]:
        """(blobs, 4): left, top, right, bottom, px."""
        return np.array([blob.box for blob in self.blobs], np.float64)

    @cached_property
    def places(self) -> frozenset[tuple[int, tuple[float, float]]]:
        """The frame and centre of each blob."""
        return frozenset((blob.frame, blob.centre) for blob in self.blobs)

    def values(self, name: str) -> NDArray[np.float64]:
        """One attribute of its blobs (blobs,)."""
        return np.array([getattr(blob, name) for blob in self.blobs], np.float64)

    @property
    def _whole(self) -> list[Blob]:
        """Its blobs that the border does not cut off; all if it cuts each."""
        return [blob for blob in self.blobs if not blob.cut_off] or list(self.blobs)

    @property
    def sizes(self) -> tuple[float, float]:
        """The range of its size where all of it is seen, px, without the extreme twentieths."""
        sizes = [blob.size for blob in self._whole]
        return float(np.quantile(sizes, 0.05)), float(np.quantile(sizes, 0.95))

    @property
    def growth(self) -> float:
        """By how much its size varies with its position, as a ratio: how perspective makes it grow."""
        positions = np.array([(1.0, *blob.centre) for blob in self._whole])
        sizes = np.log([blob.size for blob in self._whole])
        fitted = positions @ np.linalg.lstsq(positions, sizes)[0]
        return float(np.exp(np.ptp(fitted)))

    @property
    def strength(self) -> float:
        """How far it stands out from the noise where it is seen well."""
        return float(np.quantile([blob.strength for blob in self.blobs], 0.9))

    @property
    def travel(self) -> float:
        """The extent of its positions along the longer axis, px."""
        return float(np.ptp(self.centres, axis=0).max())

    @property
    def displacement(self) -> float:
        """How far all of it moved along the longer axis, px: both of its sides, not only the one where it grew."""
        boxes, order = self.boxes, self.centres.argsort(axis=0)
        few = len(order) // 50  # extremes may be wrong detections
        first, last = order[few], order[-1 - few]
        sides = [boxes[last[axis], axis::2] - boxes[first[axis], axis::2] for axis in (0, 1)]
        return float(max(0, *(min(pair) for pair in sides)))

    @property
    def weight(self) -> float:
        """Its prominence: area summed over frames."""
        return float(sum(blob.area for blob in self.blobs))

    @property
    def appearance(self) -> NDArray[np.float64]:
        """Its median colour, and the logarithm of its median area."""
        colour = np.median([blob.colour for blob in self.blobs], axis=0)
        return np.append(colour, np.log(np.median([blob.area for blob in self.blobs])))


def merged(objects: Sequence[MovingObject]) -> MovingObject:
    """All of them as one object; where several are seen in a frame, their detections are pieces of one."""
    blobs: dict[int, Blob] = {}
    for blob in (blob for obj in objects for blob in obj.blobs):
        blobs[blob.frame] = blobs[blob.frame].joined(blob) if blob.frame in blobs else blob
    return MovingObject(tuple(blobs[frame] for frame in sorted(blobs)))


def appearance_distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """One where two objects differ clearly: by a quarter of full contrast, or by 2.5 times the area. Broadcasts."""
    apart = np.abs(one - other)
    return np.asarray(np.hypot(apart[..., :-1].max(axis=-1) / 0.25, apart[..., -1] / np.log(2.5)))


@dataclass(frozen=True, eq=False)
class View:
    """A frame beside its background."""

    frame: int
    image: ByteImages  # (height, width, colours)
    background: ByteImages
    contrast: NDArray[np.uint8]  # (height, width), in levels
    limit: NDArray[np.float32]  # what noise may reach
    size: tuple[int, int]  # height and width of the whole frame
    corner: tuple[int, int] = (0, 0)  # left, top: where in the frame it begins

    def part(self, box: Box) -> "View":
        return replace(
            self,
            image=self.image[box],
            background=self.background[box],
            contrast=self.contrast[box],
            limit=self.limit[box],
            corner=(box[1].start, box[0].start),
        )

    @classmethod
    def of(cls, image: ByteImages, background: BackgroundModel, frame: int) -> "View":
        still = background.bytes[0 if background.is_still else frame]
        contrast = largest_colour(absolute_difference(image, still))
        return cls(frame, image, still, contrast, background.limit, image.shape[:2])


@dataclass(frozen=True, eq=False)
class Changes:
    """Which pixels of a frame differ from the background."""

    view: View
    sure: Mask
    faint: Mask  # and sure

    @property
    def share(self) -> float:
        """The share of pixels that surely differ."""
        return np.count_nonzero(self.sure) / self.sure.size


def find_changes(image: ByteImages, background: BackgroundModel, frame: int) -> Changes:
    """The pixels of a frame (height, width, colours) that differ from the background."""
    view = View.of(image, background, frame)
    sure, faint = (_dense(view.contrast > limit) for limit in background.sure_and_faint)
    return Changes(view, sure, faint)


def find_blobs(changes: Changes) -> list[Blob]:
    """The connected regions of a frame that differ from the background."""
    return [measured_blob(view, mask, box) for view, box, mask in blob_masks(changes)]


def blob_masks(changes: Changes) -> Iterator[tuple[View, Box, Mask]]:
    """A part of the frame, and for each connected region its box and its pixels in that part."""
    left, top, width, height = cv2.boundingRect(changes.faint.view(np.uint8))
    if not width:
        return
    around = slice(max(0, top - 1), top + height + 1), slice(max(0, left - 1), left + width + 1)
    view, sure, faint = changes.view.part(around), changes.sure[around], changes.faint[around]
    solid = _solid(sure)
    for box, connected in connected_regions(np.ascontiguousarray(solid | faint), sure):
        for mask in _separated(connected & solid[box], view.contrast[box]):
            yield view, box, mask


def measured_blob(view: View, mask: Mask, box: Box) -> Blob:
    """The blob of a mask of the box."""
    rows, columns = np.nonzero(mask)
    left, top = view.corner[0] + box[1].start, view.corner[1] + box[0].start
    values = view.contrast[box][mask]
    strong = values >= 0.5 * np.quantile(values, 0.9)
    shown, empty = (to_float(some[box][mask]) for some in (view.image, view.background))
    dark, tint = darker_background(shown, empty), np.ptp(shown[strong], axis=-1) > 2 * SAME_HUE
    lit = ~dark if LITTLE < dark.mean() < 1 - LITTLE else np.ones_like(dark)
    around = left + int(columns.min()), top + int(rows.min()), left + int(columns.max()) + 1, top + int(rows.max()) + 1
    return Blob(
        view.frame,
        (left + float(columns[lit].mean()) + 0.5, top + float(rows[lit].mean()) + 0.5),
        around,
        len(rows),
        shown[strong].mean(axis=0).astype(np.float64),
        _body_size(mask),
        float(dark[strong].mean()),
        float(tint.mean()),
        float((values / view.limit[box][mask]).mean() * np.sqrt(len(rows))),
        min(around[:2]) == 0 or around[2] == view.size[1] or around[3] == view.size[0],
    )


def darker_background(image: NDArray[np.float32], background: NDArray[np.float32]) -> Mask:
    """Which pixels (..., colours) could be shadow: the background's colour with less light, but not black."""
    light = (image * background).sum(axis=-1) / np.maximum((background**2).sum(axis=-1), 1e-4)
    off = np.abs(image - light[..., None] * background).max(axis=-1)
    return np.asarray((light > DARKEST_SHADOW) & (light < 1) & (off < SAME_HUE))


def connected_regions(mask: Mask, sure: Mask) -> Iterator[tuple[Box, Mask]]:
    """The box of each region with enough sure pixels to be more than noise, and which pixels of the box are its own.

    What lies in a hole of a region belongs to it. Tracing outlines is many times faster than labelling every pixel.
    """
    outlines, _ = cv2.findContours(mask.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    for index, (left, top, right, bottom) in _boxes_holding(sure, outlines):
        box = slice(top, bottom), slice(left, right)
        inside = np.zeros((bottom - top, right - left), np.uint8)
        cv2.drawContours(inside, outlines, index, 1, cv2.FILLED, offset=(-left, -top))
        region = (inside > 0) & mask[box]
        if np.count_nonzero(region & sure[box]) >= SMALLEST_AREA:
            yield box, region


def _boxes_holding(sure: Mask, outlines: Sequence[NDArray[Any]]) -> Iterator[tuple[int, list[int]]]:
    """The outlines, by index, whose box (left, top, right, bottom) holds enough sure pixels. Most are noise."""
    if not outlines:
        return
    starts = np.cumsum([0, *map(len, outlines[:-1])])
    points = np.concatenate(outlines)[:, 0]
    boxes = np.hstack([np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts) + 1])
    left, top, right, bottom = boxes.T
    below = cv2.integral(sure.view(np.uint8))  # the number of sure pixels above and left of each
    held = below[bottom, right] - below[top, right] - below[bottom, left] + below[top, left]
    for index in np.flatnonzero(held >= SMALLEST_AREA).tolist():
        yield index, boxes[index].tolist()


def _dense(mask: Mask) -> Mask:
    """Pixels of the mask with enough others around them: a single one is noise."""
    around = cv2.boxFilter(mask.view(np.uint8), -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(mask & (around >= NEIGHBOURS))


def _solid(mask: Mask) -> Mask:
    """The mask with gaps and holes closed."""
    closed = _morphology(np.pad(mask, CLOSING), cv2.MORPH_CLOSE, CLOSING)
    cv2.floodFill(closed, None, (0, 0), 2)  # everything outside
    return np.ascontiguousarray(closed[CLOSING:-CLOSING, CLOSING:-CLOSING] != 2)


def _separated(region: Mask, contrast: NDArray[np.uint8]) -> list[Mask]:
    """The parts of a region: several where objects touch only with their faint rims (legs, shadows)."""
    return pieces(region, _solid(region & (contrast > STRONG * np.quantile(contrast[region], 0.9))))


def pieces(region: Mask, core: Mask, least: float = PART) -> list[Mask]:
    """A region cut into the large connected pieces of its core, each with the pixels that are nearest to it.

    A piece with less than this share of all core pixels is no piece of its own.
    """
    _, labels = cv2.connectedComponents(core.view(np.uint8), connectivity=8)
    areas = np.bincount(labels[region])[1:]
    large = 1 + np.flatnonzero(areas >= max(SMALLEST_AREA, least * areas.sum()))
    if len(large) < 2:
        return [region]
    outside = ~np.isin(labels, large) | ~region
    nearest = ndimage.distance_transform_edt(outside, return_distances=False, return_indices=True)
    return [region & (labels[tuple(nearest)] == label) for label in large]


def _body_size(mask: Mask) -> int:
    opened = _morphology(mask, cv2.MORPH_OPEN, max(1, int(THIN * np.sqrt(mask.sum()))))
    _, _, width, height = cv2.boundingRect(opened if opened.any() else mask.view(np.uint8))
    return max(width, height)


def _morphology(mask: Mask, operation: int, iterations: int) -> NDArray[np.uint8]:
    """With a cross; outside the image nothing is set."""
    cross, image = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3)), mask.view(np.uint8)
    return np.asarray(
        cv2.morphologyEx(image, operation, cross, None, (-1, -1), iterations, cv2.BORDER_CONSTANT, 0), np.uint8
    )
