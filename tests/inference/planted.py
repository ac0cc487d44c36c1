"""A layered network with fixed random weights, and frames that show its objects at known positions."""

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from withinpx.inference.feasible import Search
from withinpx.inference.observation import Frames
from withinpx.inference.rendering import reconstruct
from withinpx.inference.template import make_template
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode, LayeredBackground
from withinpx.model.render import render

SIDE = 48
GREY = 0.5


def planted_network(objects: int = 1, seed: int = 0) -> Autoencoder:
    """Its decoder renders opaque, uneven blobs: positive filters, and a last layer with a large range."""
    config = NetworkConfig(
        SIDE, SIDE, 5, 9, 0.8, support=3.2, objects=objects, channels=6, background=BackgroundMode.LAYERED
    )
    model, random = new_network(config, seed).eval(), torch.Generator().manual_seed(seed)
    *hidden, last = (layer for layer in model.decoder if isinstance(layer, nn.Conv2d))
    with torch.no_grad():
        for layer in hidden:
            layer.weight.copy_(torch.rand(layer.weight.shape, generator=random) ** 3)
            layer.weight.div_(layer.weight.sum(dim=(1, 2, 3), keepdim=True))
        last.weight.copy_(torch.rand(last.weight.shape, generator=random))
        last.weight[1:].sub_(0.4)
        bias = cast(torch.Tensor, last.bias)
        bias.zero_()
        strongest = (
            model.decoder(render(torch.full((1, objects, 2), 12.5), (25, 25), 0.8, 3.2)).abs().amax(dim=(0, 2, 3))
        )
        last.weight.mul_((torch.tensor([9.0, 6.0]) / strongest)[:, None, None, None])
        bias.copy_(torch.tensor([-5.0, 0.0]))
        cast(LayeredBackground, model.background).still.fill_(GREY)
    return model


def rendered_frames(model: Autoencoder, z: NDArray[np.float64], noise: float = 0.0, seed: int = 0) -> Frames:
    """Frames with the objects rendered at z (f, n, 2), quantised as a recording is."""
    positions = torch.from_numpy(z).float()
    shown = torch.ones(z.shape[:2], dtype=torch.bool)
    images = reconstruct(model, positions, shown).double().numpy()
    images = images + np.random.default_rng(seed).normal(0, noise, images.shape) if noise else images
    quantised = torch.from_numpy((images.clip(0, 1) * 255).round().astype(np.uint8))
    backgrounds = torch.full((1, 1, SIDE, SIDE), GREY)
    changed = torch.ones(len(z), SIDE, SIDE, dtype=torch.bool)  # every pixel is compared
    return Frames(quantised, backgrounds, changed)


def search_for(model: Autoencoder, index: int = 0, eps: float = np.inf, reach: float = 5.0) -> Search:
    return Search(make_template(model, index, torch.tensor([GREY])), (0.0, 0.0), reach, eps)


def residuals(model: Autoencoder, frame: Frames, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """By brute force: how much each rendering of the one object at z (k, 2) differs from the one frame."""
    shown = torch.ones(len(z), 1, dtype=torch.bool)
    rendered = reconstruct(model, torch.from_numpy(z[:, None]).float(), shown).double()
    difference = rendered - frame.images.double() / 255
    return np.asarray(difference.flatten(start_dim=1).norm(dim=1).numpy())
