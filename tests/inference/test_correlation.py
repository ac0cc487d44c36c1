"""The circular cross-correlation is the sum of products of one image and the other moved."""

import pytest
import torch

from withinpx.inference.correlation import circular_correlation

REACH = 3


@pytest.mark.parametrize(("height", "width"), [(9, 12), (8, 7), (11, 11)])
def test_every_offset_has_the_sum_of_products(height: int, width: int) -> None:
    one, other = torch.randn(2, 4, 3, height, width, generator=torch.Generator().manual_seed(0))
    found = circular_correlation(one, other, REACH) / (height * width)
    offsets = range(-REACH, REACH + 1)
    for row, down in enumerate(offsets):
        for column, right in enumerate(offsets):
            moved = torch.roll(other, (down, right), (-2, -1))
            torch.testing.assert_close(found[:, row, column], (one * moved).sum(dim=(1, 2, 3)), atol=1e-4, rtol=0)
