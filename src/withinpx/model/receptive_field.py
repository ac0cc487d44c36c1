"""The receptive field of any module, measured by gradients."""

from collections.abc import Callable

import torch
from jaxtyping import Bool
from torch import Tensor, nn

TRIALS = 4  # a ReLU may hide a pixel from one random input, hardly from several


def measured_receptive_field(
    function: nn.Module | Callable[[Tensor], Tensor], inputs: int, canvas: int = 65, seed: int = 0
) -> int:
    """The side of the square of input pixels with a non-zero gradient to the centre output, in px; 0 if none has one.

    Batch-norm must be in evaluation mode, or every pixel reaches every other through the batch's statistics.
    """
    touched, centre = touched_pixels(function, inputs, canvas, seed), canvas // 2
    if not touched.any():
        return 0
    return 2 * int((touched.nonzero() - centre).abs().max()) + 1


def touched_pixels(
    function: nn.Module | Callable[[Tensor], Tensor], inputs: int, canvas: int = 65, seed: int = 0
) -> Bool[Tensor, "h w"]:
    """Which input pixels of a square canvas have a non-zero gradient to the centre output, for some random input."""
    generator = torch.Generator().manual_seed(seed)
    centre = canvas // 2
    touched = torch.zeros(canvas, canvas, dtype=torch.bool)
    for _ in range(TRIALS):
        maps = torch.randn(1, inputs, canvas, canvas, generator=generator, dtype=torch.float64, requires_grad=True)
        (gradient,) = torch.autograd.grad(function(maps)[..., centre, centre].sum(), maps)
        touched |= (gradient[0] != 0).any(dim=0)
    return touched
