"""Pictures over a static background, and where each differs from it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.field import Base, Field, Patch, masked
from withinpx.model.foreground import empty_foreground, foreground_only
from withinpx.model.sparse import first_layer_reach, sparse_cnn
from withinpx.model.windows import Windows, changed_boxes, crop_images, cut, group_windows

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
class Statistics:
    """Of each background's pixels, colour by colour: what a layer that is the same everywhere can be judged by."""

    mean: Float[Tensor, "p c"]
    spread: Float[Tensor, "p c"]  # the sum of the squared distances from the mean
    lowest: Float[Tensor, "p c"]
    highest: Float[Tensor, "p c"]

    @classmethod
    def of(cls, backgrounds: Float[Tensor, "p c h w"]) -> "Statistics":
        """Measured once."""
        mean = backgrounds.mean(dim=(-2, -1))
        spread = ((backgrounds - mean[..., None, None]) ** 2).sum(dim=(-2, -1))
        return cls(mean, spread, backgrounds.amin(dim=(-2, -1)), backgrounds.amax(dim=(-2, -1)))

    def only(self, chosen: Tensor) -> "Statistics":
        """Of the backgrounds of some pictures."""
        if len(self.mean) == 1:
            return self
        return Statistics(self.mean[chosen], self.spread[chosen], self.lowest[chosen], self.highest[chosen])


@dataclass(frozen=True)
class Scene:
    """All pictures of a training. A pixel that differs from the background by no more than noise is the background."""

    images: Float[Tensor, "a c h w"]  # what the decoder has to draw
    backgrounds: Float[Tensor, "p c h w"]  # one for all pictures, or one for each
    which: Int[Tensor, " b"]  # of all pictures, those of this batch
    statistics: Statistics
    blank: Base  # what the encoder sees where nothing changed
    changes: list[Change]
    share: float  # of the pixels that the encoder has to compute
    one_each: bool = False  # has every picture one change, all of one size, in the order of the pictures?
    alike: bool = False  # and do these all look the same, over the same, out of the border's reach?

    def __len__(self) -> int:
        return len(self.which)

    @property
    def pixels(self) -> int:
        """Of all pictures of the batch."""
        return len(self.which) * self.images.shape[-2] * self.images.shape[-1]

    @classmethod
    def of(
        cls,
        images: Float[Tensor, "b c h w"],
        model: Autoencoder,
        noise: float = 0.0,
        behind: Float[Tensor, "c h w"] | None = None,
    ) -> "Scene":
        """The encoder sees the background: what is known to lie ``behind`` all objects, or else the median picture."""
        background = (median_picture(images) if behind is None else behind).unsqueeze(0)
        changed = difference(images, behind) > noise
        images = torch.where(changed.unsqueeze(1), images, background)
        return cls._of(images, changed, background, model, seen=images, blank=Base.whole(background))

    @classmethod
    def of_foreground(
        cls,
        images: Float[Tensor, "b c h w"],
        changed: Bool[Tensor, "b h w"],
        backgrounds: Float[Tensor, "p c h w"],
        model: Autoencoder,
    ) -> "Scene":
        """The backgrounds are known, and the encoder sees what differs from them alone (``foreground_only``)."""
        seen = foreground_only(images, changed)
        images = torch.where(changed.unsqueeze(1), images, backgrounds)
        return cls._of(images, changed, backgrounds, model, seen=seen, blank=empty_foreground(model, images))

    @classmethod
    def _of(
        cls, images: Tensor, changed: Tensor, backgrounds: Tensor, model: Autoencoder, *, seen: Tensor, blank: Base
    ) -> "Scene":
        reach = model.config.encoder_rf // 2
        all_windows = group_windows([changed_boxes(each) for each in changed], 2 * reach, images.device)
        touched = sum(len(each) * (each.height + 2 * reach) * (each.width + 2 * reach) for each in all_windows)
        around = first_layer_reach(model.encoder)
        changes = [
            Change(each, crop_images(images, each), crop_images(seen, each.grown(around))) for each in all_windows
        ]
        order = torch.arange(len(images), device=images.device)
        one_each = len(changes) == 1 and torch.equal(changes[0].windows.picture, order)
        alike = one_each and _alike(changes[0], blank, 2 * reach)
        statistics = Statistics.of(backgrounds)
        images, backgrounds = (each.contiguous(memory_format=torch.channels_last) for each in (images, backgrounds))
        share = touched / images[:, 0].numel()
        return cls(images, backgrounds, order, statistics, blank, changes, share, one_each, alike)

    def only(self, chosen: Tensor) -> "Scene":
        """The pictures of a batch."""
        batch = partial(Scene, self.images, self.backgrounds, chosen, self.statistics.only(chosen), self.blank)
        if self.one_each:  # nothing to look for: a GPU need not wait for an answer
            change, places = self.changes[0], torch.arange(len(chosen), device=chosen.device)
            windows = change.windows.only(chosen).in_pictures(places)
            fewer = [Change(windows, change.shown[chosen], change.around[chosen])]
            return batch(fewer, self.share, one_each=True, alike=self.alike)
        place = torch.full((len(self.images),), -1, device=chosen.device)
        place[chosen] = torch.arange(len(chosen), device=chosen.device)
        changes = []
        for change in self.changes:
            there = place[change.windows.picture]
            kept = (there >= 0).nonzero()[:, 0]
            if len(kept):
                these = change.windows.only(kept).in_pictures(there[kept])
                changes.append(Change(these, change.shown[kept], change.around[kept]))
        return batch(changes, self.share)

    def heatmaps(self, model: Autoencoder) -> Field:
        """The encoder over all pictures. What looks the same in all of them is looked at once: it is equivariant."""
        reach = first_layer_reach(model.encoder)
        if not self.alike:
            patches = [Patch(change.windows.grown(reach), change.around) for change in self.changes]
            return sparse_cnn(model.encoder, Field(len(self), self.blank, patches))
        change = self.changes[0]
        first = change.windows.only(torch.arange(1, device=self.which.device)).grown(reach)
        seen = sparse_cnn(model.encoder, Field(len(self), self.blank, [Patch(first, change.around[:1], len(self))]))
        values = seen.patches[0].values.expand(len(self), -1, -1, -1)
        return Field(len(self), seen.base, [Patch(change.windows.grown(model.config.encoder_rf // 2), values)])

    def compare(self, drawn: Field, picture: Picture, measure: Measure, bare: Tensor | None = None) -> Tensor:
        """The sum of a measure over all pixels of all pictures, computed only where it is not the background's.

        ``drawn`` are the decoder's own maps, ``picture`` makes pictures of them and of what lies behind. ``bare`` is
        the measure's sum over the backgrounds with nothing drawn on them, if somebody knows a shorter way to it.
        """
        size, one_for_all = drawn.size, len(self.backgrounds) == 1
        if bare is None:
            backgrounds = self.backgrounds if one_for_all else self.backgrounds[self.which]
            bare = measure(picture(drawn.base.spread(), backgrounds), backgrounds).sum()
        total = len(self) * bare if one_for_all else bare
        for change in self.changes:
            still = self._behind(change.windows)
            base = picture(drawn.base.cut(change.windows), still)
            more = measure(base, change.shown) - measure(base, still)
            total = total + masked(more, change.windows, size).sum()
        for patch in drawn.patches:
            still, shown = self._behind(patch.windows), self._cut(self.images, patch.windows)
            base = picture(drawn.base.cut(patch.windows), still)
            more = measure(picture(patch.values, still), shown) - measure(base, shown)
            total = total + masked(more, patch.windows, size).sum()
        return total

    def _behind(self, windows: Windows) -> Tensor:
        return cut(self.backgrounds, windows) if len(self.backgrounds) == 1 else self._cut(self.backgrounds, windows)

    def _cut(self, pictures: Tensor, windows: Windows) -> Tensor:
        return crop_images(pictures, windows.in_pictures(self.which[windows.picture]))


def _alike(change: Change, blank: Base, distance: int) -> bool:
    """Do all windows show the same, over a background of one colour, at least this far from the border?"""
    height, width = blank.size
    inside = change.windows.lie_within(distance, distance, height - distance, width - distance).all()
    same = (change.around == change.around[:1]).all() & (blank.values == blank.values[..., :1, :1]).all()
    return bool(inside & same)


def median_picture(images: Float[Tensor, "b c h w"]) -> Float[Tensor, "c h w"]:
    """The background: each pixel as it is most of the time."""
    return images.median(dim=0).values


def difference(
    images: Float[Tensor, "b c h w"], behind: Float[Tensor, "c h w"] | None = None
) -> Float[Tensor, "b h w"]:
    """How far each pixel is from what lies behind, or from the median picture, in the colour that differs most."""
    return (images - (median_picture(images) if behind is None else behind)).abs().amax(dim=1)


def half_contrast(images: Float[Tensor, "b c h w"], behind: Float[Tensor, "c h w"] | None = None) -> float:
    """Half of the most that a pixel ever differs from what lies behind: the tolerance of what counts as redrawn."""
    return difference(images, behind).amax().item() / 2


def noise_level(images: Float[Tensor, "b c h w"]) -> float:
    """What a pixel of the background may differ from the median picture by: four times what nine in ten stay below.

    Zero for drawn pictures, where most pixels never change at all.
    """
    differences = difference(images).flatten()
    sample = differences[:: max(1, len(differences) // NOISE_SAMPLE)]
    return 4 * sample.quantile(0.9).item()
