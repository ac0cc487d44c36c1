"""Which things move: what differs from the backdrop, followed from frame to frame and told apart by its looks."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from withinpx.discovery.background import BackgroundModel, Pictures, difference

SMALLEST_AREA = 6  # px: less is noise
OFTEN = 0.1  # of the frames: what is seen less often is a flicker
OFTEN_WHEN_MOVING = 0.4  # where the camera moves, near and far things shift against each other and look like movers
CLOSING = 2  # px: parts of one thing are this near each other
MOST_PIECES = 400  # the largest; what is left over is noise
SAME_LOOK = 1.0  # looks this far apart (see appearance_distance) are two things
STRONG = 0.35  # of its strong contrast: where a thing is fainter than this, it may be two that touch,
PART = 0.25  # if each of them is this much of both
THIN = 0.12  # of the root of its area: what is thinner than twice this is no part of a thing's body
REACH = 3.0  # radii that a thing may move from one frame to the next and be followed


@dataclass(frozen=True)
class Blob:
    """One connected thing in one frame."""

    frame: int
    centre: tuple[float, float]  # (x, y), px
    box: tuple[int, int, int, int]  # left, top, right, bottom; the last two not included
    area: int
    colour: NDArray[np.float64]  # its mean
    contrast: float  # its mean difference from the backdrop
    size: int  # larger side of the box around its body, px: thin parts (a tail, a shadow's rim) are left out

    def scaled(self, by: float) -> "Blob":
        """As it is seen in pictures of another size."""
        (x, y), (left, top, right, bottom) = self.centre, self.box
        box = (int(left * by), int(top * by), math.ceil(right * by), math.ceil(bottom * by))
        area, size = max(1, round(self.area * by**2)), max(1, round(self.size * by))
        return Blob(self.frame, (x * by, y * by), box, area, self.colour, self.contrast, size)


@dataclass(frozen=True)
class MovingObject:
    """One thing that moves: at most one blob per frame."""

    blobs: tuple[Blob, ...]

    def scaled(self, by: float) -> "MovingObject":
        """As it is seen in pictures of another size."""
        return MovingObject(tuple(blob.scaled(by) for blob in self.blobs))

    @property
    def frames(self) -> list[int]:
        """In which it is seen by itself."""
        return [blob.frame for blob in self.blobs]

    @property
    def sizes(self) -> tuple[float, float]:
        """The range of its size, px, but for the odd frame."""
        sizes = [blob.size for blob in self.blobs]
        return float(np.quantile(sizes, 0.05)), float(np.quantile(sizes, 0.95))

    @property
    def travel(self) -> float:
        """How far apart, along an axis, are the places it was seen at, px."""
        centres = np.array([blob.centre for blob in self.blobs])
        return float(np.ptp(centres, axis=0).max())

    @property
    def weight(self) -> float:
        """How much of the clip it is: area times frames."""
        return float(sum(blob.area for blob in self.blobs))

    @property
    def appearance(self) -> NDArray[np.float64]:
        """Its usual colour, and the logarithm of its usual area."""
        colour = np.median([blob.colour for blob in self.blobs], axis=0)
        return np.append(colour, np.log(np.median([blob.area for blob in self.blobs])))


def find_tracklets(images: Pictures, backdrop: BackgroundModel) -> list[MovingObject]:
    """Things as far as they can be followed from frame to frame."""
    blobs = [
        found
        for frame, image in enumerate(images)
        for found in blobs_of(image, backdrop.of(np.array([frame]))[0], backdrop, frame)
    ]
    return [MovingObject(tuple(piece)) for piece in _pieces(blobs)]


def find_objects(pieces: list[MovingObject], backdrop: BackgroundModel, frames: int) -> list[MovingObject]:
    """All movers of so many frames, the most prominent first."""
    often = OFTEN if backdrop.is_still else OFTEN_WHEN_MOVING
    return sorted(_lasting(_joined(pieces), often * frames), key=lambda mover: -mover.weight)


def blobs_of(
    image: NDArray[np.float32], behind: NDArray[np.float32], backdrop: BackgroundModel, frame: int
) -> list[Blob]:
    """The connected things of a frame that differ from the backdrop."""
    changed = backdrop.changed(image[None], behind[None])[0]
    distance = difference(image[None], behind[None])[0]
    labels = _parted(_connected(changed), distance)
    found = [
        blob_at(image, distance, labels == label, box, frame)
        for label, box in enumerate(ndimage.find_objects(labels), start=1)
    ]
    return [blob for blob in found if blob.area >= SMALLEST_AREA]


def blob_at(
    image: NDArray[np.float32],
    distance: NDArray[np.float32],
    mask: NDArray[np.bool_],
    box: tuple[slice, slice],
    frame: int,
) -> Blob:
    """What a mask (height, width) shows within a box of rows and columns; ``distance`` is that from the backdrop."""
    (rows, columns), inside, away = box, mask[box], distance[box]
    area = int(inside.sum())
    solid = inside & (away >= 0.5 * np.quantile(away[inside], 0.9))
    y, x = ndimage.center_of_mass(inside)
    return Blob(
        frame,
        (columns.start + x + 0.5, rows.start + y + 0.5),
        (columns.start, rows.start, columns.stop, rows.stop),
        area,
        image[box][solid].mean(axis=0).astype(np.float64),
        float((away * inside).sum() / area),
        _body_size(inside),
    )


def _connected(changed: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The number of the thing that each pixel belongs to, from 1; 0 is nothing."""
    together = ndimage.binary_closing(np.pad(changed, CLOSING), iterations=CLOSING)[CLOSING:-CLOSING, CLOSING:-CLOSING]
    labels, _ = ndimage.label(ndimage.binary_fill_holes(together), structure=np.ones((3, 3)))
    return np.asarray(labels)


def _parted(labels: NDArray[np.int32], distance: NDArray[np.float32]) -> NDArray[np.int32]:
    """Things that only touch each other with their faint rims (legs, shadows), taken apart."""
    parted, most = labels.copy(), int(labels.max(initial=0))
    for label, box in enumerate(ndimage.find_objects(labels), start=1):
        inside = labels[box] == label
        strong = inside & (distance[box] > STRONG * np.quantile(distance[box][inside], 0.9))
        cores = _connected(strong) * inside
        areas = np.bincount(cores.ravel())[1:]
        large = 1 + np.nonzero(areas >= max(SMALLEST_AREA, PART * areas.sum()))[0]
        if len(large) < 2:
            continue
        cores = np.searchsorted(large, cores) * np.isin(cores, large) + np.isin(cores, large)
        nearest = ndimage.distance_transform_edt(cores == 0, return_distances=False, return_indices=True)
        part = cores[tuple(nearest)]
        parted[box] = np.where(inside & (part > 1), most + part - 1, parted[box])
        most += len(large) - 1
    return parted


def _body_size(inside: NDArray[np.bool_]) -> int:
    thin = max(1, int(THIN * np.sqrt(inside.sum())))
    around = np.pad(inside, thin)
    body = ndimage.binary_opening(around, iterations=thin)
    rows, columns = np.nonzero(body if body.any() else around)
    return int(max(np.ptp(rows), np.ptp(columns))) + 1


def _pieces(blobs: list[Blob]) -> list[list[Blob]]:
    """Blobs of neighbouring frames linked where it is plain that they are the same thing."""
    by_frame: dict[int, list[Blob]] = {}
    for blob in blobs:
        by_frame.setdefault(blob.frame, []).append(blob)
    pieces: list[list[Blob]] = []
    alive: list[list[Blob]] = []
    for frame in sorted(by_frame):
        here = by_frame[frame]
        cost = np.array([[_link_cost(piece, blob) for blob in here] for piece in alive]).reshape(len(alive), len(here))
        linked = set()
        for row, column in zip(*linear_sum_assignment(cost), strict=True) if alive else ():
            if cost[row, column] < 1:
                alive[row].append(here[column])
                linked.add(column)
        fresh = [[blob] for column, blob in enumerate(here) if column not in linked]
        pieces += fresh
        alive = [piece for piece in alive if piece[-1].frame == frame] + fresh
    return pieces


def _link_cost(piece: list[Blob], blob: Blob) -> float:
    """Below one if the blob plainly is what the piece has followed so far."""
    last = piece[-1]
    predicted = np.array(last.centre)
    if len(piece) > 1:
        steps = blob.frame - last.frame
        predicted = predicted + steps * (predicted - np.array(piece[-2].centre)) / (last.frame - piece[-2].frame)
    away = min(np.hypot(*(np.array(blob.centre) - where)) for where in (predicted, np.array(last.centre)))
    reach = REACH * np.sqrt(max(blob.area, last.area) / np.pi)
    return float(min(max(away / reach, appearance_distance(_look(last), _look(blob))), 10))


def _look(blob: Blob) -> NDArray[np.float64]:
    return np.append(blob.colour, np.log(blob.area))


def appearance_distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """One if two looks are as unlike as two things are: by a quarter of full contrast, or 2.5 times the area."""
    colour = float(np.abs(one[:-1] - other[:-1]).max()) / 0.25
    area = abs(float(one[-1] - other[-1])) / np.log(2.5)
    return float(np.hypot(colour, area))


def _joined(pieces: list[MovingObject]) -> list[MovingObject]:
    """Pieces that look alike and are never seen together are one thing, seen again."""
    movers = sorted(pieces, key=lambda piece: -piece.weight)[:MOST_PIECES]
    looks, gone = [mover.appearance for mover in movers], set[int]()
    frames = [frozenset(mover.frames) for mover in movers]
    apart = np.full((len(movers), len(movers)), np.inf)
    for i in range(len(movers)):
        for j in range(i):
            apart[i, j] = np.inf if frames[i] & frames[j] else appearance_distance(looks[i], looks[j])
    while apart.size and apart.min() < SAME_LOOK:
        i, j = divmod(int(apart.argmin()), len(movers))
        movers[j] = MovingObject(tuple(sorted(movers[i].blobs + movers[j].blobs, key=lambda blob: blob.frame)))
        looks[j], frames[j], frames[i] = movers[j].appearance, frames[i] | frames[j], frozenset()
        apart[i, :] = apart[:, i] = np.inf
        gone.add(i)
        for k in range(len(movers)):
            if k != j and k not in gone:
                distance = np.inf if frames[k] & frames[j] else appearance_distance(looks[k], looks[j])
                apart[max(j, k), min(j, k)] = distance
    return [mover for k, mover in enumerate(movers) if k not in gone]


def _lasting(movers: list[MovingObject], frames: float) -> list[MovingObject]:
    """Without the flickers: what is hardly ever there, or too little beside the others."""
    often = [mover for mover in movers if len(mover.blobs) >= max(2, frames)]
    most = max((mover.weight for mover in often), default=0.0)
    return [mover for mover in often if mover.weight >= 0.02 * most]
