"""Clips drawn with numpy: discs and boxes over a wall, as small as a fact about discovery allows."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from withinpx.data.clip import Clip

Levels = NDArray[np.float64]  # (height, width, 3), from 0 to 255
Point = tuple[float, float]  # x, y, px
Colour = tuple[float, float, float]
Draw = Callable[[Levels, int], None]  # changes the image of a frame

WIDTH, HEIGHT = 96, 72
GREY: Colour = (120, 118, 115)
RED: Colour = (210, 50, 40)
BLUE: Colour = (40, 70, 215)
YELLOW: Colour = (225, 205, 60)


def wall(colour: Colour = GREY, contrast: float = 6.0, seed: int = 0) -> Levels:
    """A wall with smooth spots."""
    random = np.random.default_rng((seed, 1))
    x, y = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    waves = [np.sin(a * x + b * y + c) for a, b, c in random.uniform(-0.4, 0.4, (12, 3)) * (1, 1, 8)]
    return np.asarray(np.array(colour) + contrast * np.mean(waves, axis=0)[..., None] * np.sqrt(12))


def clip_of(frames: Iterable[Levels], source: str = "a drawing", noise: float = 1.0, seed: int = 0) -> Clip:
    """The frames with the noise of a camera."""
    images = np.stack(list(frames))
    images = images + noise * np.random.default_rng((seed, 2)).standard_normal(images.shape)
    return Clip(images.round().clip(0, 255).astype(np.uint8), source=source)


def drawn(frames: int, *layers: Draw, ground: Levels | None = None, noise: float = 1.0, seed: int = 0) -> Clip:
    """A clip of layers over a wall."""
    images = [(wall(seed=seed) if ground is None else ground).copy() for _ in range(frames)]
    for frame, image in enumerate(images):
        for layer in layers:
            layer(image, frame)
    return clip_of(images, noise=noise, seed=seed)


def inside(centre: Point, radius: float) -> NDArray[np.bool_]:
    """Of a disc."""
    x, y = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    return np.asarray((x - centre[0]) ** 2 + (y - centre[1]) ** 2 < radius**2)


def disc(path: Sequence[Point | None], radius: float, colour: Colour) -> Draw:
    """A disc along a path; where the path has no point, it is not seen."""

    def draw(image: Levels, frame: int) -> None:
        if (centre := path[frame]) is not None:
            image[inside(centre, radius)] = colour

    return draw


def shadow(path: Sequence[Point], radius: float, light: float) -> Draw:
    """A disc in which the wall has less light."""

    def draw(image: Levels, frame: int) -> None:
        image[inside(path[frame], radius)] *= light

    return draw


def line(frames: int, start: Point, end: Point) -> list[Point]:
    """At constant speed."""
    return [(x, y) for x, y in np.linspace(start, end, frames).tolist()]


def moved(path: Sequence[Point], x: float, y: float) -> list[Point]:
    return [(point[0] + x, point[1] + y) for point in path]


def scattered(images: int, radii: Sequence[float], seed: int = 0) -> list[list[Point]]:
    """For each of some discs independent positions in every image, at which no two touch."""
    random = np.random.default_rng((seed, 3))
    paths: list[list[Point]] = [[] for _ in radii]
    for _ in range(images):
        placed: list[tuple[Point, float]] = []
        for path, radius in zip(paths, radii, strict=True):
            free = False
            while not free:
                x, y = random.uniform(radius + 1, np.array([WIDTH, HEIGHT]) - radius - 1).tolist()
                free = all(np.hypot(x - other[0], y - other[1]) > radius + far + 5 for other, far in placed)
            placed.append(((x, y), radius))
            path.append((x, y))
    return paths


def lit(frames: NDArray[np.uint8], gains: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The frames in the light of these gains, one for each."""
    return np.asarray((frames * gains[:, None, None, None]).round().clip(0, 255), np.uint8)
