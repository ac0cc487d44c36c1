"""Pictures over a static background, and where each differs from it."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.sparse import Field, Patch, first_reach, masked, sparse_cnn
from withinpx.model.windows import Windows, boxes_of_change, cut, cut_pictures, windows_of

NOISE_SAMPLE = 1_000_000  # pixels that the noise is measured on
Measure = Callable[[Tensor, Tensor], Tensor]  # drawn, shown -> one number per pixel; zero where nothing is compared


@dataclass(frozen=True)
class Change:
    """Windows of one size around what changed, and what their pictures show there."""

    windows: Windows
    shown: Float[Tensor, "m c h w"]  # in the windows
    around: Float[Tensor, "m c H W"]  # in the windows and as far around them as the encoder's first filter looks


@dataclass(frozen=True)
class Scene:
    """All pictures of a training. A pixel that differs from the background by ``noise`` or less is the background."""

    images: Float[Tensor, "b c h w"]
    background: Float[Tensor, "1 c h w"]
    changes: list[Change]
    share: float  # of the pixels that the encoder has to compute

    @classmethod
    def of(cls, images: Float[Tensor, "b c h w"], model: Autoencoder, noise: float = 0.0) -> "Scene":
        """The background is the median picture."""
        background = median_picture(images).unsqueeze(0)
        changed = difference(images) > noise
        images = torch.where(changed.unsqueeze(1), images, background)
        reach = model.config.encoder_rf // 2
        boxes = [boxes_of_change(each) for each in changed]
        all_windows = windows_of(boxes, 2 * reach, images.device)
        touched = sum(len(each) * (each.height + 2 * reach) * (each.width + 2 * reach) for each in all_windows)
        around = first_reach(model.encoder)
        changes = [
            Change(each, cut_pictures(images, each), cut_pictures(images, each.grown(around))) for each in all_windows
        ]
        return cls(images, background, changes, touched / images[:, 0].numel())

    def only(self, chosen: Tensor) -> "Scene":
        """The pictures of a batch."""
        place = torch.full((len(self.images),), -1, device=chosen.device)
        place[chosen] = torch.arange(len(chosen), device=chosen.device)
        changes = []
        for change in self.changes:
            windows, there = change.windows, place[change.windows.picture]
            kept = (there >= 0).nonzero()[:, 0]
            if len(kept):
                fewer = Windows(there[kept], windows.top[kept], windows.left[kept], windows.height, windows.width)
                changes.append(Change(fewer, change.shown[kept], change.around[kept]))
        return Scene(self.images[chosen], self.background, changes, self.share)

    def heatmaps(self, model: Autoencoder) -> Field:
        """The encoder over all pictures."""
        reach = first_reach(model.encoder)
        patches = [Patch(change.windows.grown(reach), change.around) for change in self.changes]
        return sparse_cnn(model.encoder, Field(len(self.images), self.background, patches))

    def compare(self, drawn: Field, measure: Measure) -> Tensor:
        """The sum of a measure over all pixels of all pictures, computed only where it is not the background's."""
        size = drawn.size
        total = len(self.images) * measure(drawn.base, self.background).sum()
        for change in self.changes:
            base, still = cut(drawn.base, change.windows), cut(self.background, change.windows)
            more = measure(base, change.shown) - measure(base, still)
            total = total + masked(more, change.windows, size).sum()
        for patch in drawn.patches:
            base, shown = cut(drawn.base, patch.windows), cut_pictures(self.images, patch.windows)
            more = measure(patch.values, shown) - measure(base, shown)
            total = total + masked(more, patch.windows, size).sum()
        return total


def median_picture(images: Float[Tensor, "b c h w"]) -> Float[Tensor, "c h w"]:
    """The background: each pixel as it is most of the time."""
    return images.median(dim=0).values


def difference(images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b h w"]:
    """How far each pixel is from the median picture, in the colour that differs most."""
    return (images - median_picture(images)).abs().amax(dim=1)


def half_contrast(images: Float[Tensor, "b c h w"]) -> float:
    """Half of the most that a pixel ever differs from the median picture: the tolerance of what counts as redrawn."""
    return difference(images).amax().item() / 2


def noise_level(images: Float[Tensor, "b c h w"]) -> float:
    """What a pixel of the background may differ from the median picture by: four times what nine in ten stay below.

    Zero for drawn pictures, where most pixels never change at all.
    """
    differences = difference(images).flatten()
    sample = differences[:: max(1, len(differences) // NOISE_SAMPLE)]
    return 4 * sample.quantile(0.9).item()
