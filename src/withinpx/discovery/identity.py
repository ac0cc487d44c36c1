"""Detections of objects that look alike, linked from frame to frame: proved links, and guesses with a probability."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2
from scipy.optimize import linear_sum_assignment

from withinpx.theory.identity import at_border, gaps, proved_links

STEPS = 1.5  # times the usual largest step, an object is assumed to step at most
USUAL = 0.99  # quantile of the steps seen
CLEAR = 2.0  # times as far away as the nearest, the next must be for a step to be measured
PATIENCE = 30  # frames that an object may be out of sight and still be followed
SMOOTH = 0.5  # weight of the last step in a velocity
FAR = 1e6  # px: a link that is not allowed
UNSURE = 0.25  # of the object's size, at least, a prediction may be off

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Detections:
    """Regions of a recording, in px of it; the rows are in the order of their frames."""

    frame: NDArray[np.int64]  # (v,), index of the frame
    position: Array  # (v, 2)
    bound: Array  # (v,), NaN where the position is not certified
    box: Array  # (v, 4): left, top, right, bottom of the region
    several: NDArray[np.bool_]  # (v,): objects that touch
    one: NDArray[np.bool_]  # (v,): is it seen to be one object, by a feasible set? The theorem alone does not say so
    pixels: Sequence[Array]  # (k, 2) of each region that is several objects, else empty
    usual_area: float  # of one object, px

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def reach(self) -> Array:
        """The box that holds the object's centre: (v, 4)."""
        known = np.concatenate([self.position - self.bound[:, None], self.position + self.bound[:, None]], axis=1)
        return np.where(np.isnan(self.bound)[:, None], self.box, known)

    @property
    def size(self) -> float:
        return float(np.sqrt(self.usual_area))


@dataclass(frozen=True, eq=False)
class Links:
    """One row per object and frame in which it is thought to be."""

    detection: NDArray[np.int64]  # (r,)
    object: NDArray[np.int64]  # (r,)
    position: Array  # (r, 2)
    proved: Array  # (r,): 1 if it is proved to be the object of the frame before, 0 if not, NaN in its first frame
    probability: Array  # (r,) of the guess, NaN where the link is proved or there is none
    hides: NDArray[np.bool_]  # (v,), of each detection: may it hold an object that is seen nowhere else?
    objects: int
    step_px: float


@dataclass
class _Path:
    """An object while it is followed."""

    number: int
    position: Array
    velocity: Array = field(default_factory=lambda: np.zeros(2))
    frame: int = 0

    def predicted(self, frame: int) -> Array:
        return np.asarray(self.position + self.velocity * (frame - self.frame))

    def move(self, position: Array, frame: int, *, steady: bool = False) -> None:
        """``steady``: the position is a guess that says nothing about the velocity."""
        if not steady:
            last = (position - self.position) / max(1, frame - self.frame)
            self.velocity = SMOOTH * last + (1 - SMOOTH) * self.velocity
        self.position, self.frame = position, frame


def usual_step(found: Detections) -> float:
    """What an object is assumed to step at most along an axis, from steps between detections with no other nearby.

    It is measured from links that are not proved, so it stays an assumption: the certificate states it.
    """
    steps = []
    for before, after in _pairs(found):
        apart = np.abs(found.position[before][:, None] - found.position[after][None]).max(axis=-1)
        nearest, back = apart.argmin(axis=1), apart.argmin(axis=0)
        for row, column in enumerate(nearest):
            others = np.concatenate([np.delete(apart[row], column), np.delete(apart[:, column], row)])
            if back[column] == row and (not len(others) or others.min() > CLEAR * apart[row, column]):
                steps.append(float(apart[row, column]))
    return STEPS * float(np.quantile(steps, USUAL)) if steps else 0.0


def link(found: Detections, width: int, height: int, step_px: float) -> Links:
    """Follow every object through the recording, and prove the links that can be."""
    follower = _Follower(found, step_px)
    for here in _by_frame(found.frame):
        follower.follow(here)
    rows = follower.rows
    detection, number = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    position = np.array([row[2] for row in rows], np.float64).reshape(-1, 2)
    hides = _may_hold_another(found, detection, number, (width, height), step_px)
    proved = _proved(found, detection, number, (width, height), step_px, hides=hides)
    probability = np.where(proved == 1, np.nan, np.array([row[3] for row in rows], np.float64))
    return Links(detection, number, position, proved, probability, hides, follower.count, step_px)


def _by_frame(frame: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """The indices of each frame's detections, frame by frame."""
    order = np.argsort(frame, kind="stable")
    starts = np.flatnonzero(np.diff(frame[order])) + 1
    return np.split(order, starts) if len(order) else []


def _pairs(found: Detections) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The detections of one object each in every two consecutive frames that have any."""
    alone = np.flatnonzero(~found.several)
    of_frame = {frame: alone[found.frame[alone] == frame] for frame in np.unique(found.frame[alone]).tolist()}
    return [(own, of_frame[frame + 1]) for frame, own in of_frame.items() if frame + 1 in of_frame]


class _Follower:
    """Follows objects from frame to frame: first those seen by themselves, then those that share a region."""

    def __init__(self, found: Detections, step_px: float) -> None:
        self._found, self._step_px = found, step_px
        self._paths: list[_Path] = []
        self.rows: list[tuple[int, int, Array, float]] = []  # detection, object, position, probability
        self.count = 0

    def follow(self, here: NDArray[np.intp]) -> None:
        """The detections of the next frame."""
        found, frame = self._found, int(self._found.frame[here[0]])
        self._paths = [path for path in self._paths if frame - path.frame <= PATIENCE]
        alone, touching = here[~found.several[here]], here[found.several[here]]
        continued = self._continue(alone, frame)
        for detection in touching.tolist():
            self._share(detection, frame)
        for detection in np.setdiff1d(alone, continued).tolist():
            self._begin(found.position[detection], frame, detection)

    def _begin(self, position: Array, frame: int, detection: int) -> None:
        self._paths.append(_Path(self.count, position, frame=frame))
        self.rows.append((detection, self.count, position, np.nan))
        self.count += 1

    def _continue(self, alone: NDArray[np.intp], frame: int) -> list[int]:
        """Continue paths with the detections nearest to where they are expected, or were; which were used."""
        paths, found = self._paths, self._found
        if not paths or not len(alone):
            return []
        expected, last = (
            np.array(places) for places in zip(*((path.predicted(frame), path.position) for path in paths), strict=True)
        )
        elapsed = np.array([[frame - path.frame] for path in paths], np.float64)
        places = found.position[alone][None]
        moved = np.abs(places - last[:, None]).max(axis=-1)
        off = np.minimum(np.linalg.norm(places - expected[:, None], axis=-1), moved)
        allowed = moved <= self._step_px * elapsed + found.size
        likely = np.where(allowed, np.exp(-0.5 * (off / max(UNSURE * found.size, 1e-9)) ** 2), 0)
        used = []
        for row, column in zip(*linear_sum_assignment(np.where(allowed, off, FAR)), strict=True):
            if allowed[row, column]:
                detection, rivals = int(alone[column]), max(likely[row].sum(), likely[:, column].sum(), 1e-12)
                position = found.position[detection]
                self.rows.append((detection, paths[row].number, position, float(likely[row, column] / rivals)))
                paths[row].move(position, frame)
                used.append(detection)
        return used

    def _share(self, detection: int, frame: int) -> None:
        """Share a region of several objects among the paths that are expected in it and were not continued.

        Positions are guesses: the means of the pixels that are nearest to each. Paths that were lost before share it if
        it has room for them. If none can be there, so many begin as it has room for.
        """
        found = self._found
        box, pixels = found.box[detection], found.pixels[detection]
        room = max(1, round(len(pixels) / found.usual_area))
        waiting = [path for path in self._paths if path.frame < frame]
        inside = [path for path in waiting if _is_within(path.predicted(frame), box, found.size / 2)]
        if not inside:  # it is not where it was expected
            steps = [found.size + self._step_px * (frame - path.frame) for path in waiting]
            inside = [path for path, far in zip(waiting, steps, strict=True) if _is_within(path.position, box, far)]
        latest = [path for path in inside if path.frame == frame - 1]
        inside = latest + [path for path in inside if path.frame < frame - 1][: max(0, room - len(latest))]
        if not inside:
            for centre in _means(pixels, room):
                self._begin(centre, frame, detection)
            return
        start = np.array([path.predicted(frame) for path in inside])
        for path, centre in zip(inside, _means(pixels, len(inside), start), strict=True):
            self.rows.append((detection, path.number, centre, 1.0 / len(inside)))
            path.move(centre, frame, steady=True)


def _is_within(point: Array, box: Array, beyond: float) -> bool:
    """Is a point in a box, or less far from it along each axis?"""
    return bool(((point >= box[:2] - beyond) & (point <= box[2:] + beyond)).all())


def _means(pixels: Array, count: int, start: Array | None = None) -> Array:
    """Pixels shared among so many centres, each the mean of those nearest to it."""
    if count == 1 or len(pixels) <= count:
        return np.repeat(pixels.mean(axis=0)[None], count, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a centre to which no pixel is nearest stays where it is
        if start is None:
            return np.asarray(kmeans2(pixels, count, minit="++", rng=0)[0])
        return np.asarray(kmeans2(pixels, start, minit="matrix")[0])


def _proved(
    found: Detections,
    detection: NDArray[np.int64],
    number: NDArray[np.int64],
    size: tuple[int, int],
    step_px: float,
    *,
    hides: NDArray[np.bool_],
) -> Array:
    """1 where a row is proved to be the same object as that object's row of the frame before, 0 where not."""
    proved = np.full(len(detection), np.nan)
    reach = found.reach
    doors = _doors(found, detection, number, size, step_px)
    hidden = at_border(reach, step_px, *size)
    if len(doors):
        hidden |= (gaps(reach, doors) <= step_px).any(axis=1)
    sure = found.one & ~found.several & ~hides
    frames = _by_frame(found.frame)
    links: set[tuple[int, int]] = set()
    for before, after in pairwise(frames):
        if found.frame[after[0]] != found.frame[before[0]] + 1:
            continue
        possible = proved_links(reach[before], reach[after], step_px, hidden[before], hidden[after])
        possible &= sure[before][:, None] & sure[after][None]
        links |= {(int(before[row]), int(after[column])) for row, column in zip(*np.nonzero(possible), strict=True)}
    last: dict[int, int] = {}
    for row in np.argsort(found.frame[detection], kind="stable").tolist():
        own, known = int(number[row]), int(detection[row])
        if own in last:
            proved[row] = float((last[own], known) in links)
        last[own] = known
    return proved


def _may_hold_another(
    found: Detections, detection: NDArray[np.int64], number: NDArray[np.int64], size: tuple[int, int], step_px: float
) -> NDArray[np.bool_]:
    """Which detections (v,) may hold an object that was seen by itself before, did not leave, and is not seen now.

    One that passes under another is in the other's region, which need not be larger than one object. It is assumed to
    be seen again within PATIENCE frames.
    """
    reach, flagged = found.reach, np.zeros(len(found), np.bool_)
    inner = ~at_border(reach, step_px + found.size / 2, *size)
    shown: dict[int, dict[int, int]] = {}  # frame -> object -> its detection
    for known, own in zip(detection.tolist(), number.tolist(), strict=True):
        shown.setdefault(int(found.frame[known]), {})[own] = known
    missing: dict[int, Array] = {}  # object -> the boxes in which it may be
    before: dict[int, int] = {}  # object -> its last detection, unless it is not sought any more
    known_numbers, by_itself = set[int](), set[int]()
    for here in _by_frame(found.frame):
        frame = int(found.frame[here[0]])
        now = shown.get(frame, {})
        for own in before.keys() - now.keys() - missing.keys():
            if own in by_itself and inner[before[own]]:
                missing[own] = reach[before[own]][None]
        for own in list(missing):
            if own in now:
                del missing[own]
            elif frame - found.frame[before[own]] > PATIENCE:
                del missing[own], before[own]
        born = [known for own, known in now.items() if own not in known_numbers]
        for known in born:  # seen again, under another number: nothing begins away from the border
            away = {own: float(gaps(boxes, reach[[known]]).min()) for own, boxes in missing.items()}
            nearest = min(away, key=away.__getitem__, default=None)
            if nearest is not None and (away[nearest] <= step_px or (found.one[known] and inner[known])):
                del missing[nearest], before[nearest]
        for own, boxes in missing.items():
            near = here[(gaps(boxes, reach[here]) <= step_px).any(axis=0)]
            if len(near):
                flagged[near] = True
                missing[own] = reach[near]
        before |= now
        known_numbers |= now.keys()
        by_itself |= {own for own, known in now.items() if not found.several[known]}
    return flagged


def _doors(
    found: Detections, detection: NDArray[np.int64], number: NDArray[np.int64], size: tuple[int, int], step_px: float
) -> Array:
    """Where objects vanish or appear away from the border: the boxes of such detections, (k, 4)."""
    reach = found.reach
    inner = ~at_border(reach, step_px + found.size / 2, *size)
    first, last = int(found.frame.min(initial=0)), int(found.frame.max(initial=0))
    doors = []
    for own in np.unique(number).tolist():
        rows = np.flatnonzero(number == own)
        rows = rows[np.argsort(found.frame[detection[rows]], kind="stable")]
        begins, ends = int(detection[rows[0]]), int(detection[rows[-1]])
        if found.frame[begins] > first and inner[begins]:
            doors.append(reach[begins])
        if found.frame[ends] < last and inner[ends]:
            doors.append(reach[ends])
    return np.array(doors).reshape(-1, 4)
