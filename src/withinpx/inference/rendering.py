"""Reconstructions by the decoder: whole frames, and one object with and without."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from withinpx.inference.registration import SEARCH_PX
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import LayeredBackground
from withinpx.model.field import dense_maps, masked
from withinpx.model.sparse import sparse_decoder_maps
from withinpx.model.windows import Windows, crop_images

GREY = 0.5  # the background that templates are rendered over
THUMBNAIL_MARGIN = 3  # px


def compose(model: Autoencoder, maps: Float[Tensor, "b o h w"], backgrounds: Tensor | None) -> Float[Tensor, "b c h w"]:
    """Images from the decoder's maps; a layered model blends them over the backgrounds (its own still if None)."""
    if not isinstance(model.background, LayeredBackground):
        return maps
    return LayeredBackground.over(maps, model.background.still[None] if backgrounds is None else backgrounds)


@torch.no_grad()
def reconstruct(
    model: Autoencoder,
    z: Float[Tensor, "b n 2"],
    present: Bool[Tensor, "b n"],
    backgrounds: Float[Tensor, "p c h w"] | None = None,
    *,
    nearby: Float[Tensor, "b c h w"] | None = None,
    codes: Float[Tensor, "b n k"] | None = None,
) -> Float[Tensor, "b c h w"]:
    """Frames with the present objects rendered at z, with these codes (zeros if None)."""
    if nearby is not None:
        return model.decode(z, nearby, present, codes)
    return compose(model, dense_maps(sparse_decoder_maps(model, z, present, codes)), backgrounds)


def object_difference(
    model: Autoencoder,
    z: Float[Tensor, "b n 2"],
    index: Int[Tensor, " b"],
    *,
    present: Bool[Tensor, "b n"] | None = None,
    backgrounds: Float[Tensor, "p c h w"] | None = None,
    nearby: Float[Tensor, "b c h w"] | None = None,
    codes: Float[Tensor, "b n k"] | None = None,
) -> Float[Tensor, "b c h w"]:
    """The reconstruction with object ``index`` of each row minus the one without it; others as ``present`` says."""
    rows = torch.arange(len(z), device=z.device)
    shown = torch.zeros(z.shape[:2], dtype=torch.bool, device=z.device) if present is None else present.clone()
    shown[rows, index] = True
    hidden = shown.clone()
    hidden[rows, index] = False
    one, other = (reconstruct(model, z, own, backgrounds, nearby=nearby, codes=codes) for own in (shown, hidden))
    return one - other


def windows_around(z: Float[Tensor, "b 2"], model: Autoencoder) -> Windows:
    """One window per position, wide enough for everything rendered there and for the search around it."""
    config = model.config
    reach = config.decoder_rf // 2 + int((config.support or 4 * config.sigma) + 1) + SEARCH_PX + 1
    left, top = (z.floor().long() - reach).unbind(dim=-1)
    side = 2 * reach + 1
    return Windows(torch.arange(z.shape[0], device=z.device), top, left, side, side)


def templates(
    model: Autoencoder,
    observed: NDArray[np.float64],
    present: NDArray[np.bool_],
    codes: NDArray[np.float64] | None = None,
) -> Float[Tensor, "n c h w"]:
    """Each object alone over grey, as a difference from it, rendered at its observed z (f, n, 2) nearest the centre.

    It is rendered with the code (f, n, k) that it shows there.
    """
    nearest, own = nearest_to_centre(model, observed, present), range(model.config.objects)
    at = np.stack([position_in(model, observed, frame, index) for index, frame in zip(own, nearest, strict=True)])
    if codes is None:
        return render_alone(model, at, own)
    none = np.zeros(codes.shape[-1])
    shown = [none if frame is None else codes[frame, index] for index, frame in zip(own, nearest, strict=True)]
    return render_alone(model, at, own, np.stack(shown))


def nearest_to_centre(
    model: Autoencoder, observed: NDArray[np.float64], present: NDArray[np.bool_]
) -> list[int | None]:
    """The frame in which each object is nearest to the frame's centre, None if it is in none."""
    middle = _middle(model)
    frames: list[int | None] = []
    for index in range(model.config.objects):
        shown = np.flatnonzero(present[:, index])
        away = np.abs(observed[shown, index] - middle).max(axis=1)
        frames.append(int(shown[away.argmin()]) if len(shown) else None)
    return frames


def render_alone(
    model: Autoencoder, z: NDArray[np.float64], index: Sequence[int], codes: NDArray[np.float64] | None = None
) -> Float[Tensor, "m c h w"]:
    """Object ``index[i]`` alone at z (m, 2), with its code (m, k), over grey and as a difference from it."""
    config, device = model.config, next(model.parameters()).device
    at = torch.tensor(z, dtype=torch.float32, device=device)
    own = torch.tensor(list(index), device=device)
    shown = None if codes is None else torch.tensor(codes, dtype=torch.float32, device=device)
    grey = torch.full((1, config.colours, config.height, config.width), GREY, device=device)
    difference = object_difference(
        model,
        at[:, None].expand(-1, config.objects, -1),
        own,
        backgrounds=grey,
        codes=None if shown is None else shown[:, None].expand(-1, config.objects, -1),
    )
    windows = windows_around(at, model)
    return masked(crop_images(difference, windows), windows, (config.height, config.width))


def _middle(model: Autoencoder) -> NDArray[np.float64]:
    return np.array([model.config.width / 2, model.config.height / 2])


def position_in(
    model: Autoencoder, observed: NDArray[np.float64], frame: int | None, index: int
) -> NDArray[np.float64]:
    """The object's z in a frame (f, n, 2); the middle of the frame if it is in none."""
    return np.asarray(_middle(model) if frame is None else observed[frame, index])


def thumbnail(template: Float[Tensor, "c h w"]) -> NDArray[np.uint8]:
    """A template cropped to its object, (height, width, colours), over grey."""
    strength = template.abs().amax(dim=0)
    rows, columns = (strength >= 0.1 * strength.amax()).nonzero(as_tuple=True)
    top, left = (max(0, int(axis.min()) - THUMBNAIL_MARGIN) for axis in (rows, columns))
    bottom, right = (int(axis.max()) + THUMBNAIL_MARGIN + 1 for axis in (rows, columns))
    image = (template[:, top:bottom, left:right] + GREY).clamp(0, 1)
    return np.asarray((image.permute(1, 2, 0).cpu().numpy() * 255).round().astype(np.uint8))
