"""Training images over a static background, and the windows in which each differs from it."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.model.field import Base, Field, Patch, masked
from withinpx.model.foreground import empty_foreground, foreground_only
from withinpx.model.sparse import first_layer_reach, sparse_cnn
from withinpx.model.windows import Windows, changed_boxes, crop_images, cut, group_windows

NOISE_SAMPLE = 1_000_000  # pixels that the noise is measured on
Compose = Callable[[Tensor, Tensor], Tensor]  # the decoder's maps, backgrounds -> images
Measure = Callable[[Tensor, Tensor], Tensor]  # rendered, image -> one number per pixel


@dataclass(frozen=True)
class Change:
    """Windows of one size around changed pixels."""

    windows: Windows
    images: Float[Tensor, "m c h w"]  # in the windows
    inputs: Float[Tensor, "m c H W"]  # the encoder's, with what its first filter reads around the windows

    def only(self, chosen: Int[Tensor, " k"], image: Int[Tensor, " k"]) -> "Change":
        """Some of the windows, as those of the images of a batch."""
        return Change(self.windows.only(chosen).in_images(image), self.images[chosen], self.inputs[chosen])


@dataclass(frozen=True)
class Statistics:
    """Per colour over the pixels of each background: enough to compute the error of a uniform layer over it."""

    mean: Float[Tensor, "p c"]
    spread: Float[Tensor, "p c"]  # the sum of the squared distances from the mean
    lowest: Float[Tensor, "p c"]
    highest: Float[Tensor, "p c"]

    @classmethod
    def of(cls, backgrounds: Float[Tensor, "p c h w"]) -> "Statistics":
        mean = backgrounds.mean(dim=(-2, -1))
        spread = ((backgrounds - mean[..., None, None]) ** 2).sum(dim=(-2, -1))
        return cls(mean, spread, backgrounds.amin(dim=(-2, -1)), backgrounds.amax(dim=(-2, -1)))

    def only(self, chosen: Tensor) -> "Statistics":
        if len(self.mean) == 1:
            return self
        return Statistics(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True)
class Scene:
    """The images of a training, or of a batch of it. Pixels within noise of the background are set to it."""

    images: Float[Tensor, "a c h w"]  # reconstruction targets, of the whole training
    backgrounds: Float[Tensor, "p c h w"]  # one for all images, or one for each
    indices: Int[Tensor, " b"]  # the images of this batch
    statistics: Statistics
    empty: Base  # the encoder's input where nothing changed
    changes: list[Change]
    share: float  # of the pixels that the encoder has to compute
    one_per_image: bool = False  # every image has one window, all of one size, in the order of the images
    identical: bool = False  # and these all show the same, over the same, out of the border's reach
    weights: Float[Tensor, "a 1 h w"] | None = None  # of the changed pixels' errors, of the whole training; None: all 1

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def pixels(self) -> int:
        """The number of pixels of the batch."""
        return len(self.indices) * self.images.shape[-2] * self.images.shape[-1]

    @classmethod
    def of(
        cls,
        images: Float[Tensor, "b c h w"],
        model: Autoencoder,
        noise: float = 0.0,
        background: Float[Tensor, "c h w"] | None = None,
    ) -> "Scene":
        """The encoder sees the images. The background is the median image unless it is given."""
        backgrounds = (median_image(images) if background is None else background).unsqueeze(0)
        changed = difference(images, background) > noise
        images = torch.where(changed.unsqueeze(1), images, backgrounds)
        return cls._of(images, changed, backgrounds, model, inputs=images, empty=Base.whole(backgrounds))

    @classmethod
    def of_foreground(
        cls,
        images: Float[Tensor, "b c h w"],
        changed: Bool[Tensor, "b h w"],
        backgrounds: Float[Tensor, "p c h w"],
        model: Autoencoder,
        weights: Float[Tensor, "b 1 h w"] | None = None,
    ) -> "Scene":
        """The encoder sees only the changed pixels (``foreground_only``), over known backgrounds.

        ``weights`` of the errors are 1 where nothing changed.
        """
        inputs = foreground_only(images, changed)
        images = torch.where(changed.unsqueeze(1), images, backgrounds)
        scene = cls._of(images, changed, backgrounds, model, inputs=inputs, empty=empty_foreground(model, images))
        return replace(scene, weights=weights)

    @classmethod
    def _of(
        cls, images: Tensor, changed: Tensor, backgrounds: Tensor, model: Autoencoder, *, inputs: Tensor, empty: Base
    ) -> "Scene":
        reach, around = model.config.encoder_rf // 2, first_layer_reach(model.encoder)
        changes, computed = [], 0
        for windows in change_windows(changed, model):
            changes.append(Change(windows, crop_images(images, windows), crop_images(inputs, windows.grown(around))))
            computed += len(windows) * (windows.height + 2 * reach) * (windows.width + 2 * reach)
        indices = torch.arange(len(images), device=images.device)
        one_per_image = len(changes) == 1 and torch.equal(changes[0].windows.image, indices)
        identical = one_per_image and _are_identical(changes[0], empty, 2 * reach)
        statistics, share = Statistics.of(backgrounds), computed / images[:, 0].numel()
        images, backgrounds = (maps.contiguous(memory_format=torch.channels_last) for maps in (images, backgrounds))
        return cls(images, backgrounds, indices, statistics, empty, changes, share, one_per_image, identical)

    def only(self, chosen: Tensor) -> "Scene":
        """The images of a batch."""
        order = torch.arange(len(chosen), device=chosen.device)
        if self.one_per_image:  # no search, which would block a GPU
            changes = [self.changes[0].only(chosen, order)]
        else:
            position = torch.full((len(self.images),), -1, device=chosen.device)
            position[chosen] = order
            changes = []
            for change in self.changes:
                image = position[change.windows.image]
                in_batch = (image >= 0).nonzero()[:, 0]
                if len(in_batch):
                    changes.append(change.only(in_batch, image[in_batch]))
        return replace(self, indices=chosen, statistics=self.statistics.only(chosen), changes=changes)

    def encode(self, model: Autoencoder) -> Field:
        """The encoder's maps of the batch. Identical windows are computed once, since the encoder is equivariant."""
        reach = first_layer_reach(model.encoder)
        if not self.identical:
            patches = [Patch(change.windows.grown(reach), change.inputs) for change in self.changes]
            return sparse_cnn(model.encoder, Field(len(self), self.empty, patches))
        windows, inputs = self.changes[0].windows, self.changes[0].inputs
        first = windows.only(torch.arange(1, device=self.indices.device)).grown(reach)
        maps = sparse_cnn(model.encoder, Field(len(self), self.empty, [Patch(first, inputs[:1], len(self))]))
        values = maps.patches[0].values.expand(len(self), -1, -1, -1)
        return Field(len(self), maps.base, [Patch(windows.grown(model.config.encoder_rf // 2), values)])

    def total(
        self,
        rendered: Field,
        compose: Compose,
        measure: Measure,
        background: Tensor | None = None,
        *,
        weighted: bool = False,
    ) -> Tensor:
        """The sum of a measure over all pixels of the batch, computed only where it differs from the background's.

        ``rendered`` are the decoder's maps. ``background`` is the measure's sum over the backgrounds with no object
        rendered on them, if there is a shorter way to it.
        """
        shared = len(self.backgrounds) == 1
        weights = self.weights if weighted else None
        if background is None:
            backgrounds = self.backgrounds if shared else self.backgrounds[self.indices]
            background = measure(compose(rendered.base.full(), backgrounds), backgrounds).sum()
        total = len(self) * background if shared else background
        for change in self.changes:
            still = self._backgrounds_in(change.windows)
            base = compose(rendered.base.cut(change.windows), still)
            weight = 1.0 if weights is None else self._crop(weights, change.windows)
            excess = weight * measure(base, change.images) - measure(base, still)
            total = total + masked(excess, change.windows, rendered.size).sum()
        for patch in rendered.patches:
            still, image = self._backgrounds_in(patch.windows), self._crop(self.images, patch.windows)
            base = compose(rendered.base.cut(patch.windows), still)
            weight = 1.0 if weights is None else self._crop(weights, patch.windows)
            excess = weight * (measure(compose(patch.values, still), image) - measure(base, image))
            total = total + masked(excess, patch.windows, rendered.size).sum()
        return total

    def _backgrounds_in(self, windows: Windows) -> Tensor:
        return cut(self.backgrounds, windows) if len(self.backgrounds) == 1 else self._crop(self.backgrounds, windows)

    def _crop(self, images: Tensor, windows: Windows) -> Tensor:
        return crop_images(images, windows.in_images(self.indices[windows.image]))


def change_windows(changed: Bool[Tensor, "b h w"], model: Autoencoder) -> list[Windows]:
    """Windows around the changed pixels, far enough apart for the encoder (model/sparse.py)."""
    return group_windows([changed_boxes(mask) for mask in changed], 2 * (model.config.encoder_rf // 2), changed.device)


def _are_identical(change: Change, empty: Base, distance: int) -> bool:
    """Whether all windows show the same, over a background of one colour, at least this far from the border."""
    height, width = empty.size
    inside = change.windows.lie_within(distance, distance, height - distance, width - distance).all()
    same = (change.inputs == change.inputs[:1]).all() & (empty.values == empty.values[..., :1, :1]).all()
    return bool(inside & same)


def median_image(images: Float[Tensor, "b c h w"]) -> Float[Tensor, "c h w"]:
    return images.median(dim=0).values


def difference(
    images: Float[Tensor, "b c h w"], background: Float[Tensor, "c h w"] | None = None
) -> Float[Tensor, "b h w"]:
    """The distance of each pixel from the background (by default the median image), in the colour that differs most."""
    return (images - (median_image(images) if background is None else background)).abs().amax(dim=1)


def half_contrast(images: Float[Tensor, "b c h w"], background: Float[Tensor, "c h w"] | None = None) -> float:
    """Half of the largest difference from the background: the tolerance of a reconstructed pixel."""
    return difference(images, background).amax().item() / 2


def noise_level(images: Float[Tensor, "b c h w"]) -> float:
    """The largest difference from the median image that counts as noise: four times the 90th percentile.

    Zero for synthetic images, where most pixels never change.
    """
    differences = difference(images).flatten()
    sample = differences[:: max(1, len(differences) // NOISE_SAMPLE)]
    return 4 * sample.quantile(0.9).item()
