"""A network over frames of any number: images in, observations out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from withinpx.discovery.background import BackgroundModel, ByteImages, FloatImages
from withinpx.inference.feasible import Search, find_feasible
from withinpx.inference.isolated import IsolatedFrames, IsolatedPixels
from withinpx.inference.observation import Feasible, Frames, Observations, Pixels, observe
from withinpx.inference.outline import Outline
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.field import Field

Encoder = Callable[[ByteImages], Field]  # images -> heatmaps, by another backend
BATCH_PIXELS = 2_500_000  # of the frames in one batch


@dataclass(frozen=True, eq=False)
class Sharp:
    """Frames at the recording's resolution, in which feasible sets are searched."""

    images: ByteImages
    backgrounds: FloatImages  # one for all or one for each
    zoom: float = 1.0  # their px per px of the network's input

    def pixels(self, device: torch.device, frames: slice) -> Pixels:
        own = self.backgrounds if len(self.backgrounds) == 1 else self.backgrounds[frames]
        return Pixels(planes_on(device, self.images[frames]), planes_on(device, own))


def frames_on(
    device: torch.device, images: ByteImages, background: BackgroundModel, backgrounds: FloatImages | None = None
) -> Frames:
    """Frames (f, h, w, c) as tensors; ``backgrounds`` replaces the model's own images, one for all or one per frame."""
    backgrounds = background.images if backgrounds is None else backgrounds
    changed = torch.from_numpy(background.changed(images, backgrounds)).to(device)
    return Frames(planes_on(device, images), planes_on(device, backgrounds), changed)


def planes_on(device: torch.device, images: ByteImages | FloatImages) -> torch.Tensor:
    """Images (f, h, w, c) as (f, c, h, w)."""
    return torch.from_numpy(np.ascontiguousarray(images)).to(device).permute(0, 3, 1, 2)


def run(
    model: Autoencoder,
    images: ByteImages,
    background: BackgroundModel,
    backgrounds: FloatImages | None = None,
    *,
    encoder_rf: int,
    unused: tuple[int, ...] = (),
    encoder: Encoder | None = None,
    searches: Sequence[Search | Outline | None] = (),
    sharp: Sharp | None = None,
    single: bool = False,
) -> Observations:
    """Observations of all frames (f, h, w, c), computed in batches; with ``searches``, also the feasible sets.

    These are searched in the ``sharp`` frames, None if the network's are. ``single``: each frame shows one object.
    """
    device = next(model.parameters()).device
    if sharp is None:
        sharp = Sharp(images, background.images if backgrounds is None else backgrounds)
    parts = []
    for batch, frames in _batches(device, images, background, backgrounds):
        heatmaps = None if encoder is None else encoder(images[batch])
        seen = observe(model, frames, encoder_rf=encoder_rf, unused=unused, heatmaps=heatmaps, single=single)
        if searches:
            found = find_feasible(searches, sharp.pixels(device, batch), seen, sharp.zoom)
            seen = replace(seen, feasible=found)
        parts.append(seen)
    return Observations.joined(parts)


def run_views(
    model: Autoencoder,
    frames: IsolatedFrames,
    sharp: IsolatedPixels,
    zoom: float,
    *,
    encoder_rf: int,
    unused: tuple[int, ...] = (),
    searches: Sequence[Search | Outline | None] = (),
) -> Observations:
    """Observations of views of one object each; with ``searches``, also the feasible sets, in the ``sharp`` views."""
    seen = observe(model, frames, encoder_rf=encoder_rf, unused=unused, single=True)
    return replace(seen, feasible=find_feasible(searches, sharp, seen, zoom)) if searches else seen


def search(
    seen: Observations, searches: Sequence[Search | Outline | None], device: torch.device, sharp: Sharp
) -> Feasible:
    """The feasible sets in frames that were observed before."""
    step = max(1, BATCH_PIXELS // sharp.images[0, ..., 0].size)
    batches = [slice(start, start + step) for start in range(0, len(seen), step)]
    return Feasible.joined(
        find_feasible(searches, sharp.pixels(device, batch), seen.only(np.arange(len(seen))[batch]), sharp.zoom)
        for batch in batches
    )


def _batches(
    device: torch.device, images: ByteImages, background: BackgroundModel, backgrounds: FloatImages | None
) -> Iterator[tuple[slice, Frames]]:
    backgrounds = background.images if backgrounds is None else backgrounds
    step = max(1, BATCH_PIXELS // images[0, ..., 0].size)
    for start in range(0, len(images), step):
        batch = slice(start, start + step)
        own = backgrounds if len(backgrounds) == 1 else backgrounds[batch]
        yield batch, frames_on(device, images[batch], background, own)
