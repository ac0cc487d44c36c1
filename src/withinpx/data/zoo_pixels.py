"""Renders a scene of the zoo: flat objects at subpixel positions, shadows, sway, light, noise and H.264."""

import io
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from withinpx.data.motion import Floats
from withinpx.data.stage import FRAMES_PER_SECOND, Ground

Image = NDArray[np.float32]
Videos = NDArray[np.uint8]  # (frames, height, width, colours)
BackgroundKind = Literal["plain", "textured", "patches"]

TEXTURE_PX = 32  # side of an object's texture before it is scaled to the object
SLABS = 4  # per pixel row: in a slab an outline's sides count as vertical
SHADOW_BLUR = 0.08  # standard deviation of a shadow's edge, as a fraction of the object's size
PATCH_LEVELS = 25  # a patch differs from the rest of the background by at most this
GRADIENT_LEVELS = 8  # from the middle of a plain background to its border
X264 = {"preset": "veryfast", "threads": "1", "mbtree": "0"}  # with one thread and no mbtree x264 is deterministic


@dataclass(frozen=True, eq=False)
class ZooObject:
    """A flat object. Its outline turns about its pivot and is scaled with it."""

    size: float  # larger side of its box at scale 1, px; for a turning object the largest over all angles
    outline: Floats  # (vertices, 2), px around the pivot, at scale 1 and angle 0
    colour: Floats  # (3,), levels
    texture: Image  # (TEXTURE_PX, TEXTURE_PX, 3), levels added to the colour; zeros for a plain object
    pivots: Floats  # (frames, 2), px
    angles: Floats  # (frames,), radians
    scales: Floats  # (frames,)

    def vertices(self, frame: int) -> Floats:
        """Its outline in a frame, px: (vertices, 2)."""
        return np.asarray(self.pivots[frame] + self.scales[frame] * self.outline @ rotation(self.angles[frame]).T)

    def boxes(self) -> tuple[Floats, Floats]:
        """The centre and the sides of its box in every frame, px: (frames, 2) each."""
        corners = [(self.vertices(frame).min(axis=0), self.vertices(frame).max(axis=0)) for frame in self.frames]
        low, high = (np.array(side) for side in zip(*corners, strict=True))
        return (low + high) / 2, high - low

    @property
    def frames(self) -> range:
        return range(len(self.pivots))


@dataclass(frozen=True)
class Background:
    kind: BackgroundKind
    colour: tuple[float, float, float]  # levels
    contrast: float  # standard deviation of a texture's brightness, from 0 to 1


@dataclass(frozen=True)
class Shadow:
    """The background, darkened in a soft copy of an object's outline that moves with it."""

    factor: float  # brightness in the shadow
    offset: tuple[float, float]  # as a fraction of the object's size


@dataclass(frozen=True, eq=False)
class Sway:
    """Part of the background moves to and fro."""

    amplitude: float  # px
    region: tuple[float, float, float, float]  # centre and radii of an ellipse, as fractions of the frame's sides
    phases: Floats  # (frames,), radians


@dataclass(frozen=True, eq=False)
class ZooScene:
    """Everything that decides the pixels of a clip. Later objects occlude earlier ones."""

    seed: int
    width: int  # px
    height: int  # px
    grey: bool
    unordered: bool  # independent images, as in a folder of stills
    objects: tuple[ZooObject, ...]
    background: Background
    shadow: Shadow | None
    sway: Sway | None
    gains: Floats  # (frames,), brightness of each frame
    noise: float  # standard deviation, levels
    crf: int | None  # of H.264; None is uncompressed
    nuisances: tuple[str, ...]
    lens_px: float = 0.0  # standard deviation of the blur of everything that is filmed; no seed's scene has any

    @property
    def frames(self) -> int:
        return len(self.gains)


def render(scene: ZooScene) -> tuple[Videos, Floats]:
    """The frames, and the visible share of each object in each of them: (frames, objects)."""
    random = np.random.default_rng((scene.seed, 6))
    still = _background(scene)
    colours = 1 if scene.grey else 3
    video = np.empty((scene.frames, scene.height, scene.width, colours), np.uint8)
    visible = np.empty((scene.frames, len(scene.objects)))
    for frame in range(scene.frames):
        image, visible[frame] = _composite(scene, still, frame)
        if scene.lens_px:
            image = np.asarray(cv2.GaussianBlur(image, (0, 0), scene.lens_px), np.float32)
        image = scene.gains[frame] * (image.mean(axis=2, keepdims=True) if scene.grey else image)
        image += scene.noise * random.standard_normal(image.shape, np.float32)
        video[frame] = image.round().clip(0, 255)
    return (video if scene.crf is None else _compressed(video, scene.crf, scene.unordered)), visible


def rotation(angle: float) -> Floats:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _background(scene: ZooScene) -> Image:
    """(height, width, 3), levels."""
    background, width, height = scene.background, scene.width, scene.height
    random = np.random.default_rng((scene.seed, 4))
    if background.kind == "textured":
        red, green, blue = (level / 255 for level in background.colour)
        ground = Ground((red, green, blue), background.contrast)
        return np.asarray(255 * ground.render(width, height, (0, 0), scene.seed), np.float32)
    x, y = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    slope_x, slope_y = random.uniform(-GRADIENT_LEVELS, GRADIENT_LEVELS, 2) / 2
    image = np.array(background.colour) + (slope_x * x + slope_y * y)[..., None]
    if background.kind == "patches":
        for _ in range(random.integers(5, 21)):
            left, top = random.uniform(-0.2, 1, 2) * (width, height)
            right, bottom = (left, top) + random.uniform(0.02, 0.5, 2) * (width, height)
            patch = slice(max(0, int(top)), int(bottom)), slice(max(0, int(left)), int(right))
            image[patch] = np.array(background.colour) + random.uniform(-PATCH_LEVELS, PATCH_LEVELS, 3)
    return np.asarray(image, np.float32)


def _composite(scene: ZooScene, still: Image, frame: int) -> tuple[Image, list[float]]:
    """A frame without light and noise, and the visible share of each object."""
    image = still.copy() if scene.sway is None else _swayed(still, scene.sway, frame)
    if scene.shadow is not None:
        for obj in scene.objects:
            _Layer.shadow(obj, scene.shadow, frame).multiply(image, scene.shadow.factor)
    layers = [_Layer.outline(obj.vertices(frame)) for obj in scene.objects]
    for obj, layer in zip(scene.objects, layers, strict=True):
        layer.paint(image, _colours(obj, layer, frame))
    return image, _visible_shares(layers, scene.height, scene.width)


def _swayed(still: Image, sway: Sway, frame: int) -> Image:
    height, width = still.shape[:2]
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    centre_x, centre_y, radius_x, radius_y = sway.region
    distance = np.hypot((x / width - centre_x) / radius_x, (y / height - centre_y) / radius_y)
    strength = np.clip(2 * (1 - distance), 0, 1)  # full in the inner half of the ellipse
    shift = np.float32(sway.amplitude) * strength * np.sin(np.float32(sway.phases[frame]) + 2 * np.pi * x / width)
    moved = cv2.remap(still, x + shift, y + shift / 3, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(moved, np.float32)


@dataclass(frozen=True, eq=False)
class _Layer:
    """The share of each pixel that an outline covers, in its own box, which may lie partly outside the frame."""

    left: int
    top: int
    coverage: Image  # (rows, columns)

    @classmethod
    def outline(cls, vertices: Floats, pad: int = 1) -> "_Layer":
        """``pad`` is the empty margin around the outline, px."""
        low = np.floor(vertices.min(axis=0)).astype(int) - pad
        columns, rows = np.ceil(vertices.max(axis=0)).astype(int) + pad - low
        return cls(int(low[0]), int(low[1]), _covered(vertices - low, int(rows), int(columns)))

    @classmethod
    def shadow(cls, obj: ZooObject, shadow: Shadow, frame: int) -> "_Layer":
        size = obj.size * obj.scales[frame]
        blur = SHADOW_BLUR * size
        sharp = cls.outline(obj.vertices(frame) + size * np.array(shadow.offset), pad=int(np.ceil(3 * blur)))
        return cls(sharp.left, sharp.top, np.asarray(cv2.GaussianBlur(sharp.coverage, (0, 0), blur), np.float32))

    def views(self, height: int, width: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
        """Its overlap with the frame, as slices of the frame and of the coverage; both may be empty."""
        rows, columns = self.coverage.shape
        top, bottom = np.clip((self.top, self.top + rows), 0, height)
        left, right = np.clip((self.left, self.left + columns), 0, width)
        own = slice(top - self.top, bottom - self.top), slice(left - self.left, right - self.left)
        return (slice(top, bottom), slice(left, right)), own

    def multiply(self, image: Image, factor: float) -> None:
        view, own = self.views(*image.shape[:2])
        image[view] *= 1 - (1 - factor) * self.coverage[own][..., None]

    def paint(self, image: Image, colours: Image) -> None:
        view, own = self.views(*image.shape[:2])
        image[view] += self.coverage[own][..., None] * (colours[own] - image[view])


def _covered(vertices: Floats, rows: int, columns: int) -> Image:
    """The share of each pixel inside a polygon. Rows are cut into slabs, and at vertices: upright boxes are exact."""
    x, y = vertices.T
    run, rise = np.roll(x, -1) - x, np.roll(y, -1) - y
    cuts = np.unique(np.concatenate([np.arange(rows * SLABS + 1) / SLABS, y]))
    middles, thickness = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    side, slab = np.nonzero((y[:, None] <= middles) != ((y + rise)[:, None] <= middles))
    crossings = x[side] + (middles[slab] - y[side]) * run[side] / rise[side]
    right_of = np.clip(np.arange(1, columns + 1) - crossings[:, None], 0, 1)  # of each pixel, beyond the side
    covered = np.zeros((rows, columns))
    np.add.at(covered, middles[slab].astype(int), (np.sign(rise[side]) * thickness[slab])[:, None] * right_of)
    return np.abs(covered).astype(np.float32)  # negative where the vertices go round the other way


def _colours(obj: ZooObject, layer: _Layer, frame: int) -> Image:
    """The object's colour in every pixel of its layer: (rows, columns, 3)."""
    rows, columns = layer.coverage.shape
    to_texture = rotation(-obj.angles[frame]) * TEXTURE_PX / (obj.size * obj.scales[frame])
    first_pixel = np.array([layer.left, layer.top]) + 0.5
    start = to_texture @ (first_pixel - obj.pivots[frame]) + TEXTURE_PX / 2 - 0.5
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    matrix = np.column_stack([to_texture, start])
    texture = cv2.warpAffine(obj.texture, matrix, (columns, rows), flags=flags, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(obj.colour + texture, np.float32)


def _visible_shares(layers: list[_Layer], height: int, width: int) -> list[float]:
    """The share of each object that is in the frame and not occluded."""
    uncovered = np.ones((height, width), np.float32)
    shares = []
    for layer in reversed(layers):  # front to back
        view, own = layer.views(height, width)
        shown = (layer.coverage[own] * uncovered[view]).sum(dtype=np.float64)
        shares.append(round(float(shown / layer.coverage.sum(dtype=np.float64)), 6))
        uncovered[view] *= 1 - layer.coverage[own]
    return shares[::-1]


def _compressed(video: Videos, crf: int, each_alone: bool) -> Videos:
    """The frames after H.264 with halved colour resolution; ``each_alone`` codes every frame without the others."""
    import av  # noqa: PLC0415  (slow to import)

    content = io.BytesIO()
    options = {**X264, "crf": str(crf), **({"g": "1"} if each_alone else {})}
    with av.open(content, "w", format="mp4") as container:
        stream: Any = container.add_stream("libx264", rate=FRAMES_PER_SECOND, options=options)
        stream.height, stream.width = video.shape[1:3]
        stream.pix_fmt = "yuv420p"
        for number, pixels in enumerate(video):
            rgb = np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))
            frame = av.VideoFrame.from_ndarray(rgb, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, FRAMES_PER_SECOND)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    content.seek(0)
    with av.open(content, "r") as coded:
        decoded = [frame.to_ndarray(format="rgb24") for frame in coded.decode(video=0)]
    return np.stack(decoded).astype(np.uint8, copy=False)[..., : video.shape[3]]
