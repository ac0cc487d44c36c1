"""Rendered objects against their frames: what ``observe`` measures in windows, and the ONNX graph as well."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from withinpx.inference.masks import box_centre_and_size, soft_mask
from withinpx.inference.registration import register
from withinpx.model.windows import Windows

ABSENT = 0.2  # a frame that shows less than this share of the rendered object does not show it
BORDER_PX = 0.75  # an object whose box comes this near to the border may be cut off by it


class Comparison(NamedTuple):
    """Of objects (b, n) with their frames, px."""

    centre: Float[Tensor, "b n 2"]  # of everything rendered for z
    box: Float[Tensor, "b n 2"]  # width and height of what is rendered
    offset: Float[Tensor, "b n 2"]  # from the rendered object to the one in the frame
    explained: Float[Tensor, "b n"]  # share of the frame's object that the rendering accounts for
    visible: Bool[Tensor, "b n"]  # does the frame show the object?

    def at_border(self, height: int, width: int) -> Bool[Tensor, "b n"]:
        """Which rendered objects reach the border of a frame of this size."""
        size = self.centre.new_tensor([width, height])
        low, high = self.centre - self.box / 2, self.centre + self.box / 2
        return ((low < BORDER_PX) | (high > size - BORDER_PX)).any(dim=-1)

    def encoder_window(self, reach: float) -> Float[Tensor, "b n"]:
        """How far from the rendered centre the encoder can see the object, along each axis: the theorem's term."""
        return self.box.double().amax(dim=-1) / 2 + reach


def compare(
    complete: Float[Tensor, "m c h w"],
    without: Float[Tensor, "m c h w"],
    shown: Float[Tensor, "m c h w"],
    windows: Windows,
    objects: int,
) -> Comparison:
    """In each object's window: the rendering with it, the one without it, and the frame; ``objects`` per frame."""
    match = register(complete - without, shown - without)
    middle, box = box_centre_and_size(soft_mask((complete - without).abs().amax(dim=1)))
    corner = torch.stack([windows.left, windows.top], dim=-1).to(middle.dtype)
    values = corner + middle, box, match.offset, match.explained, match.shown > ABSENT
    return Comparison(*(value.unflatten(0, (-1, objects)) for value in values))


def outside_window(
    weights: Float[Tensor, "b n h w"],
    pixels: tuple[Float[Tensor, "#b #n w"], Float[Tensor, "#b #n h"]],
    z: Float[Tensor, "b n 2"],
    seen: Comparison,
    *,
    reach: float,
    furthest: float,
) -> tuple[Float[Tensor, "b n"], Float[Tensor, "b n"]]:
    """The softmax outside the window in which the encoder can see the object: by how much it moves z, and its mass.

    The window is around the rendered centre, so without this displacement z is within the theorem's encoder term of it.
    ``pixels`` are the centres of columns and rows; ``furthest`` is the displacement where nothing is inside.
    """
    centre, half = seen.centre.double(), seen.encoder_window(reach)
    near_x, near_y = ((at - centre[..., [axis]]).abs() <= half[..., None] for axis, at in enumerate(pixels))
    weights = weights * near_y[..., :, None] * near_x[..., None, :]
    mass = weights.sum(dim=(-2, -1))
    inside_only = moments(weights, *pixels) / mass.clamp(min=1e-12).unsqueeze(-1)
    moved = torch.where(mass[..., None] > 1e-12, (z.double() - inside_only).abs(), furthest)
    return moved.amax(dim=-1), (1 - mass).clamp(min=0)


def moments(
    weights: Float[Tensor, "b n h w"], x: Float[Tensor, "#b #n w"], y: Float[Tensor, "#b #n h"]
) -> Float[Tensor, "b n 2"]:
    """The weighted sum of the pixel centres."""
    return torch.stack([(weights.sum(dim=-2) * x).sum(dim=-1), (weights.sum(dim=-1) * y).sum(dim=-1)], dim=-1)
