"""The feasible set of each object in each frame: where it can be rendered without leaving too large a residual.

``theory/set_membership.py`` has the rule by which cells of the search grid are excluded. Frames are searched at the
recording's resolution, whatever the network works at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from withinpx.inference.observation import Feasible, Observations, Pixels
from withinpx.inference.outline import CentreRange, Outline, View, centre_range
from withinpx.inference.overlap import Boxes, overlapping
from withinpx.inference.template import KERNEL_PX, PHASES, Template, image_maps, smoothed
from withinpx.model.windows import Windows, crop_images
from withinpx.theory.set_membership import cell_residual

SMALL = 1 / 12  # of an object's size: where its outline allows so small a bound, the network's position is kept
NEAR_PX = 2  # px of the network's input: pixels so near to another object's box may show it
BESIDE_PX = 1  # px of a template: pixels so near to it at the object's position are compared with the frame too
MOST_CELLS = 64  # whole pixels; a set that covers more of them is not searched any finer
ROUNDING = 1e-4  # of the residual: the whole-pixel search is in single precision
CELLS_AT_ONCE = 512  # that are searched finely in one product of matrices
PARTS = 4  # along each axis, into which the cells at the ends of a set are divided
SHOWN = 0.5  # of a template's energy: a frame that shows less of it, where it fits best, does not show the object

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Search:
    """How one object is searched for."""

    template: Template
    reach: float  # px of the network's input: how far from z along each axis
    eps: float = np.inf  # the largest residual of a rendering that is where it belongs


@torch.no_grad()
def find_feasible(
    searches: Sequence[Search | Outline | None], pixels: Pixels, seen: Observations, zoom: float = 1.0
) -> Feasible:
    """Search each object around its z in the frames that show it; ``zoom`` is px of them per px of the network's."""
    found = Feasible.nowhere(*seen.present.shape)
    boxes = _Boxes(seen, zoom, pixels)
    for index, search in enumerate(searches):
        (shown,) = np.nonzero(seen.present[:, index])
        if search is None or not len(shown):
            continue
        if isinstance(search, Outline):
            for frame, (limits, best) in _outlines(search, pixels, seen, index, zoom).items():
                found.low[frame, index], found.high[frame, index] = limits.low, limits.high
                found.best[frame, index], found.size[frame, index] = best, limits.size
                found.elongation[frame, index] = limits.elongation
            continue
        z, middle = seen.z[shown, index], (seen.centre + seen.offset)[shown, index]
        sizes = search.template.size_at(zoom * middle)
        found.size[shown, index] = sizes
        for size in np.unique(sizes):
            own = replace(search, template=search.template.scaled(size))
            same = _Seen(shown[sizes == size], z[sizes == size], middle[sizes == size])
            located = _Located(own, pixels, same, zoom)
            free = boxes.free(index, located.windows)
            for name, values in _search(own, located, free, must_show=True).items():
                getattr(found, name)[same.frames, index] = values if values.ndim == 1 else values / zoom
    return found


def _outlines(
    outline: Outline, pixels: Pixels, seen: Observations, index: int, zoom: float
) -> dict[int, tuple[CentreRange, Array]]:
    """The range of the object's centre in the frames that show it whole and by itself, where its outline says one.

    What the network rendered must be in it, or no further from it than half its width, and then belongs to it. The
    position is where the network rendered the object, moved as far as the bound asks. Where the rendering reaches the
    border, at the scale of the network, the object has a range only if the frame shows background all around it.
    """
    ranges = {}
    (shown,) = np.nonzero(seen.present[:, index] & ~overlapping(seen)[:, index])
    middle = zoom * (seen.centre[:, index] + seen.offset[:, index])
    for frame in shown:
        image, background = pixels.whole(int(frame)), pixels.background_of(int(frame))
        others = boxes_of_others(seen, int(frame), index, zoom)
        view = View(image, background, middle[frame], zoom * seen.box[frame, index], zoom * outline.reach, others)
        limits = centre_range(outline, view)
        if limits is None or not outline.can_have(np.array(limits.size / zoom)):
            continue
        if seen.at_border[frame, index] and not limits.whole:
            continue
        rendered = seen.body[frame, index] + seen.offset[frame, index]
        low, high = limits.low / zoom, limits.high / zoom
        if (np.abs(rendered - (low + high) / 2) > high - low).any():
            continue  # the two disagree: the outline may be that of more than the object
        low, high = np.minimum(low, rendered), np.maximum(high, rendered)
        bound = np.maximum((high - low) / 2, SMALL * limits.size / zoom)
        own = CentreRange(low, high, limits.size / zoom, limits.elongation)
        ranges[int(frame)] = own, rendered.clip(high - bound, low + bound)
    return ranges


@dataclass(frozen=True, eq=False)
class Where:
    """Where to search for an object, in px of the network's input."""

    frames: NDArray[np.intp]  # (b,)
    boxes: Array  # (b, 4): left, top, right, bottom of a box that holds its position
    busy: NDArray[np.bool_]  # (b, h, w): pixels that another object may cover; they are not compared


@torch.no_grad()
def search_boxes(search: Search, pixels: Pixels, where: Where, zoom: float = 1.0, *, trim: bool = True) -> Feasible:
    """The feasible set of an object in each frame, within a box; ``zoom`` is px of the frames per px of the boxes.

    Without ``trim`` the ends of the sets are less exact, and found faster.
    """
    frames, busy, low, high = where.frames, where.busy, where.boxes[:, :2], where.boxes[:, 2:]
    middle = (low + high) / 2
    own = replace(search, reach=float((high - low).max()) / 2)
    located = _Located(own, pixels, _Seen(frames, middle, middle), zoom)
    device, height, width = pixels.images.device, *busy.shape[1:]
    rows, columns = located.windows.clamped((pixels.images.shape[-2], pixels.images.shape[-1]))
    number = torch.arange(len(frames), device=device)[:, None, None]
    at = number, (rows / zoom).long().clamp(max=height - 1), (columns / zoom).long().clamp(max=width - 1)
    free = ~torch.from_numpy(busy).to(device)[at].unsqueeze(1)
    within = located.windows.inside((pixels.images.shape[-2], pixels.images.shape[-1]))
    cells = located.cells_in(zoom * low, zoom * high)
    found = _search(own, located, free if within is None else free & within, cells, trim=trim)
    result = Feasible.nowhere(len(frames), 1)
    result.size[:] = 1.0
    for name, values in found.items():
        getattr(result, name)[:, 0] = values if values.ndim == 1 else values / zoom
    result.low[:, 0], result.high[:, 0] = np.maximum(result.low[:, 0], low), np.minimum(result.high[:, 0], high)
    return result


def boxes_of_others(seen: Observations, frame: int, index: int | None, zoom: float) -> Boxes:
    """The boxes of all objects but one in a frame, and what is near them: (k, 4), px of the frame."""
    middle, half = seen.centre[frame] + seen.offset[frame], seen.box[frame] / 2 + NEAR_PX
    corners = np.concatenate([middle - half, middle + half], axis=-1) * zoom
    present = seen.present[frame].copy()
    if index is not None:
        present[index] = False
    return np.asarray(np.nan_to_num(corners[present]).round(), int)


@dataclass(frozen=True, eq=False)
class _Seen:
    """One object in the frames that show it at one size, px of the network's input."""

    frames: NDArray[np.intp]
    z: Array  # (f, 2)
    middle: Array  # (f, 2): of what the network rendered, where the frame shows it


class _Located:
    """Windows of the frames that hold all renderings that are searched; px of a template from here on."""

    def __init__(self, search: Search, pixels: Pixels, seen: "_Seen", zoom: float) -> None:
        template, device, shown = search.template, pixels.images.device, seen.frames
        z, middle = zoom * seen.z, zoom * seen.middle
        self.pool, (half_x, half_y) = template.pool, template.half
        self.size = template.width, template.height
        reach = search.reach * zoom / self.pool
        cells = int(np.ceil(2 * reach)) + 2
        self.first = torch.from_numpy(np.floor(z / self.pool - reach)).long().to(device)  # (b, 2)
        self.windows = Windows(
            torch.from_numpy(shown).to(device),
            self.pool * (self.first[:, 1] - half_y),
            self.pool * (self.first[:, 0] - half_x),
            self.pool * (cells - 1 + template.height),
            self.pool * (cells - 1 + template.width),
        ).grown(self.pool * KERNEL_PX)
        self.background = smoothed(pixels.background(self.windows).double(), self.pool)
        self.difference = smoothed(pixels.image(self.windows).double(), self.pool) - self.background
        middle_cell = torch.from_numpy(np.floor(middle / self.pool)).long().to(device) - self.first
        rows, columns = (
            self._beside(middle_cell[:, axis], length, size)
            for axis, length, size in ((1, template.height, self.height), (0, template.width, self.width))
        )
        self.beside = (rows[:, :, None] & columns[:, None, :]).unsqueeze(1)

    @property
    def height(self) -> int:
        return int(self.background.shape[-2])

    @property
    def width(self) -> int:
        return int(self.background.shape[-1])

    def cells_in(self, low: Array, high: Array) -> Bool[Tensor, "b i j"]:
        """The cells of whole pixels that meet the boxes from ``low`` to ``high`` (b, 2), px of the frames."""
        device, (across, down) = self.first.device, (self.width - self.size[0] + 1, self.height - self.size[1] + 1)
        columns, rows = (
            self._meet(torch.arange(count, device=device) + self.first[:, [axis]], low[:, [axis]], high[:, [axis]])
            for axis, count in ((0, across), (1, down))
        )
        return rows[:, :, None] & columns[:, None, :]

    def _meet(self, first: Int[Tensor, "b k"], low: Array, high: Array) -> Bool[Tensor, "b k"]:
        """Which px of a template meet an interval, px of the frames."""
        start, end = (torch.from_numpy(values / self.pool).to(first.device) for values in (low, high))
        return (first + 1 > start) & (first < end)

    def counted(self, free: Bool[Tensor, "b 1 H W"]) -> Float[Tensor, "b 1 h w"]:
        """The pixels that are compared: beside the object, and made of none but free ones."""
        around = self.pool * (2 * KERNEL_PX + 1)
        mixed = F.max_pool2d((~free).double(), around, stride=self.pool)
        return (1 - mixed) * self.beside

    @staticmethod
    def _beside(first: Int[Tensor, " b"], length: int, size: int) -> Bool[Tensor, "b k"]:
        """Which rows or columns are those of a template that begins at ``first``, or next to them."""
        places = torch.arange(size, device=first.device)
        return (places >= first[:, None] - BESIDE_PX) & (places < first[:, None] + length + BESIDE_PX)


def _search(
    search: Search,
    located: _Located,
    free: Bool[Tensor, "b 1 H W"],
    cells: Bool[Tensor, "b i j"] | None = None,
    *,
    trim: bool = True,
    must_show: bool = False,
) -> dict[str, Array]:
    """One object in the frames that show it, each in a window; only in these cells of whole pixels, if given.

    A template that lies beside all pixels that are compared contradicts none of them, whatever they show. With
    ``must_show`` such a frame has no set.
    """
    template, counted = search.template, located.counted(free)
    maps = image_maps(located.difference, located.background, counted)
    square = (counted * located.difference**2).sum(dim=(1, 2, 3))
    lower, middle = _bounds(_coarse_products(maps, template), square)
    if cells is not None:
        lower, middle = (torch.where(cells, values, torch.inf) for values in (lower, middle))
    smallest = middle.flatten(start_dim=1).amin(dim=1)
    limit = smallest if np.isinf(search.eps) else smallest.clamp(min=search.eps)
    slack = ROUNDING * square.sqrt()
    kept = lower <= (limit + slack)[:, None, None]
    few = kept.sum(dim=(1, 2)) <= MOST_CELLS
    result = _Result(located.first)
    result.add_coarse((kept & (lower <= search.eps + slack[:, None, None]) & ~few[:, None, None]), middle)
    for part in (kept & few[:, None, None]).nonzero().split(CELLS_AT_ONCE):
        if len(part):
            result.add_fine(part, *_bounds(_fine_products(maps, template, part), square[part[:, 0]]), search.eps)
    result.refine(template, located, counted, square)
    if trim:
        result.trim(template, located, counted, square, search.eps)
    shown = result.shown(template, located, square)
    if must_show:
        result.leave_out(shown < SHOWN)
    return result.arrays(template.pool, search.eps) | {"shown": shown.cpu().numpy()}


def _coarse_products(maps: Float[Tensor, "b m H W"], template: Template) -> Float[Tensor, "b i j 5"]:
    """For every whole pixel; in single precision on a CPU, where that is several times as fast."""
    dtype = torch.float32 if maps.device.type == "cpu" else torch.float64
    return F.conv2d(maps.to(dtype), template.coarse_cell[0].to(maps.device, dtype)).double().permute(0, 2, 3, 1)


def _fine_products(maps: Tensor, template: Template, pixels: Int[Tensor, "k 3"]) -> Float[Tensor, "k n 5"]:
    """For the cells within each of these whole pixels: (frame, row, column)."""
    patches = _patches(maps, template, *pixels.T)
    return (patches.flatten(start_dim=1) @ template.fine_cells.to(maps.device).T).view(len(pixels), -1, 5)


def _patches(maps: Tensor, template: Template, frame: Tensor, row: Tensor, column: Tensor) -> Float[Tensor, "k h w m"]:
    """What the template covers of each frame if its first pixel is at (row, column)."""
    rows = row[:, None] + torch.arange(template.height, device=row.device)
    columns = column[:, None] + torch.arange(template.width, device=row.device)
    return maps.permute(0, 2, 3, 1)[frame[:, None, None], rows[:, :, None], columns[:, None, :]]


def _corner_errors(
    template: Template, located: _Located, counted: Float[Tensor, "b 1 h w"], cells: Int[Tensor, "k 5"]
) -> tuple[Float[Tensor, "k 4 v"], Float[Tensor, " k"]]:
    """The frame minus the renderings at the corners of each cell, row by row, where a template covers it.

    Cells are (frame, row, column, and row and column within that pixel). Also the part of each frame's squared
    difference from the background that is covered.
    """
    frame, row, column, i, j = cells.T
    difference, background, weight = (
        _patches(values, template, frame, row, column).permute(0, 3, 1, 2)
        for values in (located.difference, located.background, counted)
    )
    opacity, colour = (values.to(difference) for values in template.phases)
    errors = [
        weight * (difference + opacity[i + down, j + across] * background - colour[i + down, j + across])
        for down in (0, 1)
        for across in (0, 1)
    ]
    return torch.stack(errors, dim=1).flatten(start_dim=2), (weight * difference**2).sum(dim=(1, 2, 3))


def _part_weights() -> tuple[Float[Tensor, "n 4"], Int[Tensor, "p 4"], Float[Tensor, "p 2"]]:
    """A cell divided into parts: weights of its corners at all nodes, and each part's corners and first (x, y)."""
    along = torch.linspace(0, 1, PARTS + 1, dtype=torch.float64)
    ends = torch.stack([1 - along, along], dim=-1)
    weights = (ends[:, None, :, None] * ends[None, :, None, :]).reshape(-1, 4)
    row, column = torch.meshgrid(torch.arange(PARTS), torch.arange(PARTS), indexing="ij")
    first = (row * (PARTS + 1) + column).flatten()
    corners = first[:, None] + torch.tensor([0, 1, PARTS + 1, PARTS + 2])
    return weights, corners, torch.stack([column.flatten(), row.flatten()], dim=-1) / PARTS


def _part_residuals(products: Float[Tensor, "k 4 4"]) -> Float[Tensor, "k p"]:
    """A lower bound on the residual of each part of cells whose corners' differences have these products."""
    weights, corners, _ = _part_weights()
    at_nodes = weights @ products.cpu() @ weights.T
    within = at_nodes[:, corners[:, :, None], corners[:, None, :]]  # (k, p, 4, 4)
    with_mean = within.mean(dim=-1)
    lower = cell_residual(with_mean.numpy(), with_mean.mean(dim=-1).clamp(min=0).numpy())
    return torch.from_numpy(lower).to(products)


def _bounds(products: Float[Tensor, "b ... 5"], square: Float[Tensor, " b"]) -> tuple[Tensor, Tensor]:
    """A lower bound on each cell's residual, and the residual of its mean rendering."""
    square = square.view(-1, *(1,) * (products.ndim - 1))
    products = products + square
    products[..., 4].clamp_(min=0)
    lower = cell_residual(products[..., :4].cpu().numpy(), products[..., 4].cpu().numpy())
    return torch.from_numpy(lower).to(products), products[..., 4].sqrt()


class _Result:
    """The smallest residual and the extents of the feasible cells, collected cell by cell."""

    def __init__(self, first: Int[Tensor, "b 2"]) -> None:
        count, device = len(first), first.device
        self._first = first
        self._low = torch.full((count, 2), torch.inf, dtype=torch.float64, device=device)
        self._high, self._best = -self._low, torch.full_like(self._low, torch.nan)
        self._residual = torch.full((count,), torch.inf, dtype=torch.float64, device=device)
        self._cell = torch.full((count, 4), -1, device=device)  # row, column, and the cell within that pixel
        self._kept: list[Int[Tensor, "k 5"]] = []  # frame and the same, of the cells that may be feasible

    def add_coarse(self, kept: Bool[Tensor, "b i j"], middle: Float[Tensor, "b i j"]) -> None:
        """Whole pixels that are kept."""
        frame, row, column = kept.nonzero().T
        corner = self._corner(frame, row, column)
        self._extend(frame, corner, corner + 1)
        self._improve(frame, middle[frame, row, column], corner + 0.5)

    def add_fine(self, pixels: Int[Tensor, "k 3"], lower: Tensor, middle: Tensor, eps: float) -> None:
        """The cells (k, n) within whole pixels, of which those are kept whose residual may be as small as eps."""
        frame, row, column = pixels.T
        corner = self._corner(frame, row, column)
        within, cell = (lower <= eps).nonzero().T
        low = corner[within] + self._place(cell)
        self._extend(frame[within], low, low + 1 / PHASES)
        self._kept.append(torch.cat([pixels[within], torch.stack([cell // PHASES, cell % PHASES], dim=-1)], dim=1))
        residual, nearest = middle.min(dim=1)
        improved = self._improve(frame, residual, corner + self._place(nearest) + 0.5 / PHASES)
        self._cell[frame[improved]] = torch.stack([row, column, nearest // PHASES, nearest % PHASES], dim=-1)[improved]

    def refine(
        self, template: Template, located: _Located, counted: Float[Tensor, "b 1 h w"], square: Float[Tensor, " b"]
    ) -> None:
        """Move the best positions from the middle of their cells to where the residual is smallest, to first order."""
        (frame,) = (self._cell[:, 0] >= 0).nonzero(as_tuple=True)
        if not len(frame):
            return
        cells = torch.cat([frame[:, None], self._cell[frame]], dim=1)
        errors, covered = _corner_errors(template, located, counted, cells)
        middle = errors.mean(dim=1)
        first, right, below, last = errors.unbind(dim=1)
        slopes = torch.stack([right + last - first - below, below + last - first - right], dim=1) / 2
        normal = slopes @ slopes.transpose(1, 2)
        normal = normal + 1e-9 * normal.diagonal(dim1=1, dim2=2).sum(dim=1)[:, None, None] * torch.eye(2).to(normal)
        solvable = (normal.diagonal(dim1=1, dim2=2) > 0).all(dim=1)
        normal[~solvable] = torch.eye(2).to(normal)
        steps = -torch.linalg.solve(normal, slopes @ middle.unsqueeze(-1)).squeeze(-1).clamp(-1, 1)
        self._best[frame] += steps / PHASES
        elsewhere = square[frame] - covered  # beside what is rendered
        moved = middle + (steps.unsqueeze(1) @ slopes).squeeze(1)
        self._residual[frame] = (moved.square().sum(dim=1) + elsewhere.clamp(min=0)).sqrt()

    def trim(
        self,
        template: Template,
        located: _Located,
        counted: Float[Tensor, "b 1 h w"],
        square: Float[Tensor, " b"],
        eps: float,
    ) -> None:
        """Divide the cells at the ends of each set, and leave out the parts whose residual exceeds eps.

        Within a cell all renderings are means of those at its corners, so products of these say all.
        """
        if not self._kept:
            return
        cells = torch.cat(self._kept)
        low = self._corner(*cells[:, :3].T) + self._place(PHASES * cells[:, 3] + cells[:, 4])
        frame = cells[:, 0]
        at_ends = ((low == self._low[frame]) | (low + 1 / PHASES == self._high[frame])).any(dim=1)
        searched = torch.zeros(len(self._low), 1, dtype=torch.bool, device=low.device)
        searched[frame] = True
        self._low, self._high = (
            torch.where(searched, end + step, end) for end, step in ((self._low, 1 / PHASES), (self._high, -1 / PHASES))
        )
        first = _part_weights()[2].to(low) / PHASES
        for own in at_ends.nonzero().squeeze(1).split(CELLS_AT_ONCE):
            errors, covered = _corner_errors(template, located, counted, cells[own])
            elsewhere = (square[frame[own]] - covered).clamp(min=0)
            residual = _part_residuals(errors @ errors.transpose(1, 2) + elsewhere[:, None, None])
            cell, part = (residual <= eps).nonzero().T
            corner = low[own[cell]] + first[part]
            self._extend(frame[own[cell]], corner, corner + 1 / (PHASES * PARTS))

    def shown(self, template: Template, located: _Located, square: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
        """How much of its energy the template explains where it fits best; NaN where it was not searched for.

        What it explains is by how much it lessens the squared residual: all of its energy if the object is there and
        is seen whole.
        """
        share = torch.full_like(square, torch.nan)
        (frame,) = torch.isfinite(self._best).all(dim=1).nonzero(as_tuple=True)
        column, row = (self._best[frame].floor().long() - self._first[frame]).T
        row, column = row.clamp(0, located.height - template.height), column.clamp(0, located.width - template.width)
        background = _patches(located.background, template, frame, row, column).permute(0, 3, 1, 2)
        opacity, colour = (values[0, 0].to(background) for values in template.phases)
        energy = (colour - opacity * background).square().sum(dim=(1, 2, 3))
        share[frame] = (square[frame] - self._residual[frame] ** 2) / energy
        return share

    def leave_out(self, frames: Bool[Tensor, " b"]) -> None:
        """Without the sets of these frames."""
        self._low[frames], self._high[frames] = torch.inf, -torch.inf

    def _corner(self, frame: Tensor, row: Tensor, column: Tensor) -> Float[Tensor, "k 2"]:
        return (self._first[frame] + torch.stack([column, row], dim=-1)).double()

    @staticmethod
    def _place(cell: Tensor) -> Float[Tensor, "k 2"]:
        """The first corner of a cell within its pixel."""
        return torch.stack([cell % PHASES, cell // PHASES], dim=-1).double() / PHASES

    def _extend(self, frame: Tensor, low: Tensor, high: Tensor) -> None:
        index = frame[:, None].expand(-1, 2)
        self._low.scatter_reduce_(0, index, low, "amin")
        self._high.scatter_reduce_(0, index, high, "amax")

    def _improve(self, frame: Tensor, residual: Tensor, position: Tensor) -> Bool[Tensor, " k"]:
        """Note the smallest residual of each frame; which of these are the smallest so far?"""
        self._residual.scatter_reduce_(0, frame, residual, "amin")
        smallest = residual == self._residual[frame]
        self._best[frame[smallest]] = position[smallest]
        return smallest

    def arrays(self, pool: int, eps: float) -> dict[str, Array]:
        """Nothing is feasible where even the smallest residual is larger than eps."""
        none = (self._low > self._high).any(dim=1, keepdim=True) | (self._residual > eps)[:, None]
        low, high = (torch.where(none, torch.nan, values) for values in (self._low, self._high))
        found = {"residual": self._residual, "best": pool * self._best, "low": pool * low, "high": pool * high}
        return {name: values.cpu().numpy() for name, values in found.items()}


class _Boxes:
    """Which pixels may show another object: those in its box, and near it."""

    def __init__(self, seen: Observations, zoom: float, pixels: Pixels) -> None:
        middle, half = seen.centre + seen.offset, seen.box / 2 + NEAR_PX
        self._low, self._high = (
            np.nan_to_num(np.round(zoom * edge)).astype(int) for edge in (middle - half, middle + half)
        )
        self._size = (pixels.images.shape[-2], pixels.images.shape[-1])
        self._alone = seen.present.sum(axis=1).max(initial=0) < 2
        self._counts = torch.zeros(0 if self._alone else len(seen), *self._size, dtype=torch.uint8)
        for frame, index in zip(*np.nonzero(seen.present), strict=True) if not self._alone else ():
            (left, top), (right, bottom) = self._low[frame, index].clip(0), self._high[frame, index].clip(0)
            self._counts[frame, top:bottom, left:right] += 1

    def free(self, index: int, windows: Windows) -> Bool[Tensor, "b 1 h w"]:
        """Pixels of each window that are in the frame, and that no other object's box holds."""
        device = windows.top.device
        inside = windows.inside(self._size)
        if inside is None:
            inside = torch.ones(len(windows), 1, windows.height, windows.width, dtype=torch.bool, device=device)
        if self._alone:
            return inside
        on_cpu = Windows(windows.image.cpu(), windows.top.cpu(), windows.left.cpu(), windows.height, windows.width)
        low, high = (torch.from_numpy(edge[on_cpu.image.numpy(), index]) for edge in (self._low, self._high))
        own_columns, own_rows = (
            (places >= low[:, [axis]]) & (places < high[:, [axis]])
            for axis, places in enumerate((on_cpu.columns(), on_cpu.rows()))
        )
        own = (own_rows[:, :, None] & own_columns[:, None, :]).unsqueeze(1)
        others = crop_images(self._counts.unsqueeze(1), on_cpu) - own.to(torch.uint8)
        return inside & (others == 0).to(device)
