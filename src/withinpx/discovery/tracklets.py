"""From detections to objects: linked from frame to frame, then joined over gaps by motion and appearance."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from withinpx.discovery.objects import Blob, MovingObject, appearance_distance, merged

REACH = 3.0  # radii that an object may move from one frame to the next
AT_REST = 0.25  # radii that an object at rest may seem to move
MOST_TRACKLETS = 400  # the longest; the others are noise
NEW_OBJECT = 1.0  # what another object costs, in units of appearance_distance
SMALLEST_TRAVEL = 0.25  # of its size, and
SMALLEST_TRAVEL_PX = 2.0  # what travels less is stationary
AT_ONCE = 3  # frames: one tracklet continues the other within this gap
OVERLAP = 3  # frames: an object that breaks into pieces is seen twice for less
STEADY = 5  # frames from which a velocity is measured
LONG_GAP = 50  # frames: beyond, the length of a gap says nothing more
FORBIDDEN = 1e3


@dataclass(frozen=True)
class Links:
    """Objects made of tracklets, and what their links cost."""

    objects: tuple[MovingObject, ...]
    cost: float  # sum over all links, in units of a new object


def find_tracklets(detections: list[list[Blob]]) -> list[MovingObject]:
    """Objects as far as they can be followed from frame to frame. ``detections`` are those of each frame."""
    tracklets: list[list[Blob]] = []
    active: list[list[Blob]] = []
    for frame, blobs in enumerate(detections):
        linked = set()
        if active and blobs:
            cost = _link_cost(active, blobs)
            for row, column in zip(*linear_sum_assignment(cost), strict=True):
                if cost[row, column] < 1:
                    active[row].append(blobs[column])
                    linked.add(column)
        new = [[blob] for column, blob in enumerate(blobs) if column not in linked]
        tracklets += new
        active = [tracklet for tracklet in active if frame - tracklet[-1].frame < AT_ONCE] + new
    longest = sorted((tuple(tracklet) for tracklet in tracklets), key=len, reverse=True)[:MOST_TRACKLETS]
    return [MovingObject(blobs) for blobs in sorted(longest, key=lambda blobs: blobs[0].frame)]


def _link_cost(tracklets: list[list[Blob]], blobs: list[Blob]) -> NDArray[np.float64]:
    """Below one where a blob continues a tracklet: near its last or its predicted position, with its appearance."""
    last = [tracklet[-1] for tracklet in tracklets]
    before = [tracklet[-2] if len(tracklet) > 1 else tracklet[-1] for tracklet in tracklets]
    elapsed = np.array([max(1, one.frame - other.frame) for one, other in zip(last, before, strict=True)])[:, None]
    ahead = np.array([blobs[0].frame - blob.frame for blob in last])[:, None]
    position, previous, centres = (np.array([blob.centre for blob in some]) for some in (last, before, blobs))
    predicted = position + ahead * (position - previous) / elapsed
    away = np.minimum(*(np.hypot(*(centres - start[:, None]).T).T for start in (predicted, position)))
    radii = np.where(ahead == 1, REACH, AT_REST)  # after a gap only what rests is surely the same
    reach = radii * np.sqrt(np.maximum.outer([blob.area for blob in last], [blob.area for blob in blobs]) / np.pi)
    one, other = (np.array([blob.appearance for blob in some]) for some in (last, blobs))
    return np.asarray(np.minimum(np.maximum(away / reach, appearance_distance(one[:, None], other)), 10))


def objects_from(tracklets: list[MovingObject], size: tuple[int, int], least: float) -> Links:
    """Objects of a clip (``size``: width, height), and what is seen in fewer than ``least`` frames.

    Tracklets are joined within reach first: a flicker here and another there are no object. Of what is then seen often
    enough, tracklets are joined wherever they are, for an object may have been missed on its way.
    """
    near = _paths(tracklets, _join_cost(tracklets, size, np.zeros(len(tracklets), np.bool_)))
    wholes = [(path, merged([tracklets[index] for index in path])) for path in near]
    often = {index: moves(whole) for path, whole in wholes if len(whole.blobs) >= least for index in path}
    kept = [tracklets[index] for index in sorted(often)]
    cost = _join_cost(kept, size, np.array([often[index] for index in sorted(often)], np.bool_))
    far = _paths(kept, cost)
    objects = [merged([kept[index] for index in path]) for path in far] + [
        whole for _, whole in wholes if len(whole.blobs) < least
    ]
    return Links(tuple(objects), sum(float(cost[one, other]) for path in far for one, other in pairwise(path)))


def _paths(tracklets: list[MovingObject], cost: NDArray[np.float64]) -> list[list[int]]:
    """As few objects as explain the tracklets: each is a path through them over time.

    What is seen at two positions in one frame is two objects, since paths never overlap in time. What looks alike and
    is never seen twice in a frame is one, since a link costs less than a new object. The cheapest paths are an
    assignment of the end of each tracklet to the start of another.
    """
    count = len(tracklets)
    if not count:
        return []
    rows, columns = linear_sum_assignment(np.hstack([cost, np.full((count, count), NEW_OBJECT)]))
    follows = {int(row): int(column) for row, column in zip(rows, columns, strict=True) if column < count}
    paths = []
    for first in sorted(set(range(count)) - set(follows.values())):
        path = [first]
        while path[-1] in follows:
            path.append(follows[path[-1]])
        paths.append(path)
    return paths


def _join_cost(tracklets: list[MovingObject], size: tuple[int, int], certain: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What it costs to continue one tracklet (row) with another (column): FORBIDDEN if it cannot.

    The appearances of the whole tracklets must be alike, or those of the ends that meet if one continues the other at
    once. The object must have been able to move there at its own speed, or to leave and enter over the border; but one
    that is certainly an object may be seen again anywhere. The further away in space and time, the higher the cost, so
    that look-alikes are not swapped.
    """
    if not tracklets:
        return np.empty((0, 0))
    first, last = ([one.blobs[index] for one in tracklets] for index in (0, -1))
    start, end = (np.array([blob.appearance for blob in some]) for some in (first, last))
    whole = np.array([one.appearance for one in tracklets])
    gap = np.array([blob.frame for blob in first]) - np.array([blob.frame for blob in last])[:, None]
    starts, ends = (np.array([blob.centre for blob in some]) for some in (first, last))
    before, after = (np.array([_velocity(one, end) for one in tracklets]) for end in (0, -1))
    elapsed = np.maximum(gap, 1)[..., None]
    between = starts - ends[:, None]
    predicted = between - 0.5 * elapsed * (before + after[:, None])  # as both velocities together predict
    away = np.minimum(*(np.hypot(*np.moveaxis(one, -1, 0)) for one in (between, predicted)))
    radius = np.sqrt(np.array([blob.area for blob in last]) / np.pi)
    speed = np.array([_speed(one) for one in tracklets])
    reach = REACH * radius[:, None] + np.maximum.outer(speed, speed) * np.maximum(gap, 1)
    away = np.where(np.logical_and.outer(_at_border(last, size), _at_border(first, size)), 0.5 * reach, away)
    apart = appearance_distance(whole[:, None], whole)
    at_once = gap <= AT_ONCE
    apart = np.where(at_once, np.minimum(apart, 0.5 * appearance_distance(end[:, None], start)), apart)
    cost = 0.7 * apart + 0.2 * np.minimum(away / reach, 1) + 0.1 * np.minimum(gap / LONG_GAP, 1)
    far = np.logical_and.outer(certain, certain)
    possible = (apart < NEW_OBJECT) & (((gap > -OVERLAP) & (away < reach)) | ((gap >= 1) & far))
    possible = np.triu(possible, 1)  # tracklets are in the order of their first frames
    return np.where(possible, cost, FORBIDDEN)


def moves(tracklet: MovingObject) -> bool:
    """Does it leave its position?"""
    return tracklet.displacement >= max(SMALLEST_TRAVEL_PX, SMALLEST_TRAVEL * tracklet.sizes[0])


def _velocity(tracklet: MovingObject, end: int) -> NDArray[np.float64]:
    """At its start (0) or its end (-1), px per frame."""
    blobs = tracklet.blobs[:STEADY] if end == 0 else tracklet.blobs[-STEADY:]
    if len(blobs) < 2:
        return np.zeros(2)
    return (np.array(blobs[-1].centre) - blobs[0].centre) / (blobs[-1].frame - blobs[0].frame)


def _speed(tracklet: MovingObject) -> float:
    """The fastest of its usual steps, px per frame."""
    if len(tracklet.blobs) < 2:
        return 0.0
    return float(np.quantile(np.hypot(*np.diff(tracklet.centres, axis=0).T), 0.9))


def _at_border(blobs: list[Blob], size: tuple[int, int]) -> NDArray[np.bool_]:
    boxes = np.array([blob.box for blob in blobs])
    return np.asarray((boxes[:, :2] <= 1).any(axis=1) | (boxes[:, 2:] >= np.array(size) - 1).any(axis=1))
