"""Shaded things over a textured ground, drawn between the pixels, with the exact truth beside every picture."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from withinpx.data.clip import Clip
from withinpx.data.motion import Floats, Path2D
from withinpx.errors import InputError

Shape = Literal["disc", "square", "triangle", "ring", "cross"]
Colour = tuple[float, float, float]  # red, green, blue from 0 to 1

FRAMES_PER_SECOND = 25
SAMPLES = 8  # per pixel and axis
LIGHT = np.array([-0.50, -0.62, 0.60])  # towards the lamp: left, up, out of the picture
AMBIENT, DIFFUSE, GLOSS = 0.42, 0.72, 0.30  # how bright a body is without the lamp, through it, and at its highlight
DOME = 0.30  # how much even a flat top bulges, so that the light fades over the whole body
TALLNESS = np.sqrt(3) / 2  # of a triangle: height over width
RIM: dict[Shape, float] = {"disc": 1, "square": 0.5, "triangle": 0.45, "ring": 0.3, "cross": 0.36}  # where it rounds
WAVES = 120  # that make up a ground
FINEST, COARSEST = 5, 140  # wavelengths of a ground, px


@dataclass(frozen=True)
class SceneObject:
    """One object of a scene."""

    shape: Shape
    colour: Colour
    size: float  # larger side of the bounding box, px
    path: Path2D  # (frames, 2): where its box centre is on the ground, px; it may leave the picture

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InputError(f"A thing of {self.size} px cannot be drawn: make it at least 1 px large.")


@dataclass(frozen=True)
class Ground:
    """A smooth texture of many scales. It is a function of the place, so that a moving camera sees it exactly."""

    colour: Colour = (0.44, 0.47, 0.43)
    contrast: float = 0.045  # standard deviation of the brightness

    def seen(self, width: int, height: int, camera: tuple[float, float], seed: int) -> Floats:
        """The ground from a camera at (x, y): (height, width, 3)."""
        random = np.random.default_rng((seed, 1))
        wavelength = np.exp(random.uniform(np.log(FINEST), np.log(COARSEST), WAVES))
        direction, phase = random.uniform(0, 2 * np.pi, (2, WAVES))
        tint = 1 + 0.3 * random.normal(size=(WAVES, 3))
        strength = wavelength**0.5
        strength *= self.contrast * np.sqrt(2 / (strength**2).sum())
        along_x, along_y = 2j * np.pi / wavelength * np.stack([np.cos(direction), np.sin(direction)])
        across = np.exp(along_x[:, None] * (np.arange(width) + 0.5 + camera[0]))
        down = np.exp(along_y[:, None] * (np.arange(height) + 0.5 + camera[1]) + 1j * phase[:, None])
        coloured = down[:, :, None] * (strength[:, None] * tint)[:, None]
        texture = np.tensordot(coloured, across, axes=(0, 0)).real.swapaxes(1, 2)
        return np.asarray(np.clip(np.array(self.colour) + texture, 0, 1))


@dataclass(frozen=True)
class Camera:
    """What lies between the scene and its pictures."""

    noise: float = 0.01  # standard deviation of the sensor's noise, from 0 to 1
    light_drift: float = 0.0  # the brightness swings slowly by this share
    shake: float = 0.0  # standard deviation of the camera's jitter, px
    whole_pixels: bool = False  # jitter by whole pixels only
    pan: tuple[float, float] = (0.0, 0.0)  # how far the camera travels over the ground in the clip, px

    def places(self, frames: int, seed: int) -> Floats:
        """Where the camera is at each frame, (frames, 2)."""
        jitter = self.shake * np.clip(np.random.default_rng((seed, 2)).normal(size=(frames, 2)), -2, 2)
        return self.travel(frames) + np.asarray(np.round(jitter) if self.whole_pixels else jitter)

    def travel(self, frames: int) -> Floats:
        """The pan alone."""
        return np.asarray(np.linspace(0, 1, frames)[:, None] * np.array(self.pan))

    def gains(self, frames: int, seed: int) -> Floats:
        """The brightness of each frame."""
        start = np.random.default_rng((seed, 3)).random()
        return np.asarray(1 + self.light_drift * np.sin(2 * np.pi * (start + 0.8 * np.linspace(0, 1, frames))))


@dataclass(frozen=True)
class Stage:
    """Things on a ground before a camera. Later things are in front of earlier ones."""

    things: tuple[SceneObject, ...]
    width: int  # px
    height: int  # px
    ground: Ground = field(default_factory=Ground)
    camera: Camera = field(default_factory=Camera)
    perspective: float = 0.0  # by what share a thing is larger at the lower border than half-way up
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.things or len({len(thing.path) for thing in self.things}) != 1:
            raise InputError("A scene needs at least one thing, and paths of one length for all of them.")
        if not 0 <= self.perspective < 1:
            raise InputError(f"The perspective is {self.perspective}: give 0 for none and less than 1.")

    @property
    def frames(self) -> int:
        """How many."""
        return len(self.things[0].path)

    def render(self) -> "GeneratedClip":
        """Draw every frame. The same stage gives the same pixels."""
        cameras = [(x, y) for x, y in self.camera.places(self.frames, self.seed).tolist()]
        truth = np.stack([thing.path for thing in self.things], axis=1) - np.array(cameras)[:, None]
        larger = np.array([thing.size for thing in self.things]) * self._growth(truth[..., 1])
        grounds = {place: self.ground.seen(self.width, self.height, place, self.seed) for place in set(cameras)}
        pictures = np.empty((self.frames, self.height, self.width, 3))
        visible = np.empty((self.frames, len(self.things)))
        for frame, place in enumerate(cameras):
            stamps = [stamp(*of_thing) for of_thing in zip(self.things, larger[frame], truth[frame], strict=True)]
            pictures[frame] = _pressed(stamps, grounds[place])
            visible[frame] = _visible(stamps, self.width, self.height)
        pictures *= self.camera.gains(self.frames, self.seed)[:, None, None, None]
        pictures += self.camera.noise * np.random.default_rng((self.seed, 4)).normal(size=pictures.shape)
        clip = Clip(
            np.round(255 * np.clip(pictures, 0, 1)).astype(np.uint8),
            np.arange(self.frames) / FRAMES_PER_SECOND,
            f"generated scene {self.seed}",
        )
        sides = np.array([(1, TALLNESS if thing.shape == "triangle" else 1) for thing in self.things])
        return GeneratedClip(clip, truth, visible, larger[..., None] * sides, self)

    def _growth(self, y: Floats) -> Floats:
        return np.asarray(1 + self.perspective * np.clip(2 * y / self.height - 1, -1, 1))


@dataclass(frozen=True)
class GeneratedClip:
    """A clip of which everything is known. Positions are in px, and (0, 0) is the first pixel's top-left corner."""

    clip: Clip
    truth: Floats  # (frames, objects, 2): the centre of the whole thing's bounding box, in view or not
    visible: Floats  # (frames, objects): the share of the thing that can be seen, 0 out of view or covered, 1 whole
    sizes: Floats  # (frames, objects, 2): width and height of the bounding box
    stage: Stage  # what was filmed


@dataclass(frozen=True)
class Stamp:
    """A thing ready to be put on a picture."""

    left: int  # px
    top: int
    coverage: Floats  # (height, width, 1): the share of each pixel that the thing covers
    paint: Floats  # (height, width, 3): its colour, times the coverage

    def within(self, width: int, height: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
        """The pixels of the picture that it touches, and its own that touch them; both may be empty."""
        rows, columns = self.coverage.shape[:2]
        top, bottom = np.clip((self.top, self.top + rows), 0, height)
        left, right = np.clip((self.left, self.left + columns), 0, width)
        part = slice(top - self.top, bottom - self.top), slice(left - self.left, right - self.left)
        return (slice(top, bottom), slice(left, right)), part


def stamp(thing: SceneObject, size: float, centre: Floats) -> Stamp:
    """Draw a thing ``size`` px wide around ``centre``, averaged over many samples in each pixel."""
    left, top = np.floor(centre - size / 2).astype(int)
    pixels = int(np.ceil(size)) + 1
    samples = (np.arange(pixels * SAMPLES) + 0.5) / SAMPLES
    u, v = np.meshgrid((left + samples - centre[0]) * 2 / size, (top + samples - centre[1]) * 2 / size)
    depth, spacing = depth_inside(thing.shape, u, v), 2 / size / SAMPLES
    inside = np.clip(depth / spacing + 0.5, 0, 1)[..., None]  # not yes or no: a straight edge between samples counts
    paint = inside * _lit(thing, u, v, depth, spacing)
    return Stamp(int(left), int(top), _averaged(inside), _averaged(paint))


def _pressed(stamps: list[Stamp], ground: Floats) -> Floats:
    """A noiseless frame: every stamp on the ones before it."""
    picture = ground.copy()
    for each in stamps:
        view, part = each.within(*ground.shape[1::-1])
        picture[view] = picture[view] * (1 - each.coverage[part]) + each.paint[part]
    return picture


def _visible(stamps: list[Stamp], width: int, height: int) -> list[float]:
    """The share of each thing that is in view and behind no other."""
    uncovered = np.ones((height, width, 1))
    shares = []
    for each in reversed(stamps):  # from the front to the back, to know what each one hides
        view, part = each.within(width, height)
        shown = float((each.coverage[part] * uncovered[view]).sum())
        shares.append(round(shown / float(each.coverage.sum()), 6))
        uncovered[view] *= 1 - each.coverage[part]
    return shares[::-1]


def depth_inside(shape: Shape, u: Floats, v: Floats) -> Floats:
    """How deep inside the outline a point is, in half widths; negative outside. The box runs from -1 to 1 in u."""
    radius = np.hypot(u, v)
    if shape == "disc":
        return np.asarray(1 - radius)
    if shape == "square":
        return np.asarray(1 - np.maximum(abs(u), abs(v)))
    if shape == "ring":
        return np.asarray(0.3 - abs(radius - 0.7))
    if shape == "cross":
        longer, shorter = np.maximum(abs(u), abs(v)), np.minimum(abs(u), abs(v))
        return np.asarray(np.minimum(1 - longer, 0.36 - shorter))
    return np.asarray(np.minimum(TALLNESS - v, (v + TALLNESS - np.sqrt(3) * abs(u)) / 2))


def _lit(thing: SceneObject, u: Floats, v: Floats, depth: Floats, spacing: float) -> Floats:
    """The colour of a body whose rim is rounded and whose top bulges a little, lit from the upper left."""
    inwards_v, inwards_u = np.gradient(depth, spacing)
    slope = 1 - np.clip(depth / RIM[thing.shape], 0, 1)
    normal_u, normal_v = -inwards_u * slope + DOME * u, -inwards_v * slope + DOME * v
    steepness = np.hypot(normal_u, normal_v)
    flatter = np.minimum(1, 0.95 / np.maximum(steepness, 1e-9))
    normal_u, normal_v, steepness = normal_u * flatter, normal_v * flatter, steepness * flatter
    normals = np.stack([normal_u, normal_v, np.sqrt(1 - steepness**2)], axis=-1)
    facing = np.clip(normals @ (LIGHT / np.linalg.norm(LIGHT)), 0, 1)[..., None]
    return np.asarray(np.clip(np.array(thing.colour) * (AMBIENT + DIFFUSE * facing) + GLOSS * facing**24, 0, 1))


def _averaged(samples: Floats) -> Floats:
    """Over the samples of each pixel."""
    rows, columns, colours = samples.shape
    cells = samples.reshape(rows // SAMPLES, SAMPLES, columns // SAMPLES, SAMPLES, colours)
    return np.asarray(cells.mean(axis=(1, 3)))
