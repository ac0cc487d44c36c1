"""Trajectories of the zoo: for one object after the other, the candidate that overlaps the others as little as wanted.

All functions return positions in px. A scene fits if every object is whole and apart from the others often enough and
travels far enough; ``find_paths`` returns None where no candidate does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from withinpx.data.motion import Floats

Role = Literal["wanders", "crosses", "rests", "parked", "enters", "leaves"]

GAP = 5.0  # px between the boxes of objects that are apart
LEAST_APART = 0.3  # of the frames in which every object must be whole and apart from the others
LEAST_TRAVEL = 2.2  # of its size, while whole
CANDIDATES = 250
HARMONICS = 3  # of a wandering object's closed curve
CURVE_SAMPLES = 240  # of that curve
CROSSING = 0.12  # of the frames: how long an object that crosses overlaps the others
SLOWEST, FASTEST = 0.08, 1.0  # sizes per frame
COVERED = 0.75  # of the frame's shorter side: the least length of a trajectory that is not faster than FASTEST
RESTS: dict[str, tuple[float, float]] = {"rests": (0.2, 0.45), "parked": (0.6, 0.8)}  # of the clip


@dataclass(frozen=True)
class Extent:
    """An object as far as its trajectory depends on it."""

    size: float  # px at mid-height
    perspective: float  # how much larger it is at the bottom than at mid-height, as a fraction
    role: Role = "wanders"

    def sides(self, positions: Floats, height: int) -> Floats:
        """Its size at positions (..., 2)."""
        return np.asarray(self.size * growth(positions, height, self.perspective))


def growth(positions: Floats, height: int, perspective: float) -> Floats:
    """The scale of an object at positions (..., 2): 1 at mid-height."""
    return np.asarray(1 + perspective * np.clip(2 * positions[..., 1] / height - 1, -1, 1))


def find_paths(
    extents: Sequence[Extent], frames: int, width: int, height: int, random: np.random.Generator
) -> Floats | None:
    """A smooth trajectory for every object: (objects, frames, 2)."""
    chosen: list[Floats] = []
    sides: list[Floats] = []
    for extent in extents:
        candidates = _candidates(extent, frames, width, height, random)
        own = extent.sides(candidates, height)
        whole = is_whole(candidates, own, width, height)
        near = np.array([are_near(candidates, own, *other) for other in zip(chosen, sides, strict=True)])
        near = near.reshape(len(chosen), *own.shape)  # (others, candidates, frames)
        apart = (whole & ~near.any(axis=0)).mean(axis=1)
        fits = (apart >= LEAST_APART) & (_travel(candidates, whole) >= LEAST_TRAVEL * own.max(axis=1))
        fits &= _others_stay_apart(chosen, sides, near, width, height)
        if not fits.any():
            return None
        wanted = CROSSING if extent.role == "crosses" else 0.0
        misses = np.abs(near.any(axis=0).mean(axis=1) - wanted)
        best = int(np.argmin(np.where(fits, misses, np.inf)))
        chosen.append(candidates[best])
        sides.append(own[best])
    return np.stack(chosen)


def find_positions(
    extents: Sequence[Extent], frames: int, width: int, height: int, random: np.random.Generator
) -> Floats:
    """Independent positions in every frame, apart from each other where there is room: (objects, frames, 2)."""
    chosen: list[Floats] = []
    sides: list[Floats] = []
    for extent in extents:
        margin = extent.size * (1 + extent.perspective) / 2
        candidates = random.uniform(margin, np.array([width, height]) - margin, (CANDIDATES, frames, 2))
        own = extent.sides(candidates, height)
        near = np.zeros(own.shape, np.bool_)
        for other in zip(chosen, sides, strict=True):
            near |= are_near(candidates, own, *other)
        first, every = near.argmin(axis=0), np.arange(frames)
        chosen.append(candidates[first, every])
        sides.append(own[first, every])
    return np.stack(chosen)


def is_whole(positions: Floats, sides: Floats, width: int, height: int) -> NDArray[np.bool_]:
    """Is a square of these sides (...) around positions (..., 2) inside the frame?"""
    half = sides[..., None] / 2
    return np.asarray(((positions >= half) & (positions <= np.array([width, height]) - half)).all(axis=-1))


def are_near(positions: Floats, sides: Floats, others: Floats, other_sides: Floats) -> NDArray[np.bool_]:
    """Are the boxes of two objects less than GAP px apart? Broadcasts."""
    distance = np.abs(positions - others).max(axis=-1)
    return np.asarray(distance < (sides + other_sides) / 2 + GAP)


def _others_stay_apart(
    chosen: list[Floats], sides: list[Floats], near: NDArray[np.bool_], width: int, height: int
) -> NDArray[np.bool_]:
    """Which candidates leave every object before them whole and apart often enough: (candidates,)."""
    fits = np.ones(near.shape[1], np.bool_)
    for index, (path, side) in enumerate(zip(chosen, sides, strict=True)):
        free = is_whole(path, side, width, height)
        for other, (other_path, other_side) in enumerate(zip(chosen, sides, strict=True)):
            if other != index:
                free &= ~are_near(path, side, other_path, other_side)
        fits &= (free & ~near[index]).mean(axis=1) >= LEAST_APART
    return fits


def _travel(positions: Floats, whole: NDArray[np.bool_]) -> Floats:
    """The larger side of the box around the positions (candidates, frames, 2) where the object is whole."""
    low = np.where(whole[..., None], positions, np.inf).min(axis=1)
    high = np.where(whole[..., None], positions, -np.inf).max(axis=1)
    return np.asarray((high - low).max(axis=-1))


def _candidates(extent: Extent, frames: int, width: int, height: int, random: np.random.Generator) -> Floats:
    """Trajectories to choose from: (CANDIDATES, frames, 2)."""
    rest = random.uniform(*RESTS[extent.role]) if extent.role in RESTS else 0.0
    moving = (1 - rest) * frames
    slowest = max(SLOWEST * extent.size, 1.5 * LEAST_TRAVEL * extent.size / moving)
    covering = min(FASTEST * extent.size, COVERED * min(width, height) / moving)
    fastest = max(FASTEST * extent.size, slowest)
    logs = random.uniform(np.log(slowest), np.log(fastest), CANDIDATES)
    speeds = np.maximum(np.exp(logs), covering)[:, None]  # px per frame
    distances = speeds * _elapsed(frames, rest, random)
    if extent.role in ("enters", "leaves"):
        paths = _entering(distances, width, height, random)
        return paths if extent.role == "enters" else paths[:, ::-1]
    return _wandering(distances, width, height, extent.size * (1 + extent.perspective) / 2, random)


def _elapsed(frames: int, rest: float, random: np.random.Generator) -> Floats:
    """How long each candidate has moved at its mean speed: (CANDIDATES, frames). ``rest`` is a share of the clip."""
    time = np.arange(frames)
    period, phase = random.uniform(20, 80, (CANDIDATES, 1)), random.uniform(0, 2 * np.pi, (CANDIDATES, 1))
    steps = 1 + 0.4 * np.sin(2 * np.pi * time / period + phase)
    stop = random.uniform(0, 1 - rest, (CANDIDATES, 1)) * frames
    resting = (time >= stop) & (time < stop + rest * frames)
    return np.asarray(np.cumsum(np.where(resting, 0, steps), axis=1))


def _wandering(distances: Floats, width: int, height: int, margin: float, random: np.random.Generator) -> Floats:
    """Along random closed curves inside the frame, after these distances (candidates, frames)."""
    count = len(distances)
    orders = np.arange(1, HARMONICS + 1)
    strength = random.normal(size=(count, 2, HARMONICS, 1)) / orders[:, None]
    phase = random.uniform(0, 2 * np.pi, (count, 2, HARMONICS, 1))
    turns = np.linspace(0, 2 * np.pi, CURVE_SAMPLES)
    curves = (strength * np.sin(orders[:, None] * turns + phase)).sum(axis=2)  # (candidates, 2, samples)
    low, high = curves.min(axis=2, keepdims=True), curves.max(axis=2, keepdims=True)
    room = np.maximum(np.array([width, height]) - 2 * margin, 0)[:, None]
    extent = random.uniform(0.4, 1, (count, 2, 1)) * room
    start = margin + random.random((count, 2, 1)) * (room - extent)
    curves = start + extent * (curves - low) / (high - low)
    lengths = np.cumsum(np.hypot(*np.diff(curves, axis=2, prepend=curves[..., :1]).swapaxes(0, 1)), axis=1)
    paths = np.empty((*distances.shape, 2))
    for path, curve, length, distance in zip(paths, curves, lengths, distances, strict=True):
        for axis in range(2):
            path[:, axis] = np.interp(distance % length[-1], length, curve[axis])
    return paths


def _entering(distances: Floats, width: int, height: int, random: np.random.Generator) -> Floats:
    """In gentle arcs over a border of the frame into it, after these distances (candidates, frames)."""
    count, frames = distances.shape
    entry, target = (random.uniform(0.1, 0.9, (count, 2)) for _ in range(2))
    border = random.integers(4, size=count)  # left, top, right, bottom
    entry[np.arange(count), border % 2] = border // 2
    sides = np.array([width, height])
    aim_x, aim_y = ((target - entry) * sides).T
    entering = (random.uniform(0.05, 0.4, count) * frames).astype(int)
    travelled = distances - distances[np.arange(count), entering][:, None]
    bend = random.uniform(-0.5, 0.5, (count, 1)) / (width + height)  # radians per px
    heading = np.arctan2(aim_y, aim_x)[:, None] + bend * np.maximum(travelled, 0)
    steps = np.diff(travelled, axis=1, prepend=travelled[:, :1])[..., None]
    paths = np.cumsum(steps * np.stack([np.cos(heading), np.sin(heading)], axis=-1), axis=1)
    start = (entry * sides)[:, None]
    return np.asarray(paths - paths[np.arange(count), entering][:, None] + start)
