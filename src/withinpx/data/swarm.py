"""Generated clips of identical discs that cross, enter and leave: one clip per seed, with exact truth.

| what | range |
| --- | --- |
| discs | 2 to 50, log-uniform, all of one size and colour; later ones pass over earlier ones |
| size | 8 to 24 px, so that all of them cover at most 6 % of the frame |
| frame | 160x120 to 640x480 px, grey or colour; 60 to 120 frames |
| motion | 0.05 to 0.5 of the size per frame, in slowly turning directions, reflected at the border |
| enter and leave | a quarter of the discs enter the frame, a quarter leaves it |
| background | plain, textured or patches, as in the zoo |
| noise, coding | standard deviation 0 to 4 levels; half of the clips H.264, crf 18 to 28 |
"""

import numpy as np

from withinpx.data.motion import Floats
from withinpx.data.zoo import BRIGHTEST, CONTRAST, DARKEST, ZooClip, clip_of
from withinpx.data.zoo_pixels import TEXTURE_PX, Background, BackgroundKind, ZooObject, ZooScene

FEWEST, MOST = 2, 50  # discs
SMALLEST, LARGEST = 8.0, 24.0  # px
CROWDED = 0.06  # of the frame: the squares around all discs together at most
LAYOUTS = ((160, 120), (240, 180), (320, 240), (480, 360), (640, 480))  # width, height
SLOWEST, FASTEST = 0.05, 0.5  # sizes per frame
TURNS = 0.08  # standard deviation of the change of direction, radians per frame
SOME = 0.25  # of the discs enter the frame, and as many leave it
CORNERS = 48  # of a disc's outline
MARGIN = 2.0  # px that a disc keeps from the border


def swarm_clip(seed: int, discs: int | None = None, layout: tuple[int, int] | None = None) -> ZooClip:
    """The clip of a seed; the same seed gives the same pixels. ``discs`` and ``layout`` replace what is sampled."""
    return clip_of(swarm_scene(seed, discs, layout))


def swarm_scene(seed: int, discs: int | None = None, layout: tuple[int, int] | None = None) -> ZooScene:
    """What the clip shows, before it is rendered."""
    random = np.random.default_rng((seed, 20))
    sampled = round(float(np.exp(random.uniform(np.log(FEWEST), np.log(MOST)))))
    count, size = sampled if discs is None else discs, float(random.uniform(SMALLEST, LARGEST))
    roomy = [some for some in LAYOUTS if count * SMALLEST**2 <= CROWDED * some[0] * some[1]]
    width, height = layout or roomy[int(random.integers(len(roomy)))]
    size = min(size, float(np.sqrt(CROWDED * width * height / count)))
    frames, grey = int(random.integers(60, 121)), bool(random.random() < 0.5)
    colour = np.repeat(random.uniform(DARKEST, BRIGHTEST), 3) + (0 if grey else random.uniform(-15, 15, 3))
    around = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    outline = size / 2 * np.stack([np.cos(around), np.sin(around)], axis=1)
    own = _colour(random, colour, grey)
    plain = np.zeros((TEXTURE_PX, TEXTURE_PX, 3), np.float32)
    paths = [path(random, frames, (width, height), size, role) for role in _roles(random, count)]
    still, one = np.zeros(frames), np.ones(frames)
    red, green, blue = colour.tolist()
    kinds: tuple[BackgroundKind, ...] = ("plain", "textured", "patches")
    kind = kinds[int(random.integers(3))]
    return ZooScene(
        seed,
        width,
        height,
        grey,
        unordered=False,
        objects=tuple(ZooObject(size, outline, own, plain, pivots, still, one) for pivots in paths),
        background=Background(kind, (red, green, blue), float(random.uniform(0.02, 0.06))),
        shadow=None,
        sway=None,
        gains=one,
        noise=float(random.uniform(0, 4)),
        crf=int(random.integers(18, 29)) if random.random() < 0.5 else None,
        nuisances=("alike",),
    )


def _roles(random: np.random.Generator, count: int) -> list[str]:
    return [str(role) for role in random.choice(("stays", "enters", "leaves"), count, p=(1 - 2 * SOME, SOME, SOME))]


def path(random: np.random.Generator, frames: int, frame: tuple[int, int], size: float, role: str) -> Floats:
    """The centre of a disc in every frame, px: (frames, 2)."""
    low = np.full(2, size / 2 + MARGIN)
    high = np.array(frame) - low
    position, heading = random.uniform(low, high), random.uniform(0, 2 * np.pi)
    speed = size * float(random.uniform(SLOWEST, FASTEST))
    positions = np.empty((frames, 2))
    for number in range(frames):
        positions[number] = position
        heading += TURNS * random.standard_normal()
        step = speed * np.array([np.cos(heading), np.sin(heading)])
        beyond = (position + step < low) | (position + step > high)
        step = np.where(beyond, -step, step)
        heading = float(np.arctan2(step[1], step[0]))
        position = position + step
    if role == "stays":
        return positions
    return _crossing_border(random, positions, frame, size, speed, enters=role == "enters")


def _crossing_border(
    random: np.random.Generator, inside: Floats, frame: tuple[int, int], size: float, speed: float, *, enters: bool
) -> Floats:
    """The same path with a straight way in through the nearest side before some frame, or out after it."""
    frames = len(inside)
    when = int(random.integers(frames // 5, 4 * frames // 5))
    joint = inside[when]
    sides = np.array([joint[0], joint[1], frame[0] - joint[0], frame[1] - joint[1]])
    nearest = int(sides.argmin())
    outwards = np.array([(-1.0, 0.0), (0, -1), (1, 0), (0, 1)])[nearest]
    away = (np.arange(when, 0, -1) if enters else np.arange(1, frames - when))[:, None] * speed * outwards
    furthest = sides[nearest] + 2 * size  # out of sight it waits
    away = np.clip(away, -furthest, furthest)
    if enters:
        return np.concatenate([joint + away, inside[when:]])
    return np.concatenate([inside[: when + 1], joint + away])


def _colour(random: np.random.Generator, background: Floats, grey: bool) -> Floats:
    """One that contrasts with the background."""
    while True:
        colour = random.uniform(5, 250, 3)
        colour = np.repeat(colour[:1], 3) if grey else colour
        if np.abs(colour - background).max() >= CONTRAST:
            return colour
