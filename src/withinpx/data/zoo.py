"""A zoo of generated clips with exact truth: one clip per seed, its scene and difficulties sampled from a distribution.

Every clip:

| what | range |
| --- | --- |
| frame | 128x96 to 1280x720 px, small ones more often (``LAYOUTS``); a fifth of the clips are grey |
| frames | 60 to 150; 50 to 90 from 480x360 px on, 40 to 60 at 1280x720 px |
| objects | 1 to 8 (``COUNTS``), at most 3 in a grey clip |
| size | 6 to 60 px, at most a third of the shorter side, log-uniform; together at most 12 % of the frame |
| outline | ellipse, rectangle, triangle, cross or a random convex polygon, sides 1:1 to 1:2 |
| colour | 70 levels from the background in some colour, 64 from each other (or the areas differ by 2.5 times) |
| texture | half of the objects, standard deviation 8 to 16 levels; the others are plain |
| speed | 0.08 to 1 of its size per frame, so that it covers 0.75 of the frame's shorter side if it can |
| trajectory | extends over 2.2 sizes or more; the object is whole and apart from others in 30 % of the frames or more |
| background | plain, textured (standard deviation 5 to 15 levels) or patches, a third each |
| noise | standard deviation 0 to 4 levels |
| coding | half uncompressed, half H.264 4:2:0 with crf 18 to 28 |
| flicker | in a fifth of the clips up to ±1 % |

Each difficulty ("nuisance") is sampled independently of the others. Unordered sets have none of the five that are about
order and no objects alike; ``large`` needs a frame of 240 rows.

| nuisance | probability | range | good |
| --- | --- | --- | --- |
| noisy | 0.055 | noise of 4 to 8 levels | no |
| compressed | 0.055 | H.264 with crf 29 to 35 | no |
| shadow | 0.055 | background times 0.5 to 0.8 in a soft copy of each outline, offset by 0.2 to 0.8 sizes | no |
| drift | 0.055 | the light changes slowly by up to ±5 to 15 % | no |
| flicker | 0.055 | each frame's light by up to ±2 to 4 % | no |
| exposure | 0.055 | the light changes by x 0.75 to 0.9 or 1.1 to 1.3 from some frame on | no |
| turning | 0.055 | one object at least turns by 1 to 8 degrees per frame | no |
| perspective | 0.055 | objects are 20 to 50 % larger at the bottom than at mid-height | no |
| alike | 0.055 | two objects look the same; both are in view in all frames | no |
| parked | 0.055 | one object rests for 60 to 80 % of the clip | no |
| crossing | 0.055 | one object overlaps the others in about 12 % of the frames | if in at most 5 % |
| sway | 0.055 | an ellipse of the textured background moves to and fro by 1 to 3 px | no |
| large | 0.12 | one object at least of 60 to 120 px | no |
| rests | 0.18 | one object rests for 20 to 45 % of the clip | yes |
| enters | 0.18 | one object enters the frame | yes |
| leaves | 0.18 | one object leaves the frame | yes |
| unordered | 0.12 | independent positions in every frame, each image coded alone | yes |

A clip is *good* if it has no nuisance with a "no", no two objects are alike, every object travels more than three of
its sizes, and boxes overlap in at most 5 % of the frames: then the theorem's assumptions hold by construction. About
40 % of the clips are.
"""

from dataclasses import dataclass, replace
from itertools import combinations

import cv2
import numpy as np
from numpy.typing import NDArray

from withinpx.data.clip import Clip
from withinpx.data.motion import Floats
from withinpx.data.stage import FRAMES_PER_SECOND
from withinpx.data.zoo_paths import GAP, Extent, Role, find_paths, find_positions, growth
from withinpx.data.zoo_pixels import TEXTURE_PX, Background, Image, Shadow, Sway, ZooObject, ZooScene, render, rotation

Random = np.random.Generator

LAYOUTS: dict[tuple[int, int], tuple[float, int, int]] = {  # width, height -> probability, fewest and most frames
    (128, 96): (0.22, 60, 150),
    (160, 120): (0.22, 60, 150),
    (192, 144): (0.14, 60, 150),
    (240, 180): (0.10, 60, 150),
    (320, 240): (0.16, 60, 120),
    (480, 360): (0.06, 50, 90),
    (640, 480): (0.06, 50, 90),
    (1280, 720): (0.04, 40, 60),
}
COUNTS = (0.18, 0.20, 0.18, 0.14, 0.10, 0.08, 0.06, 0.06)  # probability of 1, 2, ... objects
PROBABILITIES = {
    **dict.fromkeys(("noisy", "compressed", "shadow", "drift", "flicker", "exposure", "turning", "perspective"), 0.055),
    **dict.fromkeys(("alike", "parked", "crossing", "sway"), 0.055),
    "large": 0.12,
    **dict.fromkeys(("rests", "enters", "leaves"), 0.18),
    "unordered": 0.12,
}
HARMLESS = ("crossing", "rests", "enters", "leaves", "unordered")  # a good clip may have these
NEED_ORDER = ("parked", "rests", "enters", "leaves", "crossing", "alike")
MOST_GREY = 3  # objects: grey levels leave no room for more that differ clearly
SMALLEST, LARGEST, LARGEST_USUAL = 6.0, 120.0, 60.0  # px
OF_SHORTER_SIDE = 1 / 3  # an object's size at most
CROWDED = 0.12  # of the frame: the squares of all sizes together at most
LARGE_ROWS = 240  # a frame has room for a large object
CONTRAST = 70.0  # levels between an object's mean colour and the background's, in some colour
DISTINCT_LEVELS, DISTINCT_AREA = 64.0, 2.5  # objects differ clearly by this many levels, or by this ratio of areas
DISTINCT_GREY = 50.0  # the same in a grey clip
COLOUR_CANDIDATES = 2000
DARKEST, BRIGHTEST = 60.0, 140.0  # of a background, levels: the light may change without saturating
LEAST_GAIN, MOST_GAIN = 0.65, 1.3
FAR, MOST_OVERLAP = 3.0, 0.05  # of a good clip: sizes that every object travels, and the share of frames with overlaps
WHOLE = 0.95  # visible share from which an object counts as whole


@dataclass(frozen=True, eq=False)
class ZooClip:
    """A clip with ground truth. Positions are in px; (0, 0) is the top-left corner of the first pixel."""

    clip: Clip
    truth: Floats  # (frames, objects, 2): centre of the whole object's box; NaN where none of it is in view
    visible: Floats  # (frames, objects): visible share of the object
    sizes: Floats  # (frames, objects, 2): width and height of the box
    nuisances: tuple[str, ...]
    good: bool  # do the theorem's assumptions hold by construction?
    unordered: bool
    scene: ZooScene

    @property
    def apart(self) -> NDArray[np.bool_]:
        """(frames, objects): is the object whole and apart from all others?"""
        return np.asarray((self.visible >= WHOLE) & _alone(self.truth, self.sizes))


def zoo_clip(seed: int) -> ZooClip:
    """The clip of a seed; the same seed gives the same pixels."""
    return clip_of(zoo_scene(seed))


def clip_of(scene: ZooScene) -> ZooClip:
    """A scene, rendered."""
    frames, visible = render(scene)
    times_s = np.full(scene.frames, np.nan) if scene.unordered else np.arange(scene.frames) / FRAMES_PER_SECOND
    clip = Clip(frames, times_s, f"zoo {scene.seed}")
    centres, sizes = boxes(scene)
    truth = np.where((visible > 0)[..., None], centres, np.nan)
    return ZooClip(clip, truth, visible, sizes, scene.nuisances, is_good(scene), scene.unordered, scene)


def zoo_scene(seed: int) -> ZooScene:
    """What the clip of a seed shows, before it is rendered."""
    random = np.random.default_rng((seed, 0))
    layouts = list(LAYOUTS)
    width, height = layouts[random.choice(len(layouts), p=[LAYOUTS[layout][0] for layout in layouts])]
    frames = int(random.integers(LAYOUTS[width, height][1], LAYOUTS[width, height][2] + 1))
    grey = bool(random.random() < 0.2)
    nuisances = _nuisances(np.random.default_rng((seed, 1)), height)
    colour = np.repeat(random.uniform(DARKEST, BRIGHTEST), 3) + (0 if grey else random.uniform(-15, 15, 3))
    objects = _objects(seed, (frames, width, height), grey, colour, nuisances)
    return ZooScene(
        seed,
        width,
        height,
        grey,
        "unordered" in nuisances,
        objects,
        _background(random, colour, swaying="sway" in nuisances),
        _shadow(random) if "shadow" in nuisances else None,
        _sway(random, frames, "unordered" in nuisances) if "sway" in nuisances else None,
        _gains(np.random.default_rng((seed, 5)), frames, nuisances),
        float(random.uniform(4, 8) if "noisy" in nuisances else random.uniform(0, 4)),
        _crf(random, "compressed" in nuisances),
        nuisances,
    )


def boxes(scene: ZooScene) -> tuple[Floats, Floats]:
    """Centres and sides of all objects' boxes in all frames, px: (frames, objects, 2) each."""
    centres, sizes = zip(*(obj.boxes() for obj in scene.objects), strict=True)
    return np.stack(centres, axis=1), np.stack(sizes, axis=1)


def is_good(scene: ZooScene) -> bool:
    """Do the theorem's assumptions hold by construction?"""
    if not set(scene.nuisances) <= set(HARMLESS) or not are_distinct(scene):
        return False
    centres, sizes = boxes(scene)
    inside = np.all((centres >= sizes / 2) & (centres <= np.array([scene.width, scene.height]) - sizes / 2), axis=-1)
    known = np.where(inside[..., None], centres, np.nan)
    travel = (np.nanmax(known, axis=0) - np.nanmin(known, axis=0)).max(axis=-1)
    overlapping = (~_alone(centres, sizes, gap=0.0)).any(axis=1).mean()
    return bool((travel > FAR * sizes.max(axis=(0, 2))).all() and overlapping <= MOST_OVERLAP)


def _alone(centres: Floats, sizes: Floats, gap: float = GAP) -> NDArray[np.bool_]:
    """(frames, objects): is the object's box farther than ``gap`` from all others? True beside a NaN."""
    distances = np.abs(centres[:, :, None] - centres[:, None]) - (sizes[:, :, None] + sizes[:, None]) / 2
    near = np.asarray((distances < gap).all(axis=-1))
    near[:, np.arange(centres.shape[1]), np.arange(centres.shape[1])] = False
    return np.asarray(~near.any(axis=2))


def are_distinct(scene: ZooScene) -> bool:
    """Do all objects differ clearly from each other?"""
    pairs = combinations(scene.objects, 2)
    return all(_difference(one.colour, _area(one.outline), other, scene.grey) >= 1 for one, other in pairs)


def _difference(colours: Floats, area: float, other: ZooObject, grey: bool) -> Floats:
    """How clearly an object of a colour (..., 3) and an area differs from another; 1 is clearly."""
    levels = np.abs(colours - other.colour).max(axis=-1) / (DISTINCT_GREY if grey else DISTINCT_LEVELS)
    return np.asarray(np.maximum(levels, abs(np.log(area / _area(other.outline))) / np.log(DISTINCT_AREA)))


def _area(outline: Floats) -> float:
    return float(cv2.contourArea(outline.astype(np.float32)))


def _nuisances(random: Random, height: int) -> tuple[str, ...]:
    sampled = [name for name, probability in PROBABILITIES.items() if random.random() < probability]
    impossible = NEED_ORDER if "unordered" in sampled else ()
    return tuple(name for name in sampled if name not in impossible and (name != "large" or height >= LARGE_ROWS))


def _objects(
    seed: int, layout: tuple[int, int, int], grey: bool, background: Floats, nuisances: tuple[str, ...]
) -> tuple[ZooObject, ...]:
    frames, width, height = layout
    random = np.random.default_rng((seed, 2))
    roles = _roles(random, grey, nuisances)
    perspective = float(random.uniform(0.2, 0.5)) if "perspective" in nuisances else 0.0
    sizes = _sizes(random, len(roles), width, height, "large" in nuisances) / (1 + perspective)
    sizes = np.maximum(sizes, SMALLEST)
    if "alike" in nuisances:
        sizes[1] = sizes[0]
    extents = [Extent(size, perspective, role) for size, role in zip(sizes.tolist(), roles, strict=True)]
    extents, paths = _fitting_paths(seed, layout, extents, "unordered" in nuisances)
    turning = random.permutation(len(roles)) < (random.integers(1, len(roles) + 1) if "turning" in nuisances else 0)
    objects: list[ZooObject] = []
    for index, (extent, path) in enumerate(zip(extents, paths, strict=True)):
        angles = _angles(random, frames, "unordered" in nuisances) if turning[index] else np.zeros(frames)
        scales = growth(path, height, perspective)
        if "alike" in nuisances and index == 1:
            objects.append(replace(objects[0], pivots=path, angles=angles, scales=scales))
            continue
        outline = _outline(random, extent.size, bool(turning[index]))
        colour = _colour(random, grey, background, outline, objects)
        texture = _texture(random, extent.size, grey)
        objects.append(ZooObject(extent.size, outline, colour, texture, path, angles, scales))
    return tuple(objects)


def _roles(random: Random, grey: bool, nuisances: tuple[str, ...]) -> list[Role]:
    """How each object moves; objects that are alike come first, one that crosses others last."""
    roles: tuple[Role, ...] = ("parked", "rests", "enters", "leaves")
    special = [role for role in roles if role in nuisances]
    pair: list[Role] = ["wanders"] * (2 if "alike" in nuisances else 0)
    crossing: list[Role] = ["crosses"] * ("crossing" in nuisances)
    needed = max(len(pair) + len(special) + len(crossing), 2 * len(crossing))
    count = 1 + int(random.choice(len(COUNTS), p=COUNTS))
    count = max(min(count, MOST_GREY) if grey else count, needed)
    rest: list[Role] = ["wanders"] * (count - len(pair) - len(special) - len(crossing))
    return [*pair, *special, *rest, *crossing]


def _sizes(random: Random, count: int, width: int, height: int, large: bool) -> Floats:
    largest = min(LARGEST_USUAL, OF_SHORTER_SIDE * min(width, height))
    sizes = np.exp(random.uniform(np.log(SMALLEST), np.log(largest), count))
    if large:
        sizes[random.integers(count)] = random.uniform(largest, min(LARGEST, OF_SHORTER_SIDE * min(width, height)))
    while (sizes**2).sum() > CROWDED * width * height:
        sizes[sizes.argmax()] *= 0.9
    return np.asarray(sizes)


def _fitting_paths(
    seed: int, layout: tuple[int, int, int], extents: list[Extent], unordered: bool
) -> tuple[list[Extent], Floats]:
    """Trajectories, and the objects for which they fit: they shrink until the frame has room for their motion."""
    random = np.random.default_rng((seed, 3))
    if unordered:
        return extents, find_positions(extents, *layout, random)
    while (paths := find_paths(extents, *layout, random)) is None:
        extents = [replace(extent, size=max(0.93 * extent.size, SMALLEST)) for extent in extents]
    return extents, paths


def _angles(random: Random, frames: int, unordered: bool) -> Floats:
    if unordered:
        return random.uniform(0, 2 * np.pi, frames)
    rate = np.deg2rad(random.uniform(1, 8)) * random.choice((-1, 1))
    return np.asarray(random.uniform(0, 2 * np.pi) + rate * np.arange(frames))


def _outline(random: Random, size: float, turning: bool) -> Floats:
    """(vertices, 2) around the centre of its box, whose larger side is ``size`` px, or at most that if it turns."""
    kind = random.choice(("ellipse", "rectangle", "triangle", "cross", "polygon"))
    around = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    if kind == "polygon":
        around = np.sort(around[:: 64 // 8] + random.uniform(-0.3, 0.3, 8))
    outline = np.stack([np.cos(around), np.sin(around)], axis=1)
    if kind == "rectangle":
        outline = np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
    elif kind == "triangle":
        outline = np.array([[-1.0, 1], [1, 1], [random.uniform(-0.5, 0.5), -1]])
    elif kind == "cross":
        arm = random.uniform(0.3, 0.5)
        corner = np.array([[1, -arm], [1, arm], [arm, arm], [arm, 1.0]])
        outline = np.concatenate([corner[:-1] @ rotation(quarter * np.pi / 2).T for quarter in range(4)])
    outline = outline * (1, random.uniform(0.5, 1))
    outline -= (outline.min(axis=0) + outline.max(axis=0)) / 2
    if random.random() < 0.5:
        outline = outline[:, ::-1]
    longest = 2 * np.hypot(*outline.T).max() if turning else np.ptp(outline, axis=0).max()
    return np.asarray(outline * size / longest)


def _colour(random: Random, grey: bool, background: Floats, outline: Floats, others: list[ZooObject]) -> Floats:
    """A colour that contrasts with the background and, together with the area, differs clearly from the others'."""
    candidates = random.uniform(5, 250, (COLOUR_CANDIDATES, 3))
    if grey:
        candidates = np.repeat(candidates[:, :1], 3, axis=1)
    candidates = candidates[np.abs(candidates - background).max(axis=1) >= CONTRAST]
    least = np.ones(len(candidates))  # a larger difference is no better
    for other in others:
        least = np.minimum(least, _difference(candidates, _area(outline), other, grey))
    return np.asarray(candidates[int(np.argmax(least))])


def _texture(random: Random, size: float, grey: bool) -> Image:
    """Smooth patches, or zeros for a plain object."""
    cells = int(np.clip(size / 3, 3, 8))
    values = random.normal(size=(cells, cells, 3)) * random.uniform(8, 16) * (random.random() < 0.5)
    values = values - values.mean(axis=(0, 1))
    if grey:
        values = np.repeat(values[..., :1], 3, axis=2)
    smooth = cv2.resize(values, (TEXTURE_PX, TEXTURE_PX), interpolation=cv2.INTER_CUBIC)
    return np.asarray(smooth, np.float32)


def _background(random: Random, colour: Floats, *, swaying: bool) -> Background:
    kind = random.choice(("plain", "textured", "patches"))
    contrast = random.uniform(0.04, 0.06) if swaying else random.uniform(0.02, 0.06)
    red, green, blue = colour.tolist()
    return Background("textured" if swaying else kind, (red, green, blue), float(contrast))


def _shadow(random: Random) -> Shadow:
    direction, distance = random.uniform(0, 2 * np.pi), random.uniform(0.2, 0.8)
    return Shadow(
        float(random.uniform(0.5, 0.8)), (float(distance * np.cos(direction)), float(distance * np.sin(direction)))
    )


def _sway(random: Random, frames: int, unordered: bool) -> Sway:
    x, y, radius_x, radius_y = random.uniform((0.2, 0.2, 0.2, 0.2), (0.8, 0.8, 0.4, 0.4)).tolist()
    phases = 2 * np.pi * (random.random() + np.arange(frames) / random.uniform(8, 40))
    phases = random.permutation(phases) if unordered else phases
    return Sway(float(random.uniform(1, 3)), (x, y, radius_x, radius_y), phases)


def _gains(random: Random, frames: int, nuisances: tuple[str, ...]) -> Floats:
    """The brightness of each frame."""
    time = np.linspace(0, 1, frames)
    gains = np.ones(frames)
    if "drift" in nuisances:
        turns = random.random() + random.uniform(0.5, 1.5) * time
        gains *= 1 + random.uniform(0.05, 0.15) * np.sin(2 * np.pi * turns)
    if "exposure" in nuisances:
        factor = random.uniform(0.75, 0.9) if random.random() < 0.5 else random.uniform(1.1, 1.3)
        gains *= np.where(time >= random.uniform(0.2, 0.8), factor, 1)
    if "unordered" in nuisances:
        gains = random.permutation(gains)
    slight = random.uniform(0, 0.01) if random.random() < 0.2 else 0.0
    flicker = random.uniform(0.02, 0.04) if "flicker" in nuisances else slight
    return np.asarray(np.clip(gains * (1 + flicker * random.uniform(-1, 1, frames)), LEAST_GAIN, MOST_GAIN))


def _crf(random: Random, strong: bool) -> int | None:
    """None is uncompressed."""
    if strong:
        return int(random.integers(29, 36))
    return int(random.integers(18, 29)) if random.random() < 0.5 else None
