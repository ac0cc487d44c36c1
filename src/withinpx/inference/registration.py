"""Registration of a rendered object against the frame: the label-free check of assumption 1."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from withinpx.inference.correlation import circular_correlation

SEARCH_PX = 6  # how far around the rendered object the frame is searched


@dataclass(frozen=True)
class Registration:
    """Of m rendered objects against their frames."""

    offset: Float[Tensor, "m 2"]  # (x, y) from the rendered object to the frame's, px
    explained: Float[Tensor, " m"]  # share of the frame's energy there that the moved rendering accounts for
    shown: Float[Tensor, " m"]  # the frame's energy there as a share of the rendering's; zero where nothing is


def register(
    rendered: Float[Tensor, "m c h w"], shown: Float[Tensor, "m c h w"], search: int = SEARCH_PX
) -> Registration:
    """Shift each rendered difference to match the frame's best: first by whole pixels, then by a fraction.

    Both are differences from the same image without the object, and zero around it as far as the search goes.
    """
    whole = _best_whole_offset(rendered, shown, search)
    moved = _moved(rendered, whole)
    part, moved = _between_pixels(moved, shown)
    support = _support(moved, rendered)
    energy = (shown**2 * support).sum(dim=(1, 2, 3))
    left = ((shown - moved) ** 2 * support).sum(dim=(1, 2, 3))
    power = (rendered**2).sum(dim=(1, 2, 3)).clamp(min=1e-12)
    explained = torch.where(energy > 0, 1 - left / energy.clamp(min=1e-12), torch.zeros_like(energy))
    return Registration(whole + part, explained.clamp(min=0), energy / power)


def _best_whole_offset(rendered: Tensor, shown: Tensor, search: int) -> Float[Tensor, "m 2"]:
    """Where the circular cross-correlation is largest."""
    side = 2 * search + 1
    best = circular_correlation(shown, rendered, search).flatten(start_dim=1).argmax(dim=1)
    return torch.stack([best % side, best // side], dim=-1).to(rendered.dtype) - search


def _moved(rendered: Tensor, offset: Float[Tensor, "m 2"]) -> Tensor:
    """Each image rolled by its own whole offset."""
    for axis, by in zip((-1, -2), offset.long().unbind(dim=-1), strict=True):
        length = rendered.shape[axis]
        line = (torch.arange(length, device=by.device) - by[:, None]) % length
        index = line[:, None, None, :] if axis == -1 else line[:, None, :, None]
        rendered = rendered.gather(axis, index.expand_as(rendered))
    return rendered


def _between_pixels(rendered: Tensor, shown: Tensor) -> tuple[Float[Tensor, "m 2"], Tensor]:
    """The sub-pixel offset by least squares, shown = gain * rendered - offset * gradient, and the shifted rendering."""
    right = (torch.roll(rendered, -1, -1) - torch.roll(rendered, 1, -1)) / 2
    down = (torch.roll(rendered, -1, -2) - torch.roll(rendered, 1, -2)) / 2
    columns = torch.stack([rendered, right, down], dim=1).flatten(start_dim=2)  # (m, 3, pixels)
    normal = columns @ columns.transpose(1, 2)
    ridge = 1e-6 * normal.diagonal(dim1=1, dim2=2).amax(dim=1).clamp(min=1e-12)
    normal = normal + ridge[:, None, None] * torch.eye(3, dtype=rendered.dtype, device=rendered.device)
    gain, along_x, along_y = _solved(normal, columns @ shown.flatten(start_dim=1).unsqueeze(-1))
    gain = gain.clamp(min=0.2)
    part = torch.stack([-along_x / gain, -along_y / gain], dim=-1).clamp(-1, 1)
    x, y = (part[:, index, None, None, None] for index in (0, 1))
    return part, rendered - x * right - y * down


def _solved(normal: Float[Tensor, "m k k"], target: Float[Tensor, "m k 1"]) -> list[Float[Tensor, " m"]]:
    """The unknowns of positive definite equations, by elimination: ONNX has no solver."""
    rows = list(torch.cat([normal, target], dim=-1).unbind(dim=1))
    for pivot in range(len(rows)):
        own = rows[pivot] / rows[pivot][:, pivot, None]
        rows = [own if index == pivot else row - row[:, pivot, None] * own for index, row in enumerate(rows)]
    return [row[:, -1] for row in rows]


def _support(moved: Tensor, rendered: Tensor) -> Tensor:
    """Where the shifted rendering is stronger than a tenth of its peak."""
    strength = moved.abs().amax(dim=1, keepdim=True)
    peak = rendered.abs().amax(dim=(1, 2, 3), keepdim=True)
    return (strength > 0.1 * peak).to(rendered.dtype)
