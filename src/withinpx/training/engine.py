"""Two ways to compute the same numbers: everywhere, or only where a picture differs from the background."""

from typing import Protocol

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import BackgroundMode, LayeredBackground
from withinpx.model.field import Field
from withinpx.model.render import render
from withinpx.model.sparse import gaussians_in, sparse_decoder_maps, sparse_softargmax
from withinpx.training.accuracy import TOLERANCE, right_pixels
from withinpx.training.scene import Scene, half_contrast, noise_level

BARELY = 1e-3  # a Gaussian of which windows show no more than this lies where nothing changed: its place is not known
SPARSE_SHARE = 0.25  # of the pixels changed at most; with more, windows do not pay


class Engine(Protocol):
    """What training asks of a network and its pictures."""

    model: Autoencoder
    tolerance: float  # a pixel less than this off is redrawn right
    latest_z: Tensor  # (b, n, 2): z of each picture as last seen; not a number before that

    def reconstruct(self, chosen: Tensor, nearby: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and accuracy of the reconstruction of these pictures."""

    def heatmap_loss(self, chosen: Tensor, centres: Tensor, width: float) -> Tensor:
        """How unlike Gaussians of this width at these centres the heatmaps are: cross entropy."""


class DenseEngine:
    """Everywhere."""

    def __init__(self, model: Autoencoder, images: Tensor, tolerance: float = TOLERANCE) -> None:
        self.model, self.images, self.tolerance = model, images, tolerance
        self.latest_z = images.new_full((len(images), model.config.objects, 2), torch.nan)

    def reconstruct(self, chosen: Tensor, nearby: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and accuracy of the reconstruction of these pictures."""
        looks_nearby = self.model.config.background is BackgroundMode.NEARBY
        batch = self.images[chosen]
        positions, drawn = self.model(batch, self.images[nearby] if looks_nearby else None)
        self.latest_z[chosen] = positions.detach()
        return compared(drawn, batch, self.tolerance)

    def heatmap_loss(self, chosen: Tensor, centres: Tensor, width: float) -> Tensor:
        """How unlike Gaussians of this width at these centres the heatmaps are: cross entropy."""
        return unlike(self.model.heatmaps(self.images[chosen]) / self.model.config.temperature, centres, width)


def compared(drawn: Tensor, shown: Tensor, tolerance: float) -> tuple[Tensor, Tensor]:
    """Loss and accuracy of whole pictures."""
    return F.mse_loss(drawn, shown), right_pixels(drawn.detach(), shown, tolerance).float().mean()


def unlike(logits: Float[Tensor, "b n h w"], centres: Float[Tensor, "b n 2"], width: float) -> Tensor:
    """The cross entropy of whole heatmaps and Gaussians of this width at these centres."""
    wanted = render(centres, (logits.shape[-2], logits.shape[-1]), width).flatten(start_dim=-2)
    seen = F.log_softmax(logits.flatten(start_dim=-2), dim=-1)
    return -(wanted / wanted.sum(dim=-1, keepdim=True) * seen).sum(dim=-1).mean()


class SparseEngine:
    """Only where something changed: equal to rounding (model/sparse.py)."""

    def __init__(
        self, model: Autoencoder, scene: Scene, tolerance: float = TOLERANCE, present: Tensor | None = None
    ) -> None:
        self.model, self.scene, self.tolerance = model, scene, tolerance
        self.present = present  # (b, n): which objects each picture shows; all, if not given
        self.centre_loss: tuple[Tensor, float] | None = None  # centres (b n 2) the heatmaps are held to, and how firmly
        self.centre_loss_width = 1.0  # px: the Gaussian that a held heatmap should look like
        self.latest_z = scene.images.new_full((len(scene.images), model.config.objects, 2), torch.nan)

    def reconstruct(self, chosen: Tensor, nearby: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and accuracy of the reconstruction of these pictures."""
        scene = self.scene.only(chosen)
        heatmaps = scene.heatmaps(self.model)
        positions, log_mass = sparse_softargmax(heatmaps, self.model.config.temperature)
        self.latest_z[chosen] = positions.detach()
        drawn = sparse_decoder_maps(self.model, positions, None if self.present is None else self.present[chosen])
        loss, accuracy = self._loss(scene, drawn), self._accuracy(scene, drawn.detach())
        if self.centre_loss is not None and self.centre_loss[1] > 0:
            centres, weight = self.centre_loss
            loss = loss + weight * self._unlike(heatmaps, log_mass, centres[chosen], self.centre_loss_width)
        return loss, accuracy

    def decoder_loss(self, chosen: Tensor, centres: Tensor) -> Tensor:
        """Loss of the decoder alone, for objects at known centres; what is not known is not drawn."""
        drawn = sparse_decoder_maps(self.model, centres.nan_to_num(0.0), ~centres.isnan().any(dim=-1))
        return self._loss(self.scene.only(chosen), drawn)

    def _accuracy(self, scene: Scene, drawn: Field) -> Tensor:
        wrong = scene.compare(drawn, self._picture, self._wrong, self._bare_wrong(scene, drawn))
        return 1 - wrong / scene.pixels

    def _loss(self, scene: Scene, drawn: Field) -> Tensor:
        bare = self._bare_loss(scene, drawn)
        total = scene.compare(drawn, self._picture, lambda one, other: (one - other) ** 2, bare)
        return total / (scene.pixels * scene.images.shape[1])

    def _bare_loss(self, scene: Scene, drawn: Field) -> Tensor | None:
        """The loss of a layer that is the same everywhere over the backgrounds: sum of (colour - opacity * still)^2."""
        layer = self._even_layer(drawn)
        if layer is None:
            return None
        (opacity, colours), known = layer, scene.statistics
        pixels = drawn.size[0] * drawn.size[1]
        return (pixels * (colours - opacity * known.mean) ** 2 + opacity**2 * known.spread).sum()

    def _bare_wrong(self, scene: Scene, drawn: Field) -> Tensor | None:
        """No pixel is wrong, if the lightest and the darkest of every colour are not; else they must be counted."""
        layer = self._even_layer(drawn)
        if layer is None or layer[0].device.type != "cpu":  # a GPU would have to wait for the answer
            return None
        opacity, colours = (each.detach() for each in layer)
        ends = torch.stack([scene.statistics.lowest, scene.statistics.highest])
        worst = (colours - opacity * ends).abs().amax()
        return torch.zeros_like(worst) if worst < self.tolerance else None

    def _even_layer(self, drawn: Field) -> tuple[Tensor, Tensor] | None:
        """Opacity and colours (c) of what is drawn where nothing is, if that is the same everywhere."""
        base = drawn.base
        if not (self.model.config.is_layered and base.is_even):
            return None
        height, width = base.values.shape[-2:]
        values = base.values[0, :, height // 2, width // 2]
        return values[:1].sigmoid(), values[1:]

    def heatmap_loss(self, chosen: Tensor, centres: Tensor, width: float) -> Tensor:
        """How unlike Gaussians of this width at these centres the heatmaps are: cross entropy, over known centres."""
        heatmaps = self.scene.only(chosen).heatmaps(self.model)
        _, log_mass = sparse_softargmax(heatmaps, self.model.config.temperature)
        return self._unlike(heatmaps, log_mass, centres, width)

    def _unlike(self, heatmaps: Field, log_mass: Tensor, centres: Tensor, width: float) -> Tensor:
        agreement, weight = centres.new_zeros(log_mass.shape), centres.new_zeros(log_mass.shape)
        known = ~centres.isnan().any(dim=-1)
        for patch in heatmaps.patches:
            wanted = gaussians_in(patch.windows, centres.nan_to_num(-1e4), width)
            weight = weight.index_add(0, patch.windows.picture, wanted.sum(dim=(-2, -1)))
            agreed = (wanted * patch.values).sum(dim=(-2, -1)) / self.model.config.temperature
            agreement = agreement.index_add(0, patch.windows.picture, agreed)
        known = known & (weight.detach() > BARELY)
        unlike = log_mass - agreement / weight.clamp(min=BARELY)
        return (unlike * known).sum() / known.sum().clamp(min=1)

    def _picture(self, drawn: Tensor, behind: Tensor) -> Tensor:
        return LayeredBackground.over(drawn, behind) if self.model.config.is_layered else drawn

    def _wrong(self, drawn: Tensor, shown: Tensor) -> Tensor:
        return (~right_pixels(drawn, shown.expand_as(drawn), self.tolerance)).unsqueeze(1).to(drawn.dtype)


def choose_engine(
    model: Autoencoder, images: Tensor, dense: bool = False, behind: Float[Tensor, "c h w"] | None = None
) -> Engine:
    """The sparse one where the background is static and little of it changes, unless ``dense`` is asked for."""
    tolerance = half_contrast(images, behind)
    if not dense and model.config.background is not BackgroundMode.NEARBY:
        noise = noise_level(images) if behind is None else 0.0
        if noise < tolerance:  # or nothing stands out from a background that is not static
            scene = Scene.of(images, model, noise, behind)
            little = scene.alike or scene.share <= SPARSE_SHARE
            if little and (images.device.type == "cpu" or scene.one_each):
                return SparseEngine(model, scene, tolerance)
    return DenseEngine(model, images, tolerance)
