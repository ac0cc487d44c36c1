"""How a network for footage starts."""

from typing import cast

import pytest
import torch
from torch import Tensor, nn

from withinpx.model.cnn import CNN

COVERED = 5  # px along a side: what an object covers of a frame


def activations(cnn: CNN, side: int) -> Tensor:
    """What the last layer receives of a frame with one object, in training."""
    frame = torch.zeros(4, 3, side, side)
    frame[..., 4 : 4 + COVERED, 4 : 4 + COVERED] = torch.rand(4, 3, COVERED, COVERED)
    return cast(Tensor, nn.Sequential(*list(cnn)[:-1]).train()(frame))


@pytest.mark.parametrize("side", [16, 64, 256])
def test_a_network_starts_empty_and_as_responsive_in_a_large_frame_as_in_a_small_one(side: int) -> None:
    torch.manual_seed(0)
    cnn = CNN(3, 2, receptive_field=9, channels=16)
    last = cast(nn.Conv2d, cnn[-1])
    amplified = activations(cnn, side).amax()
    cnn.start_empty(COVERED**2 / side**2, magnitude=0.1)
    received = activations(cnn, side)
    assert 0.03 < received.amax() < 0.3
    assert amplified > 10 * received.amax()
    output = cnn(torch.rand(1, 3, side, side))
    assert last.bias is not None
    assert torch.equal(output, last.bias[:, None, None].expand_as(output))
    output.square().sum().backward()
    assert last.weight.grad is not None
    assert last.weight.grad.abs().amax() > 0  # and learns
