"""An object's appearance as a function of the offset from its position: how it is rendered at any fraction of a pixel.

It is measured on the recording (certificate/appearance.py), not rendered by the decoder, and so known to the noise.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

NODES = 4  # per px along each axis: between nodes an appearance is bilinear
PHASES = 8  # renderings per pixel along each axis that the search for feasible sets compares with a frame
MOST_GROWTH = 2.0  # times its usual size at most, and as a divisor at least
KEPT_SIZES = 8  # of a template, with all that a search computes once for each

KERNEL = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)  # frames and backgrounds are smoothed by it before all else:
KERNEL_PX = len(KERNEL) // 2  # what differs from pixel to pixel is noise, and edges are felt from further away

Array = NDArray[np.float64]
Size = tuple[float, float, float]  # over the usual one: at (0, 0), and its growth per px along x and y
FLAT: Size = (1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Template:
    """The object rendered at offset o over a background B adds ``colour(o) - opacity(o) * B`` to it.

    Frames and backgrounds are smoothed. Offsets are from the object's position, in px of the frames times ``pool``:
    large objects are compared with means of ``pool`` x ``pool`` px. The nodes reach from -half - 1 to half + 1 along
    each axis. Seen in perspective, an object's size is a linear function of its position.
    """

    opacity: Array  # (rows, columns)
    colour: Array  # (rows, columns, c); times opacity
    pool: int = 1
    size: Size = FLAT

    def size_at(self, positions: Array) -> Array:
        """The object's size (...) at positions (..., 2), px of the frames, in steps that move no edge noticeably."""
        step = 1 / (PHASES * max(self.half))
        return np.asarray(1 + step * np.round((sizes_at(self.size, positions) - 1) / step))

    def scaled(self, size: float) -> "Template":
        """Of an object of this size everywhere."""
        return self if size == 1 and self.size == FLAT else _scaled(self, float(size))

    @property
    def half(self) -> tuple[int, int]:
        """Whole px that it extends along x and y to either side of the pixel that holds the position."""
        rows, columns = self.opacity.shape
        return (columns - 1) // (2 * NODES) - 1, (rows - 1) // (2 * NODES) - 1

    @property
    def width(self) -> int:
        return 2 * self.half[0] + 1

    @property
    def height(self) -> int:
        return 2 * self.half[1] + 1

    @cached_property
    def layers(self) -> Array:
        """Opacity and colour at the nodes (rows, columns, 1 + c)."""
        return np.concatenate([self.opacity[..., None], self.colour], axis=-1)

    def render(self, fraction: Array) -> tuple[Array, Array]:
        """Opacity (h, w) and colour (h, w, c) of its pixels, for a position at a fraction (x, y) of the middle one."""
        (half_x, half_y), (x, y) = self.half, fraction
        columns, rows = ((np.arange(2 * half + 1) + 1.5 - part) * NODES for half, part in ((half_x, x), (half_y, y)))
        layers = bilinear(self.layers, rows, columns)
        return layers[..., 0], layers[..., 1:]

    @cached_property
    def phases(self) -> tuple[Float[Tensor, "i j 1 h w"], Float[Tensor, "i j c h w"]]:
        """Opacity and colour at the fractions (j / PHASES, i / PHASES), i and j from 0 to PHASES."""
        rows, columns = (
            NODES * (0.5 + np.arange((2 * half + 2) * PHASES + 1, dtype=np.float64) / PHASES)
            for half in self.half[::-1]
        )
        fine = torch.from_numpy(bilinear(self.layers, rows, columns))
        steps = range(PHASES, -1, -1)
        rendered = torch.stack(
            [torch.stack([fine[i::PHASES, j::PHASES][: self.height, : self.width] for j in steps]) for i in steps]
        ).permute(0, 1, 4, 2, 3)
        return rendered[:, :, :1].contiguous(), rendered[:, :, 1:].contiguous()

    @cached_property
    def coarse_cell(self) -> Float[Tensor, "1 5 m h w"]:
        """Weights of ``image_maps`` for the products of the cell of a whole pixel."""
        opacity, colour = self.phases
        return _cell_products(opacity[::PHASES, ::PHASES], colour[::PHASES, ::PHASES])

    @cached_property
    def fine_cells(self) -> Float[Tensor, "n v"]:
        """The same for the cells within a pixel, row by row, five products each; maps are the last axis of ``v``."""
        weights = _cell_products(*self.phases).permute(0, 1, 3, 4, 2)
        return weights.flatten(start_dim=2).flatten(end_dim=1).contiguous()


def sizes_at(size: Size, positions: Array) -> Array:
    """The sizes (...) of an object at positions (..., 2), px of the frames."""
    at_origin, *growth = size
    return np.asarray((at_origin + positions @ np.array(growth)).clip(1 / MOST_GROWTH, MOST_GROWTH))


@lru_cache(maxsize=KEPT_SIZES)
def _scaled(template: Template, size: float) -> Template:
    columns, rows = (
        (np.arange(-reach, reach + 1) / size) + (half + 1) * NODES
        for half in template.half
        for reach in [(int(np.ceil(half * size)) + 1) * NODES]
    )
    layers = bilinear(template.layers, rows, columns)
    return Template(layers[..., 0], layers[..., 1:], template.pool)


def smoothed(images: Float[Tensor, "b c h w"], pool: int, *, smooth: bool = True) -> Float[Tensor, "b c H W"]:
    """Means of ``pool`` x ``pool`` px, smoothed; KERNEL_PX of these smaller on every side."""
    pooled = F.avg_pool2d(images, pool) if pool > 1 else images
    if not smooth:
        return pooled[..., KERNEL_PX:-KERNEL_PX, KERNEL_PX:-KERNEL_PX]
    kernel, planes = images.new_tensor(KERNEL), pooled.flatten(end_dim=1).unsqueeze(1)
    along_rows = F.conv2d(planes, kernel.view(1, 1, 1, -1))
    result: Tensor = F.conv2d(along_rows, kernel.view(1, 1, -1, 1)).squeeze(1).unflatten(0, images.shape[:2])
    return result


def bilinear(values: Array, rows: Array, columns: Array) -> Array:
    """Values (r, c, k) between nodes, at places (h) and (w) counted in nodes; zero beyond the last ones."""
    (row, (upper, lower)), (column, (left, right)) = (
        between_nodes(places, count) for places, count in zip((rows, columns), values.shape[:2], strict=True)
    )
    along = upper[:, None, None] * values[row] + lower[:, None, None] * values[row + 1]
    return np.asarray(left[:, None] * along[:, column] + right[:, None] * along[:, column + 1])


def between_nodes(places: Array, count: int) -> tuple[NDArray[np.intp], tuple[Array, Array]]:
    """The first of the two nodes around each place, and the weights of both; zero beyond the ``count`` nodes."""
    first = np.floor(places).astype(int)
    known = (first >= 0) & (first < count - 1)
    part = places - first
    return np.where(known, first, 0), (np.where(known, 1 - part, 0.0), np.where(known, part, 0.0))


def image_maps(
    difference: Float[Tensor, "b c h w"], background: Float[Tensor, "b c h w"], counted: Float[Tensor, "b 1 h w"]
) -> Float[Tensor, "b m h w"]:
    """The maps of a frame in which products of differences from renderings are linear.

    ``difference`` is the frame minus the background; only ``counted`` pixels enter.
    """
    squares, products = (value.sum(dim=1, keepdim=True) for value in (background**2, difference * background))
    return counted * torch.cat([torch.ones_like(counted), background, squares, difference, products], dim=1)


def _products(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> Float[Tensor, "k m h w"]:
    """Weights of ``image_maps`` such that their sum is <e_1, e_2> less the frame's own <difference, difference>.

    e = difference + opacity * B - colour is the frame minus the rendering.
    """
    (a, p), (b, q) = one, other
    return torch.cat([(p * q).sum(dim=1, keepdim=True), -(a * q + b * p), a * b, -(p + q), a + b], dim=1)


def _cell_products(
    opacity: Float[Tensor, "i j 1 h w"], colour: Float[Tensor, "i j c h w"]
) -> Float[Tensor, "k 5 m h w"]:
    """For each cell of the grid: the products of its four corners with their mean, and of the mean with itself."""
    corners = list(zip(_corners(opacity), _corners(colour), strict=True))
    mean = (torch.stack([a for a, _ in corners]).mean(dim=0), torch.stack([p for _, p in corners]).mean(dim=0))
    return torch.stack([_products(corner, mean) for corner in (*corners, mean)], dim=1)


def _corners(values: Float[Tensor, "i j ..."]) -> list[Float[Tensor, "k ..."]]:
    """The values at the four corners of every cell."""
    return [
        values[i : len(values) - 1 + i, j : values.shape[1] - 1 + j].flatten(end_dim=1) for i in (0, 1) for j in (0, 1)
    ]
