"""The maps of a batch of pictures that are alike but for some windows: what sparse execution computes with."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from withinpx.model.windows import Windows, cut_at


@dataclass(frozen=True)
class Base:
    """One map for all pictures. Rows and columns that are alike are kept once: what is even costs nothing."""

    values: Float[Tensor, "1 c h w"]  # what is kept
    rows: Int[Tensor, " H"]  # which kept row each row is
    columns: Int[Tensor, " W"]

    @classmethod
    def whole(cls, maps: Float[Tensor, "1 c h w"]) -> "Base":
        """Every row and column kept."""
        height, width = maps.shape[-2:]
        return cls(maps, torch.arange(height, device=maps.device), torch.arange(width, device=maps.device))

    @classmethod
    def even(cls, size: tuple[int, int], channels: int, reach: int, like: Tensor) -> "Base":
        """Zero everywhere. A CNN of this reach makes of it maps that differ only that near the border."""
        rows, columns = (_alike(length, reach, like.device) for length in size)
        kept = (int(rows[-1]) + 1, int(columns[-1]) + 1)
        return cls(like.new_zeros(1, channels, *kept), rows, columns)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the map, px."""
        return len(self.rows), len(self.columns)

    def holding(self, values: Float[Tensor, "1 c h w"]) -> "Base":
        """A map of the same rows and columns."""
        return Base(values, self.rows, self.columns)

    def inner(self, margin: int) -> "Base":
        """Without its margin."""
        if not margin:
            return self
        return Base(self.values, self.rows[margin:-margin], self.columns[margin:-margin])

    def spread(self) -> Float[Tensor, "1 c H W"]:
        """Every row and column."""
        return self.values[:, :, self.rows][..., self.columns]

    def counts(self) -> Float[Tensor, "h w"]:
        """How many pixels of the map each one kept stands for."""
        height, width = self.values.shape[-2:]
        rows, columns = torch.bincount(self.rows, minlength=height), torch.bincount(self.columns, minlength=width)
        return (rows[:, None] * columns).to(self.values.dtype)

    def mean(self, values: Float[Tensor, "1 c h w"]) -> Float[Tensor, " c"]:
        """Over the whole map, of values kept like its own."""
        if values[0, 0].numel() == len(self.rows) * len(self.columns):
            return values.mean(dim=(0, -2, -1))
        return (values[0] * self.counts()).sum(dim=(-2, -1)) / (len(self.rows) * len(self.columns))

    def cut(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        """What it shows in each window; what lies outside it is repeated from its border."""
        even = self._in_the_middle(windows)
        if not even.any():
            return self._cut(windows)
        middle_row, middle_column = self.rows[len(self.rows) // 2], self.columns[len(self.columns) // 2]
        shown = self.values[:, :, middle_row, middle_column, None, None]
        shown = shown.expand(len(windows), -1, windows.height, windows.width).contiguous()
        if not even.all():
            others = (~even).nonzero()[:, 0]
            shown[others] = self._cut(windows.only(others))
        return shown

    def _cut(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        rows, columns = windows.within(self.size)
        return cut_at(self.values, self.rows[rows], self.columns[columns])

    def _in_the_middle(self, windows: Windows) -> Bool[Tensor, " m"]:
        """Which windows lie where all pixels are the same one, kept once."""
        (top, bottom), (left, right) = self._middle
        down = (windows.top >= top) & (windows.top + windows.height <= bottom)
        return down & (windows.left >= left) & (windows.left + windows.width <= right)

    @cached_property
    def _middle(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """From where to where rows, and columns, are the same one; nowhere, if all are kept."""
        ends = []
        for lines in (self.rows, self.columns):
            alike = (lines == lines[len(lines) // 2]).nonzero()[:, 0]
            ends.append((int(alike[0]), int(alike[-1]) + 1 if len(alike) > 1 else 0))
        return ends[0], ends[1]


def _alike(length: int, reach: int, device: torch.device) -> Tensor:
    """Which kept line each line is, if all those further than ``reach`` from both ends are alike."""
    if length <= 2 * reach + 1:
        return torch.arange(length, device=device)
    middle = torch.full((length - 2 * reach,), reach, device=device)
    return torch.cat([torch.arange(reach, device=device), middle, torch.arange(reach, device=device) + reach + 1])


@dataclass(frozen=True)
class Patch:
    """What maps show in some windows."""

    windows: Windows
    values: Float[Tensor, "m c h w"]


@dataclass(frozen=True)
class Field:
    """The maps of a batch of pictures: ``base`` everywhere but in the patches."""

    pictures: int
    base: Base
    patches: list[Patch]

    def detach(self) -> "Field":
        """The same values, without their history."""
        patches = [Patch(patch.windows, patch.values.detach()) for patch in self.patches]
        return Field(self.pictures, self.base.holding(self.base.values.detach()), patches)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the maps, px."""
        return self.base.size


def shown_in(field: Field, windows: Windows) -> Float[Tensor, "m c h w"]:
    """What each window's own picture shows in it; what lies outside is repeated from the base's border."""
    shown = field.base.cut(windows).contiguous()
    for patch in field.patches:
        theirs = patch.windows
        down, across = theirs.top - windows.top[:, None], theirs.left - windows.left[:, None]  # (m, p)
        near = (windows.picture[:, None] == theirs.picture) & (down < windows.height) & (down > -theirs.height)
        mine, other = (near & (across < windows.width) & (across > -theirs.width)).nonzero(as_tuple=True)
        rows = torch.arange(windows.height, device=mine.device) - down[mine, other, None]  # of the patch
        columns = torch.arange(windows.width, device=mine.device) - across[mine, other, None]
        at_rows, at_columns = (rows >= 0) & (rows < theirs.height), (columns >= 0) & (columns < theirs.width)
        pair, row, column = (at_rows[:, :, None] & at_columns[:, None, :]).nonzero(as_tuple=True)
        there = patch.values[other[pair], :, rows[pair, row], columns[pair, column]]
        shown[mine[pair], :, row, column] = there
    return shown


def spread_out(field: Field) -> Float[Tensor, "b c h w"]:
    """The maps of every picture in full."""
    height, width = field.size
    maps = field.base.spread().repeat(field.pictures, 1, 1, 1)
    for patch in field.patches:
        rows, columns = patch.windows.rows(), patch.windows.columns()
        inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
        window, row, column = inside.nonzero(as_tuple=True)
        place = (patch.windows.picture[window], slice(None), rows[window, row], columns[window, column])
        maps[place] = patch.values[window, :, row, column]
    return maps


def masked(values: Tensor, windows: Windows, size: tuple[int, int]) -> Tensor:
    """Zero where a window reaches over the border."""
    inside = windows.inside(size)
    return values if inside is None else values * inside
