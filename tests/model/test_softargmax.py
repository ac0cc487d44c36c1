"""Eq. 5."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from withinpx.model.softargmax import softargmax


def test_at_a_low_temperature_it_is_the_argmax_at_pixel_centres() -> None:
    heatmaps = torch.rand(3, 2, 7, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    flat = heatmaps.flatten(start_dim=-2).argmax(dim=-1)
    expected = torch.stack([flat % 9 + 0.5, flat // 9 + 0.5], dim=-1)
    assert torch.allclose(softargmax(heatmaps, temperature=1e-6), expected.double())


def test_a_flat_map_gives_the_centre_of_the_image() -> None:
    assert softargmax(torch.zeros(1, 1, 6, 10))[0, 0].tolist() == pytest.approx([5.0, 3.0], abs=1e-5)


@settings(max_examples=100)
@given(st.integers(-6, 6), st.integers(-6, 6), st.integers(0, 2**31))
def test_a_shifted_peak_shifts_the_position_by_as_much(right: int, down: int, seed: int) -> None:
    bump = torch.rand(5, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 5
    heatmaps = torch.full((2, 1, 30, 30), -60.0, dtype=torch.float64)
    heatmaps[0, 0, 12:17, 12:17] = bump
    heatmaps[1, 0, 12 + down : 17 + down, 12 + right : 17 + right] = bump
    before, after = softargmax(heatmaps, temperature=1.0)[:, 0]
    assert (after - before).tolist() == pytest.approx([right, down], abs=1e-10)


def test_positions_are_never_rounded_to_bfloat16() -> None:
    heatmaps = torch.zeros(1, 1, 4, 200)
    heatmaps[0, 0, 2, 99:101] = torch.tensor([5.0, 4.97])
    assert softargmax(heatmaps.bfloat16()).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        inside = softargmax(heatmaps)
    assert inside.dtype == torch.float32
    assert torch.equal(inside, softargmax(heatmaps))


def test_its_gradient_is_correct() -> None:
    heatmaps = torch.randn(1, 1, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    heatmaps.requires_grad_()
    assert torch.autograd.gradcheck(lambda maps: softargmax(maps, 0.7), heatmaps)
