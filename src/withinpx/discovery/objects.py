"""The moving objects of a clip: blobs that differ from the background, linked over time and joined by appearance."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from withinpx.discovery.background import BackgroundModel, Images, difference, to_float

SMALLEST_AREA = 6  # px: less is noise
OFTEN = 0.1  # of the frames: an object that is seen less often is a flicker
OFTEN_WHEN_MOVING = 0.4  # the same for a moving camera, where parallax looks like moving objects
CLOSING = 2  # px: parts of one object are at most twice this far apart
MOST_TRACKLETS = 400  # the largest; the others are noise
SAME_APPEARANCE = 1.0  # appearances farther apart than this (see appearance_distance) are two objects
STRONG = 0.35  # of a blob's high contrast: objects that touch are separated where both are fainter than this,
PART = 0.25  # if each has this share of their strong pixels
THIN = 0.12  # of the root of its area: parts thinner than twice this do not count for an object's size
REACH = 3.0  # radii that an object may move from one frame to the next
SMALLEST_WEIGHT = 0.02  # of the most prominent object's area times frames

Mask = NDArray[np.bool_]
Box = tuple[slice, slice]  # rows, columns


@dataclass(frozen=True, eq=False)
class Blob:
    """One connected region of one frame."""

    frame: int
    centre: tuple[float, float]  # (x, y), px
    box: tuple[int, int, int, int]  # left, top, right, bottom; the last two not included
    area: int
    colour: NDArray[np.float64]  # mean of its strong pixels
    size: int  # larger side of its box, px, without thin parts such as a tail

    @property
    def appearance(self) -> NDArray[np.float64]:
        """Its colour, and the logarithm of its area."""
        return np.append(self.colour, np.log(self.area))

    def scaled(self, by: float) -> "Blob":
        """The same blob in frames of another size."""
        (x, y), (left, top, right, bottom) = self.centre, self.box
        box = (int(left * by), int(top * by), math.ceil(right * by), math.ceil(bottom * by))
        area, size = max(1, round(self.area * by**2)), max(1, round(self.size * by))
        return Blob(self.frame, (x * by, y * by), box, area, self.colour, size)


@dataclass(frozen=True, eq=False)
class MovingObject:
    """One object, or a part of its track: at most one blob per frame."""

    blobs: tuple[Blob, ...]

    def scaled(self, by: float) -> "MovingObject":
        """The same object in frames of another size."""
        return MovingObject(tuple(blob.scaled(by) for blob in self.blobs))

    @property
    def frames(self) -> list[int]:
        """In which it is seen apart from other objects."""
        return [blob.frame for blob in self.blobs]

    @property
    def sizes(self) -> tuple[float, float]:
        """The range of its size, px, without the extreme twentieths."""
        sizes = [blob.size for blob in self.blobs]
        return float(np.quantile(sizes, 0.05)), float(np.quantile(sizes, 0.95))

    @property
    def travel(self) -> float:
        """The extent of its positions along the longer axis, px."""
        centres = np.array([blob.centre for blob in self.blobs])
        return float(np.ptp(centres, axis=0).max())

    @property
    def weight(self) -> float:
        """Its prominence: area summed over frames."""
        return float(sum(blob.area for blob in self.blobs))

    @property
    def appearance(self) -> NDArray[np.float64]:
        """Its median colour, and the logarithm of its median area."""
        colour = np.median([blob.colour for blob in self.blobs], axis=0)
        return np.append(colour, np.log(np.median([blob.area for blob in self.blobs])))


def appearance_distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """One where two objects differ clearly: by a quarter of full contrast, or by 2.5 times the area. Broadcasts."""
    apart = np.abs(one - other)
    return np.asarray(np.hypot(apart[..., :-1].max(axis=-1) / 0.25, apart[..., -1] / np.log(2.5)))


def find_tracklets(frames: Images, background: BackgroundModel) -> list[MovingObject]:
    """Objects as far as they can be followed from frame to frame."""
    tracklets: list[list[Blob]] = []
    active: list[list[Blob]] = []
    for frame, image in enumerate(frames):
        blobs = find_blobs(image, background, frame)
        if not blobs:
            continue
        linked = set()
        cost = _link_cost(active, blobs) if active else np.empty((0, len(blobs)))
        for row, column in zip(*linear_sum_assignment(cost), strict=True):
            if cost[row, column] < 1:
                active[row].append(blobs[column])
                linked.add(column)
        new = [[blob] for column, blob in enumerate(blobs) if column not in linked]
        tracklets += new
        active = [tracklet for tracklet in active if tracklet[-1].frame == frame] + new
    return [MovingObject(tuple(tracklet)) for tracklet in tracklets]


def _link_cost(tracklets: list[list[Blob]], blobs: list[Blob]) -> NDArray[np.float64]:
    """Below one where a blob continues a tracklet: near its last or its predicted position, with its appearance."""
    last = [tracklet[-1] for tracklet in tracklets]
    before = [tracklet[-2] if len(tracklet) > 1 else tracklet[-1] for tracklet in tracklets]
    elapsed = np.array([max(1, one.frame - other.frame) for one, other in zip(last, before, strict=True)])[:, None]
    ahead = np.array([blobs[0].frame - blob.frame for blob in last])[:, None]
    position, previous, centres = (np.array([blob.centre for blob in some]) for some in (last, before, blobs))
    predicted = position + ahead * (position - previous) / elapsed
    away = np.minimum(*(np.hypot(*(centres - start[:, None]).T).T for start in (predicted, position)))
    reach = REACH * np.sqrt(np.maximum.outer([blob.area for blob in last], [blob.area for blob in blobs]) / np.pi)
    one, other = (np.array([blob.appearance for blob in some]) for some in (last, blobs))
    return np.asarray(np.minimum(np.maximum(away / reach, appearance_distance(one[:, None], other)), 10))


def find_objects(tracklets: list[MovingObject], background: BackgroundModel, frames: int) -> list[MovingObject]:
    """The objects of a clip of so many frames, the most prominent first."""
    often = max(2, frames * (OFTEN if background.is_still else OFTEN_WHEN_MOVING))
    lasting = [obj for obj in _joined(tracklets, frames) if len(obj.blobs) >= often]
    most = max((obj.weight for obj in lasting), default=0.0)
    return sorted((obj for obj in lasting if obj.weight >= SMALLEST_WEIGHT * most), key=lambda obj: -obj.weight)


def _joined(tracklets: list[MovingObject], frames: int) -> list[MovingObject]:
    """Tracklets that look alike and are never seen together are one object, seen again; the most alike first."""
    objects = sorted(tracklets, key=lambda tracklet: -tracklet.weight)[:MOST_TRACKLETS]
    if not objects:
        return []
    appearance = np.stack([obj.appearance for obj in objects])
    seen = np.zeros((len(objects), frames), np.bool_)
    for index, obj in enumerate(objects):
        seen[index, obj.frames] = True
    together = (seen[:, None] & seen).any(axis=-1)
    apart = np.where(together, np.inf, appearance_distance(appearance[:, None], appearance))
    while apart.min() < SAME_APPEARANCE:
        kept, gone = sorted(divmod(int(apart.argmin()), len(objects)))
        blobs = sorted(objects[kept].blobs + objects[gone].blobs, key=lambda blob: blob.frame)
        objects[kept], objects[gone] = MovingObject(tuple(blobs)), MovingObject(())
        appearance[kept] = objects[kept].appearance
        seen[kept] |= seen[gone]
        seen[gone] = True  # never joined again
        apart[gone] = apart[:, gone] = np.inf
        together = (seen & seen[kept]).any(axis=-1)
        apart[kept] = apart[:, kept] = np.where(together, np.inf, appearance_distance(appearance, appearance[kept]))
    return [obj for obj in objects if obj.blobs]


def find_blobs(image: Images, background: BackgroundModel, frame: int) -> list[Blob]:
    """The connected regions of a frame (height, width, colours) that differ from the background."""
    own = background.of(slice(frame, frame + 1))
    contrast = difference(image[None], own)[0]
    solid = _solid(background.changed(image[None], own)[0])
    return [
        measured_blob(image[box], contrast[box], part, box, frame)
        for box, region in connected_regions(solid)
        for part in _separated(region, contrast[box])
    ]


def measured_blob(image: Images, contrast: NDArray[np.float32], mask: Mask, box: Box, frame: int) -> Blob:
    """The blob of a mask; image, contrast and mask are the frame's at the box."""
    rows, columns = np.nonzero(mask)
    top, left = box[0].start, box[1].start
    values = contrast[mask]
    return Blob(
        frame,
        (left + float(columns.mean()) + 0.5, top + float(rows.mean()) + 0.5),
        (left + int(columns.min()), top + int(rows.min()), left + int(columns.max()) + 1, top + int(rows.max()) + 1),
        len(rows),
        to_float(image[mask][values >= 0.5 * np.quantile(values, 0.9)]).mean(axis=0).astype(np.float64),
        _body_size(mask),
    )


def connected_regions(mask: Mask) -> Iterator[tuple[Box, Mask]]:
    """The box of each region that is larger than noise, and which pixels of the box are its own."""
    _, labels, statistics, _ = cv2.connectedComponentsWithStats(mask.view(np.uint8), connectivity=8)
    for label, (left, top, width, height, area) in enumerate(statistics[1:].tolist(), start=1):
        if area >= SMALLEST_AREA:
            box = slice(top, top + height), slice(left, left + width)
            yield box, np.asarray(labels[box] == label)


def _solid(mask: Mask) -> Mask:
    """The mask with gaps and holes closed."""
    closed = _morphology(np.pad(mask, CLOSING), cv2.MORPH_CLOSE, CLOSING)
    cv2.floodFill(closed, None, (0, 0), 2)  # everything outside
    return np.ascontiguousarray(closed[CLOSING:-CLOSING, CLOSING:-CLOSING] != 2)


def _separated(region: Mask, contrast: NDArray[np.float32]) -> list[Mask]:
    """The parts of a region: several where objects touch only with their faint rims (legs, shadows)."""
    strong = region & (contrast > STRONG * np.quantile(contrast[region], 0.9))
    _, labels = cv2.connectedComponents(_solid(strong).view(np.uint8), connectivity=8)
    areas = np.bincount(labels[region])[1:]
    large = 1 + np.flatnonzero(areas >= max(SMALLEST_AREA, PART * areas.sum()))
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
