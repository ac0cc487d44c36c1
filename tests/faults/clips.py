"""Clips generated from a seed: most satisfy the theorem's assumptions, the others violate one of them on purpose."""

from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from withinpx.data.motion import Path2D, bouncing, crossing, passing, smooth_paths
from withinpx.data.scenes import far_apart
from withinpx.data.stage import Camera, GeneratedClip, Ground, SceneObject, Shape, Stage

FRAMES, WIDTH, HEIGHT = 30, 72, 60
MARGIN = 8  # px
SMALLEST, LARGEST = 5.0, 11.0  # px
OUT_OF_VIEW = -40.0  # px
NOISES = (0.0, 0.005, 0.01, 0.02, 0.03)
SHAPES: tuple[Shape, ...] = get_args(Shape)
VIOLATIONS = ("exit", "occlusion", "twins", "twins", "wobble", "light drift", "shake")
KINDS = (*["plain"] * 9, "perspective", "faint light drift", "faint shake", "fast", *VIOLATIONS)


@dataclass(frozen=True)
class Planted:
    """A generated clip, the kind of violation in it, and the objects concerned."""

    kind: str
    made: GeneratedClip
    objects: tuple[int, ...] = ()  # that violate an assumption throughout the clip

    @property
    def good(self) -> bool:
        return self.kind not in VIOLATIONS


def planted(seed: int) -> Planted:
    """The clip of this seed: kind, ground, noise, and number, shapes, sizes and trajectories of its objects."""
    random = np.random.default_rng((seed, 30))
    kind = KINDS[seed % len(KINDS)]
    count = int(random.integers(1, 4))
    paths = _paths(kind, count, seed, random)
    objects = [
        SceneObject(SHAPES[random.integers(len(SHAPES))], colour, random.uniform(SMALLEST, LARGEST), path)
        for colour, path in zip(far_apart(len(paths), random), paths, strict=True)
    ]
    violating: tuple[int, ...] = ()
    if kind == "twins":
        objects[1] = replace(objects[0], path=objects[1].path)
        violating = (0, 1)
    if kind in ("wobble", "exit"):
        violating = (0,)
    ground = Ground(tuple(random.uniform(0.25, 0.6) + random.uniform(-0.04, 0.04, 3)), random.uniform(0.01, 0.06))
    camera = Camera(
        float(random.choice(NOISES)),
        light_drift={"faint light drift": random.uniform(0.02, 0.1), "light drift": random.uniform(0.3, 0.6)}.get(
            kind, 0
        ),
        shake={"faint shake": random.uniform(0.05, 0.3), "shake": random.uniform(2, 4)}.get(kind, 0),
    )
    perspective = random.uniform(0.1, 0.3) if kind == "perspective" else 0.0
    return Planted(kind, Stage(tuple(objects), WIDTH, HEIGHT, ground, camera, perspective, seed).render(), violating)


def _paths(kind: str, count: int, seed: int, random: np.random.Generator) -> list[Path2D]:
    size = (WIDTH, HEIGHT)
    if kind == "fast":
        return [bouncing(FRAMES, size, MARGIN, seed, speed=random.uniform(0.7, 8))]
    if kind == "occlusion":
        return list(crossing(FRAMES, size, MARGIN, seed))
    if kind == "exit":
        leaving = passing(FRAMES, size, outside=12, seed=seed, enters=-0.12, leaves=random.uniform(0.5, 0.8))
        return [leaving, *smooth_paths(count, FRAMES, size, MARGIN, seed, avoid=[leaving])]
    if kind == "wobble":  # appears, stays almost at one position, and disappears
        centre = random.uniform((MARGIN + 4, MARGIN + 4), (WIDTH - MARGIN - 4, HEIGHT - MARGIN - 4))
        turns = np.linspace(0, 2, FRAMES)[:, None] * (2, 3) + random.random(2)
        wobbling = centre + random.uniform(1.2, 1.5) * np.sin(2 * np.pi * turns)
        paths = smooth_paths(count, FRAMES, size, MARGIN, seed, avoid=[wobbling])
        wobbling[: FRAMES // 3] = wobbling[-FRAMES // 4 :] = OUT_OF_VIEW
        return [wobbling, *paths]
    return list(smooth_paths(max(count, 2) if kind == "twins" else count, FRAMES, size, MARGIN, seed))
