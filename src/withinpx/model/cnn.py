"""The CNN of both the encoder and the decoder (app. C.1)."""

import math
from collections.abc import Iterator
from typing import cast

import torch
from torch import nn

from withinpx.theory.receptive_field import filters_for

CHANNELS = 32


class CNN(nn.Sequential):
    """Five conv-BN-ReLU layers with exactly the given receptive field, without stride or pooling.

    The last layer has neither BN nor ReLU: its output is a heatmap or an image, and a ReLU would cut off its gradient.
    Zero padding keeps the size, so translation equivariance is exact at least half a receptive field away from the
    border.
    """

    def __init__(self, inputs: int, outputs: int, receptive_field: int, channels: int = CHANNELS) -> None:
        super().__init__(*_layers(inputs, outputs, filters_for(receptive_field), channels))

    @torch.no_grad()
    def start_empty(self, share: float) -> None:
        """Output nothing but the bias at first, where objects cover this share of the pixels.

        Batch-norm gives pixels as rare as these a magnitude of 1 / sqrt(share). A last layer with random weights draws
        that much at random, and to unlearn it takes most filters along. The layers before do not depend on it, since
        another batch-norm follows each; for the last one, the magnitude is set to one.
        """
        norm, last = cast(nn.BatchNorm2d, self[-3]), cast(nn.Conv2d, self[-1])
        nn.init.constant_(norm.weight, math.sqrt(share))
        nn.init.zeros_(last.weight)


def _layers(inputs: int, outputs: int, filters: tuple[int, ...], channels: int) -> Iterator[nn.Module]:
    *hidden, last = filters
    for size in hidden:
        # BN subtracts any constant, so a bias before it would have no effect
        yield nn.Conv2d(inputs, channels, size, padding=size // 2, bias=False)
        yield nn.BatchNorm2d(channels)
        yield nn.ReLU()
        inputs = channels
    yield nn.Conv2d(inputs, outputs, last, padding=last // 2)
