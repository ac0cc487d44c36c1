"""The appearance code: what an object looks like in one image, read at its own peak and rendered with its Gaussian.

The encoder emits k more maps that all objects share. An object's code is their mean under its softargmax weights, and
the decoder gets its Gaussian and its Gaussian times each entry. All of these are zero beyond the Gaussian's support,
whatever the code: theorem 4.1's decoder term does not depend on it (docs/theory.md).
"""

import torch
from jaxtyping import Float
from torch import Tensor


def read_codes(weights: Float[Tensor, "b n h w"], maps: Float[Tensor, "b k h w"]) -> Float[Tensor, "b n k"]:
    """The code of each object from its softargmax weights."""
    return bounded(torch.einsum("bnhw,bkhw->bnk", weights, maps.to(weights.dtype)))


def bounded(means: Float[Tensor, "b n k"]) -> Float[Tensor, "b n k"]:
    """From means of the maps to codes, whose entries go from -1 to 1."""
    return torch.tanh(means)


def object_maps(
    gaussians: Float[Tensor, "b n h w"], codes: Float[Tensor, "b n k"] | None, entries: int
) -> Float[Tensor, "b m h w"]:
    """The decoder's maps of the objects: n Gaussians, then n * k products with the code, object by object.

    Without codes all of them are zero.
    """
    if not entries:
        return gaussians
    if codes is None:
        codes = gaussians.new_zeros(*gaussians.shape[:2], entries)
    products = gaussians.unsqueeze(2) * codes[..., None, None].to(gaussians.dtype)
    return torch.cat([gaussians, products.flatten(1, 2)], dim=1)
