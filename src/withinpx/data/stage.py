"""Renders shaded objects over a textured ground at subpixel positions, with exact ground truth for every frame."""

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
LIGHT = np.array([-0.50, -0.62, 0.60])  # direction to the lamp: left, up, towards the viewer
AMBIENT, DIFFUSE, GLOSS = 0.42, 0.72, 0.30
DOME = 0.30  # curvature of flat tops, so that the shading varies over the whole object
TRIANGLE_HEIGHT = np.sqrt(3) / 2  # over its width
RIM: dict[Shape, float] = {"disc": 1, "square": 0.5, "triangle": 0.45, "ring": 0.3, "cross": 0.36}  # rounded width
WAVES = 120  # in a ground texture
MIN_WAVELENGTH, MAX_WAVELENGTH = 5, 140  # px


@dataclass(frozen=True)
class SceneObject:
    shape: Shape
    colour: Colour
    size: float  # larger side of the bounding box, px
    path: Path2D  # (frames, 2): its box centre on the ground, px; it may leave the image

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InputError(f"An object of {self.size} px cannot be rendered: make it at least 1 px large.")


@dataclass(frozen=True)
class Ground:
    """A smooth multi-scale texture. It is a function of continuous position, so a moving camera sees it exactly."""

    colour: Colour = (0.44, 0.47, 0.43)
    contrast: float = 0.045  # standard deviation of the brightness

    def render(self, width: int, height: int, camera: tuple[float, float], seed: int) -> Floats:
        """The ground as seen from a camera at (x, y): (height, width, 3)."""
        random = np.random.default_rng((seed, 1))
        wavelength = np.exp(random.uniform(np.log(MIN_WAVELENGTH), np.log(MAX_WAVELENGTH), WAVES))
        direction, phase = random.uniform(0, 2 * np.pi, (2, WAVES))
        tint = 1 + 0.3 * random.normal(size=(WAVES, 3))
        strength = wavelength**0.5
        strength *= self.contrast * np.sqrt(2 / (strength**2).sum())
        along_x, along_y = 2j * np.pi / wavelength * np.stack([np.cos(direction), np.sin(direction)])
        columns = np.exp(along_x[:, None] * (np.arange(width) + 0.5 + camera[0]))
        rows = np.exp(along_y[:, None] * (np.arange(height) + 0.5 + camera[1]) + 1j * phase[:, None])
        coloured = rows[:, :, None] * (strength[:, None] * tint)[:, None]
        texture = np.tensordot(coloured, columns, axes=(0, 0)).real.swapaxes(1, 2)
        return np.asarray(np.clip(np.array(self.colour) + texture, 0, 1))


@dataclass(frozen=True)
class Camera:
    noise: float = 0.01  # standard deviation of the sensor noise, from 0 to 1
    light_drift: float = 0.0  # amplitude of a slow change of brightness, as a fraction
    shake: float = 0.0  # standard deviation of the camera's jitter, px
    whole_pixels: bool = False  # jitter by whole pixels only
    pan: tuple[float, float] = (0.0, 0.0)  # how far the camera travels over the ground during the clip, px

    def positions(self, frames: int, seed: int) -> Floats:
        """The camera's position in each frame: (frames, 2)."""
        jitter = self.shake * np.clip(np.random.default_rng((seed, 2)).normal(size=(frames, 2)), -2, 2)
        return self.travel(frames) + np.asarray(np.round(jitter) if self.whole_pixels else jitter)

    def travel(self, frames: int) -> Floats:
        """The pan without jitter: (frames, 2)."""
        return np.asarray(np.linspace(0, 1, frames)[:, None] * np.array(self.pan))

    def gains(self, frames: int, seed: int) -> Floats:
        """The brightness of each frame: (frames,)."""
        start = np.random.default_rng((seed, 3)).random()
        return np.asarray(1 + self.light_drift * np.sin(2 * np.pi * (start + 0.8 * np.linspace(0, 1, frames))))


@dataclass(frozen=True)
class Stage:
    """Objects on a ground in front of a camera. Later objects occlude earlier ones."""

    objects: tuple[SceneObject, ...]
    width: int  # px
    height: int  # px
    ground: Ground = field(default_factory=Ground)
    camera: Camera = field(default_factory=Camera)
    perspective: float = 0.0  # how much larger an object is at the bottom than at mid-height, as a fraction
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.objects or len({len(obj.path) for obj in self.objects}) != 1:
            raise InputError("A scene needs at least one object, and paths of one length for all of them.")
        if not 0 <= self.perspective < 1:
            raise InputError(f"The perspective is {self.perspective}: give 0 for none and less than 1.")

    @property
    def frames(self) -> int:
        return len(self.objects[0].path)

    def render(self) -> "GeneratedClip":
        """All frames; the same stage gives the same pixels."""
        cameras = [(x, y) for x, y in self.camera.positions(self.frames, self.seed).tolist()]
        truth = np.stack([obj.path for obj in self.objects], axis=1) - np.array(cameras)[:, None]
        growth = 1 + self.perspective * np.clip(2 * truth[..., 1] / self.height - 1, -1, 1)
        sizes = np.array([obj.size for obj in self.objects]) * growth
        grounds = {camera: self.ground.render(self.width, self.height, camera, self.seed) for camera in set(cameras)}
        images = np.empty((self.frames, self.height, self.width, 3))
        visible = np.empty((self.frames, len(self.objects)))
        for frame, camera in enumerate(cameras):
            sprites = [_sprite(*args) for args in zip(self.objects, sizes[frame], truth[frame], strict=True)]
            images[frame] = _composite(sprites, grounds[camera])
            visible[frame] = _visible_fractions(sprites, self.width, self.height)
        images *= self.camera.gains(self.frames, self.seed)[:, None, None, None]
        images += self.camera.noise * np.random.default_rng((self.seed, 4)).normal(size=images.shape)
        clip = Clip(
            np.round(255 * np.clip(images, 0, 1)).astype(np.uint8),
            np.arange(self.frames) / FRAMES_PER_SECOND,
            f"generated scene {self.seed}",
        )
        sides = np.array([(1, TRIANGLE_HEIGHT if obj.shape == "triangle" else 1) for obj in self.objects])
        return GeneratedClip(clip, truth, visible, sizes[..., None] * sides, self)


@dataclass(frozen=True)
class GeneratedClip:
    """A clip with ground truth. Positions are in px; (0, 0) is the top-left corner of the first pixel."""

    clip: Clip
    truth: Floats  # (frames, objects, 2): the centre of the whole object's bounding box, in view or not
    visible: Floats  # (frames, objects): the visible fraction of the object, 0 out of view or occluded
    sizes: Floats  # (frames, objects, 2): width and height of the bounding box
    stage: Stage


@dataclass(frozen=True)
class _Sprite:
    """An object rendered alone, on the pixel grid."""

    left: int  # px
    top: int
    coverage: Floats  # (height, width, 1): the fraction of each pixel that the object covers
    paint: Floats  # (height, width, 3): its colour times the coverage

    def overlap(self, width: int, height: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
        """Its overlap with the image, as slices of the image and of the sprite; both may be empty."""
        rows, columns = self.coverage.shape[:2]
        top, bottom = np.clip((self.top, self.top + rows), 0, height)
        left, right = np.clip((self.left, self.left + columns), 0, width)
        part = slice(top - self.top, bottom - self.top), slice(left - self.left, right - self.left)
        return (slice(top, bottom), slice(left, right)), part


def _sprite(obj: SceneObject, size: float, centre: Floats) -> _Sprite:
    """Render an object ``size`` px wide around ``centre``, averaged over SAMPLES² samples per pixel."""
    left, top = np.floor(centre - size / 2).astype(int)
    pixels = int(np.ceil(size)) + 1
    samples = (np.arange(pixels * SAMPLES) + 0.5) / SAMPLES
    u, v = np.meshgrid((left + samples - centre[0]) * 2 / size, (top + samples - centre[1]) * 2 / size)
    depth, spacing = _depth(obj.shape, u, v), 2 / size / SAMPLES
    inside = np.clip(depth / spacing + 0.5, 0, 1)[..., None]  # fractional, for edges that run between samples
    paint = inside * _shade(obj, u, v, depth, spacing)
    return _Sprite(int(left), int(top), _pixel_means(inside), _pixel_means(paint))


def _composite(sprites: list[_Sprite], ground: Floats) -> Floats:
    """A noiseless frame: each sprite over the earlier ones."""
    image = ground.copy()
    for sprite in sprites:
        view, part = sprite.overlap(*ground.shape[1::-1])
        image[view] = image[view] * (1 - sprite.coverage[part]) + sprite.paint[part]
    return image


def _visible_fractions(sprites: list[_Sprite], width: int, height: int) -> list[float]:
    """The fraction of each object that is in view and not occluded."""
    uncovered = np.ones((height, width, 1))
    fractions = []
    for sprite in reversed(sprites):  # front to back
        view, part = sprite.overlap(width, height)
        shown = float((sprite.coverage[part] * uncovered[view]).sum())
        fractions.append(round(shown / float(sprite.coverage.sum()), 6))
        uncovered[view] *= 1 - sprite.coverage[part]
    return fractions[::-1]


def _depth(shape: Shape, u: Floats, v: Floats) -> Floats:
    """Signed distance to the outline in half widths, positive inside. The box runs from -1 to 1 in u."""
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
    return np.asarray(np.minimum(TRIANGLE_HEIGHT - v, (v + TRIANGLE_HEIGHT - np.sqrt(3) * abs(u)) / 2))


def _shade(obj: SceneObject, u: Floats, v: Floats, depth: Floats, spacing: float) -> Floats:
    """The colour of a body with a rounded rim and a slightly domed top, lit from the upper left."""
    inwards_v, inwards_u = np.gradient(depth, spacing)
    slope = 1 - np.clip(depth / RIM[obj.shape], 0, 1)
    normal_u, normal_v = -inwards_u * slope + DOME * u, -inwards_v * slope + DOME * v
    steepness = np.hypot(normal_u, normal_v)
    flatter = np.minimum(1, 0.95 / np.maximum(steepness, 1e-9))
    normal_u, normal_v, steepness = normal_u * flatter, normal_v * flatter, steepness * flatter
    normals = np.stack([normal_u, normal_v, np.sqrt(1 - steepness**2)], axis=-1)
    facing = np.clip(normals @ (LIGHT / np.linalg.norm(LIGHT)), 0, 1)[..., None]
    return np.asarray(np.clip(np.array(obj.colour) * (AMBIENT + DIFFUSE * facing) + GLOSS * facing**24, 0, 1))


def _pixel_means(samples: Floats) -> Floats:
    rows, columns, colours = samples.shape
    cells = samples.reshape(rows // SAMPLES, SAMPLES, columns // SAMPLES, SAMPLES, colours)
    return np.asarray(cells.mean(axis=(1, 3)))
