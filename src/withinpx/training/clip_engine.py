"""The engine of movers for a GPU: whole small pictures at once, where many small windows would not fill it."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.foreground import foreground_only
from withinpx.model.render import render
from withinpx.model.softargmax import softargmax
from withinpx.training.engine import BARELY, SparseEngine, compared
from withinpx.training.scene import Scene

TOLERANCE = 0.1  # of full contrast: what counts as redrawn right in footage
MOST_PIXELS = 65_536  # of a picture; larger ones are faster in windows


class WholeEngine(SparseEngine):
    """The sparse engine's numbers, to rounding, computed everywhere."""

    def __init__(
        self,
        model: Autoencoder,
        scene: Scene,
        seen: Float[Tensor, "b c h w"],
        tolerance: float,
        present: Bool[Tensor, "b n"] | None = None,
    ) -> None:
        super().__init__(model, scene, tolerance, present)
        self._seen = seen.contiguous(memory_format=torch.channels_last)  # what the encoder sees
        self._near = windows_of_change(scene, model.config.encoder_rf // 2)

    def reconstruct(self, chosen: Tensor, nearby: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and accuracy of the reconstruction of these pictures."""
        heatmaps = self.model.heatmaps(self._seen[chosen])
        positions = softargmax(heatmaps, self.model.config.temperature)
        self.latest_z[chosen] = positions.detach()
        present = None if self.present is None else self.present[chosen]
        loss, accuracy = compared(self._drawn(positions, present, chosen), self.scene.images[chosen], self.tolerance)
        if self.centre_loss is not None and self.centre_loss[1] > 0:
            centres, weight = self.centre_loss
            loss = loss + weight * self._unlike_there(heatmaps, chosen, centres[chosen], self.centre_loss_width)
        return loss, accuracy

    def decoder_loss(self, chosen: Tensor, centres: Tensor) -> Tensor:
        """Loss of the decoder alone, for objects at known centres; what is not known is not drawn."""
        drawn = self._drawn(centres.nan_to_num(0.0), ~centres.isnan().any(dim=-1), chosen)
        return compared(drawn, self.scene.images[chosen], self.tolerance)[0]

    def heatmap_loss(self, chosen: Tensor, centres: Tensor, width: float) -> Tensor:
        """How unlike Gaussians of this width at these centres the heatmaps are: cross entropy, over known centres."""
        return self._unlike_there(self.model.heatmaps(self._seen[chosen]), chosen, centres, width)

    def _drawn(self, positions: Tensor, present: Tensor | None, chosen: Tensor) -> Tensor:
        backgrounds = self.scene.backgrounds
        behind = backgrounds if len(backgrounds) == 1 else backgrounds[chosen]
        return self._picture(self.model.decoder_maps(positions, None, present), behind)

    def _unlike_there(self, heatmaps: Tensor, chosen: Tensor, centres: Tensor, width: float) -> Tensor:
        """The cross entropy where something changed; a centre where nothing did is not known."""
        logits = heatmaps / self.model.config.temperature
        known = ~centres.isnan().any(dim=-1)
        size = (logits.shape[-2], logits.shape[-1])
        wanted = render(centres.nan_to_num(-1e4), size, width) * self._near[chosen]
        weight = wanted.sum(dim=(-2, -1))
        known = known & (weight > BARELY)
        agreement = (wanted * logits).sum(dim=(-2, -1)) / weight.clamp(min=BARELY)
        unlike = logits.flatten(start_dim=-2).logsumexp(dim=-1) - agreement
        return (unlike * known).sum() / known.sum().clamp(min=1)


def windows_of_change(scene: Scene, reach: int) -> Bool[Tensor, "b 1 h w"]:
    """Which pixels lie in the windows that the sparse engine has heatmaps of."""
    height, width = scene.images.shape[-2:]
    near = torch.zeros(len(scene.images), height, width, dtype=torch.bool, device=scene.images.device)
    for change in scene.changes:
        windows = change.windows.grown(reach)
        rows, columns = windows.within((height, width))
        near[windows.picture[:, None, None], rows, columns] = True
    return near.unsqueeze(1)


def clip_engine(
    model: Autoencoder,
    images: Float[Tensor, "b c h w"],
    changed: Bool[Tensor, "b h w"],
    backgrounds: Float[Tensor, "p c h w"],
    present: Bool[Tensor, "b n"],
) -> SparseEngine:
    """For pictures in which ``changed`` says what moves: in windows, or whole where that is faster."""
    scene = Scene.of_foreground(images, changed, backgrounds, model)
    if images.is_cuda and images[0, 0].numel() <= MOST_PIXELS:
        return WholeEngine(model, scene, foreground_only(images, changed), TOLERANCE, present)
    return SparseEngine(model, scene, TOLERANCE, present)
