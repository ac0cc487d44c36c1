"""Feature maps of a batch of images that share one background: what sparse execution computes with."""

from dataclasses import dataclass, replace
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from withinpx.model.windows import Windows, cut_at


@dataclass(frozen=True)
class Axis:
    """The rows or the columns of a map, of which identical ones in the interior are stored once."""

    stored: Int[Tensor, " l"]  # index of the stored line of each line
    counts: Float[Tensor, " k"]  # number of lines that share each stored line
    centres: Float[Tensor, " k"]  # mean centre of those lines, px
    uniform: tuple[int, int]  # range of the lines that share one stored line; (0, 0) if every line is stored


@cache
def _axis(length: int, reach: int | None, margin: int, device: torch.device) -> Axis:
    """All lines further than ``reach`` from both ends are identical; the margin at both ends is then cropped."""
    inner = length - 2 * margin
    line = torch.arange(margin, length - margin, device=device)
    if reach is None or length <= 2 * reach + 1:
        index = torch.arange(length, device=device)
        counts = ((index >= margin) & (index < length - margin)).double()
        return Axis(line, counts, (index - margin + 0.5).double(), (0, 0))
    stored = line.clamp(max=reach) + (line - (length - 1 - reach)).clamp(min=0)
    size = 2 * reach + 1
    index = torch.arange(size, device=device)
    from_middle = (index - reach).abs()
    outer = (from_middle > 0) & (from_middle <= reach - margin)
    interior = min(inner, length - size + 1)
    counts = torch.where(from_middle == 0, interior, outer.long()).double()
    first = index - margin + 0.5
    centres = torch.where(from_middle == 0, inner / 2, torch.where(index < reach, first, first + (length - size)))
    begin = max(0, reach - margin)
    return Axis(stored, counts, centres.double(), (begin, begin + interior) if interior > 1 else (0, 0))


@dataclass(frozen=True)
class Base:
    """One map shared by all images. Identical rows and columns are stored once, so that a uniform map is small."""

    values: Float[Tensor, "1 c h w"]  # the stored rows and columns
    reach: int | None  # px from the border beyond which the map is uniform; None if it is not
    margin: int  # px at the border that are stored but cropped
    length: tuple[int, int]  # height and width with the margin, px

    @classmethod
    def whole(cls, maps: Float[Tensor, "1 c h w"]) -> "Base":
        """Every row and column stored."""
        return cls(maps, None, 0, (maps.shape[-2], maps.shape[-1]))

    @classmethod
    def uniform(cls, size: tuple[int, int], channels: int, reach: int, like: Tensor) -> "Base":
        """Zero everywhere; a CNN of this reach turns it into maps that vary only that near the border."""
        stored = (len(_axis(length, reach, 0, like.device).counts) for length in size)
        return cls(like.new_zeros(1, channels, *stored), reach, 0, size)

    @property
    def rows(self) -> Axis:
        return _axis(self.length[0], self.reach, self.margin, self.values.device)

    @property
    def columns(self) -> Axis:
        return _axis(self.length[1], self.reach, self.margin, self.values.device)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the map, px."""
        return self.length[0] - 2 * self.margin, self.length[1] - 2 * self.margin

    @property
    def is_uniform(self) -> bool:
        """Whether every pixel has the same value."""
        height, width = self.size
        return self.reach is not None and (self.rows.uniform, self.columns.uniform) == ((0, height), (0, width))

    def with_values(self, values: Float[Tensor, "1 c h w"]) -> "Base":
        return replace(self, values=values)

    def cropped(self, margin: int) -> "Base":
        return replace(self, margin=self.margin + margin)

    def full(self) -> Float[Tensor, "1 c H W"]:
        """The map with every row and column."""
        return self.values[:, :, self.rows.stored][..., self.columns.stored]

    def counts(self) -> Float[Tensor, "h w"]:
        """The number of pixels of the map that share each stored pixel."""
        return (self.rows.counts[:, None] * self.columns.counts).to(self.values.dtype)

    def mean(self, values: Float[Tensor, "1 c h w"]) -> Float[Tensor, " c"]:
        """The mean over the whole map of ``values``, which are stored like its own."""
        height, width = self.size
        if values[0, 0].numel() == height * width:
            return values.mean(dim=(0, -2, -1))
        return (values[0] * self.counts()).sum(dim=(-2, -1)) / (height * width)

    def cut(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        """The map in each window; pixels outside it are replicated from its border."""
        (top, bottom), (left, right) = self.rows.uniform, self.columns.uniform
        if windows.on_gpu or bottom - top < windows.height or right - left < windows.width:
            return self._cut(windows)
        interior = windows.lie_within(top, left, bottom, right)
        if not interior.any():
            return self._cut(windows)
        row, column = self.rows.stored[top], self.columns.stored[left]
        maps = self.values[:, :, row, column, None, None]
        maps = maps.expand(len(windows), -1, windows.height, windows.width).contiguous()
        if not interior.all():
            others = (~interior).nonzero()[:, 0]
            maps[others] = self._cut(windows.only(others))
        return maps

    def _cut(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        rows, columns = windows.clamped(self.size)
        return cut_at(self.values, self.rows.stored[rows], self.columns.stored[columns])


@dataclass(frozen=True)
class Patch:
    """The values of maps in some windows."""

    windows: Windows
    values: Float[Tensor, "m c h w"]
    copies: int = 1  # identical windows that each one stands for

    def with_values(self, values: Float[Tensor, "m c h w"]) -> "Patch":
        return replace(self, values=values)


@dataclass(frozen=True)
class Field:
    """The maps of ``count`` images: ``base`` everywhere but in the patches."""

    count: int
    base: Base
    patches: list[Patch]

    def detach(self) -> "Field":
        patches = [Patch(patch.windows, patch.values.detach()) for patch in self.patches]
        return Field(self.count, self.base.with_values(self.base.values.detach()), patches)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the maps, px."""
        return self.base.size

    def channels(self, chosen: slice) -> "Field":
        """Some of the maps."""
        patches = [patch.with_values(patch.values[:, chosen]) for patch in self.patches]
        return Field(self.count, self.base.with_values(self.base.values[:, chosen]), patches)


def maps_in(field: Field, windows: Windows) -> Float[Tensor, "m c h w"]:
    """The maps of each window's image, in the window; pixels outside are replicated from the base's border."""
    maps = field.base.cut(windows).contiguous()
    for patch in field.patches:
        theirs = patch.windows
        down, across = theirs.top - windows.top[:, None], theirs.left - windows.left[:, None]  # (m, p)
        near = (windows.image[:, None] == theirs.image) & (down < windows.height) & (down > -theirs.height)
        window, other = (near & (across < windows.width) & (across > -theirs.width)).nonzero(as_tuple=True)
        rows = torch.arange(windows.height, device=window.device) - down[window, other, None]  # of the patch
        columns = torch.arange(windows.width, device=window.device) - across[window, other, None]
        in_rows, in_columns = (rows >= 0) & (rows < theirs.height), (columns >= 0) & (columns < theirs.width)
        pair, row, column = (in_rows[:, :, None] & in_columns[:, None, :]).nonzero(as_tuple=True)
        maps[window[pair], :, row, column] = patch.values[other[pair], :, rows[pair, row], columns[pair, column]]
    return maps


def dense_maps(field: Field) -> Float[Tensor, "b c h w"]:
    """The maps of every image in full."""
    height, width = field.size
    image = torch.arange(field.count, device=field.base.values.device)
    return maps_in(field, Windows(image, torch.zeros_like(image), torch.zeros_like(image), height, width))


def masked(values: Tensor, windows: Windows, size: tuple[int, int]) -> Tensor:
    """``values`` with zeros outside an image of this size."""
    inside = windows.inside(size)
    return values if inside is None else values * inside
