"""Eq. 7."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from withinpx.model.render import render
from withinpx.model.softargmax import softargmax

coordinates = st.floats(8, 22)


@settings(max_examples=100)
@given(coordinates, coordinates, st.integers(-5, 5), st.integers(-5, 5), st.sampled_from([None, 3.0]))
def test_shifting_a_position_by_whole_pixels_shifts_its_gaussian(
    x: float, y: float, right: int, down: int, support: float | None
) -> None:
    positions = torch.tensor([[[x, y]], [[x + right, y + down]]], dtype=torch.float64)
    before, after = render(positions, (30, 30), 0.8, support)[:, 0]
    rolled = before.roll((down, right), dims=(0, 1))
    assert (after - rolled)[6:-6, 6:-6].abs().max() < 1e-10


def test_the_height_is_one_everywhere_even_at_the_border() -> None:
    positions = torch.tensor([[[10.5, 10.5]], [[0.5, 0.5]]])
    inside, corner = render(positions, (20, 20), 1.5)[:, 0]
    assert inside.max() == corner.max() == 1
    assert torch.allclose(corner[:8, :8], inside[10:18, 10:18])


@settings(max_examples=100)
@given(coordinates, coordinates, st.floats(0.5, 6))
def test_with_compact_support_the_gaussian_is_zero_further_out(x: float, y: float, support: float) -> None:
    gaussian = render(torch.tensor([[[x, y]]], dtype=torch.float64), (30, 30), 2.0, support)[0, 0]
    rows, columns = gaussian.nonzero(as_tuple=True)
    assert ((columns.double() + 0.5 - x).abs() <= support).all()  # vacuous if no pixel is that near
    assert ((rows.double() + 0.5 - y).abs() <= support).all()


@settings(max_examples=50)
@given(coordinates, coordinates)
def test_softargmax_inverts_render(x: float, y: float) -> None:
    """The softmax of a Gaussian's logarithm is the Gaussian, whose mean is the position."""
    gaussian = render(torch.tensor([[[x, y]]], dtype=torch.float64), (30, 30), 1.0)
    found = softargmax(torch.log(gaussian + 1e-300), temperature=1.0)[0, 0]
    assert found.tolist() == pytest.approx([x, y], abs=1e-6)
