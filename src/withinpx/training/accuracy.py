"""Reconstruction accuracy, and the rule that discards a run (app. C.1)."""

from jaxtyping import Bool, Float
from torch import Tensor

ACCEPTED_ACCURACY = 0.999  # a square of 7 x 7 px is 0.8 % of an 80 x 80 image: an all-black image scores 99.2 %
TOLERANCE = 0.5  # half of the contrast between black and white; for any contrast, see scene.half_contrast


def right_pixels(
    rendered: Float[Tensor, "b c h w"], images: Float[Tensor, "b c h w"], tolerance: float = TOLERANCE
) -> Bool[Tensor, "b h w"]:
    """Pixels whose every colour is less than ``tolerance`` off; their share is the reconstruction accuracy."""
    return ((rendered - images).abs() < tolerance).all(dim=1)


def is_accepted(accuracy: float) -> bool:
    """Below the threshold the object was not found, and the run is discarded."""
    return accuracy >= ACCEPTED_ACCURACY
