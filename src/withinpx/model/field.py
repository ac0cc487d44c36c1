"""The maps of a batch of pictures that are alike but for some windows: what sparse execution computes with."""

from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from withinpx.model.windows import Windows, cut_at


@dataclass(frozen=True)
class Lines:
    """The rows of a map, or its columns, of which those that are alike are kept once."""

    kept: Int[Tensor, " l"]  # which kept line each line is
    counts: Float[Tensor, " k"]  # how many lines each kept one stands for
    centres: Float[Tensor, " k"]  # their mean centre, px
    alike: tuple[int, int]  # from which line to which they are all the same one; 0, 0 if every one is kept

    def __len__(self) -> int:
        return len(self.kept)


def lines(length: int, reach: int | None, margin: int, device: torch.device) -> Lines:
    """All those further than ``reach`` from both ends are alike; the margin at both ends is then left out.

    With no reach every line is kept. Made once, but for a compiler, which makes them part of its program.
    """
    if torch.compiler.is_compiling():
        return _lines(length, reach, margin, device)
    return _made_once(length, reach, margin, device)


def _lines(length: int, reach: int | None, margin: int, device: torch.device) -> Lines:
    shown = length - 2 * margin
    line = torch.arange(margin, length - margin, device=device)
    if reach is None or length <= 2 * reach + 1:
        place = torch.arange(length, device=device)
        counts = ((place >= margin) & (place < length - margin)).double()
        return Lines(line, counts, (place - margin + 0.5).double(), (0, 0))
    kept = line.clamp(max=reach) + (line - (length - 1 - reach)).clamp(min=0)
    size = 2 * reach + 1
    place = torch.arange(size, device=device)
    farther = (place - reach).abs()  # how many kept lines from the middle one
    outer = (farther > 0) & (farther <= reach - margin)
    in_the_middle = min(shown, length - size + 1)
    counts = torch.where(farther == 0, in_the_middle, outer.long()).double()
    first = place - margin + 0.5
    centres = torch.where(farther == 0, shown / 2, torch.where(place < reach, first, first + (length - size)))
    begin = max(0, reach - margin)
    alike = (begin, begin + in_the_middle) if in_the_middle > 1 else (0, 0)
    return Lines(kept, counts, centres.double(), alike)


_made_once = cache(_lines)


@dataclass(frozen=True)
class Base:
    """One map for all pictures. Rows and columns that are alike are kept once: what is even costs nothing."""

    values: Float[Tensor, "1 c h w"]  # what is kept
    reach: int | None  # px from the border beyond which it is even; None if it is not
    margin: int  # px at the border that are kept but no longer shown
    length: tuple[int, int]  # height and width with the margin, px

    @classmethod
    def whole(cls, maps: Float[Tensor, "1 c h w"]) -> "Base":
        """Every row and column kept."""
        return cls(maps, None, 0, (maps.shape[-2], maps.shape[-1]))

    @classmethod
    def even(cls, size: tuple[int, int], channels: int, reach: int, like: Tensor) -> "Base":
        """Zero everywhere. A CNN of this reach makes of it maps that differ only that near the border."""
        kept = (len(lines(length, reach, 0, like.device).counts) for length in size)
        return cls(like.new_zeros(1, channels, *kept), reach, 0, size)

    @property
    def rows(self) -> Lines:
        """Which kept row each row is."""
        return lines(self.length[0], self.reach, self.margin, self.values.device)

    @property
    def columns(self) -> Lines:
        """Which kept column each column is."""
        return lines(self.length[1], self.reach, self.margin, self.values.device)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the map, px."""
        return self.length[0] - 2 * self.margin, self.length[1] - 2 * self.margin

    @property
    def is_even(self) -> bool:
        """Is every pixel the same?"""
        whole = ((0, length) for length in self.size)
        return self.reach is not None and (self.rows.alike, self.columns.alike) == tuple(whole)

    def holding(self, values: Float[Tensor, "1 c h w"]) -> "Base":
        """A map of the same rows and columns."""
        return Base(values, self.reach, self.margin, self.length)

    def inner(self, margin: int) -> "Base":
        """Without its margin."""
        return Base(self.values, self.reach, self.margin + margin, self.length)

    def spread(self) -> Float[Tensor, "1 c H W"]:
        """Every row and column."""
        return self.values[:, :, self.rows.kept][..., self.columns.kept]

    def counts(self) -> Float[Tensor, "h w"]:
        """How many pixels of the map each one kept stands for."""
        return (self.rows.counts[:, None] * self.columns.counts).to(self.values.dtype)

    def mean(self, values: Float[Tensor, "1 c h w"]) -> Float[Tensor, " c"]:
        """Over the whole map, of values kept like its own."""
        height, width = self.size
        if values[0, 0].numel() == height * width:
            return values.mean(dim=(0, -2, -1))
        return (values[0] * self.counts()).sum(dim=(-2, -1)) / (height * width)

    def cut(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        """What it shows in each window; what lies outside it is repeated from its border."""
        (top, bottom), (left, right) = self.rows.alike, self.columns.alike
        if windows.on_gpu or bottom - top < windows.height or right - left < windows.width:
            return self._cut(windows)
        middle = windows.lie_within(top, left, bottom, right)
        if not middle.any():
            return self._cut(windows)
        row, column = self.rows.kept[top], self.columns.kept[left]
        shown = self.values[:, :, row, column, None, None]
        shown = shown.expand(len(windows), -1, windows.height, windows.width).contiguous()
        if not middle.all():
            others = (~middle).nonzero()[:, 0]
            shown[others] = self._cut(windows.only(others))
        return shown

    def _cut(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        rows, columns = windows.within(self.size)
        return cut_at(self.values, self.rows.kept[rows], self.columns.kept[columns])


@dataclass(frozen=True)
class Patch:
    """What maps show in some windows."""

    windows: Windows
    values: Float[Tensor, "m c h w"]
    times: int = 1  # how many windows that look just the same each stands for

    def holding(self, values: Float[Tensor, "m c h w"]) -> "Patch":
        """Other values in the same windows."""
        return Patch(self.windows, values, self.times)


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


def maps_in(field: Field, windows: Windows) -> Float[Tensor, "m c h w"]:
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


def dense_maps(field: Field) -> Float[Tensor, "b c h w"]:
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
