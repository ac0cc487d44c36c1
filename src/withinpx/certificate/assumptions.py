"""The theorem's assumptions as measurements, without labels. Reconstruction and heatmap use held-out frames only."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from withinpx.certificate.certificate import Check, Limits, explained_frames, frame_reasons, undrifted_frames
from withinpx.inference.observation import Observations
from withinpx.inference.registration import register
from withinpx.inference.rendering import compose, windows_around
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode, LayeredBackground
from withinpx.model.field import Field, Patch, maps_in
from withinpx.model.foreground import empty_foreground, foreground_only
from withinpx.model.sparse import first_layer_reach, sparse_cnn, sparse_decoder_maps, sparse_latents
from withinpx.model.windows import cut
from withinpx.theory import CompactSupport, Gaussian, SizeRange
from withinpx.theory.bound import theorem

GOOD_SHARE = 0.8  # of the kept-out frames, in which an object must be reconstructed at its position
LARGEST_RESIDUAL = 1.0  # px, or
RESIDUAL_SHARE = 0.1  # of the object's size, whichever is larger
DISTINCT = 0.15  # two renderings must differ by this share of the stronger one
USUAL_LEAKAGE = 1.0  # px that are allowed in any case
LARGEST_DRIFT = 1.0  # px, or twice RESIDUAL_SHARE of the size: of the rendered centre against z over the frame
EQUIVARIANT = 0.1  # px: how exactly z follows whole-pixel shifts; only rounding and the softargmax's tails keep it off
SAME_CODE = 0.01  # how exactly an appearance code, from -1 to 1, stays as it is under whole-pixel shifts
SIZE_MARGIN = 0.1  # of the sizes seen: by so much smaller or larger may an object with a code be rendered
SHIFTS = ((0, 0), (3, 0), (0, 3), (-4, 2), (5, -5))  # px, for the equivariance check, in which
VISIBLE = 0.05  # of full contrast is a difference from the background


@dataclass(frozen=True)
class ReceptiveFields:
    """Measured on the trained network, px."""

    encoder: int  # plus GATE_PX (theory/bound.py)
    decoder: int


@dataclass(frozen=True)
class Measured:
    """What was measured of one object, in px of the network's input."""

    size: SizeRange
    theorem_px: float  # thm 4.1 alone
    limits: Limits
    checks: tuple[Check, ...]


def object_bound(model: Autoencoder, fields: ReceptiveFields, size: SizeRange) -> float:
    """Thm 4.1 with the measured receptive fields; nothing larger than the decoder's can be rendered."""
    config, largest = model.config, max(1, fields.decoder)
    size = SizeRange(min(size.smallest, largest), min(size.largest, largest))
    rendering = Gaussian(config.sigma, 4.0) if config.support is None else CompactSupport(config.support)
    return theorem(fields.encoder, fields.decoder, size, rendering).bound


def whole_frames(seen: Observations, index: int) -> NDArray[np.bool_]:
    """Which frames show all of the object: (f,)."""
    return np.asarray(seen.present[:, index] & ~seen.at_border[:, index])


def rendered_sizes(seen: Observations, index: int) -> SizeRange:
    """The range of sizes of the reconstructed object, over the frames that show all of it.

    With a code it has a margin, and frames in which the object is rendered in another size are refused.
    """
    whole, margin = whole_frames(seen, index), SIZE_MARGIN * seen.has_codes
    sizes = seen.size[whole if whole.any() else slice(None), index]
    smallest, largest = (1 - margin) * float(sizes.min()), (1 + margin) * float(sizes.max())
    return SizeRange(max(1.0, smallest), max(1.0, largest))


def frame_limits(
    seen: Observations, index: int, size: SizeRange, reach: float = 0.0, leakage: float = USUAL_LEAKAGE
) -> Limits:
    """What each frame of one object must satisfy; an object with a code may be rendered anywhere in ``reach`` of z."""
    whole = whole_frames(seen, index)
    x, y = np.median((seen.centre - seen.z)[whole, index], axis=0).tolist() if whole.any() else (0.0, 0.0)
    return Limits(
        residual=max(LARGEST_RESIDUAL, RESIDUAL_SHARE * size.largest),
        leakage=leakage,
        drift=2 * reach if seen.has_codes else max(LARGEST_DRIFT, 2 * RESIDUAL_SHARE * size.largest),
        rendered=(x, y),
        sizes=(size.smallest if size.smallest > 1 else 0.0, size.largest) if seen.has_codes else None,
    )


def check_object(
    model: Autoencoder,
    fields: ReceptiveFields,
    kept_out: Observations,
    all_frames: Observations,
    rendered: Sequence[Float[Tensor, "m c h w"]],
    *,
    index: int,
    scale: float,
    look_alikes: tuple[int, ...] = (),
) -> Measured:
    """All checks of one object. ``rendered`` are all appearances of all objects; inspection may know look-alikes."""
    size = rendered_sizes(all_frames, index)
    bound = object_bound(model, fields, size)
    leakage = max(USUAL_LEAKAGE, min(usual_leakage(kept_out, index), bound))
    limits = frame_limits(all_frames, index, size, fields.decoder / 2 + (model.config.support or 0.0), leakage)
    checks = (
        _distinct(rendered, index, look_alikes),
        _displacement(all_frames, index, bound, limits, scale),
        _reconstruction(kept_out, index, limits, scale),
        _heatmap(kept_out, index, limits, scale),
        _drift(all_frames, index, limits, scale),
        _equivariance(model, all_frames, index, limits, scale),
    )
    return Measured(size, bound, limits, checks)


def _distinct(rendered: Sequence[Float[Tensor, "m c h w"]], index: int, look_alikes: tuple[int, ...]) -> Check:
    """Assumption 3: no two objects look alike, in any of the appearances that they showed."""
    if look_alikes:
        message = f"its appearance is that of object {look_alikes[0]}: the two can be confused"
        return Check("distinct", 0.0, DISTINCT, "share", False, message)
    differences = {
        other: min(appearance_difference(one, two) for one in rendered[index] for two in rendered[other])
        for other in range(len(rendered))
        if other != index
    }
    if not differences:
        return Check("distinct", 1.0, DISTINCT, "share", True, "it is the only object")
    nearest = min(differences, key=differences.__getitem__)
    value = differences[nearest]
    message = f"its rendering differs by {value:.0%} from object {nearest}, the most similar (at least {DISTINCT:.0%})"
    return Check("distinct", value, DISTINCT, "share", value >= DISTINCT, message)


def appearance_difference(one: Float[Tensor, "c h w"], other: Float[Tensor, "c h w"]) -> float:
    """How much two renderings differ when one is moved over the other, as a share of the stronger; 0 if equal."""
    strength = max(one.norm().item(), other.norm().item(), 1e-12)
    offset = register(one[None], other[None]).offset[0]
    moved = torch.roll(one, tuple(round(step) for step in offset.flip(0).tolist()), (-2, -1))
    return float((moved - other).norm().item() / strength)


def _displacement(seen: Observations, index: int, bound: float, limits: Limits, scale: float) -> Check:
    """Assumption 2: the object is seen at different positions. Frames that pass the frame checks count, if any do."""
    good = frame_reasons(seen, index, limits) == ""
    centres = seen.centre[good if good.any() else seen.present[:, index], index]
    span = float(np.ptp(centres, axis=0).max()) if len(centres) else 0.0
    message = f"reconstructed at positions up to {span / scale:.1f} px apart (more than {bound / scale:.1f} px needed)"
    return Check("displacement", span / scale, bound / scale, "px", span > bound, message)


def _reconstruction(seen: Observations, index: int, limits: Limits, scale: float) -> Check:
    """Assumption 1: the object is reconstructed where the frame shows it."""
    whole = whole_frames(seen, index)
    if not whole.any():
        return Check("reconstruction", 0.0, GOOD_SHARE, "share", False, "no kept-out frame shows it")
    share = float(explained_frames(seen, index, limits)[whole].mean())
    residual = seen.residual[whole, index]
    message = (
        f"reconstructed within {limits.residual / scale:.2f} px of the object in {share:.0%} of {whole.sum()} kept-out "
        f"frames (residual median {np.median(residual) / scale:.2f} px, largest {residual.max() / scale:.2f} px; at "
        f"least {GOOD_SHARE:.0%} needed)"
    )
    return Check("reconstruction", share, GOOD_SHARE, "share", share >= GOOD_SHARE, message)


def usual_leakage(seen: Observations, index: int) -> float:
    """By how much heatmap values outside the theorem's window move z in nine of ten frames, at most, px."""
    leakage = seen.leakage[seen.present[:, index], index]
    return float(np.quantile(leakage, 0.9)) if len(leakage) else 0.0


def _heatmap(seen: Observations, index: int, limits: Limits, scale: float) -> Check:
    """z is computed from the object: what the heatmap shows outside the theorem's window hardly moves it.

    How far it does is added to the bound of every frame, and may usually double it.
    """
    usual, largest = (
        usual_leakage(seen, index),
        float(seen.leakage[:, index].max(where=seen.present[:, index], initial=0)),
    )
    message = (
        f"heatmap values where the encoder cannot see the object move z by at most {usual / scale:.3f} px in 90% of "
        f"the frames (at most {limits.leakage / scale:.2f} px), {largest / scale:.3f} px in all (added to the bound)"
    )
    return Check("heatmap", usual / scale, limits.leakage / scale, "px", usual <= limits.leakage, message)


def _drift(seen: Observations, index: int, limits: Limits, scale: float) -> Check:
    """Equivariance of the decoder over the frame, which `perspective` gives up: its decoder knows where it renders."""
    if seen.has_codes:
        message = "with an appearance code, the centre is that of each frame's own rendering"
        return Check("drift", 1.0, GOOD_SHARE, "share", True, message)
    whole = whole_frames(seen, index)
    share = float(undrifted_frames(seen, index, limits)[whole].mean()) if whole.any() else 1.0
    message = (
        f"the rendered centre stays where it usually is against z, to within {limits.drift / scale:.2f} px, in "
        f"{share:.0%} of {whole.sum()} frames (at least {GOOD_SHARE:.0%} needed; the others are refused)"
    )
    return Check("drift", share, GOOD_SHARE, "share", share >= GOOD_SHARE, message)


def _equivariance(model: Autoencoder, seen: Observations, index: int, limits: Limits, scale: float) -> Check:
    """Render the object at shifted positions, encode the result: z must shift by as much, and the code stay.

    A layered network is equivariant by construction. The decoder of `perspective` knows where it renders and may drift.
    """
    frame = _interior_frame(seen, index, model)
    position = _interior_position(seen, index, model, frame)
    code = None if frame is None else torch.tensor(seen.codes[frame, index], dtype=torch.float32)
    error, code_error = equivariance_errors(*_with_room(model, position), index, code)
    may_drift = model.config.background is BackgroundMode.PERSPECTIVE and not seen.has_codes
    limit = limits.drift if may_drift else EQUIVARIANT
    message = (
        f"an object shifted by whole pixels shifts z by as much, to within {error / scale:.3f} px (at most "
        f"{limit / scale:.2f} px)"
    )
    if seen.has_codes:
        message += f", and its code stays as it is, to within {code_error:.4f} (at most {SAME_CODE:g})"
    met = error <= limit and code_error <= SAME_CODE
    return Check("equivariance", error / scale, limit / scale, "px", met, message)


def _interior_frame(seen: Observations, index: int, model: Autoencoder) -> int | None:
    """The frame in which the object's z is furthest from the border; None if no frame shows it."""
    size = np.array([model.config.width, model.config.height])
    shown = np.flatnonzero(seen.present[:, index])
    z = seen.z[shown, index]
    return int(shown[np.minimum(z, size - z).min(axis=1).argmax()]) if len(shown) else None


def _interior_position(seen: Observations, index: int, model: Autoencoder, frame: int | None) -> Tensor:
    """The object's z in this frame, moved inwards if the border would cut what is rendered there."""
    config = model.config
    size = np.array([config.width, config.height])
    furthest = size / 2 if frame is None else seen.z[frame, index]
    margin = np.minimum(_margin(config), size / 2)
    return torch.tensor(furthest.clip(margin, size - margin), dtype=torch.float32)


def _margin(config: NetworkConfig) -> float:
    """How far from the border an object must be that is rendered, shifted and encoded as if there were none, px."""
    reach = config.decoder_rf // 2 + (config.support or 4 * config.sigma) + config.encoder_rf // 2
    return reach + float(np.abs(SHIFTS).max())


def _with_room(model: Autoencoder, position: Float[Tensor, " 2"]) -> tuple[Autoencoder, Float[Tensor, " 2"]]:
    """The same filters on a frame that has room for the check, and a position in it.

    A strip of 320x90 px at a quarter of its size is lower than the receptive fields: there is no place in it that is
    away from its borders. The decoder of `perspective` has no other frame.
    """
    config = model.config
    least = int(np.ceil(2 * _margin(config)))
    if config.background is not BackgroundMode.LAYERED or min(config.width, config.height) >= least:
        return model, position
    added = torch.tensor([max(least - side, 0) for side in (config.width, config.height)])
    larger = replace(config, width=config.width + int(added[0]), height=config.height + int(added[1]))
    roomy = new_network(larger, seed=0).to(next(model.parameters()).device).eval()
    for name in ("encoder", "decoder"):
        getattr(roomy, name).load_state_dict(getattr(model, name).state_dict())
    colour = cast(LayeredBackground, model.background).still.mean(dim=(1, 2), keepdim=True)
    cast(LayeredBackground, roomy.background).still.copy_(colour.expand(-1, larger.height, larger.width))
    return roomy, position + added / 2


def equivariance_error(model: Autoencoder, position: Float[Tensor, " 2"], index: int) -> float:
    """The largest difference between a shift of the rendered object and the shift of its z, px."""
    return equivariance_errors(model, position, index)[0]


@torch.no_grad()
def equivariance_errors(
    model: Autoencoder, position: Float[Tensor, " 2"], index: int, code: Float[Tensor, " k"] | None = None
) -> tuple[float, float]:
    """The largest difference between a shift of the rendered object and that of its z, px; and the code's change.

    The object is rendered over the mean colour of its background, and encoded, in a window around it only. Nothing is
    rendered further away, and the softargmax is still the one over the whole map (model/sparse.py), so z is that of the
    whole frame.
    """
    config = model.config
    shifts = torch.tensor(SHIFTS, dtype=torch.float32, device=next(model.parameters()).device)
    z = shifts.new_zeros(len(shifts), config.objects, 2)
    z[:, index] = position.to(shifts.device) + shifts
    codes = z.new_zeros(*z.shape[:2], config.appearance)
    if code is not None:
        codes[:, index] = code.to(shifts.device)
    present = torch.zeros(z.shape[:2], dtype=torch.bool, device=z.device)
    windows = windows_around(z[:, index], model).grown(first_layer_reach(model.encoder))
    still = cast(LayeredBackground, model.background).still.unsqueeze(0)
    colour = cut(still, windows.only(shifts.new_zeros(1).long())).mean(dim=(-2, -1), keepdim=True)
    uniform = colour.expand(-1, -1, windows.height, windows.width)
    without = compose(model, maps_in(sparse_decoder_maps(model, z, present, codes), windows), uniform)
    present[:, index] = True
    image = compose(model, maps_in(sparse_decoder_maps(model, z, present, codes), windows), uniform)
    changed = (image - without).abs().amax(dim=1) > VISIBLE
    patch = Patch(windows, foreground_only(image, changed))
    maps = sparse_cnn(model.encoder, Field(len(z), empty_foreground(model, image), [patch]))
    again, read = (values[:, index] for values in sparse_latents(model, maps)[0])
    error = float((again - again[:1] - shifts).abs().max().item())
    return error, float((read - read[:1]).abs().max().item()) if config.appearance else 0.0
