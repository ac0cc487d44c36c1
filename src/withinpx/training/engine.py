"""Losses and accuracy of a network on its training images.

The dense engine computes every pixel, the sparse one only where an image differs from the background. Both give the
same numbers but for rounding.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder, Latents
from withinpx.model.background import BackgroundMode, LayeredBackground
from withinpx.model.field import Field, dense_maps
from withinpx.model.foreground import foreground_only
from withinpx.model.render import render
from withinpx.model.sparse import gaussians_in, sparse_decoder_maps, sparse_latents
from withinpx.training.accuracy import TOLERANCE, right_pixels
from withinpx.training.losses import VISIBLE, layer_errors, lost_positions, mean_over_visible, mean_square
from withinpx.training.scene import Scene, change_windows, half_contrast, noise_level

CENTRE_LOSS_WIDTH = 1.0  # px; sigma of the Gaussian that the centre loss compares a heatmap with
OUTSIDE = -1e4  # px; a centre that is unknown
SPARSE_SHARE = 0.25  # of the pixels changed at most; beyond it, windows cost more than they save

Indices = Int[Tensor, " b"]  # of images
CrossEntropy = Callable[[Tensor, float], Tensor]  # centres (b n 2), width -> loss


class Engine(ABC):
    """One network and its training images."""

    def __init__(
        self,
        model: Autoencoder,
        images: Float[Tensor, "f c h w"],
        tolerance: float,
        backgrounds: Float[Tensor, "p c h w"] | None = None,
        present: Bool[Tensor, "f n"] | None = None,
    ) -> None:
        self.model = model
        self.images = images  # reconstruction targets
        self.tolerance = tolerance  # a pixel less than this off counts as reconstructed
        self.backgrounds = backgrounds  # one for all images or one for each; None if they are the model's own
        self.present = present  # which objects each image shows; None if all
        self.loss_weight = 1.0  # of the reconstruction error: as a mean over all pixels it vanishes in a large frame
        self.shows_change = False  # are the unchanged pixels of the images exactly those of their backgrounds?
        self.code_penalty = 0.0  # weight of the mean square of the appearance codes
        self.centre_loss: tuple[Tensor, float] | None = None  # centres (f n 2) of the heatmaps, and the loss's weight
        self.lost_weight = 0.0  # of the same loss for heatmaps that are far from their object in an image
        self.latest_z = images.new_full((len(images), model.config.objects, 2), torch.nan)  # NaN until first seen

    def reconstruct(self, chosen: Indices, nearby: Indices) -> tuple[Tensor, Tensor]:
        """Loss (mean squared error, and the centre loss if there is one) and accuracy of these images (app. C.1)."""
        latents, cross_entropy = self._encode(chosen)
        self.latest_z[chosen] = latents.positions.detach()
        present = None if self.present is None else self.present[chosen]
        rendered = self._decode(latents, present, chosen, nearby)
        loss, accuracy = self.loss_weight * self._loss(rendered, chosen), self._accuracy(rendered.detach(), chosen)
        if self.centre_loss is not None:
            centres, weight = self.centre_loss
            if weight > 0:
                loss = loss + weight * cross_entropy(centres[chosen], CENTRE_LOSS_WIDTH)
            if self.lost_weight > 0:
                lost = lost_positions(latents.positions.detach(), centres[chosen])
                wanted = centres[chosen].masked_fill(~lost.unsqueeze(-1), torch.nan)
                loss = loss + self.lost_weight * cross_entropy(wanted, CENTRE_LOSS_WIDTH)
        if self.code_penalty and self.model.config.appearance:
            loss = loss + self.code_penalty * mean_square(latents.codes, present)
        return loss, accuracy

    def latents(self, chosen: Indices) -> Latents:
        """Positions and appearance codes of these images."""
        return self._encode(chosen)[0]

    def heatmap_loss(self, chosen: Indices, centres: Float[Tensor, "b n 2"], width: float) -> Tensor:
        """Cross entropy of the heatmaps with Gaussians of this width at these centres; NaN is an unknown centre."""
        return self._encode(chosen)[1](centres, width)

    def decoder_loss(self, chosen: Indices, centres: Float[Tensor, "b n 2"]) -> Tensor:
        """Loss of a layered decoder alone, for objects at these centres; NaN is an object that is not rendered."""
        present = ~centres.isnan().any(dim=-1)
        codes = centres.new_zeros(*present.shape, self.model.config.appearance)
        latents = Latents(centres.nan_to_num(0.0), codes)
        if self.shows_change:
            return self.loss_weight * self._layer_loss(latents, present, chosen)
        return self.loss_weight * self._loss(self._decode(latents, present, chosen, chosen), chosen)

    @abstractmethod
    def heatmaps(self, chosen: Indices) -> Float[Tensor, "b n h w"]: ...

    def backgrounds_of(self, chosen: Indices) -> Float[Tensor, "#b c h w"] | None:
        if self.backgrounds is None or len(self.backgrounds) == 1:
            return self.backgrounds
        return self.backgrounds[chosen]

    @abstractmethod
    def _encode(self, chosen: Indices) -> tuple[Latents, CrossEntropy]:
        """Positions and codes, and the cross entropy of the heatmaps as a function of centres and width."""

    @abstractmethod
    def _decode(self, latents: Latents, present: Tensor | None, chosen: Indices, nearby: Indices) -> Any: ...

    @abstractmethod
    def _loss(self, rendered: Any, chosen: Indices) -> Tensor: ...

    @abstractmethod
    def _accuracy(self, rendered: Any, chosen: Indices) -> Tensor: ...

    @abstractmethod
    def _layer_loss(self, latents: Latents, present: Tensor, chosen: Indices) -> Tensor:
        """Mean of ``layer_errors`` over the pixels."""


class DenseEngine(Engine):
    """Computes every pixel."""

    def __init__(
        self,
        model: Autoencoder,
        images: Float[Tensor, "f c h w"],
        tolerance: float = TOLERANCE,
        *,
        inputs: Float[Tensor, "f c h w"] | None = None,
        near_change: Bool[Tensor, "f 1 h w"] | None = None,
        backgrounds: Float[Tensor, "p c h w"] | None = None,
        present: Bool[Tensor, "f n"] | None = None,
        weights: Float[Tensor, "f 1 h w"] | None = None,
    ) -> None:
        """``inputs`` are what the encoder sees, if not the images; ``near_change`` restricts Gaussians of centres.

        ``weights`` are those of the pixels' errors.
        """
        super().__init__(model, images, tolerance, backgrounds, present)
        self._inputs, self._near_change = images if inputs is None else inputs, near_change
        self._weights = weights

    @classmethod
    def of_foreground(
        cls,
        model: Autoencoder,
        images: Float[Tensor, "f c h w"],
        changed: Bool[Tensor, "f h w"],
        backgrounds: Float[Tensor, "p c h w"],
        *,
        tolerance: float,
        present: Bool[Tensor, "f n"] | None = None,
        weights: Float[Tensor, "f 1 h w"] | None = None,
    ) -> "DenseEngine":
        """The encoder sees only the changed pixels: equal to the sparse engine over ``Scene.of_foreground``."""
        near = torch.zeros_like(changed)
        for windows in change_windows(changed, model):
            grown = windows.grown(model.config.encoder_rf // 2)
            near[grown.image[:, None, None], *grown.clamped((changed.shape[-2], changed.shape[-1]))] = True
        masks, last = changed.unsqueeze(1), torch.channels_last
        return cls(
            model,
            torch.where(masks, images, backgrounds).contiguous(memory_format=last),
            tolerance,
            inputs=foreground_only(images, changed).contiguous(memory_format=last),
            near_change=near.unsqueeze(1),
            backgrounds=backgrounds.contiguous(memory_format=last),
            present=present,
            weights=weights,
        )

    def heatmaps(self, chosen: Indices) -> Float[Tensor, "b n h w"]:
        return self._maps(chosen)[:, : self.model.config.objects]

    def _maps(self, chosen: Indices) -> Float[Tensor, "b m h w"]:
        maps: Tensor = self.model.encoder(self._inputs[chosen])
        return maps

    def _encode(self, chosen: Indices) -> tuple[Latents, CrossEntropy]:
        maps = self._maps(chosen)
        heatmaps = maps[:, : self.model.config.objects]
        return self.model.read(maps), partial(self._cross_entropy, heatmaps, chosen)

    def _cross_entropy(self, heatmaps: Tensor, chosen: Indices, centres: Tensor, width: float) -> Tensor:
        logits = heatmaps / self.model.config.temperature
        target = render(centres.nan_to_num(OUTSIDE), (logits.shape[-2], logits.shape[-1]), width)
        if self._near_change is not None:
            target = target * self._near_change[chosen]
        target = target.flatten(start_dim=-2)
        mass = target.sum(dim=-1, keepdim=True)
        log_probability = F.log_softmax(logits.flatten(start_dim=-2), dim=-1)
        entropy = -(target / mass.clamp(min=VISIBLE) * log_probability).sum(dim=-1)
        return mean_over_visible(entropy, mass.squeeze(-1))

    def _decode(self, latents: Latents, present: Tensor | None, chosen: Indices, nearby: Indices) -> Tensor:
        needs_nearby = self.model.config.background is BackgroundMode.NEARBY
        positions, codes = latents
        maps = self.model.decoder_maps(positions, self.images[nearby] if needs_nearby else None, present, codes)
        return self.model.background.compose(maps, self.backgrounds_of(chosen))

    def _loss(self, rendered: Tensor, chosen: Indices) -> Tensor:
        if self._weights is None:
            return F.mse_loss(rendered, self.images[chosen])
        return (self._weights[chosen] * (rendered - self.images[chosen]) ** 2).mean()

    def _accuracy(self, rendered: Tensor, chosen: Indices) -> Tensor:
        return right_pixels(rendered, self.images[chosen], self.tolerance).float().mean()

    def _layer_loss(self, latents: Latents, present: Tensor, chosen: Indices) -> Tensor:
        maps = self.model.decoder_maps(latents.positions, None, present, latents.codes)
        stills = self.backgrounds_of(chosen)
        if stills is None:
            stills = cast(LayeredBackground, self.model.background).still.unsqueeze(0)
        errors = layer_errors(maps, stills, self.images[chosen])
        return (errors if self._weights is None else self._weights[chosen] * errors).mean()


class SparseEngine(Engine):
    """Computes windows around the changed pixels and around the rendered objects (model/sparse.py)."""

    def __init__(
        self,
        model: Autoencoder,
        scene: Scene,
        tolerance: float = TOLERANCE,
        present: Bool[Tensor, "f n"] | None = None,
    ) -> None:
        super().__init__(model, scene.images, tolerance, scene.backgrounds, present)
        self.scene = scene

    def heatmaps(self, chosen: Indices) -> Float[Tensor, "b n h w"]:
        return dense_maps(self._heatmaps(self.scene.only(chosen).encode(self.model)))

    def _heatmaps(self, maps: Field) -> Field:
        return maps.channels(slice(self.model.config.objects))

    def _encode(self, chosen: Indices) -> tuple[Latents, CrossEntropy]:
        maps = self.scene.only(chosen).encode(self.model)
        latents, log_mass = sparse_latents(self.model, maps)
        return latents, partial(self._cross_entropy, self._heatmaps(maps), log_mass)

    def _cross_entropy(self, heatmaps: Field, log_mass: Tensor, centres: Tensor, width: float) -> Tensor:
        agreement, mass = centres.new_zeros(log_mass.shape), centres.new_zeros(log_mass.shape)
        for patch in heatmaps.patches:
            target = gaussians_in(patch.windows, centres.nan_to_num(OUTSIDE), width)
            mass = mass.index_add(0, patch.windows.image, target.sum(dim=(-2, -1)))
            agreed = (target * patch.values).sum(dim=(-2, -1)) / self.model.config.temperature
            agreement = agreement.index_add(0, patch.windows.image, agreed)
        return mean_over_visible(log_mass - agreement / mass.clamp(min=VISIBLE), mass)

    def _decode(self, latents: Latents, present: Tensor | None, chosen: Indices, nearby: Indices) -> Field:
        return sparse_decoder_maps(self.model, latents.positions, present, latents.codes)

    def _loss(self, rendered: Field, chosen: Indices) -> Tensor:
        scene, layer = self.scene.only(chosen), self._uniform_layer(rendered)
        error = None
        if layer is not None:  # sum over the pixels of (opacity * (colour - still))^2
            (opacity, colours), known = layer, scene.statistics
            pixels = rendered.size[0] * rendered.size[1]
            error = (opacity**2 * (pixels * (colours - known.mean) ** 2 + known.spread)).sum()
        compose = self.model.background.compose
        total = scene.total(rendered, compose, lambda one, other: (one - other) ** 2, error, weighted=True)
        return total / (scene.pixels * scene.images.shape[1])

    def _accuracy(self, rendered: Field, chosen: Indices) -> Tensor:
        scene, layer = self.scene.only(chosen), self._uniform_layer(rendered)
        wrong = None
        if layer is not None and rendered.base.values.device.type == "cpu":  # reading it back would block a GPU
            opacity, colours = layer
            ends = torch.stack([scene.statistics.lowest, scene.statistics.highest])
            worst = (opacity * (colours - ends)).abs().amax()
            wrong = torch.zeros_like(worst) if worst < self.tolerance else None
        return 1 - scene.total(rendered, self.model.background.compose, self._wrong, wrong) / scene.pixels

    def _layer_loss(self, latents: Latents, present: Tensor, chosen: Indices) -> Tensor:
        scene = self.scene.only(chosen)
        rendered = sparse_decoder_maps(self.model, latents.positions, present, latents.codes)
        outputs = self.model.background.output_maps

        def beside(maps: Tensor, stills: Tensor) -> Tensor:  # what the errors depend on, but for the images
            count = max(len(maps), len(stills))
            return torch.cat([maps.expand(count, -1, -1, -1), stills.expand(count, -1, -1, -1)], dim=1)

        def errors(known: Tensor, images: Tensor) -> Tensor:
            return layer_errors(known[:, :outputs], known[:, outputs:], images)

        return scene.total(rendered, beside, errors, weighted=True) / scene.pixels

    def _wrong(self, rendered: Tensor, images: Tensor) -> Tensor:
        return (~right_pixels(rendered, images.expand_as(rendered), self.tolerance)).unsqueeze(1).to(rendered.dtype)

    def _uniform_layer(self, rendered: Field) -> tuple[Tensor, Tensor] | None:
        """Opacity and colours (c) of the layer where no object is rendered, if these are the same everywhere."""
        if not (self.model.config.is_layered and rendered.base.is_uniform):
            return None
        height, width = rendered.base.values.shape[-2:]
        opacity, colours = LayeredBackground.layer(rendered.base.values[0])
        return opacity[:, height // 2, width // 2], colours[:, height // 2, width // 2]


def choose_engine(
    model: Autoencoder, images: Tensor, dense: bool = False, background: Float[Tensor, "c h w"] | None = None
) -> Engine:
    """The sparse one where the background is static and few pixels change, unless ``dense``."""
    tolerance = half_contrast(images, background)
    if not dense and model.config.background is not BackgroundMode.NEARBY:
        noise = noise_level(images) if background is None else 0.0
        if noise < tolerance:  # otherwise the background is not static
            scene = Scene.of(images, model, noise, background)
            few = scene.identical or scene.share <= SPARSE_SHARE
            if few and (images.device.type == "cpu" or scene.one_per_image):
                return SparseEngine(model, scene, tolerance)
    return DenseEngine(model, images, tolerance)
