"""Hypotheses about what moves in a clip: how many objects, and which detections are which object."""

from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from withinpx.discovery.background import BackgroundModel
from withinpx.discovery.objects import STANDS_OUT, Blob, MovingObject, appearance_distance, merged
from withinpx.discovery.tracklets import AT_ONCE, find_tracklets, moves, objects_from

OFTEN = 0.1  # of the frames: what another object costs, so one that is seen less often is a flicker
FOLLOWED = 3  # frames: shorter tracklets are noise, unless nothing can be followed
TOGETHER = 0.8  # of its frames: a part or a shadow is seen with its object so often, and
CONSTANT = 0.25  # of the object's size: a part's offset varies by less
NEAR = 0.5  # of the object's size: how far a part is away
FRAGMENT = 0.35  # of the object's area: a smaller part may move about on it
SHADOW_SIZES = 2.0  # object sizes: how far its shadow is away
SHADED = 0.6  # of its pixels: a shadow looks like darker background
IN_STEP = 0.3  # of its own motion: a shadow's position follows from its object's to within this
MOST_HYPOTHESES = 12  # that are kept

LOOKS_LIKE = 2.0  # of appearance_distance: with a given number of objects, what is nearer is joined and not dropped

NAMES = {
    "part": "a part{of}, seen in {frames} frames, is an object of its own",
    "shadow": "what looks like the shadow{of} is an object of its own",
    "seldom": "something seen in only {frames} frames is an object too",
    "overlap": "what looks like an overlap of others, seen in {frames} frames, is an object of its own",
}
Role = Literal["object", "part", "shadow", "overlap", "stationary", "seldom"]


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """What moves in a clip, perhaps. The certificate decides between hypotheses; the score says which to try first."""

    background: BackgroundModel
    objects: tuple[MovingObject, ...]  # the most prominent first
    unordered: bool  # are objects matched by appearance alone, not followed from frame to frame?
    explained: float  # share of all detections that its objects explain, from 0 to 1
    score: float  # what it explains less what it costs: the higher, the earlier it is tried
    why: str  # what it takes for an object, for people


@dataclass(frozen=True, eq=False)
class Candidate:
    """Something that was followed, and what it is taken for."""

    path: MovingObject  # with its parts
    role: Role
    of: int | None = None  # the candidate that it is a part or the shadow of
    alone: MovingObject | None = None  # without its parts, if it has any


def ordered_hypotheses(
    detections: list[list[Blob]], background: BackgroundModel, count: int | None = None
) -> tuple[list[Hypothesis], list[MovingObject]]:
    """Hypotheses in which objects are followed from frame to frame; and what changes without moving.

    With ``count`` every hypothesis has so many objects, or as many as there are candidates for.
    """
    frames = len(detections)
    followed = (one for one in find_tracklets(detections) if len(one.blobs) >= min(FOLLOWED, frames))
    tracklets = [one for one in followed if one.strength > STANDS_OUT or len(one.blobs) > frames / 2]
    size = background.threshold.shape[1], background.threshold.shape[0]
    links = objects_from(tracklets, size, max(FOLLOWED, OFTEN * frames))
    candidates = judged(list(links.objects), frames)
    stationary = [one.path for one in candidates if one.role == "stationary"]
    total = max(1, sum(len(one.blobs) for one in tracklets))

    def hypothesis(choice: Choice) -> Hypothesis:
        explained = sum(len(one.path.blobs) for one in candidates if _is_explained(one, choice, candidates)) / total
        score = explained - OFTEN * frames * (len(choice.chosen) + links.cost + choice.cost) / total
        objects = tuple(sorted((one.path for one in choice.chosen), key=lambda obj: -obj.weight))
        return Hypothesis(background, objects, False, explained, score, choice.why)

    best = [one for one in candidates if one.role == "object"]
    others = [one for one in candidates if one.role in ("part", "shadow", "seldom", "overlap")]
    first = Choice(tuple(best), f"{len(best)} followed from frame to frame")
    choices = [first, *alternatives(first, others, candidates)]
    if count is not None:
        choices = with_count(choices, candidates, count)
    return [hypothesis(choice) for choice in choices if choice.chosen], stationary


@dataclass(frozen=True)
class Choice:
    """A hypothesis before it has a score: which candidates are the objects, and why."""

    chosen: tuple[Candidate, ...]
    why: str
    cost: float = 0.0  # of links that the candidates do not have, in units of a new object


def alternatives(first: Choice, others: list[Candidate], candidates: list[Candidate]) -> list[Choice]:
    """Choices that differ in one respect: one object more, one less, or two that are one."""
    best = first.chosen
    number = {id(one): index for index, one in enumerate(sorted(best, key=lambda one: -one.path.weight))}
    choices = []
    for one in others:
        whole = None if one.of is None else candidates[one.of]
        kept = tuple(_without_parts(other) if other is whole and one.role == "part" else other for other in best)
        of = f" of object {number[id(whole)]}" if id(whole) in number else ""
        choices.append(Choice((*kept, one), NAMES[one.role].format(of=of, frames=len(one.path.blobs))))
    for one in best if len(best) > 1 else ():
        left = tuple(other for other in best if other is not one)
        choices.append(Choice(left, f"object {number[id(one)]} left out"))
    for one, other in combinations(best, 2):
        if not set(one.path.frames) & set(other.path.frames):
            apart = float(appearance_distance(one.path.appearance, other.path.appearance))
            whole = Candidate(merged([one.path, other.path]), "object")
            rest = tuple(some for some in best if some not in (one, other))
            why = f"objects {number[id(one)]} and {number[id(other)]}, never seen together, are one"
            choices.append(Choice((*rest, whole), why, apart))
    return choices


def with_count(choices: list[Choice], candidates: list[Candidate], count: int) -> list[Choice]:
    """Choices with so many objects: those that have them, and the first one filled up or reduced."""
    first = choices[0]
    chosen, cost = list(first.chosen), 0.0
    spare = sorted((one for one in candidates if one not in chosen), key=lambda one: -len(one.path.blobs))
    chosen += spare[: max(0, count - len(chosen))]
    while len(chosen) > count:
        least = min(chosen, key=lambda one: len(one.path.blobs))
        apart = {
            other: float(appearance_distance(least.path.appearance, other.path.appearance))
            for other in chosen
            if other is not least and not set(other.path.frames) & set(least.path.frames)
        }
        chosen.remove(least)
        if apart and min(apart.values()) < LOOKS_LIKE:  # rather a second sight of another object than none
            nearest = min(apart, key=apart.__getitem__)
            chosen[chosen.index(nearest)] = Candidate(merged([nearest.path, least.path]), "object")
            cost += apart[nearest]
    found = f"{len(chosen)} object{'s' * (len(chosen) != 1)}"
    why = f"{found}, the number given" if len(chosen) == count else f"{found}, no more were found"
    exact = Choice(tuple(chosen), why, cost)
    return [exact, *(choice for choice in choices if len(choice.chosen) == count)]


def _without_parts(one: Candidate) -> Candidate:
    return one if one.alone is None else replace(one, path=one.alone)


def _is_explained(one: Candidate, choice: Choice, candidates: list[Candidate]) -> bool:
    if one.role == "overlap" or one in choice.chosen or (one.of is not None and candidates[one.of] in choice.chosen):
        return True
    detections = (one.alone or one.path).places
    return any(detections <= other.path.places for other in choice.chosen)


def judged(paths: list[MovingObject], frames: int) -> list[Candidate]:
    """What each path is, the most prominent first; parts are joined to their objects."""
    paths = sorted(paths, key=lambda path: -path.weight)
    candidates: list[Candidate] = []
    for path in paths:
        role, of = _role(path, candidates, frames)
        candidates.append(Candidate(path, role, of))
        if role == "part" and of is not None:
            whole = candidates[of]
            candidates[of] = replace(whole, path=with_part(whole.path, path), alone=whole.alone or whole.path)
    for index, one in enumerate(candidates):  # once more, now that the larger ones have all their parts
        if one.role == "object":
            role, of = _role(one.path, candidates[:index], frames)
            candidates[index] = replace(one, role=role, of=of)
    objects = [one.path for one in candidates if one.role == "object"]
    return [
        replace(one, role="overlap") if one.role == "object" and is_overlap(one.path, objects) else one
        for one in candidates
    ]


def is_overlap(path: MovingObject, objects: list[MovingObject]) -> bool:
    """Is it two or more of the others in one detection? Then they are missed where it is seen."""
    frames, boxes = np.array(path.frames), path.boxes
    hidden = np.zeros(len(frames), int)
    for other in objects:
        seen = np.array(other.frames)
        if other is path or len(seen) < len(frames):
            continue
        x, y = (np.interp(frames, seen, other.centres[:, axis]) for axis in (0, 1))
        inside = (x > boxes[:, 0]) & (x < boxes[:, 2]) & (y > boxes[:, 1]) & (y < boxes[:, 3])
        hidden += inside & ~np.isin(frames, seen)
    return bool(hidden.mean() > 1)


def seen_moving(path: MovingObject) -> bool:
    """Does it move while it is followed? What flickers here and there does not."""
    breaks = np.flatnonzero(np.diff(path.frames) > AT_ONCE) + 1
    ends = [0, *breaks.tolist(), len(path.blobs)]
    return any(moves(MovingObject(path.blobs[start:end])) for start, end in pairwise(ends))


def with_part(one: MovingObject, part: MovingObject) -> MovingObject:
    """The object with the detections of its part, in the frames in which it is seen itself."""
    seen = set(one.frames)
    return merged([one, MovingObject(tuple(blob for blob in part.blobs if blob.frame in seen))])


def _role(path: MovingObject, larger: list[Candidate], frames: int) -> tuple[Role, int | None]:
    """What a path is, given those that are more prominent."""
    for index, other in enumerate(larger):
        if other.role == "object" and (kind := _belongs(path, other.path)):
            return kind, index
    if not seen_moving(path):
        return "stationary", None
    if len(path.blobs) < max(FOLLOWED, OFTEN * frames):
        return "seldom", None
    return "object", None


def _belongs(path: MovingObject, to: MovingObject) -> Literal["part", "shadow"] | None:
    """Is it a part or the shadow of another object, which is seen whenever it is and moves with it?"""
    _, here, there = np.intersect1d(path.frames, to.frames, assume_unique=True, return_indices=True)
    if len(here) < TOGETHER * len(path.blobs):
        return None
    size = float(np.median(to.values("size")[there]))
    gaps = _gaps(path.boxes[here], to.boxes[there])
    near = float(np.mean(gaps < NEAR * size)) > TOGETHER
    shaded, tinted = (float(np.median(path.values(name)[here])) for name in ("shaded", "tinted"))
    if not near and shaded <= SHADED:
        return None
    own, other = path.centres[here], to.centres[there]
    spread = np.abs((own - other) - np.median(own - other, axis=0)).max(axis=-1)
    smaller = np.median(path.values("area")[here] / to.values("area")[there]) < FRAGMENT
    if near and (smaller or np.quantile(spread, TOGETHER) < CONSTANT * size):
        return "part"
    if shaded > SHADED and (tinted > SHADED or (np.median(gaps) < SHADOW_SIZES * size and _follows(own, other))):
        return "shadow"
    return None


def _gaps(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between pairs of boxes (k, 4), px; zero if they overlap."""
    apart = np.maximum(other[:, :2] - one[:, 2:], one[:, :2] - other[:, 2:]).clip(0)
    return np.asarray(np.hypot(apart[:, 0], apart[:, 1]))


def _follows(own: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Is one position an affine function of the other, as a shadow's is on a plane?"""
    if len(own) < 8:
        return False
    known = np.column_stack([other, np.ones(len(other))])
    fitted = known @ np.linalg.lstsq(known, own, rcond=None)[0]
    motion = float(np.std(own, axis=0).max())
    return float(np.sqrt(np.mean((own - fitted) ** 2, axis=0)).max()) < IN_STEP * motion
