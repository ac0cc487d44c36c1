"""The theorem's assumptions as measurements, on frames that training never saw. No truth is asked."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from withinpx.certificate.certificate import Check, Limits, frame_reasons
from withinpx.inference.observation import Observations, reconstruct
from withinpx.inference.registration import register
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.foreground import foreground_only
from withinpx.model.softargmax import softargmax
from withinpx.theory import CompactSupport, Gaussian, SizeRange, error_bound
from withinpx.theory.bound import GATE_PX

GOOD_SHARE = 0.8  # of its kept-out frames, in which an object must be drawn right
LARGEST_RESIDUAL = 1.0  # px, or
RESIDUAL_SHARE = 0.1  # of the object's size, whichever is more
UNLIKE = 0.15  # two drawings must differ by this much of the stronger one
LARGEST_LEAK = 1.0  # px
SHIFT_STEPS = ((3, 0), (0, 3), (-4, 2), (5, -5))  # px, for the equivariance check
LARGEST_STRAY = 1.0  # px, or RESIDUAL_SHARE of the size: how far the drawn centre may move against z over the frame


@dataclass(frozen=True)
class Measured:
    """Of one object, in px of the network's pictures."""

    size: SizeRange
    bound: float
    limits: Limits
    checks: tuple[Check, ...]


def object_bound(model: Autoencoder, size: SizeRange) -> float:
    """Thm 4.1 for this network, with the gate's pixel in the encoder's receptive field."""
    config = model.config
    size = SizeRange(min(size.smallest, config.decoder_rf), min(size.largest, config.decoder_rf))
    rendering = Gaussian(config.sigma, 4.0) if config.support is None else CompactSupport(config.support)
    return error_bound(config.encoder_rf + GATE_PX, config.decoder_rf, size, rendering).bound


def drawn_sizes(seen: Observations, each: int) -> SizeRange:
    """The range of sizes of what is drawn, wherever it is whole."""
    whole = seen.present[:, each] & ~seen.cut[:, each]
    sizes = seen.size[whole if whole.any() else slice(None), each]
    return SizeRange(max(1.0, float(sizes.min())), max(1.0, float(sizes.max())))


def check_object(
    model: Autoencoder,
    seen: Observations,
    everywhere: Observations,
    stamps: Tensor,
    *,
    each: int,
    scale: float,
    twins: tuple[int, ...] = (),
) -> Measured:
    """All checks of one object: ``seen`` are the kept-out frames, ``everywhere`` all frames looked at.

    ``twins`` are the objects that looked the same before training.
    """
    size = drawn_sizes(everywhere, each)
    bound = object_bound(model, size)
    limits = Limits(residual=max(LARGEST_RESIDUAL, RESIDUAL_SHARE * size.largest))
    checks = (
        _distinct(stamps, each, twins),
        _places(everywhere, each, bound, limits, scale),
        _reconstruction(seen, each, limits, scale),
        _heatmap(seen, each, scale),
        _steady(everywhere, each, size, scale),
        _equivariance(model, everywhere, each, bound, scale),
    )
    return Measured(size, bound, limits, checks)


def _reconstruction(seen: Observations, each: int, limits: Limits, scale: float) -> Check:
    there = seen.present[:, each] & ~seen.cut[:, each]
    if not there.any():
        return Check("reconstruction", 0.0, GOOD_SHARE, "share", False, "it was never seen in the frames kept out")
    residual, explained = seen.residual[there, each], seen.explained[there, each]
    share = float(((residual <= limits.residual) & (explained >= limits.explained)).mean())
    return Check(
        "reconstruction",
        share,
        GOOD_SHARE,
        "share",
        share >= GOOD_SHARE,
        f"drawn within {limits.residual / scale:.2f} px of where it is seen in {share:.0%} of {there.sum()} kept-out "
        f"frames (residual median {np.median(residual) / scale:.2f} px, largest {residual.max() / scale:.2f} px; at "
        f"least {GOOD_SHARE:.0%} needed)",
    )


def _places(seen: Observations, each: int, bound: float, limits: Limits, scale: float) -> Check:
    """How far apart it was redrawn right; if it never was, how far apart it was seen at all."""
    right = frame_reasons(seen, each, limits) == ""
    where = seen.centre[right if right.any() else seen.present[:, each], each]
    travel = float(np.ptp(where, axis=0).max()) if len(where) else 0.0
    message = (
        f"seen at places up to {travel / scale:.1f} px apart (more than the bound of {bound / scale:.1f} px needed)"
    )
    return Check("places", travel / scale, bound / scale, "px", travel > bound, message)


def _distinct(stamps: Float[Tensor, "n c h w"], each: int, twins: tuple[int, ...]) -> Check:
    if twins:
        message = f"it looks the same as object {twins[0]}: nothing tells the two apart"
        return Check("distinct", 0.0, UNLIKE, "share", False, message)
    others = [other for other in range(len(stamps)) if other != each]
    if not others:
        return Check("distinct", 1.0, UNLIKE, "share", True, "it is the only one")
    nearest = min(others, key=lambda other: unlikeness(stamps[each], stamps[other]))
    apart = unlikeness(stamps[each], stamps[nearest])
    message = f"drawn {apart:.0%} unlike object {nearest}, the most similar one (at least {UNLIKE:.0%} needed)"
    return Check("distinct", apart, UNLIKE, "share", apart >= UNLIKE, message)


def unlikeness(one: Float[Tensor, "c h w"], other: Float[Tensor, "c h w"]) -> float:
    """How much two drawings differ once one is moved over the other, as a share of the stronger: 0 for twins."""
    strength = max(one.norm().item(), other.norm().item(), 1e-12)
    found = register(one[None], other[None])
    moved = torch.roll(one, tuple(round(step) for step in found.offset[0].flip(0).tolist()), (-2, -1))
    return float((moved - other).norm().item() / strength)


def _heatmap(seen: Observations, each: int, scale: float) -> Check:
    there = seen.present[:, each]
    leak = float(np.quantile(seen.leakage[there, each], 0.9)) if there.any() else 0.0
    message = (
        f"what it shows outside the theorem's window moves z by {leak / scale:.3f} px in nine of ten frames, "
        f"{float(seen.leakage[there, each].max()) / scale if there.any() else 0:.3f} px at most (added to the bound)"
    )
    return Check("heatmap", leak / scale, LARGEST_LEAK / scale, "px", leak <= LARGEST_LEAK, message)


def _steady(seen: Observations, each: int, size: SizeRange, scale: float) -> Check:
    """The price of a decoder that knows where it draws; nothing, but for rounding, for one that does not."""
    there = seen.present[:, each] & ~seen.cut[:, each]
    shift = (seen.centre - seen.z)[there, each]
    stray = float(np.abs(shift - np.median(shift, axis=0)).max()) if len(shift) else 0.0
    limit = max(LARGEST_STRAY, 2 * RESIDUAL_SHARE * size.largest)
    message = (
        f"the drawn centre moves by {stray / scale:.2f} px against z over the frame (at most {limit / scale:.2f} px)"
    )
    return Check("steady", stray / scale, limit / scale, "px", stray <= limit, message)


def _equivariance(model: Autoencoder, seen: Observations, each: int, bound: float, scale: float) -> Check:
    """What is drawn at moved places, looked at again: does z move along?"""
    leakage = equivariance_leakage(model, _a_place(seen, each, model), each)
    message = f"an object moved by whole pixels moves z by as much to within {leakage / scale:.3f} px"
    return Check("equivariance", leakage / scale, bound / scale, "px", leakage <= bound, message)


def _a_place(seen: Observations, each: int, model: Autoencoder) -> NDArray[np.float64]:
    """A position of the object's, as far from the border as it gets."""
    where = seen.z[seen.present[:, each], each]
    if not len(where):
        return np.array([model.config.width / 2, model.config.height / 2])
    size = np.array([model.config.width, model.config.height])
    room = np.minimum(where, size - where).min(axis=1)
    return np.asarray(where[int(room.argmax())])


@torch.no_grad()
def equivariance_leakage(model: Autoencoder, place: NDArray[np.float64], each: int) -> float:
    """How much more or less than the object z moves, px: drawn at one place and at places around it."""
    config = model.config
    device = next(model.parameters()).device
    steps = torch.tensor([(0, 0), *SHIFT_STEPS], dtype=torch.float32, device=device)
    positions = torch.zeros(len(steps), config.objects, 2, device=device)
    positions[:, each] = torch.tensor(place, dtype=torch.float32, device=device) + steps
    present = torch.zeros(len(steps), config.objects, dtype=torch.bool, device=device)
    nothing = torch.zeros(1, config.colours, config.height, config.width, device=device)
    bare = reconstruct(model, positions, present, nothing + 0.5)
    present[:, each] = True
    picture = reconstruct(model, positions, present, nothing + 0.5)
    changed = (picture - bare).abs().amax(dim=1) > 0.05
    again = softargmax(model.heatmaps(foreground_only(picture, changed)), config.temperature)[:, each]
    return float((again - again[:1] - steps).abs().max().item())
