"""The feasible set of each object in each frame: where it can be rendered without leaving too large a residual.

``theory/set_membership.py`` has the rule by which cells of the search grid are excluded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from withinpx.inference.observation import Feasible, Frames
from withinpx.inference.template import NEAR_PX, PHASES, Template, image_maps
from withinpx.model.windows import Windows, crop_images
from withinpx.theory.set_membership import cell_residual

MOST_CELLS = 64  # whole pixels; a set that covers more of them is not searched any finer
ROUNDING = 1e-4  # of the residual: the whole-pixel search is in single precision
CELLS_AT_ONCE = 512  # that are searched finely in one product of matrices


@dataclass(frozen=True, eq=False)
class Search:
    """How one object is searched for."""

    template: Template
    shift: tuple[float, float]  # from z to the object's centre: renderings are searched around z minus it,
    reach: float  # by so many px along each axis
    eps: float = np.inf  # the largest residual of a rendering that is where it belongs


@torch.no_grad()
def find_feasible(
    searches: Sequence[Search | None],
    frames: Frames,
    z: NDArray[np.float64],
    offset: NDArray[np.float64],
    present: NDArray[np.bool_],
) -> Feasible:
    """Search each object around its z (f, n, 2) in the frames that show it.

    ``offset`` is from where each object is rendered to where the frame shows it: there it may hide another.
    """
    found = Feasible.nowhere(*present.shape)
    covers = _Covers(searches, frames, z + np.where(present[..., None], offset, 0.0), present)
    for index, search in enumerate(searches):
        (shown,) = np.nonzero(present[:, index])
        if search is not None and len(shown):
            for name, values in _search(search, frames, z[shown, index], shown, partial(covers.free, index)).items():
                getattr(found, name)[shown, index] = values
    return found


def _search(
    search: Search,
    frames: Frames,
    z: NDArray[np.float64],
    shown: NDArray[np.intp],
    free: Callable[[Windows], Bool[Tensor, "b 1 h w"]],
) -> dict[str, NDArray[np.float64]]:
    """One object in the frames that show it, each in a window; only ``free`` pixels of the window are counted."""
    template, device = search.template, frames.images.device
    cells = int(np.ceil(2 * search.reach)) + 2
    first = torch.from_numpy(np.floor(z - np.array(search.shift) - search.reach)).long().to(device)
    windows = Windows(
        torch.from_numpy(shown).to(device),
        first[:, 1] + template.top,
        first[:, 0] + template.left,
        cells - 1 + template.height,
        cells - 1 + template.width,
    )
    background = frames.background(windows).double()
    difference = frames.cleaned(windows).double() - template.empty(background)
    counted = free(windows).to(difference)
    maps, square = image_maps(difference, background, counted), (counted * difference**2).sum(dim=(1, 2, 3))
    lower, middle = _bounds(_coarse_products(maps, template), square)
    smallest = middle.flatten(start_dim=1).amin(dim=1)
    limit = smallest if np.isinf(search.eps) else smallest.clamp(min=search.eps)
    slack = ROUNDING * square.sqrt()
    kept = lower <= (limit + slack)[:, None, None]
    few = kept.sum(dim=(1, 2)) <= MOST_CELLS
    result = _Result(len(shown), first, device)
    result.add_coarse(template, (kept & (lower <= search.eps + slack[:, None, None]) & ~few[:, None, None]), middle)
    for part in (kept & few[:, None, None]).nonzero().split(CELLS_AT_ONCE):
        if len(part):
            products = _fine_products(maps, template, part)
            result.add_fine(template, part, *_bounds(products, square[part[:, 0]]), search.eps)
    return result.arrays()


def _coarse_products(maps: Float[Tensor, "b m H W"], template: Template) -> Float[Tensor, "b i j 5"]:
    """For every whole pixel; in single precision on a CPU, where that is several times as fast."""
    dtype = torch.float32 if maps.device.type == "cpu" else torch.float64
    return F.conv2d(maps.to(dtype), template.coarse_cell[0].to(dtype)).double().permute(0, 2, 3, 1)


def _fine_products(maps: Tensor, template: Template, pixels: Int[Tensor, "k 3"]) -> Float[Tensor, "k n 5"]:
    """For the cells within each of these whole pixels: (frame, row, column)."""
    frame, row, column = pixels.T
    rows = row[:, None] + torch.arange(template.height, device=row.device)
    columns = column[:, None] + torch.arange(template.width, device=row.device)
    patches = maps.permute(0, 2, 3, 1)[frame[:, None, None], rows[:, :, None], columns[:, None, :]]
    return (patches.flatten(start_dim=1) @ template.fine_cells.T).view(len(row), -1, 5)


def _bounds(products: Float[Tensor, "b ... 5"], square: Float[Tensor, " b"]) -> tuple[Tensor, Tensor]:
    """A lower bound on each cell's residual, and the residual of its mean rendering."""
    square = square.view(-1, *(1,) * (products.ndim - 1))
    products = products + square
    products[..., 4].clamp_(min=0)
    lower = cell_residual(products[..., :4].cpu().numpy(), products[..., 4].cpu().numpy())
    return torch.from_numpy(lower).to(products), products[..., 4].sqrt()


class _Result:
    """The smallest residual and the extents of the feasible cells, collected cell by cell."""

    def __init__(self, count: int, first: Int[Tensor, "b 2"], device: torch.device) -> None:
        self._first = first.double()
        self._low = torch.full((count, 2), torch.inf, dtype=torch.float64, device=device)
        self._high, self._best = -self._low, torch.full_like(self._low, torch.nan)
        self._residual = torch.full((count,), torch.inf, dtype=torch.float64, device=device)

    def add_coarse(self, template: Template, kept: Bool[Tensor, "b i j"], middle: Float[Tensor, "b i j"]) -> None:
        """Whole pixels that are kept."""
        frame, row, column = kept.nonzero().T
        corner = self._first[frame] + torch.stack([column, row], dim=-1)
        nodes = template.centre[::PHASES, ::PHASES].flatten(end_dim=1)
        self._extend(frame, corner + nodes.amin(dim=0), corner + nodes.amax(dim=0))
        self._improve(frame, middle[frame, row, column], corner + nodes.mean(dim=0))

    def add_fine(
        self, template: Template, pixels: Int[Tensor, "k 3"], lower: Tensor, middle: Tensor, eps: float
    ) -> None:
        """The cells (k, n) within whole pixels, of which those are kept whose residual may be as small as eps."""
        frame, row, column = pixels.T
        corner = self._first[frame] + torch.stack([column, row], dim=-1)
        low, high = template.fine_extents
        within, cell = (lower <= eps).nonzero().T
        self._extend(frame[within], corner[within] + low[cell], corner[within] + high[cell])
        nearest = middle.argmin(dim=1)
        self._improve(frame, middle.amin(dim=1), corner + (low[nearest] + high[nearest]) / 2)

    def _extend(self, frame: Tensor, low: Tensor, high: Tensor) -> None:
        index = frame[:, None].expand(-1, 2)
        self._low.scatter_reduce_(0, index, low, "amin")
        self._high.scatter_reduce_(0, index, high, "amax")

    def _improve(self, frame: Tensor, residual: Tensor, centre: Tensor) -> None:
        self._residual.scatter_reduce_(0, frame, residual, "amin")
        smallest = residual == self._residual[frame]
        self._best[frame[smallest]] = centre[smallest]

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        none = (self._low > self._high).any(dim=1, keepdim=True)
        low, high = (torch.where(none, torch.nan, values) for values in (self._low, self._high))
        found = {"residual": self._residual, "best": self._best, "low": low, "high": high}
        return {name: values.cpu().numpy() for name, values in found.items()}


class _Covers:
    """Which pixels of each frame an object may cover, given where it is rendered."""

    def __init__(
        self,
        searches: Sequence[Search | None],
        frames: Frames,
        positions: NDArray[np.float64],
        present: NDArray[np.bool_],
    ) -> None:
        self._searches, self._positions = searches, positions
        self._counts = torch.zeros(frames.changed.shape, dtype=torch.uint8)
        self._alone = sum(search is not None for search in searches) < 2
        for index in range(0 if self._alone else len(searches)):
            for frame in np.flatnonzero(present[:, index]):
                self._paint(self._counts[frame], index, int(frame))

    def free(self, index: int, windows: Windows) -> Bool[Tensor, "b 1 h w"]:
        """Pixels of the frame that no other object may cover."""
        size = (self._counts.shape[-2], self._counts.shape[-1])
        inside = windows.inside(size)
        if inside is None:
            inside = torch.ones(
                len(windows), 1, windows.height, windows.width, dtype=torch.bool, device=windows.top.device
            )
        if self._alone:
            return inside
        on_cpu = Windows(windows.image.cpu(), windows.top.cpu(), windows.left.cpu(), windows.height, windows.width)
        counts = crop_images(self._counts.unsqueeze(1), on_cpu)
        for row, frame in enumerate(on_cpu.image.tolist()):
            corner = int(on_cpu.left[row]), int(on_cpu.top[row])
            self._paint(counts[row, 0], index, frame, corner=corner, value=-1)
        return inside & (counts == 0).to(inside.device)

    def _paint(
        self, canvas: Tensor, index: int, frame: int, *, corner: tuple[int, int] = (0, 0), value: int = 1
    ) -> None:
        """Add a value to all pixels that an object may cover; the canvas begins at a corner (left, top)."""
        search = self._searches[index]
        if search is None:
            return
        template, position = search.template, self._positions[frame, index]
        whole = np.floor(position).astype(int)
        column, row = np.round((position - whole) * PHASES).astype(int)
        mask = template.covered[row, column]
        x, y = whole[0] + template.left - NEAR_PX - corner[0], whole[1] + template.top - NEAR_PX - corner[1]
        rows, columns = (
            slice(max(0, start), max(0, min(start + length, limit)))
            for start, length, limit in ((y, len(mask), canvas.shape[0]), (x, mask.shape[1], canvas.shape[1]))
        )
        if rows.start < rows.stop and columns.start < columns.stop:
            part = mask[rows.start - y : rows.stop - y, columns.start - x : columns.stop - x]
            canvas[rows, columns] += value * part
