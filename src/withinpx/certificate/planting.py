"""Planted truth: frames of the clip in which an object was put at a known position, to test its feasible sets.

A template is planted at known fractions of a pixel, with the clip's own noise: this tests noise and grid, and
assumption 4 holds by construction. Then the recording's own pixels of the object are cut out and pasted at whole-pixel
offsets, which tests its appearance too.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from withinpx.discovery.background import BackgroundModel, ByteImages, FloatImages, to_float, to_uint8
from withinpx.inference.rendering import reconstruct
from withinpx.inference.template import PHASES, Template
from withinpx.model.autoencoder import Autoencoder

PLANTED = 12  # frames of each kind
FURTHEST_PX = 6  # that pixels are pasted from where they were
GROWN_PX = 2  # around pixels that changed, which are erased or cut out with them


@dataclass(frozen=True, eq=False)
class Planted:
    """Frames that show one object at known positions, by the centroid of its rendering."""

    images: ByteImages
    backgrounds: FloatImages
    positions: NDArray[np.float64]  # (f, 2)


@dataclass(frozen=True, eq=False)
class Stage:
    """Where objects are planted: frames of the clip and their backgrounds."""

    images: ByteImages
    backgrounds: FloatImages  # one for all or one for each
    changed: NDArray[np.bool_]

    @classmethod
    def of(cls, images: ByteImages, background: BackgroundModel, frames: NDArray[np.intp]) -> "Stage":
        own = background.of(frames)
        return cls(images[frames], own, background.changed(images[frames], own))

    def background(self, frame: int) -> FloatImages:
        return np.asarray(self.backgrounds[frame if len(self.backgrounds) > 1 else 0])

    def erased(self, frame: int) -> FloatImages:
        """The frame without its objects: with the background where anything changed."""
        hidden = _grown(self.changed[frame])[..., None]
        return np.asarray(np.where(hidden, self.background(frame), to_float(self.images[frame])), np.float32)


def plant_template(
    stage: Stage, model: Autoencoder, index: int, template: Template, rendered_at: NDArray[np.float64]
) -> Planted:
    """The object's rendering near positions (k, 2) at which it was rendered before, in frames without objects."""
    random = np.random.default_rng(0)
    device = next(model.parameters()).device
    images, backgrounds, positions = [], [], []
    for number in range(PLANTED):
        frame = number % len(stage.images)
        background = stage.background(frame)
        at = rendered_at[random.integers(len(rendered_at))] + random.uniform(-0.5, 0.5, 2)
        z = torch.zeros(1, model.config.objects, 2, device=device)
        z[0, index] = torch.from_numpy(at)
        shown = torch.zeros(1, model.config.objects, dtype=torch.bool, device=device)
        shown[0, index] = True
        still = torch.from_numpy(background).permute(2, 0, 1)[None].to(device)
        rendered = reconstruct(model, z, shown, still)[0].permute(1, 2, 0).cpu().numpy()
        images.append(to_uint8((rendered + stage.erased(frame) - background).clip(0, 1)))
        backgrounds.append(background)
        positions.append(centroid_at(template, at))
    return Planted(np.stack(images), np.stack(backgrounds), np.array(positions))


def centroid_at(template: Template, position: NDArray[np.float64]) -> NDArray[np.float64]:
    """The centroid of the rendering at a position, between those of the template."""
    whole = np.floor(position)
    x, y = (position - whole) * PHASES
    column, row = min(int(x), PHASES - 1), min(int(y), PHASES - 1)
    corners = template.centre[row : row + 2, column : column + 2].cpu().numpy()
    weights = np.outer([1 - (y - row), y - row], [1 - (x - column), x - column])
    return np.asarray(whole + (weights[..., None] * corners).sum(axis=(0, 1)))


def paste_pixels(
    stage: Stage, template: Template, rendered_at: NDArray[np.float64], centroids: NDArray[np.float64]
) -> Planted | None:
    """The object's own pixels of each frame, pasted at whole-pixel offsets into other frames without objects.

    ``rendered_at`` and ``centroids`` (f, 2) are where each frame of the stage shows it, NaN where not.
    """
    random = np.random.default_rng(0)
    images, backgrounds, positions = [], [], []
    shown = np.flatnonzero(np.isfinite(centroids).all(axis=1))
    height, width = stage.changed.shape[1:]
    for number in range(PLANTED if len(shown) else 0):
        source, target = int(shown[number % len(shown)]), int((shown[number % len(shown)] + 1) % len(stage.images))
        whole = np.floor(rendered_at[source]).astype(int)
        left, top = whole[0] + template.left - GROWN_PX, whole[1] + template.top - GROWN_PX
        right, bottom = left + template.width + 2 * GROWN_PX, top + template.height + 2 * GROWN_PX
        low = np.maximum(-FURTHEST_PX, (-left, -top))
        high = np.minimum(FURTHEST_PX, (width - right, height - bottom))
        if left < 0 or top < 0 or right > width or bottom > height or (low > high).any():
            continue
        x, y = random.integers(low, high + 1)
        mask = _grown(stage.changed[source, top:bottom, left:right])[..., None]
        image = to_uint8(stage.erased(target))
        region = image[top + y : bottom + y, left + x : right + x]
        region[:] = np.where(mask, stage.images[source, top:bottom, left:right], region)
        images.append(image)
        backgrounds.append(stage.background(target))
        positions.append(centroids[source] + (x, y))
    return Planted(np.stack(images), np.stack(backgrounds), np.array(positions)) if images else None


def _grown(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.asarray(ndimage.binary_dilation(mask, np.ones((2 * GROWN_PX + 1,) * 2)))
