"""What a network makes of frames: positions, reconstructions, residuals. Certificate and tracks build on it.

Everything is computed in windows around what changed and around what is rendered, so large frames cost no more.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor, nn

from withinpx.inference.comparison import Comparison, compare, outside_window
from withinpx.inference.masks import box_centre_and_size, object_strength, soft_mask
from withinpx.inference.rendering import compose, windows_around
from withinpx.model.autoencoder import Autoencoder, Latents
from withinpx.model.field import Field, Patch, maps_in, masked
from withinpx.model.foreground import empty_foreground, foreground_only
from withinpx.model.sparse import first_layer_reach, sparse_cnn, sparse_decoder_maps, sparse_latents
from withinpx.model.windows import Windows, changed_boxes, crop_images, cut, group_windows


@dataclass(frozen=True)
class Pixels:
    """A batch of frames and their backgrounds."""

    images: UInt8[Tensor, "b c h w"]
    backgrounds: Float[Tensor, "p c h w"]  # one for all frames, or one per frame

    def __len__(self) -> int:
        return len(self.images)

    def image(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        """The frame's pixels in each window, from 0 to 1."""
        return crop_images(self.images, windows).to(self.backgrounds.dtype) / 255

    def background(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        one_for_all = len(self.backgrounds) == 1
        return cut(self.backgrounds, windows) if one_for_all else crop_images(self.backgrounds, windows)

    def whole(self, index: int) -> NDArray[np.uint8]:
        """All of a frame, (height, width, colours)."""
        return np.asarray(self.images[index].permute(1, 2, 0).cpu().numpy())

    def background_of(self, index: int) -> NDArray[np.float32]:
        """The background of a frame, (height, width, colours)."""
        own = self.backgrounds[0 if len(self.backgrounds) == 1 else index]
        return np.asarray(own.permute(1, 2, 0).cpu().numpy())


@dataclass(frozen=True)
class Frames(Pixels):
    """A batch of frames as a network sees them."""

    changed: Bool[Tensor, "b h w"]  # which pixels are not background

    def changes(self, gap: int) -> list[Windows]:
        """Windows around all that changed, more than ``gap`` px apart within a frame."""
        return group_windows([changed_boxes(mask) for mask in self.changed], gap, self.images.device)

    def changed_in(self, windows: Windows) -> Bool[Tensor, "m 1 h w"]:
        """Which pixels of each window changed; none outside the frame."""
        inside = windows.inside((self.changed.shape[-2], self.changed.shape[-1]))
        changed = crop_images(self.changed.unsqueeze(1), windows)
        return changed if inside is None else changed & inside

    def cleaned(self, windows: Windows) -> Float[Tensor, "m c h w"]:
        """The frame with every unchanged pixel set to the background: what reconstructions are compared with."""
        return torch.where(self.changed_in(windows), self.image(windows), self.background(windows))


@dataclass(frozen=True)
class Feasible:
    """Where each object can be rendered without leaving too large a residual, in px of the network's input.

    NaN where an object is not searched for (inference/feasible.py).
    """

    residual: NDArray[np.float64]  # (f, n): the smallest of all renderings
    best: NDArray[np.float64]  # (f, n, 2): where that one is
    low: NDArray[np.float64]  # (f, n, 2): the smallest and the largest position of the feasible renderings;
    high: NDArray[np.float64]  # (f, n, 2): NaN where there are none
    size: NDArray[np.float64]  # (f, n): of what was rendered, over the object's usual one; or of an outline, in px
    elongation: NDArray[np.float64]  # (f, n, 2): of the outline, if it is what was searched for (inference/outline.py)
    shown: NDArray[np.float64]  # (f, n): how much of the template's energy it explains where it fits best

    @classmethod
    def nowhere(cls, frames: int, objects: int) -> "Feasible":
        shapes = ((), (2,), (2,), (2,), (), (2,), ())
        return cls(*(np.full((frames, objects, *shape), np.nan) for shape in shapes))

    def only(self, frames: NDArray[np.intp]) -> "Feasible":
        return Feasible(*(getattr(self, field.name)[frames] for field in fields(self)))

    def without(self, frames: NDArray[np.bool_]) -> "Feasible":
        """With no sets in these frames (f,)."""
        arrays = (getattr(self, field.name) for field in fields(self))
        return Feasible(*(np.where(frames.reshape(-1, *(1,) * (array.ndim - 1)), np.nan, array) for array in arrays))

    def with_object(self, index: int, other: "Feasible") -> "Feasible":
        """With the sets of one object from another search."""
        arrays = []
        for name in (own.name for own in fields(self)):
            values = getattr(self, name).copy()
            values[:, index] = getattr(other, name)[:, index]
            arrays.append(values)
        return Feasible(*arrays)

    @classmethod
    def joined(cls, parts: Iterable["Feasible"]) -> "Feasible":
        parts = list(parts)
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


@dataclass(frozen=True)
class Observations:
    """Per frame and object (f, n, ...), in px of the network's input."""

    z: NDArray[np.float64]  # (f, n, 2): softargmax of the heatmap
    centre: NDArray[np.float64]  # (f, n, 2): centre of everything rendered for z
    body: NDArray[np.float64]  # (f, n, 2): the same without shadows
    box: NDArray[np.float64]  # (f, n, 2): width and height of what is rendered
    offset: NDArray[np.float64]  # (f, n, 2): from the rendered object to the one in the frame
    explained: NDArray[np.float64]  # (f, n): share of the frame's object that the rendering accounts for
    leakage: NDArray[np.float64]  # (f, n): displacement of z by heatmap values outside the theorem's window
    outside_mass: NDArray[np.float64]  # (f, n): softmax mass there
    at_border: NDArray[np.bool_]  # (f, n): does the rendered object reach the frame's border?
    present: NDArray[np.bool_]  # (f, n): does the frame show the object?
    unexplained: NDArray[np.float64]  # (f, 1): area of the largest changed region that no object explains, px
    feasible: Feasible | None = None  # None if nothing was searched for
    codes: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0, 0)))  # (f, n, k): appearance, -1 to 1

    def __post_init__(self) -> None:
        if self.codes.shape[:2] != self.present.shape and not self.codes.size:  # left out: there is no code
            object.__setattr__(self, "codes", np.zeros((*self.present.shape, 0)))

    def __len__(self) -> int:
        return len(self.z)

    def only(self, frames: NDArray[np.intp]) -> "Observations":
        """A subset of the frames."""
        arrays: dict[str, Any] = {name: getattr(self, name)[frames] for name in _ARRAYS}
        return Observations(**arrays, feasible=None if self.feasible is None else self.feasible.only(frames))

    @classmethod
    def joined(cls, parts: Iterable["Observations"]) -> "Observations":
        parts = list(parts)
        arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
        found = [part.feasible for part in parts if part.feasible is not None]
        return cls(**arrays, feasible=Feasible.joined(found) if len(found) == len(parts) else None)

    @property
    def has_codes(self) -> bool:
        """Whether an object's appearance may differ from frame to frame."""
        return bool(self.codes.shape[-1])

    @property
    def sets(self) -> Feasible:
        """The feasible sets; nowhere if none was searched for."""
        return Feasible.nowhere(*self.present.shape) if self.feasible is None else self.feasible

    @property
    def residual(self) -> NDArray[np.float64]:
        """Px along the larger axis; NaN where the object is absent."""
        return np.where(self.present, np.abs(self.offset).max(axis=-1), np.nan)

    @property
    def size(self) -> NDArray[np.float64]:
        """Larger side of what is rendered, px."""
        return np.asarray(self.box.max(axis=-1))


_ARRAYS = tuple(field.name for field in fields(Observations) if field.name != "feasible")


@torch.no_grad()
def observe(
    model: Autoencoder,
    frames: Frames,
    *,
    encoder_rf: int,
    unused: tuple[int, ...] = (),
    heatmaps: Field | None = None,
    single: bool = False,
) -> Observations:
    """Run the network over a batch of frames. Heatmaps may come from another backend; unused ones are never present.

    ``encoder_rf`` is the encoder's measured receptive field with the gate (theory/bound.py). Frames with a ``single``
    object show the one whose rendering explains most of it; every heatmap may have its peak there.
    """
    changes = frames.changes(2 * (model.config.encoder_rf // 2))
    maps = encode_changes(model, frames, changes) if heatmaps is None else heatmaps
    latents, log_mass = sparse_latents(model, maps)
    z = latents.positions
    present = torch.ones(z.shape[:2], dtype=torch.bool, device=z.device)
    present[:, list(unused)] = False
    if single:
        present = _most_explained(model, frames, latents, present)
    rendered = _Rendered(model, frames, latents, present)
    visible = rendered.compared.visible
    if not (visible & present).equal(present):  # an absent object must not be rendered over a present one
        present = present & visible
        rendered = _Rendered(model, frames, latents, present)
    compared = rendered.compared
    leakage, outside_mass = _leakage(
        maps.channels(slice(model.config.objects)),
        log_mass,
        z,
        compared,
        reach=encoder_rf / 2 - 1,
        temperature=model.config.temperature,
    )
    return Observations(
        z=_float64(z),
        centre=_float64(compared.centre),
        body=_float64(rendered.body),
        box=_float64(compared.box),
        offset=_float64(compared.offset),
        explained=_float64(compared.explained),
        leakage=_float64(leakage),
        outside_mass=_float64(outside_mass),
        at_border=compared.at_border(*maps.size).cpu().numpy(),
        present=(present & compared.visible).cpu().numpy(),
        unexplained=_unexplained(frames, changes, rendered.maps, model)[:, None],
        codes=_float64(latents.codes),
    )


def _most_explained(
    model: Autoencoder, frames: Frames, latents: Latents, present: Bool[Tensor, "b n"]
) -> Bool[Tensor, "b n"]:
    """Of the objects that may be present, the one that explains most of its frame if it is rendered by itself."""
    by_itself = _Rendered(model, frames, latents, torch.zeros_like(present)).compared  # without any other
    explained = by_itself.explained.masked_fill(~(present & by_itself.visible), -torch.inf)
    return present & nn.functional.one_hot(explained.argmax(dim=1), present.shape[1]).bool()


def _float64(values: Tensor) -> NDArray[np.float64]:
    return np.asarray(values.double().cpu().numpy())


def encode_changes(model: Autoencoder, frames: Frames, changes: list[Windows]) -> Field:
    """The encoder's maps of the frames' foreground; it sees nothing else."""
    patches = []
    for windows in changes:
        wider = windows.grown(first_layer_reach(model.encoder))
        patches.append(Patch(wider, foreground_only(frames.image(wider), frames.changed_in(wider)[:, 0])))
    return sparse_cnn(model.encoder, Field(len(frames), empty_foreground(model, frames.backgrounds), patches))


class _Rendered:
    """The objects rendered at z with their codes, compared with the frames in a window around each."""

    def __init__(self, model: Autoencoder, frames: Frames, latents: Latents, present: Tensor) -> None:
        z = latents.positions
        self.maps = sparse_decoder_maps(model, z, present, latents.codes)
        windows = windows_around(z.flatten(end_dim=1), model).in_images(_frame_of_each_object(z))
        background, size = frames.background(windows), self.maps.size
        without, complete = (
            masked(compose(model, maps, background), windows, size)
            for maps in self._without_and_with(model, latents, present, windows)
        )
        shown = masked(frames.cleaned(windows), windows, size)
        self.compared = compare(complete, without, shown, windows, present.shape[1])
        body, _ = box_centre_and_size(soft_mask(object_strength(complete, without)))
        corner = torch.stack([windows.left, windows.top], dim=-1).to(z.dtype)
        self.body = (corner + body).view_as(z)

    def _without_and_with(
        self, model: Autoencoder, latents: Latents, present: Tensor, windows: Windows
    ) -> tuple[Tensor, Tensor]:
        """The decoder's maps in each window, without the window's own object and with it.

        A window without neighbours in reach needs no second pass of the decoder: without its object it is empty.
        """
        (z, codes), objects = latents, present.shape[1]
        maps = maps_in(self.maps, windows)
        without, complete = self.maps.base.cut(windows).contiguous(), maps.clone()
        others = present[:, None] & ~torch.eye(objects, dtype=torch.bool, device=present.device)
        reach = windows.width // 2 + model.config.decoder_rf // 2 + int(model.config.support or 4 * model.config.sigma)
        apart = (z[:, :, None] - z[:, None]).abs().amax(dim=-1)
        has_neighbour = (others & (apart <= reach + 2)).any(dim=-1).flatten()
        own = present.flatten()
        for chosen, target, with_own in ((has_neighbour & own, without, False), (~own, complete, True)):
            pairs = chosen.nonzero()[:, 0]
            if len(pairs):
                frame, index = pairs // objects, pairs % objects
                rows = torch.arange(len(pairs), device=pairs.device)
                shown = present[frame].clone()
                shown[rows, index] = with_own
                again = sparse_decoder_maps(model, z[frame], shown, codes[frame])
                target[pairs] = maps_in(again, windows.only(pairs).in_images(rows))
        without[~own] = maps[~own]
        return without, complete


def _frame_of_each_object(z: Float[Tensor, "b n 2"]) -> Int[Tensor, " m"]:
    return torch.arange(len(z), device=z.device).repeat_interleave(z.shape[1])


def _leakage(
    heatmaps: Field, log_mass: Tensor, z: Tensor, seen: Comparison, *, reach: float, temperature: float
) -> tuple[Float[Tensor, "b n"], Float[Tensor, "b n"]]:
    """``outside_window`` of the heatmaps, from the part of them that is around the objects."""
    count, objects = log_mass.shape
    side = 2 * int(seen.encoder_window(reach).max().ceil()) + 1
    left, top = (seen.centre.double().flatten(end_dim=1).floor().long() - side // 2).T
    windows = Windows(_frame_of_each_object(z), top, left, side, side)
    own = torch.arange(objects, device=left.device).repeat(count)
    logits = maps_in(heatmaps, windows)[torch.arange(len(own)), own].double() / temperature
    weights = torch.exp(logits - log_mass.double().view(-1, 1, 1))
    weights = masked(weights.unsqueeze(1), windows, heatmaps.size)[:, 0].view(count, objects, side, side)
    x, y = (axis.view(count, objects, side).double() + 0.5 for axis in (windows.columns(), windows.rows()))
    return outside_window(weights, (x, y), z, seen, reach=reach, furthest=float(max(heatmaps.size)))


def _unexplained(frames: Frames, changes: list[Windows], maps: Field, model: Autoencoder) -> NDArray[np.float64]:
    """Area of the largest connected region of each frame that changed and is less than half explained."""
    areas = np.zeros(len(frames))
    for windows in changes:
        image, background = frames.image(windows), frames.background(windows)
        changed = (image - background).abs().amax(dim=1)
        left = (image - compose(model, maps_in(maps, windows), background)).abs().amax(dim=1)
        missing = (frames.changed_in(windows)[:, 0] & (left > 0.5 * changed)).cpu().numpy()
        for frame, mask in zip(windows.image.tolist(), missing, strict=True):
            labels, count = ndimage.label(ndimage.binary_opening(np.pad(mask, 1))) if mask.any() else (mask, 0)
            if count:
                areas[frame] = max(areas[frame], float(np.bincount(labels.ravel())[1:].max()))
    return areas
