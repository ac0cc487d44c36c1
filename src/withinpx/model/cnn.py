"""The CNN of both the encoder and the decoder (app. C.1)."""

import math
from collections.abc import Iterator
from typing import cast

import torch
from torch import nn

from withinpx.theory.receptive_field import dilations_for, filters_for

CHANNELS = 32


class CNN(nn.Sequential):
    """Five conv-BN-ReLU layers with exactly the given receptive field, without stride or pooling.

    The last layer has neither BN nor ReLU: its output is a heatmap or an image, and a ReLU would cut off its gradient.
    Zero padding keeps the size, so translation equivariance is exact at least half a receptive field away from the
    border.
    """

    def __init__(self, inputs: int, outputs: int, receptive_field: int, channels: int = CHANNELS) -> None:
        filters = tuple(zip(filters_for(receptive_field), dilations_for(receptive_field), strict=True))
        super().__init__(*_layers(inputs, outputs, filters, channels))

    @torch.no_grad()
    def start_empty(self, share: float, magnitude: float = 1.0, outputs: int | None = None) -> None:
        """Output nothing but the bias at first; inputs of the last layer have this magnitude where objects are.

        Only the first ``outputs`` maps are empty, all if None. Batch-norm gives the pixels of objects, a ``share`` of
        all, a magnitude of 1 / sqrt(share). A last layer with random weights draws that much at random, and so do its
        first steps, since all its weights learn at the same rate; to unlearn it takes most filters along. The layers
        before do not depend on it: batch-norm follows each.
        """
        norm, last = cast(nn.BatchNorm2d, self[-3]), cast(nn.Conv2d, self[-1])
        nn.init.constant_(norm.weight, magnitude * math.sqrt(share))
        nn.init.zeros_(last.weight[:outputs])

    @property
    def fan_in(self) -> int:
        """How many values an output of the last layer is computed from."""
        return cast(nn.Conv2d, self[-1]).weight[0].numel()


def reach_of(conv: nn.Conv2d) -> int:
    """How far from its output a filter reads, px."""
    return conv.dilation[0] * (conv.kernel_size[0] // 2)


def _layers(inputs: int, outputs: int, filters: tuple[tuple[int, int], ...], channels: int) -> Iterator[nn.Module]:
    """``filters`` are the size and the dilation of each."""
    *hidden, (last, last_dilation) = filters
    for size, dilation in hidden:
        # BN subtracts any constant, so a bias before it would have no effect
        yield nn.Conv2d(inputs, channels, size, padding=dilation * (size // 2), dilation=dilation, bias=False)
        yield nn.BatchNorm2d(channels)
        yield nn.ReLU()
        inputs = channels
    yield nn.Conv2d(inputs, outputs, last, padding=last_dilation * (last // 2), dilation=last_dilation)
