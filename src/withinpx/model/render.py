"""Eq. 7: from positions to Gaussian maps, the pseudo-inverse of the softargmax."""

import math
from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor

from withinpx.model.softargmax import pixel_centres


class Peak(StrEnum):
    """The height of the Gaussian, which eq. 7 leaves open."""

    ONE = "one"
    UNIT_MASS = "unit mass"  # a density: eq. 7's N to the letter

    def height(self, sigma: float) -> float:
        return 1.0 if self is Peak.ONE else 1 / (2 * math.pi * sigma**2)


def faintest_exponent(dtype: torch.dtype) -> float:
    """The exponent below which exp counts as zero.

    Smaller numbers, multiplied by a gradient, are denormal, and a CPU computes with those some fifty times slower.
    """
    return 2 * math.log(torch.finfo(dtype).eps)


def render(
    positions: Float[Tensor, "b n 2"],
    size: tuple[int, int],
    sigma: float,
    support: float | None = None,
    peak: Peak = Peak.ONE,
) -> Float[Tensor, "b n h w"]:
    """One Gaussian per position, on a canvas of ``size`` (height, width).

    Its height is fixed (the first filter learns a constant factor) and nothing is renormalised at the borders:
    both would break equivariance. With ``support`` the Gaussian is multiplied by a smooth window that is exactly zero
    beyond that many px along either axis; then |Delta_G| <= support.
    """
    height, width = size
    along_x = profile(positions[..., :1] - pixel_centres(width, positions), sigma, support)
    along_y = profile(positions[..., 1:] - pixel_centres(height, positions), sigma, support) * peak.height(sigma)
    return along_y.unsqueeze(-1) * along_x.unsqueeze(-2)


def profile(distance: Float[Tensor, "b n s"], sigma: float, support: float | None) -> Float[Tensor, "b n s"]:
    """The Gaussian along one axis."""
    exponent = -(distance**2) / (2 * sigma**2)
    faintest = faintest_exponent(distance.dtype)
    gaussian = torch.where(exponent > faintest, torch.exp(exponent.clamp(min=faintest)), 0.0)
    if support is None:
        return gaussian
    return gaussian * (1 - (distance / support) ** 2).clamp(min=0) ** 2
