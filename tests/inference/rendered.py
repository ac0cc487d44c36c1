"""Templates with known values, and frames in which they are rendered at known positions."""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from tests.certificate.observed import seen_at
from withinpx.inference.observation import Observations, Pixels
from withinpx.inference.template import KERNEL, KERNEL_PX, NODES, Template

SIDE = 64
GREY = 0.4
BOX = 9.0  # of the objects, px

Array = NDArray[np.float64]


def blob(seed: int = 0, half: int = 5, colours: int = 1) -> Template:
    """An uneven, opaque object of about BOX px, as it is recorded; it is zero beyond ``half`` px."""
    random = np.random.default_rng(seed)
    places = np.linspace(-half - 1, half + 1, 2 * (half + 1) * NODES + 1)
    x, y = np.meshgrid(places, places)
    opacity = np.clip(3 * np.exp(-(((x / 3.4) ** 2 + (y / 3.9) ** 2) ** 2)) - 0.05, 0, 1)
    texture = ndimage.gaussian_filter(random.uniform(0, 1, (*x.shape, colours)), (NODES, NODES, 0))
    texture = (texture - texture.min()) / (texture.max() - texture.min())
    return Template(opacity, opacity[..., None] * texture)


def smooth(template: Template) -> Template:
    """The same object in smoothed frames; over an even background this is exact."""
    kernel = np.zeros(2 * KERNEL_PX * NODES + 1)
    kernel[::NODES] = KERNEL
    planes = np.concatenate([template.opacity[..., None], template.colour], axis=-1)
    planes = np.pad(planes, ((KERNEL_PX * NODES,) * 2, (KERNEL_PX * NODES,) * 2, (0, 0)))
    for axis in (0, 1):
        planes = ndimage.convolve1d(planes, kernel, axis=axis, mode="constant")
    return Template(planes[..., 0], planes[..., 1:], template.pool)


def draw(image: Array, template: Template, position: Array) -> None:
    """Draw an object into an image (h, w, c)."""
    whole = np.floor(position).astype(int)
    opacity, colour = template.render(position - whole)
    (left, top), (half_x, half_y) = whole, template.half
    part = image[top - half_y : top + half_y + 1, left - half_x : left + half_x + 1]
    part += colour - opacity[..., None] * part


def frames_with(objects: list[tuple[Template, Array]], noise: float = 0.0, seed: int = 0) -> Pixels:
    """Frames in which each object is rendered at its positions (f, 2), later ones over earlier ones, as bytes."""
    random = np.random.default_rng(seed)
    images = []
    for frame in range(len(objects[0][1])):
        image = np.full((SIDE, SIDE, objects[0][0].colour.shape[-1]), GREY)
        for template, positions in objects:
            draw(image, template, positions[frame])
        images.append(image + random.normal(0, noise, image.shape))
    stacked = (np.stack(images).clip(0, 1) * 255).round().astype(np.uint8)
    background = torch.full((1, stacked.shape[-1], SIDE, SIDE), GREY, dtype=torch.float32)
    return Pixels(torch.from_numpy(stacked).permute(0, 3, 1, 2), background)


def observed(positions: Array, off: Array | float = 0.0) -> Observations:
    """Objects that a network sees at positions (f, n, 2), with z off by so much."""
    return seen_at(positions.copy(), BOX, z=positions + off)
