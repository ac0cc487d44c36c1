"""Clips drawn from a seed: most are as the theorem wants them, the others have one violation planted."""

from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from withinpx.data.motion import Path2D, bouncing, crossing, passing, smooth_paths
from withinpx.data.scenes import far_apart
from withinpx.data.stage import Camera, GeneratedClip, Ground, SceneObject, Shape, Stage

FRAMES, WIDTH, HEIGHT = 30, 72, 60
MARGIN = 8  # px
SMALLEST, LARGEST = 5.0, 11.0  # px
AWAY = -40.0  # px: out of view
NOISES = (0.0, 0.005, 0.01, 0.02, 0.03)
SHAPES: tuple[Shape, ...] = get_args(Shape)
KINDS = (
    *["plain"] * 9,
    "perspective",
    "faint light drift",
    "faint shake",
    "fast",
    "exit",
    "occlusion",
    "twins",
    "twins",
    "wobble",
    "light drift",
    "shake",
)
GOOD = ("plain", "perspective", "faint light drift", "faint shake", "fast")  # nothing that the theorem forbids


@dataclass(frozen=True)
class Planted:
    """A clip, what is wrong with it, and with which of its things."""

    kind: str
    made: GeneratedClip
    things: tuple[int, ...] = ()  # that break an assumption all the time

    @property
    def good(self) -> bool:
        """Is there nothing to refuse?"""
        return self.kind in GOOD


def planted(seed: int) -> Planted:
    """The clip of this number: any kind, ground, noise, number, shape, size and way."""
    random = np.random.default_rng((seed, 30))
    kind = KINDS[seed % len(KINDS)]
    count = int(random.integers(1, 4))
    paths = _paths(kind, count, seed, random)
    things = [
        SceneObject(SHAPES[random.integers(len(SHAPES))], colour, random.uniform(SMALLEST, LARGEST), path)
        for colour, path in zip(far_apart(len(paths), random), paths, strict=True)
    ]
    broken: tuple[int, ...] = ()
    if kind == "twins":
        things[1] = replace(things[0], path=things[1].path)
        broken = (0, 1)
    if kind in ("wobble", "exit"):
        broken = (0,)
    ground = Ground(tuple(random.uniform(0.25, 0.6) + random.uniform(-0.04, 0.04, 3)), random.uniform(0.01, 0.06))
    camera = Camera(
        float(random.choice(NOISES)),
        light_drift={"faint light drift": random.uniform(0.02, 0.1), "light drift": random.uniform(0.3, 0.6)}.get(
            kind, 0
        ),
        shake={"faint shake": random.uniform(0.05, 0.3), "shake": random.uniform(2, 4)}.get(kind, 0),
    )
    perspective = random.uniform(0.1, 0.3) if kind == "perspective" else 0.0
    return Planted(kind, Stage(tuple(things), WIDTH, HEIGHT, ground, camera, perspective, seed).render(), broken)


def _paths(kind: str, count: int, seed: int, random: np.random.Generator) -> list[Path2D]:
    size = (WIDTH, HEIGHT)
    if kind == "fast":
        return [bouncing(FRAMES, size, MARGIN, seed, speed=random.uniform(0.7, 8))]
    if kind == "occlusion":
        return list(crossing(FRAMES, size, MARGIN, seed))
    if kind == "exit":
        gone = passing(FRAMES, size, outside=12, seed=seed, enters=-0.12, leaves=random.uniform(0.5, 0.8))
        return [gone, *smooth_paths(count, FRAMES, size, MARGIN, seed, avoid=[gone])]
    if kind == "wobble":  # comes out of nowhere, stays at one place or nearly so, and is gone
        middle = random.uniform((MARGIN + 4, MARGIN + 4), (WIDTH - MARGIN - 4, HEIGHT - MARGIN - 4))
        turns = np.linspace(0, 2, FRAMES)[:, None] * (2, 3) + random.random(2)
        small = middle + random.uniform(1.2, 1.5) * np.sin(2 * np.pi * turns)
        paths = smooth_paths(count, FRAMES, size, MARGIN, seed, avoid=[small])
        small[: FRAMES // 3] = small[-FRAMES // 4 :] = AWAY
        return [small, *paths]
    return list(smooth_paths(max(count, 2) if kind == "twins" else count, FRAMES, size, MARGIN, seed))
