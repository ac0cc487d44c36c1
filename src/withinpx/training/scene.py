"""Pictures over a static background, and where each differs from it."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.field import Base, Field, Patch, masked
from withinpx.model.sparse import first_reach, sparse_cnn
from withinpx.model.windows import Windows, boxes_of_change, cut, cut_pictures, windows_of

NOISE_SAMPLE = 1_000_000  # pixels that the noise is measured on
Picture = Callable[[Tensor, Tensor], Tensor]  # the decoder's maps, what lies behind -> pictures
Measure = Callable[[Tensor, Tensor], Tensor]  # drawn, shown -> one number per pixel; zero where nothing is compared


@dataclass(frozen=True)
class Change:
    """Windows of one size around what changed, and what their pictures show there."""

    windows: Windows
    shown: Float[Tensor, "m c h w"]  # in the windows
    around: Float[Tensor, "m c H W"]  # in the windows and as far around them as the encoder's first filter looks


@dataclass(frozen=True)
class Scene:
    """All pictures of a training. A pixel that differs from the background by no more than noise is the background."""

    images: Float[Tensor, "b c h w"]  # what the decoder has to draw
    backgrounds: Float[Tensor, "p c h w"]  # one for all pictures, or one for each
    blank: Base  # what the encoder sees where nothing changed
    changes: list[Change]
    share: float  # of the pixels that the encoder has to compute
    one_each: bool = False  # has every picture one change, all of one size, in the order of the pictures?

    @classmethod
    def of(cls, images: Float[Tensor, "b c h w"], model: Autoencoder, noise: float = 0.0) -> "Scene":
        """The background is the median picture, and the encoder sees it."""
        background = median_picture(images).unsqueeze(0)
        changed = difference(images) > noise
        images = torch.where(changed.unsqueeze(1), images, background)
        return cls._of(images, changed, background, model, seen=images, blank=Base.whole(background))

    @classmethod
    def of_movers(
        cls,
        images: Float[Tensor, "b c h w"],
        changed: Bool[Tensor, "b h w"],
        backgrounds: Float[Tensor, "p c h w"],
        model: Autoencoder,
    ) -> "Scene":
        """The backgrounds are known, and the encoder sees what differs from them alone (``movers_only``)."""
        seen = movers_only(images, changed)
        images = torch.where(changed.unsqueeze(1), images, backgrounds)
        return cls._of(images, changed, backgrounds, model, seen=seen, blank=nothing_seen(model, images))

    @classmethod
    def _of(
        cls, images: Tensor, changed: Tensor, backgrounds: Tensor, model: Autoencoder, *, seen: Tensor, blank: Base
    ) -> "Scene":
        reach = model.config.encoder_rf // 2
        all_windows = windows_of([boxes_of_change(each) for each in changed], 2 * reach, images.device)
        touched = sum(len(each) * (each.height + 2 * reach) * (each.width + 2 * reach) for each in all_windows)
        around = first_reach(model.encoder)
        changes = [
            Change(each, cut_pictures(images, each), cut_pictures(seen, each.grown(around))) for each in all_windows
        ]
        order = torch.arange(len(images), device=images.device)
        one_each = len(changes) == 1 and torch.equal(changes[0].windows.picture, order)
        return cls(images, backgrounds, blank, changes, touched / images[:, 0].numel(), one_each)

    def only(self, chosen: Tensor) -> "Scene":
        """The pictures of a batch."""
        backgrounds = self.backgrounds if len(self.backgrounds) == 1 else self.backgrounds[chosen]
        if self.one_each:  # nothing to look for: a GPU need not wait for an answer
            change, places = self.changes[0], torch.arange(len(chosen), device=chosen.device)
            windows = change.windows.only(chosen).of(places, 1)
            fewer = [Change(windows, change.shown[chosen], change.around[chosen])]
            return Scene(self.images[chosen], backgrounds, self.blank, fewer, self.share, one_each=True)
        place = torch.full((len(self.images),), -1, device=chosen.device)
        place[chosen] = torch.arange(len(chosen), device=chosen.device)
        changes = []
        for change in self.changes:
            windows, there = change.windows, place[change.windows.picture]
            kept = (there >= 0).nonzero()[:, 0]
            if len(kept):
                these = Windows(there[kept], windows.top[kept], windows.left[kept], windows.height, windows.width)
                changes.append(Change(these, change.shown[kept], change.around[kept]))
        return Scene(self.images[chosen], backgrounds, self.blank, changes, self.share)

    def heatmaps(self, model: Autoencoder) -> Field:
        """The encoder over all pictures."""
        reach = first_reach(model.encoder)
        patches = [Patch(change.windows.grown(reach), change.around) for change in self.changes]
        return sparse_cnn(model.encoder, Field(len(self.images), self.blank, patches))

    def compare(self, drawn: Field, picture: Picture, measure: Measure) -> Tensor:
        """The sum of a measure over all pixels of all pictures, computed only where it is not the background's.

        ``drawn`` are the decoder's own maps, ``picture`` makes pictures of them and of what lies behind.
        """
        size, backgrounds = drawn.size, self.backgrounds
        alike = len(self.images) // len(backgrounds)  # pictures with the same background
        total = alike * measure(picture(drawn.base.spread(), backgrounds), backgrounds).sum()
        for change in self.changes:
            still = self._behind(change.windows)
            base = picture(drawn.base.cut(change.windows), still)
            more = measure(base, change.shown) - measure(base, still)
            total = total + masked(more, change.windows, size).sum()
        for patch in drawn.patches:
            still, shown = self._behind(patch.windows), cut_pictures(self.images, patch.windows)
            base = picture(drawn.base.cut(patch.windows), still)
            more = measure(picture(patch.values, still), shown) - measure(base, shown)
            total = total + masked(more, patch.windows, size).sum()
        return total

    def _behind(self, windows: Windows) -> Tensor:
        return cut(self.backgrounds, windows) if len(self.backgrounds) == 1 else cut_pictures(self.backgrounds, windows)


def nothing_seen(model: Autoencoder, like: Tensor) -> Base:
    """What an encoder of movers alone sees where nothing changed."""
    config = model.config
    return Base.even((config.height, config.width), config.colours, config.encoder_rf // 2, like)


def movers_only(images: Float[Tensor, "b c h w"], changed: Bool[Tensor, "b h w"]) -> Float[Tensor, "b c h w"]:
    """What changed, from 1 to 2, over nothing at all: zero, as beyond the picture's border."""
    return (images + 1) * changed.unsqueeze(1)


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
