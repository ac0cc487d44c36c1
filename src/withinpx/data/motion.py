"""Trajectories of generated objects: box centres in pixels, each a function of a seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from withinpx.errors import InputError

Floats = NDArray[np.float64]
Path2D = Floats  # (frames, 2): x, y of an object's box centre, px
Size = tuple[float, float]  # width, height of the image, px

TURN_FRAMES = 70  # a wandering object goes there and back in about this many frames
CANDIDATES = 60  # target curves to choose from, so that little steering is needed
STEPS = 6  # of the steering simulation per frame
WARM_UP = 30  # frames simulated before the first one, so that objects start apart and in motion
PULL = 0.04  # towards the target position, per frame²
DAMPING = 0.4  # of the difference from the target velocity, per frame
SMOOTHING = 1.5  # frames, to round off contacts with borders and other objects
PUSH = 1.0  # between touching objects, px per frame²


def smooth_paths(
    count: int, frames: int, size: Size, margin: float, seed: int, *, apart: float = 24, avoid: Sequence[Path2D] = ()
) -> Floats:
    """``count`` smooth curves over the whole image that keep a distance from each other: (count, frames, 2).

    Each object is steered along a target curve, and away from its neighbours and from the paths to ``avoid``, so that
    centres stay about ``apart`` px from each other, or as far as the image has room for. With ``apart`` 0 they ignore
    each other. Centres stay ``margin`` px inside the image.
    """
    _check_room(frames, size, margin)
    random = np.random.default_rng((seed, 10))
    candidates = [[_target(frames, size, margin, random) for _ in range(CANDIDATES)] for _ in range(count)]
    if apart <= 0 or count + len(avoid) == 1:
        return np.stack([curves[0][WARM_UP:] for curves in candidates])
    others = [np.concatenate([np.tile(path[:1], (WARM_UP, 1)), path]) for path in avoid]
    targets = _farthest(candidates, others)
    room = float(np.sqrt((size[0] - 2 * margin) * (size[1] - 2 * margin) / (count + len(avoid))))
    distance = 1.15 * min(apart, 0.5 * room)  # a little more than requested, for the smoothing reduces it
    return _steer(targets, np.array(others).reshape(-1, *targets.shape[1:]), size, margin, distance)


def bouncing(frames: int, size: Size, margin: float, seed: int, speed: float = 2.5) -> Path2D:
    """Straight at ``speed`` px a frame, reflected ``margin`` px before the border."""
    _check_room(frames, size, margin)
    random = np.random.default_rng((seed, 11))
    direction = np.deg2rad(random.uniform(20, 70) + 90 * random.integers(4))
    free = np.array(size) - 2 * margin
    velocity = speed * np.array([np.cos(direction), np.sin(direction)])
    unfolded = (random.uniform(0, 1, 2) * free + np.arange(frames)[:, None] * velocity) % (2 * free)
    return np.asarray(margin + np.where(unfolded > free, 2 * free - unfolded, unfolded))


def passing(
    frames: int, size: Size, outside: float, seed: int, *, enters: float = 0.2, leaves: float = 0.8, margin: float = 10
) -> Path2D:
    """From left to right (or back), in a gentle arc.

    The centre crosses one border at the fraction ``enters`` of the clip and the other at ``leaves``; before and after,
    it waits at most ``outside`` px beyond the border. An ``enters`` below 0 starts it in view.
    """
    _check_room(frames, size, margin)
    random = np.random.default_rng((seed, 12))
    progress = (np.linspace(0, 1, frames) - enters) / (leaves - enters)
    x = np.clip(progress * size[0], -outside, size[0] + outside)
    first, middle, last = random.uniform(margin, size[1] - margin, 3)
    within = np.clip(progress, 0, 1)
    y = (1 - within) ** 2 * first + 2 * within * (1 - within) * middle + within**2 * last
    return np.stack([x if random.random() < 0.5 else size[0] - x, y], axis=1)


def still(frames: int, at: tuple[float, float]) -> Path2D:
    return np.tile(np.array(at, np.float64), (frames, 1))


def resting(frames: int, at: tuple[float, float], travel: tuple[float, float], rests: float = 0.7) -> Path2D:
    """At one position for the fraction ``rests`` of the clip, then smoothly on by ``travel`` px."""
    progress = np.clip((np.linspace(0, 1, frames) - rests) / (1 - rests), 0, 1)
    eased = progress**2 * (3 - 2 * progress)
    return np.asarray(np.array(at) + eased[:, None] * np.array(travel))


def crossing(frames: int, size: Size, margin: float, seed: int, miss: float = 3) -> tuple[Path2D, Path2D]:
    """Two objects that go round one ellipse in opposite directions and meet twice, ``miss`` px off each other."""
    _check_room(frames, size, margin)
    angle = 2 * np.pi * (np.linspace(0, 1, frames) - 0.25) + np.random.default_rng((seed, 13)).uniform(-0.3, 0.3)
    radius = (np.array(size) - miss) / 2 - margin
    there = np.stack([np.sin(angle), np.cos(angle)], axis=1) * radius
    back = there * (-1, 1)
    middle = np.array(size) / 2
    return middle + there - miss / 2, middle + back + miss / 2


def _check_room(frames: int, size: Size, margin: float) -> None:
    if frames < 1:
        raise InputError(f"A clip of {frames} frames cannot be made: give at least 1.")
    if min(size) <= 2 * margin:
        raise InputError(
            f"An image of {size[0]:g}x{size[1]:g} px has no room {margin:g} px from every border: make it larger."
        )


def _target(frames: int, size: Size, margin: float, random: np.random.Generator) -> Path2D:
    """A few slow waves on each axis, stretched until they reach both margins: (warm-up + frames, 2)."""
    turns = np.arange(-WARM_UP, max(frames, 2)) / min(frames, TURN_FRAMES)
    axes = []
    for length in size:
        slow = np.sin(2 * np.pi * (random.uniform(0.6, 1.1) * turns + random.random()))
        fast = np.sin(2 * np.pi * (random.uniform(1.2, 2.0) * turns + random.random()))
        curve = slow + 0.3 * fast
        low, high = curve[WARM_UP:].min(), curve[WARM_UP:].max()
        axes.append(margin + (length - 2 * margin) * (curve - low) / (high - low))
    return np.stack(axes, axis=1)[: WARM_UP + frames]


def _farthest(candidates: list[list[Path2D]], others: list[Path2D]) -> Floats:
    """For one object after the other, the curve that stays farthest from those chosen before it."""
    chosen: list[Path2D] = []
    for curves in candidates:
        closest = [
            min((float(np.linalg.norm(curve - path, axis=1)[WARM_UP:].min()) for path in others + chosen), default=0)
            for curve in curves
        ]
        chosen.append(curves[int(np.argmax(closest))])
    return np.stack(chosen)


def _steer(targets: Floats, others: Floats, size: Size, margin: float, distance: float) -> Floats:
    """Follow the targets (objects, frames, 2) like a mass on a damped spring that its neighbours push away."""
    position, velocity = targets[:, 0], targets[:, 1] - targets[:, 0]
    low, high = np.full(2, margin), np.array(size) - margin
    path = targets.copy()
    for frame in range(1, targets.shape[1]):
        target_velocity = targets[:, frame] - targets[:, frame - 1]
        for step in range(1, STEPS + 1):
            rest = 1 - step / STEPS
            target = targets[:, frame] - rest * target_velocity
            fixed = others[:, frame] - rest * (others[:, frame] - others[:, frame - 1])
            pull = PULL * (target - position) + DAMPING * (target_velocity - velocity)
            velocity = velocity + (pull + _push(position, fixed, distance)) / STEPS
            position = _separate(position + velocity / STEPS, fixed, distance)
            velocity = np.where((position < low) | (position > high), 0, velocity)
            position = np.clip(position, low, high)
        path[:, frame] = position
    return np.asarray(gaussian_filter1d(path, SMOOTHING, axis=1, mode="nearest")[:, WARM_UP:])


def _gaps(positions: Floats, fixed: Floats) -> tuple[Floats, Floats]:
    """Directions (objects, neighbours, 2) and distances from every neighbour to every object; infinite to itself."""
    gaps = positions[:, None] - np.concatenate([positions, fixed])[None]
    distances = np.maximum(np.linalg.norm(gaps, axis=2), 1e-6)
    distances[np.arange(len(positions)), np.arange(len(positions))] = np.inf
    return gaps / np.where(np.isinf(distances), 1, distances)[..., None], distances


def _push(positions: Floats, fixed: Floats, distance: float) -> Floats:
    """Grows from zero at twice the distance, so that objects turn away early and smoothly."""
    directions, distances = _gaps(positions, fixed)
    strength = PUSH * np.clip(2 - distances / distance, 0, 1) ** 2
    return np.asarray((directions * strength[..., None]).sum(axis=1))


def _separate(positions: Floats, fixed: Floats, distance: float) -> Floats:
    """Remove the remaining overlap: two objects move half of it each, an object beside a fixed one all of it."""
    directions, distances = _gaps(positions, fixed)
    missing = np.clip(distance - distances, 0, None)
    missing[:, : len(positions)] /= 2
    return np.asarray(positions + (directions * missing[..., None]).sum(axis=1))
