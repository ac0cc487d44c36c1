"""Circular cross-correlation of images by Fourier transforms, which are products of matrices here.

An FFT cannot be exported to ONNX, and takes as long for windows as small as those around objects.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

Pair = tuple[Tensor, Tensor]  # real and imaginary part


def circular_correlation(
    one: Float[Tensor, "m c h w"], other: Float[Tensor, "m c h w"], reach: int
) -> Float[Tensor, "m k k"]:
    """At row ``reach + j`` and column ``reach + i`` the sum of ``one[y + j, x + i] * other[y, x]``, times h * w."""
    if one.is_cuda:  # whose products of matrices are rounded to TensorFloat-32: the peak may move
        one, other = one.double(), other.double()
    height, width = one.shape[-2:]
    (a, b), (c, d) = _spectrum(one), _spectrum(other)
    real, imaginary = (a * c + b * d).sum(dim=1), (b * c - a * d).sum(dim=1)  # of one times the conjugate of other
    offsets = torch.arange(-reach, reach + 1, device=one.device)
    frequencies = _half(width, one)
    cosine, sine = _waves(offsets, torch.arange(height, device=one.device), height, one)
    real, imaginary = cosine @ real + sine @ imaginary, cosine @ imaginary - sine @ real
    cosine, sine = _waves(frequencies, offsets, width, one)
    once = (2 * frequencies) % width == 0  # all other frequencies stand for their negative as well
    weights = torch.where(once, 1.0, 2.0)[:, None].to(one.dtype)
    return real @ (weights * cosine) + imaginary @ (weights * sine)


def _spectrum(images: Float[Tensor, "m c h w"]) -> Pair:
    """The sum over all pixels of their value times exp(2 pi i (f x / w + g y / h)): (m, c, g, f), f up to w / 2."""
    height, width = images.shape[-2:]
    lines = torch.arange(height, device=images.device)
    cosine, sine = _waves(torch.arange(width, device=images.device), _half(width, images), width, images)
    real, imaginary = images @ cosine, images @ sine
    cosine, sine = _waves(lines, lines, height, images)
    return cosine @ real - sine @ imaginary, cosine @ imaginary + sine @ real


def _half(length: int, like: Tensor) -> Int[Tensor, " f"]:
    return torch.arange(length // 2 + 1, device=like.device)


def _waves(one: Int[Tensor, " k"], other: Int[Tensor, " l"], length: int, like: Tensor) -> Pair:
    angles = (one[:, None] * other % length).to(like.dtype) * (2 * math.pi / length)
    return angles.cos(), angles.sin()
