"""The options of a training on squares that ``SquaresRun`` and ``withinpx fit squares`` share. No torch."""

from dataclasses import dataclass
from enum import StrEnum

from withinpx.data.squares import IMAGE_SIZE


class Kernels(StrEnum):
    """What computes networks that are trained together on CUDA; elsewhere PyTorch does, in float32."""

    TORCH = "torch"  # PyTorch's sparse execution, in TensorFloat-32
    TF32 = "tf32"  # hand-written kernels; maps in float32, filters in TensorFloat-32
    HALF = "half"  # the same; maps and filters in half precision


@dataclass(frozen=True)
class SquaresOptions:
    encoder_rf: int = 9
    """Receptive field of the encoder, px."""
    decoder_rf: int = 25
    """Receptive field of the decoder, px."""
    object_size: int = 9
    """Side of the square, px."""
    sigma: float = 0.8
    """Width of the rendered Gaussian, px."""
    seed: int = 0
    """Of the weights and of the order of the images."""
    support: float | None = None
    """Radius beyond which the Gaussian is exactly zero, px; the paper's is infinite."""
    image_size: int = IMAGE_SIZE
    """Side of the images, px."""
