"""Label-free calibration: the shift from z to the centre of the object.

The theorem leaves a shift between the two: the encoder may respond to an object's left edge, and the decoder then
renders everything to the right of z. The rendering shows the shift, so no label is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from withinpx.inference.masks import box_centre_and_size, soft_mask
from withinpx.inference.observation import Observations
from withinpx.inference.rendering import object_difference
from withinpx.model.autoencoder import Autoencoder

Points = NDArray[np.float64]  # (..., 2), (x, y)

BANDWIDTHS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)  # px, candidates for a shift that varies
IMPROVEMENT = 0.95  # a shift that varies must have at most this share of a constant's error
FEWEST = 12  # measurements for a shift that varies
OUTLIER = 6.0  # times the median deviation: such a measurement is of something else,
OUTLIER_PX = 0.5  # if it is also further off than this


@torch.no_grad()
def rendered_centres(
    model: Autoencoder,
    z: Float[Tensor, "b n 2"],
    nearby: Float[Tensor, "b c h w"] | None = None,
    codes: Float[Tensor, "b n k"] | None = None,
) -> Float[Tensor, "b n 2"]:
    """The centre of each object's rendering, all objects present."""
    present = torch.ones(z.shape[:2], dtype=torch.bool, device=z.device)
    centres = []
    for index in range(z.shape[1]):
        own = torch.full((len(z),), index, device=z.device)
        difference = object_difference(model, z, own, present=present, nearby=nearby, codes=codes)
        centres.append(box_centre_and_size(soft_mask(difference.abs().amax(dim=1)))[0])
    return torch.stack(centres, dim=1)


@torch.no_grad()
def measured_shift(
    model: Autoencoder, images: Float[Tensor, "b c h w"], nearby: Float[Tensor, "b c h w"] | None = None
) -> Float[Tensor, "n 2"]:
    """For each object the centre of its rendering minus z, median over the images, px."""
    z, codes = model.latents(images)
    return (rendered_centres(model, z, nearby, codes) - z).quantile(0.5, dim=0)


@dataclass(frozen=True)
class Shift:
    """Object centre minus z, measured at some positions; in between a weighted mean with Gaussian weights."""

    positions: Points  # (k, 2), z of the measurements, px of the network's input
    shifts: Points  # (k, 2)
    bandwidth: float  # px

    @classmethod
    def constant(cls, shift: Points) -> "Shift":
        return cls(np.zeros((1, 2)), np.asarray(shift, np.float64)[None], 1.0)

    def at(self, z: Points) -> Points:
        """The shift at each z (f, 2)."""
        return np.asarray(_weights(z, self.positions, self.bandwidth) @ self.shifts)


def shifts_at(shifts: Sequence[Shift], z: Points) -> Points:
    """The shift of every object at its z: (f, n, 2)."""
    return np.stack([shift.at(z[:, index]) for index, shift in enumerate(shifts)], axis=1)


def reported_centres(seen: Observations, shifts: Sequence[Shift]) -> Points:
    """Where the network says that each object is (f, n, 2), px of its input, before its offset in the frame."""
    return np.stack([reported_centre(seen, index, shift) for index, shift in enumerate(shifts)], axis=1)


def reported_centre(seen: Observations, index: int, shift: Shift) -> Points:
    """The same of one object (f, 2).

    That is z and the shift; or, where the appearance may move what is rendered against z, the centre of each frame's
    own rendering.
    """
    return seen.body[:, index] if seen.has_codes else seen.z[:, index] + shift.at(seen.z[:, index])


def fit_shifts(seen: Observations, centres: Points, varies: bool) -> tuple[Shift, ...]:
    """One shift per object, from the object centres (f, n, 2) where known, else from the rendered centres."""
    shifts = []
    for index in range(seen.z.shape[1]):
        whole = seen.present[:, index] & ~seen.at_border[:, index]
        known = whole & np.isfinite(centres[:, index]).all(axis=-1)
        measured, frames = (centres, known) if known.any() else (seen.body, whole)
        shifts.append(fit_shift(seen.z[frames, index], (measured - seen.z)[frames, index], varies))
    return tuple(shifts)


def fit_shift(positions: Points, shifts: Points, varies: bool) -> Shift:
    """The median; or, if it may vary and leave-one-out errors are clearly smaller with it, a local mean."""
    if not len(shifts):
        return Shift.constant(np.zeros(2))
    constant = Shift.constant(np.median(shifts, axis=0))
    deviation = np.abs(shifts - constant.shifts)
    plausible = (deviation <= np.maximum(OUTLIER * np.median(deviation, axis=0), OUTLIER_PX)).all(axis=1)
    positions, shifts = positions[plausible], shifts[plausible]
    if not varies or len(shifts) < FEWEST:
        return constant
    errors = {bandwidth: _leave_one_out_error(positions, shifts, bandwidth) for bandwidth in BANDWIDTHS}
    best = min(BANDWIDTHS, key=errors.__getitem__)
    constant_error = float(np.abs(shifts - constant.shifts).mean())
    return Shift(positions, shifts, best) if errors[best] < IMPROVEMENT * constant_error else constant


def _leave_one_out_error(positions: Points, shifts: Points, bandwidth: float) -> float:
    weights = _weights(positions, positions, bandwidth, leave_one_out=True)
    return float(np.abs(weights @ shifts - shifts).mean())


def _weights(z: Points, positions: Points, bandwidth: float, *, leave_one_out: bool = False) -> NDArray[np.float64]:
    """Gaussian weight of each measurement at each z: (f, k); rows sum to one."""
    exponent = ((z[:, None] - positions[None]) ** 2).sum(axis=-1) / (2 * bandwidth**2)
    if leave_one_out:
        exponent = exponent + np.diag(np.full(len(exponent), np.inf))
    weights = np.exp(exponent.min(axis=1, keepdims=True) - exponent)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
