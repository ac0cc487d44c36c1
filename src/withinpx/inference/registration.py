"""How far, in px, a drawn object lies from the one in the frame: the label-free check of assumption 1."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

SEARCH_PX = 6  # how far around the drawn object the frame's is looked for


@dataclass(frozen=True)
class Registration:
    """Of m drawn objects against what their frames show."""

    offset: Float[Tensor, "m 2"]  # (x, y) from the drawn object to the frame's, px
    explained: Float[Tensor, " m"]  # share of what the frame shows there that the drawing accounts for, after moving it
    shown: Float[Tensor, " m"]  # what the frame shows there, as a share of what is drawn: zero where there is nothing


def register(drawn: Float[Tensor, "m c h w"], shown: Float[Tensor, "m c h w"], search: int = SEARCH_PX) -> Registration:
    """Move each drawn difference over the shown one until they agree best: whole pixels, then between them.

    Both are differences from the same picture without the object, and zero around it as far as the search goes.
    """
    whole = _best_whole_offset(drawn, shown, search)
    moved = _moved(drawn, whole)
    part, moved = _between_pixels(moved, shown)
    support = _support(moved, drawn)
    energy = (shown**2 * support).sum(dim=(1, 2, 3))
    left = ((shown - moved) ** 2 * support).sum(dim=(1, 2, 3))
    power = (drawn**2).sum(dim=(1, 2, 3)).clamp(min=1e-12)
    explained = torch.where(energy > 0, 1 - left / energy.clamp(min=1e-12), torch.zeros_like(energy))
    return Registration(whole + part, explained.clamp(min=0), energy / power)


def _best_whole_offset(drawn: Tensor, shown: Tensor, search: int) -> Float[Tensor, "m 2"]:
    """Where the correlation of the two is largest, along the Fourier way: as if one were rolled over the other."""
    spectra = torch.fft.rfft2(shown) * torch.fft.rfft2(drawn).conj()
    agreement = torch.fft.irfft2(spectra.sum(dim=1), s=drawn.shape[-2:])
    offsets = torch.arange(-search, search + 1, device=drawn.device)
    near = agreement[:, offsets][:, :, offsets]  # negative offsets count from the end, as a roll does
    best = near.flatten(start_dim=1).argmax(dim=1)
    return torch.stack([offsets[best % len(offsets)], offsets[best // len(offsets)]], dim=-1).to(drawn.dtype)


def _moved(drawn: Tensor, offset: Float[Tensor, "m 2"]) -> Tensor:
    return torch.stack(
        [torch.roll(one, (int(y), int(x)), (-2, -1)) for one, (x, y) in zip(drawn, offset.tolist(), strict=True)]
    )


def _between_pixels(drawn: Tensor, shown: Tensor) -> tuple[Float[Tensor, "m 2"], Tensor]:
    """The rest of the offset by least squares: shown = gain * drawn - offset * slope; and the drawing moved by it."""
    right = (torch.roll(drawn, -1, -1) - torch.roll(drawn, 1, -1)) / 2
    down = (torch.roll(drawn, -1, -2) - torch.roll(drawn, 1, -2)) / 2
    columns = torch.stack([drawn, right, down], dim=1).flatten(start_dim=2)  # (m, 3, pixels)
    normal = columns @ columns.transpose(1, 2)
    ridge = 1e-6 * normal.diagonal(dim1=1, dim2=2).amax(dim=1).clamp(min=1e-12)
    normal = normal + ridge[:, None, None] * torch.eye(3, dtype=drawn.dtype, device=drawn.device)
    gain, along_x, along_y = (
        torch.linalg.solve(normal, columns @ shown.flatten(start_dim=1).unsqueeze(-1)).squeeze(-1).T
    )
    gain = gain.clamp(min=0.2)
    part = torch.stack([-along_x / gain, -along_y / gain], dim=-1).clamp(-1, 1)
    x, y = (part[:, index, None, None, None] for index in (0, 1))
    return part, drawn - x * right - y * down


def _support(moved: Tensor, drawn: Tensor) -> Tensor:
    """Where the moved drawing is anything to speak of."""
    strength = moved.abs().amax(dim=1, keepdim=True)
    peak = drawn.abs().amax(dim=(1, 2, 3), keepdim=True)
    return (strength > 0.1 * peak).to(drawn.dtype)
