"""What a network makes of some frames: all that the certificate and the tracks are computed from. No label anywhere.

Everything is computed in windows around what changed and around what is drawn: a larger frame costs no more.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from withinpx.inference.masks import middle_and_box, soft_mask, strength_of_body
from withinpx.inference.registration import SEARCH_PX, register
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import LayeredBackground
from withinpx.model.field import Field, Patch, dense_maps, maps_in, masked
from withinpx.model.foreground import empty_foreground, foreground_only
from withinpx.model.sparse import first_layer_reach, sparse_cnn, sparse_decoder_maps, sparse_softargmax
from withinpx.model.windows import Windows, changed_boxes, crop_images, cut, group_windows

NOTHING_SHOWN = 0.2  # of what is drawn: where the frame shows less than this, the object is not there


@dataclass(frozen=True)
class Frames:
    """Some frames as a network sees them."""

    images: UInt8[Tensor, "b c h w"]
    backgrounds: Float[Tensor, "p c h w"]  # one for all, or one for each
    changed: Bool[Tensor, "b h w"]  # which pixels are not the background

    def __len__(self) -> int:
        return len(self.images)

    def changes(self, gap: int) -> list[Windows]:
        """Windows around all that changed, no two of a frame this near each other."""
        return group_windows([changed_boxes(each) for each in self.changed], gap, self.images.device)

    def image(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        """What each window's frame shows in it, from 0 to 1."""
        return crop_images(self.images, windows).to(self.backgrounds.dtype) / 255

    def background(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        """What lies behind."""
        return cut(self.backgrounds, windows) if len(self.backgrounds) == 1 else crop_images(self.backgrounds, windows)

    def changed_in(self, windows: Windows) -> Bool[Tensor, "m 1 h w"]:
        """Which pixels of each window changed; none outside the frame."""
        inside = windows.inside((self.changed.shape[-2], self.changed.shape[-1]))
        changed = crop_images(self.changed.unsqueeze(1), windows)
        return changed if inside is None else changed & inside

    def cleaned(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        """The same with every pixel that did not change exactly the background's: what the network is compared with."""
        return torch.where(self.changed_in(windows), self.image(windows), self.background(windows))


@dataclass(frozen=True)
class Observations:
    """Per frame and object (f, n, ...), in px of the pictures that the network sees."""

    z: NDArray[np.float64]  # (f, n, 2): z
    centre: NDArray[np.float64]  # (f, n, 2): centre of all that is drawn for z
    body: NDArray[np.float64]  # (f, n, 2): the same without shadows
    box: NDArray[np.float64]  # (f, n, 2): width and height of what is drawn
    offset: NDArray[np.float64]  # (f, n, 2): from what is drawn to what the frame shows
    explained: NDArray[np.float64]  # (f, n): share of what the frame shows there that is drawn
    leakage: NDArray[np.float64]  # (f, n): how far z is pulled by what the heatmap shows outside the theorem's window
    outside_mass: NDArray[np.float64]  # (f, n): the heatmap's mass out there
    cut: NDArray[np.bool_]  # (f, n): does what is drawn reach the picture's border?
    present: NDArray[np.bool_]  # (f, n): does the frame show anything there?
    unexplained: NDArray[np.float64]  # (f, 1): area of the largest thing that nobody draws, px

    def __len__(self) -> int:
        return len(self.z)

    def only(self, chosen: NDArray[np.intp]) -> "Observations":
        """Of these frames."""
        return Observations(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @classmethod
    def joined(cls, parts: Iterable["Observations"]) -> "Observations":
        """One after the other."""
        parts = list(parts)
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    @property
    def residual(self) -> NDArray[np.float64]:
        """Px along the worse axis; not a number where nothing is there."""
        return np.where(self.present, np.abs(self.offset).max(axis=-1), np.nan)

    @property
    def size(self) -> NDArray[np.float64]:
        """Larger side of what is drawn, px."""
        return np.asarray(self.box.max(axis=-1))


@torch.no_grad()
def observe(
    model: Autoencoder, frames: Frames, unused: tuple[int, ...] = (), heatmaps: Field | None = None
) -> Observations:
    """Look at a batch of frames; heatmaps that are not in use are never there. Somebody else may have made them."""
    changes = frames.changes(2 * (model.config.encoder_rf // 2))
    if heatmaps is None:
        heatmaps = heatmaps_of(model, frames, changes)
    positions, log_mass = sparse_softargmax(heatmaps, model.config.temperature)
    present = torch.ones(positions.shape[:2], dtype=torch.bool, device=positions.device)
    present[:, list(unused)] = False
    seen = _Drawn(model, frames, positions, present)
    if not (seen.there & present).equal(present):  # what is not there must not be drawn over what is
        present = present & seen.there
        seen = _Drawn(model, frames, positions, present)
    leak, astray = _leak(heatmaps, log_mass, positions, seen, model)
    size = positions.new_tensor([model.config.width, model.config.height])
    edge = (seen.centre - seen.box / 2 < 0.75) | (seen.centre + seen.box / 2 > size - 0.75)
    return Observations(
        positions.double().cpu().numpy(),
        seen.centre.double().cpu().numpy(),
        seen.body.double().cpu().numpy(),
        seen.box.double().cpu().numpy(),
        seen.offset.double().cpu().numpy(),
        seen.explained.double().cpu().numpy(),
        leak.cpu().numpy(),
        astray.cpu().numpy(),
        edge.any(dim=-1).cpu().numpy(),
        (present & seen.there).cpu().numpy(),
        _unexplained(frames, changes, seen.layers, model)[:, None],
    )


def heatmaps_of(model: Autoencoder, frames: Frames, changes: list[Windows]) -> Field:
    """The encoder over all frames, which is shown what changed and nothing else."""
    patches = []
    for windows in changes:
        wider = windows.grown(first_layer_reach(model.encoder))
        patches.append(Patch(wider, foreground_only(frames.image(wider), frames.changed_in(wider)[:, 0])))
    return sparse_cnn(model.encoder, Field(len(frames), empty_foreground(model, frames.backgrounds), patches))


def reconstruct(
    model: Autoencoder, positions: Float[Tensor, "b n 2"], present: Bool[Tensor, "b n"], backgrounds: Tensor
) -> Float[Tensor, "b c h w"]:
    """What the decoder draws, over what lies behind."""
    return _over(model, dense_maps(sparse_decoder_maps(model, positions, present)), backgrounds)


def _over(model: Autoencoder, drawn: Tensor, behind: Tensor) -> Tensor:
    return LayeredBackground.over(drawn, behind) if model.config.is_layered else drawn


class _Drawn:
    """What is drawn for each position, and how it compares with what the frames show there."""

    def __init__(self, model: Autoencoder, frames: Frames, positions: Tensor, present: Tensor) -> None:
        count, objects = present.shape
        self.layers = sparse_decoder_maps(model, positions, present)
        windows = windows_around(positions.flatten(end_dim=1), model).in_pictures(_each_frame(positions))
        behind, size = frames.background(windows), self.layers.size
        without, whole = (
            masked(_over(model, each, behind), windows, size)
            for each in self._without_and_with(model, positions, present, windows)
        )
        shown = masked(frames.cleaned(windows), windows, size)
        found = register(whole - without, shown - without)
        corner = torch.stack([windows.left, windows.top], dim=-1).to(positions.dtype)
        middle, box = middle_and_box(soft_mask((whole - without).abs().amax(dim=1)))
        body, _ = middle_and_box(soft_mask(strength_of_body(whole, without)))

        def per_object(values: Tensor) -> Tensor:
            return values.view(count, objects, *values.shape[1:])

        self.centre, self.body, self.box = per_object(corner + middle), per_object(corner + body), per_object(box)
        self.offset, self.explained = per_object(found.offset), per_object(found.explained)
        self.there = per_object(found.shown) > NOTHING_SHOWN

    def _without_and_with(
        self, model: Autoencoder, positions: Tensor, present: Tensor, windows: Windows
    ) -> tuple[Tensor, Tensor]:
        """The decoder's maps in each window, without the window's own object and with it."""
        objects = present.shape[1]
        drawn = maps_in(self.layers, windows)
        without, whole = self.layers.base.cut(windows).contiguous(), drawn.clone()
        others = present[:, None] & ~torch.eye(objects, dtype=torch.bool, device=present.device)
        reach = windows.width // 2 + model.config.decoder_rf // 2 + int(model.config.support or 4 * model.config.sigma)
        apart = (positions[:, :, None] - positions[:, None]).abs().amax(dim=-1)
        company = (others & (apart <= reach + 2)).any(dim=-1).flatten()
        own = present.flatten()
        for chosen, into, shows_own in ((company & own, without, False), (~own, whole, True)):
            pairs = chosen.nonzero()[:, 0]
            if len(pairs):
                frame, each = pairs // objects, pairs % objects
                wanted = present[frame].clone()
                numbers = torch.arange(len(pairs), device=pairs.device)
                wanted[numbers, each] = shows_own
                again = sparse_decoder_maps(model, positions[frame], wanted)
                into[pairs] = maps_in(again, windows.only(pairs).in_pictures(numbers))
        without[~own] = drawn[~own]
        return without, whole


def windows_around(positions: Float[Tensor, "b 2"], model: Autoencoder) -> Windows:
    """A window per picture, with all that is drawn for the position and the search around it."""
    config = model.config
    reach = config.decoder_rf // 2 + int((config.support or 4 * config.sigma) + 1) + SEARCH_PX + 1
    left, top = (positions.floor().long() - reach).T
    side = 2 * reach + 1
    return Windows(torch.arange(len(positions), device=positions.device), top, left, side, side)


def _each_frame(positions: Float[Tensor, "b n 2"]) -> Int[Tensor, " m"]:
    """The frame that each object of each frame is in."""
    count, objects = positions.shape[:2]
    return torch.arange(count, device=positions.device).repeat_interleave(objects)


def _leak(
    heatmaps: Field, log_mass: Tensor, positions: Tensor, seen: _Drawn, model: Autoencoder
) -> tuple[Float[Tensor, "b n"], Float[Tensor, "b n"]]:
    """What the heatmap shows where its encoder cannot see the object: how far it moves z (px), and its mass."""
    count, objects = log_mass.shape
    centre, reach = seen.centre.double(), (seen.box.double().amax(dim=-1) + model.config.encoder_rf + 2) / 2
    side = 2 * int(reach.max().ceil()) + 1
    left, top = (centre.flatten(end_dim=1).floor().long() - side // 2).T
    windows = Windows(_each_frame(positions), top, left, side, side)
    own = torch.arange(objects, device=left.device).repeat(count)
    logits = maps_in(heatmaps, windows)[torch.arange(len(own)), own].double() / model.config.temperature
    weights = torch.exp(logits - log_mass.double().view(-1, 1, 1))
    weights = masked(weights.unsqueeze(1), windows, heatmaps.size)[:, 0].view(count, objects, side, side)
    x, y = (each.view(count, objects, side).double() + 0.5 for each in (windows.columns(), windows.rows()))
    near_x, near_y = ((at - centre[..., [axis]]).abs() <= reach[..., None] for axis, at in enumerate((x, y)))
    weights = weights * near_y[..., :, None] * near_x[..., None, :]
    mass = weights.sum(dim=(-2, -1))
    moments = torch.stack([(weights.sum(dim=-2) * x).sum(dim=-1), (weights.sum(dim=-1) * y).sum(dim=-1)], dim=-1)
    there = moments / mass.clamp(min=1e-12).unsqueeze(-1)
    away = torch.where(mass[..., None] > 1e-12, (positions.double() - there).abs(), float(max(heatmaps.size)))
    return away.amax(dim=-1), (1 - mass).clamp(min=0)


def _unexplained(frames: Frames, changes: list[Windows], layers: Field, model: Autoencoder) -> NDArray[np.float64]:
    """The area of the largest connected thing in each frame that changed and is drawn less than half right."""
    areas = np.zeros(len(frames))
    for windows in changes:
        image, behind = frames.image(windows), frames.background(windows)
        changed = (image - behind).abs().amax(dim=1)
        left = (image - _over(model, maps_in(layers, windows), behind)).abs().amax(dim=1)
        missing = (frames.changed_in(windows)[:, 0] & (left > 0.5 * changed)).cpu().numpy()
        for frame, one in zip(windows.picture.tolist(), missing, strict=True):
            labels, count = ndimage.label(ndimage.binary_opening(np.pad(one, 1))) if one.any() else (one, 0)
            if count:
                areas[frame] = max(areas[frame], float(np.bincount(labels.ravel())[1:].max()))
    return areas
