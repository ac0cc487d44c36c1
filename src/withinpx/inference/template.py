"""An object's rendering at every fraction of a pixel, as the search for its feasible set needs it.

The decoder of a layered network is equivariant to whole pixels, so the renderings within one pixel are all there are.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, UInt8
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import LayeredBackground
from withinpx.model.render import render
from withinpx.model.softargmax import pixel_centres

PHASES = 8  # renderings per pixel along each axis
FAINTEST = 0.01  # of the strongest pixel: a template ends where it is fainter at every phase
NEAR_PX = 2  # another object is within so many px of where it is rendered
VISIBLE = 2 / 255  # of full contrast: a rendering that changes a pixel by more covers it


@dataclass(frozen=True, eq=False)
class Template:
    """One object's layer at (j / PHASES, i / PHASES), i and j from 0 to PHASES, minus the layer without objects.

    Over a background B it adds ``colour - opacity * B`` to what is rendered without the object.
    """

    opacity: Float[Tensor, "i j 1 h w"]
    colour: Float[Tensor, "i j c h w"]  # times opacity
    empty_opacity: Float[Tensor, "1 1 1"]  # of the layer without objects
    empty_colour: Float[Tensor, "c 1 1"]
    left: int  # of the first pixel, from the whole pixel that the object is rendered at
    top: int
    centre: Float[Tensor, "i j 2"]  # centroid of each rendering, from that whole pixel
    covered: UInt8[Tensor, "i j H W"]  # pixels that it covers, and those NEAR_PX around; on the CPU

    @property
    def height(self) -> int:
        return int(self.opacity.shape[-2])

    @property
    def width(self) -> int:
        return int(self.opacity.shape[-1])

    def empty(self, background: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        """What is rendered where no object is."""
        return background * (1 - self.empty_opacity) + self.empty_colour

    @cached_property
    def coarse_cell(self) -> Float[Tensor, "1 5 m h w"]:
        """Weights of ``image_maps`` for the products of the cell of a whole pixel."""
        return _cell_products(self.opacity[::PHASES, ::PHASES], self.colour[::PHASES, ::PHASES])

    @cached_property
    def fine_cells(self) -> Float[Tensor, "n v"]:
        """The same for the cells within a pixel, row by row, five products each; maps are the last axis of ``v``."""
        weights = _cell_products(self.opacity, self.colour).permute(0, 1, 3, 4, 2)
        return weights.flatten(start_dim=2).flatten(end_dim=1).contiguous()

    @cached_property
    def fine_extents(self) -> tuple[Float[Tensor, "k 2"], Float[Tensor, "k 2"]]:
        """The smallest and the largest centre of the renderings at the corners of each cell within a pixel."""
        corners = torch.stack(_corners(self.centre))
        return corners.amin(dim=0), corners.amax(dim=0)


def make_template(model: Autoencoder, index: int, typical: Float[Tensor, " c"]) -> Template:
    """Render an object of a layered network; ``typical`` is the colour of the background where it moves."""
    config, margin = model.config, model.margin
    reach = margin + int((config.support or 4 * config.sigma) + 1)
    side = 2 * (reach + margin) + 2
    weight = next(model.parameters())
    phases = torch.arange(PHASES + 1, dtype=weight.dtype, device=weight.device) / PHASES
    positions = torch.stack(torch.meshgrid(phases, phases, indexing="xy"), dim=-1)  # (i, j, 2)
    gaussians = weight.new_zeros(positions[..., 0].numel(), config.objects, side, side)
    canvas = positions.view(-1, 1, 2) + reach + margin
    gaussians[:, [index]] = render(canvas, (side, side), config.sigma, config.support)
    inner = slice(margin, side - margin)
    with torch.no_grad():
        opacity, colour = _layer(model.decoder(gaussians)[..., inner, inner])
        middle = slice(side // 2, side // 2 + 1)
        empty_opacity, empty_colour = _layer(model.decoder(torch.zeros_like(gaussians[:1]))[0, :, middle, middle])
    opacity, colour = opacity - empty_opacity, colour - empty_colour
    strength = (colour - opacity * typical.to(opacity)[:, None, None]).abs().sum(dim=1)
    visible = strength.amax(dim=0) > FAINTEST * strength.amax()
    rows, columns = (visible.any(dim=axis).nonzero()[:, 0].tolist() or [reach] for axis in (1, 0))
    cut = (..., slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    left, top = columns[0] - reach, rows[0] - reach
    grid = positions.shape[:2]
    return Template(
        opacity[cut].unflatten(0, grid),
        colour[cut].unflatten(0, grid),
        empty_opacity,
        empty_colour,
        left,
        top,
        _centroid(strength[cut], left, top).unflatten(0, grid),
        _grown((strength[cut] > VISIBLE) | (opacity[cut][:, 0].abs() > VISIBLE)).unflatten(0, grid),
    )


def _grown(mask: Bool[Tensor, "b h w"]) -> UInt8[Tensor, "b H W"]:
    padded = F.pad(mask.float().cpu(), (2 * NEAR_PX,) * 4)
    return F.max_pool2d(padded, 2 * NEAR_PX + 1, stride=1).to(torch.uint8)


def _layer(maps: Float[Tensor, "*b o h w"]) -> tuple[Float[Tensor, "*b 1 h w"], Float[Tensor, "*b c h w"]]:
    """Opacity, and colours times opacity, in double precision."""
    opacity, colour = LayeredBackground.layer(maps.double())
    return opacity, opacity * colour


def _centroid(strength: Float[Tensor, "b h w"], left: int, top: int) -> Float[Tensor, "b 2"]:
    total = strength.sum(dim=(-2, -1)).clamp(min=1e-12)
    x = (strength.sum(dim=-2) * (pixel_centres(strength.shape[-1], strength) + left)).sum(dim=-1)
    y = (strength.sum(dim=-1) * (pixel_centres(strength.shape[-2], strength) + top)).sum(dim=-1)
    return torch.stack([x, y], dim=-1) / total.unsqueeze(-1)


def image_maps(
    difference: Float[Tensor, "b c h w"], background: Float[Tensor, "b c h w"], counted: Float[Tensor, "b 1 h w"]
) -> Float[Tensor, "b m h w"]:
    """The maps of a frame in which products of differences from renderings are linear.

    ``difference`` is the frame minus what is rendered without the object; only ``counted`` pixels enter.
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
