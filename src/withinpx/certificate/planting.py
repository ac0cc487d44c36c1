"""Planted truth: frames of the clip in which an object was put at a known position, to test its feasible sets.

A template is planted at known fractions of a pixel, with the clip's own noise: this tests noise and grid, and
assumption 4 holds by construction. Then the recording's own pixels of the object are cut out and pasted at whole-pixel
offsets, which tests its appearance too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from withinpx.discovery.background import BackgroundModel, ByteImages, FloatImages, to_float, to_uint8
from withinpx.inference.template import Template

PLANTED = 12  # frames of each kind
FURTHEST_PX = 6  # that pixels are pasted from where they were
GROWN_PX = 2  # around pixels that changed, which are erased with them

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Planted:
    """Frames that show one object at known positions."""

    images: ByteImages
    stage: NDArray[np.intp]  # (f,): the frame of the stage that each was made from
    positions: Array  # (f, 2)


@dataclass(frozen=True, eq=False)
class PlantingStage:
    """Where objects are planted: frames of the clip and their backgrounds."""

    images: ByteImages
    backgrounds: FloatImages  # one for all or one for each
    changed: NDArray[np.bool_]

    @classmethod
    def of(cls, images: ByteImages, background: BackgroundModel, frames: NDArray[np.intp]) -> "PlantingStage":
        own = background.of(frames)
        return cls(images[frames], own, background.changed(images[frames], own))

    def background(self, frame: int) -> FloatImages:
        return np.asarray(self.backgrounds[frame if len(self.backgrounds) > 1 else 0])

    def erased(self, frame: int) -> FloatImages:
        """The frame without its objects: with the background where anything changed."""
        hidden = _grown(self.changed[frame])[..., None]
        return np.asarray(np.where(hidden, self.background(frame), to_float(self.images[frame])), np.float32)


def plant_template(stage: PlantingStage, template: Template, positions: Array) -> Planted:
    """The template near positions (k, 2) at which the object was seen, in frames without objects."""
    random = np.random.default_rng(0)
    images, frames, planted = [], [], []
    for number in range(PLANTED):
        frame = number % len(stage.images)
        position = positions[random.integers(len(positions))] + random.uniform(-0.5, 0.5, 2)
        image = stage.erased(frame)
        rendered = _Rendering(template, position, image.shape[:2])
        image[rendered.pixels] += rendered.colour - rendered.opacity * stage.background(frame)[rendered.pixels]
        images.append(to_uint8(image.clip(0, 1)))
        frames.append(frame)
        planted.append(position)
    return Planted(np.stack(images), np.array(frames), np.array(planted))


def paste_pixels(stage: PlantingStage, template: Template, positions: Array) -> Planted | None:
    """The object's own pixels of each frame, pasted at whole-pixel offsets into other frames without objects.

    ``positions`` (f, 2) are where each frame of the stage shows it, NaN where not. What of a pixel is not the object's
    is of the background, and changes with it.
    """
    images, frames, pasted = [], [], []
    for source, target, offset in _pastings(positions):
        image = stage.erased(target)
        rendered = _Rendering(template, positions[source], image.shape[:2])
        rows, columns = (
            slice(own.start + by, own.stop + by) for own, by in zip(rendered.pixels, offset[::-1], strict=True)
        )
        if min(rows.start, columns.start) >= 0 and rows.stop <= image.shape[0] and columns.stop <= image.shape[1]:
            background = stage.background(target)[rows, columns] - stage.background(source)[rendered.pixels]
            own = to_float(stage.images[source])[rendered.pixels]
            image[rows, columns] = own + (1 - rendered.opacity.clip(0, 1)) * background
            images.append(to_uint8(image.clip(0, 1)))
            frames.append(target)
            pasted.append(positions[source] + offset)
    return Planted(np.stack(images), np.array(frames), np.array(pasted)) if images else None


def paste_regions(stage: PlantingStage, centres: Array, halves: Array) -> Planted | None:
    """All that changed around an object, pasted at whole-pixel offsets into other frames without objects.

    What is near it is of the background, and changes with it. ``centres`` (f, 2) are where each frame of the stage
    shows it, NaN where not; ``halves`` (f, 2) are half its sides.
    """
    images, frames, pasted = [], [], []
    for source, target, offset in _pastings(centres):
        left, top, right, bottom = _region(stage.changed[source], centres[source], halves[source])
        height, width = stage.changed[source].shape
        rows, columns = slice(top + offset[1], bottom + offset[1]), slice(left + offset[0], right + offset[0])
        if min(rows.start, columns.start) < 0 or rows.stop > height or columns.stop > width:
            continue
        image, part = stage.erased(target), (slice(top, bottom), slice(left, right))
        changed, near = (mask[part][..., None] for mask in (stage.changed[source], _grown(stage.changed[source])))
        background = np.where(changed, 0, stage.background(target)[rows, columns] - stage.background(source)[part])
        own = to_float(stage.images[source])[part] + background
        image[rows, columns] = np.where(near, own, image[rows, columns])
        images.append(to_uint8(image.clip(0, 1)))
        frames.append(target)
        pasted.append(centres[source] + offset)
    return Planted(np.stack(images), np.array(frames), np.array(pasted)) if images else None


def _pastings(positions: Array) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Frames that show an object, for each another one to paste it into, and by how much it is moved."""
    random = np.random.default_rng(0)
    shown = np.flatnonzero(np.isfinite(positions).all(axis=1))
    for number in range(PLANTED if len(shown) else 0):
        source = int(shown[number % len(shown)])
        yield source, (source + 1) % len(positions), random.integers(-FURTHEST_PX, FURTHEST_PX + 1, 2)


def _region(changed: NDArray[np.bool_], centre: Array, half: Array) -> tuple[int, int, int, int]:
    """The box of the changed regions that reach into an object's box: left, top, right and bottom."""
    labels, _ = ndimage.label(_grown(changed))
    left, top = np.floor(centre - half).clip(0).astype(int)
    right, bottom = np.ceil(centre + half).astype(int)
    own = np.unique(labels[top:bottom, left:right])
    rows, columns = np.nonzero(np.isin(labels, own[own > 0]))
    if not len(rows):
        return int(left), int(top), int(min(right, changed.shape[1])), int(min(bottom, changed.shape[0]))
    return int(columns.min()), int(rows.min()), int(columns.max() + 1), int(rows.max() + 1)


class _Rendering:
    """A template at a position in a frame of this height and width: which pixels it covers, and how."""

    def __init__(self, template: Template, position: Array, size: tuple[int, ...]) -> None:
        template = template.scaled(float(template.size_at(position)))
        whole, pool = np.floor(position / template.pool), template.pool
        left, top = ((whole - template.half) * pool).astype(int)
        opacity, colour = (
            values.repeat(pool, axis=0).repeat(pool, axis=1) for values in template.render(position / pool - whole)
        )
        rows, columns = (
            slice(max(0, first), max(0, min(first + length, limit)))
            for first, length, limit in zip((top, left), opacity.shape, size, strict=True)
        )
        self.pixels = rows, columns
        own = slice(rows.start - top, rows.stop - top), slice(columns.start - left, columns.stop - left)
        self.opacity, self.colour = opacity[own][..., None], colour[own]


def _grown(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.asarray(ndimage.binary_dilation(mask, np.ones((2 * GROWN_PX + 1,) * 2)))
