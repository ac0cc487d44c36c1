"""A network over frames of any number: images in, observations out."""

from collections.abc import Callable

import numpy as np
import torch

from withinpx.discovery.background import BackgroundModel, ByteImages, FloatImages
from withinpx.inference.observation import Frames, Observations, observe
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.field import Field

Encoder = Callable[[ByteImages], Field]  # images -> heatmaps, by another backend
BATCH_PIXELS = 2_500_000  # of the frames in one batch


def frames_on(
    device: torch.device, images: ByteImages, background: BackgroundModel, backgrounds: FloatImages | None = None
) -> Frames:
    """Frames (f, h, w, c) as tensors; ``backgrounds`` replaces the model's own images, one for all or one per frame."""
    backgrounds = background.images if backgrounds is None else backgrounds
    changed = torch.from_numpy(background.changed(images, backgrounds)).to(device)
    return Frames(_planes(images, device), _planes(backgrounds, device), changed)


def _planes(images: ByteImages | FloatImages, device: torch.device) -> torch.Tensor:
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
) -> Observations:
    """Observations of all frames (f, h, w, c), computed in batches."""
    backgrounds = background.images if backgrounds is None else backgrounds
    device = next(model.parameters()).device
    step = max(1, BATCH_PIXELS // images[0, ..., 0].size)
    parts = []
    for start in range(0, len(images), step):
        batch = slice(start, start + step)
        own = backgrounds if len(backgrounds) == 1 else backgrounds[batch]
        frames = frames_on(device, images[batch], background, own)
        heatmaps = None if encoder is None else encoder(images[batch])
        parts.append(observe(model, frames, encoder_rf=encoder_rf, unused=unused, heatmaps=heatmaps))
    return Observations.joined(parts)
