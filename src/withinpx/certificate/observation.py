"""What a network makes of some frames: all that the certificate and the tracks are computed from. No label anywhere."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from withinpx.certificate.calibration import middle_and_box, soft_mask, strength_of_body
from withinpx.certificate.registration import SEARCH_PX, register
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import LayeredBackground
from withinpx.model.field import spread_out
from withinpx.model.softargmax import softmax_map, weighted_positions
from withinpx.model.sparse import sparse_draw, sparse_softargmax
from withinpx.model.windows import Windows, cut_pictures
from withinpx.training.scene import Scene

NOTHING_SHOWN = 0.2  # of what is drawn: where the frame shows less than this, the object is not there


@dataclass(frozen=True)
class Frames:
    """Some frames as a network sees them."""

    images: Float[Tensor, "b c h w"]
    backgrounds: Float[Tensor, "p c h w"]  # one for all, or one for each
    changed: Bool[Tensor, "b h w"]  # which pixels are not the background


@dataclass(frozen=True)
class Observations:
    """Per frame and object (f, n, ...), in px of the pictures that the network sees."""

    raw: NDArray[np.float64]  # (f, n, 2): z
    centre: NDArray[np.float64]  # (f, n, 2): centre of all that is drawn for z
    body: NDArray[np.float64]  # (f, n, 2): the same without shadows
    box: NDArray[np.float64]  # (f, n, 2): width and height of what is drawn
    offset: NDArray[np.float64]  # (f, n, 2): from what is drawn to what the frame shows
    explained: NDArray[np.float64]  # (f, n): share of what the frame shows there that is drawn
    leak: NDArray[np.float64]  # (f, n): how far z is pulled by what the heatmap shows outside the theorem's window
    astray: NDArray[np.float64]  # (f, n): the heatmap's mass out there
    cut: NDArray[np.bool_]  # (f, n): does what is drawn reach the picture's border?
    present: NDArray[np.bool_]  # (f, n): does the frame show anything there?
    unexplained: NDArray[np.float64]  # (f, 1): area of the largest thing that nobody draws, px

    def __len__(self) -> int:
        return len(self.raw)

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
def observe(model: Autoencoder, frames: Frames, unused: tuple[int, ...] = ()) -> Observations:
    """Look at a batch of frames; heatmaps that are not in use are never there."""
    scene = Scene.of_movers(frames.images, frames.changed, frames.backgrounds, model)
    heatmaps = scene.heatmaps(model)
    positions, _ = sparse_softargmax(heatmaps, model.config.temperature)
    present = torch.ones(positions.shape[:2], dtype=torch.bool, device=positions.device)
    present[:, list(unused)] = False
    seen = _Drawn(model, scene, positions, present)
    if not (seen.there & present).equal(present):  # what is not there must not be drawn over what is
        present = present & seen.there
        seen = _Drawn(model, scene, positions, present)
    centre, box = seen.centre.double(), seen.box.double()
    leak, astray = _leak(spread_out(heatmaps), positions, centre, box, model)
    edge = (centre - box / 2 < 0.75) | (centre + box / 2 > positions.new_tensor(scene.images.shape[:-3:-1]) - 0.75)
    return Observations(
        positions.double().cpu().numpy(),
        centre.cpu().numpy(),
        seen.body.double().cpu().numpy(),
        box.cpu().numpy(),
        seen.offset.double().cpu().numpy(),
        seen.explained.double().cpu().numpy(),
        leak.cpu().numpy(),
        astray.cpu().numpy(),
        edge.any(dim=-1).cpu().numpy(),
        (present & seen.there).cpu().numpy(),
        _unexplained(frames, seen.picture)[:, None],
    )


def picture_of(
    model: Autoencoder, positions: Float[Tensor, "b n 2"], present: Bool[Tensor, "b n"], backgrounds: Tensor
) -> Float[Tensor, "b c h w"]:
    """What the decoder draws, over what lies behind."""
    drawn = spread_out(sparse_draw(model, positions, present))
    return LayeredBackground.over(drawn, backgrounds) if model.config.draws_a_layer else drawn


class _Drawn:
    """What is drawn for each position, and how it compares with what the frames show there."""

    def __init__(self, model: Autoencoder, scene: Scene, positions: Tensor, present: Tensor) -> None:
        self.picture = picture_of(model, positions, present, scene.backgrounds)
        parts = [self._one(model, scene, positions, present, each) for each in range(positions.shape[1])]
        self.centre, self.body, self.box, self.offset, self.explained, shown = (
            torch.stack(each, dim=1) for each in zip(*parts, strict=True)
        )
        self.there = shown > NOTHING_SHOWN

    def _one(
        self, model: Autoencoder, scene: Scene, positions: Tensor, present: Tensor, each: int
    ) -> tuple[Tensor, ...]:
        alone = present.clone()
        alone[:, each] = False
        without = picture_of(model, positions, alone, scene.backgrounds)
        alone = present.clone()
        alone[:, each] = True
        windows = windows_around(positions[:, each], model)
        behind, picture, shown = (
            cut_pictures(each.expand_as(scene.images), windows) * inside(windows, scene.images)
            for each in (without, picture_of(model, positions, alone, scene.backgrounds), scene.images)
        )
        drawn, shown = picture - behind, shown - behind
        found = register(drawn, shown)
        corner = torch.stack([windows.left, windows.top], dim=-1).to(positions.dtype)
        middle, box = middle_and_box(soft_mask(drawn.abs().amax(dim=1)))
        body, _ = middle_and_box(soft_mask(strength_of_body(picture, behind)))
        return corner + middle, corner + body, box, found.offset, found.explained, found.shown


def windows_around(positions: Float[Tensor, "b 2"], model: Autoencoder) -> Windows:
    """A window per picture, with all that is drawn for the position and the search around it."""
    config = model.config
    reach = config.decoder_rf // 2 + int((config.support or 4 * config.sigma) + 1) + SEARCH_PX + 1
    left, top = (positions.floor().long() - reach).T
    side = 2 * reach + 1
    return Windows(torch.arange(len(positions), device=positions.device), top, left, side, side)


def inside(windows: Windows, images: Tensor) -> Tensor:
    """One where a window's pixels lie in the picture, zero beyond."""
    within = windows.inside((images.shape[-2], images.shape[-1]))
    return images.new_ones(1) if within is None else within.to(images.dtype)


def _leak(
    heatmaps: Tensor, positions: Tensor, centre: Tensor, box: Tensor, model: Autoencoder
) -> tuple[Float[Tensor, "b n"], Float[Tensor, "b n"]]:
    """What the heatmap shows where its encoder cannot see the object: how far it moves z (px), and its mass."""
    weights = softmax_map(heatmaps, model.config.temperature).double()
    height, width = weights.shape[-2:]
    reach = (box.amax(dim=-1) + model.config.encoder_rf + 2) / 2
    x, y = (torch.arange(length, device=weights.device, dtype=torch.float64) + 0.5 for length in (width, height))
    near_x = (x - centre[..., :1]).abs() <= reach[..., None]
    near_y = (y - centre[..., 1:]).abs() <= reach[..., None]
    inside = weights * near_y[..., :, None] * near_x[..., None, :]
    mass = inside.sum(dim=(-2, -1))
    there = weighted_positions(inside) / mass.clamp(min=1e-12).unsqueeze(-1)
    away = torch.where(mass[..., None] > 1e-12, (positions.double() - there).abs(), float(max(height, width)))
    return away.amax(dim=-1), (1 - mass).clamp(min=0)


def _unexplained(frames: Frames, picture: Tensor) -> NDArray[np.float64]:
    """The area of the largest connected thing in each frame that changed and is drawn less than half right."""
    changed = (frames.images - frames.backgrounds).abs().amax(dim=1)
    left = (frames.images - picture).abs().amax(dim=1)
    missing = (frames.changed & (left > 0.5 * changed)).cpu().numpy()
    areas = []
    for one in missing:
        labels, count = ndimage.label(ndimage.binary_opening(one))
        areas.append(float(np.bincount(labels.ravel())[1:].max()) if count else 0.0)
    return np.array(areas)
