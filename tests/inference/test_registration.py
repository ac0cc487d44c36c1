"""Registration finds the sub-pixel offset between a rendering and the frame."""

import pytest
import torch
from torch import Tensor

from withinpx.certificate.assumptions import DISTINCT, appearance_difference
from withinpx.inference.registration import register

SIDE = 40
RED, BLUE = (0.6, -0.2, -0.3), (-0.2, -0.1, 0.6)  # as differences from the background


def blob(x: float, y: float, colour: tuple[float, ...] = RED, width: float = 3.0) -> Tensor:
    """A soft object around (x, y): (1, c, h, w)."""
    rows, columns = torch.meshgrid(torch.arange(SIDE) + 0.5, torch.arange(SIDE) + 0.5, indexing="ij")
    shape = torch.exp(-((((columns - x) / width) ** 2 + ((rows - y) / width) ** 2) ** 2))  # flat on top
    return (torch.tensor(colour)[:, None, None] * shape)[None]


@pytest.mark.parametrize("off", [(2.3, -1.4), (0.0, 0.0), (0.5, 0.5), (-3.25, 4.75), (5.5, -5.5)])
def test_the_offset_is_found_to_a_tenth_of_a_pixel(off: tuple[float, float]) -> None:
    found = register(blob(20.1, 19.7), blob(20.1 + off[0], 19.7 + off[1]))
    assert (found.offset[0] - torch.tensor(off)).abs().max() < 0.1
    assert found.explained.item() > 0.95
    assert found.shown.item() == pytest.approx(1, abs=0.1)


def test_a_fainter_rendering_has_the_same_offset() -> None:
    found = register(0.7 * blob(20, 20), blob(21.6, 19.2))
    assert (found.offset[0] - torch.tensor([1.6, -0.8])).abs().max() < 0.1


def test_noise_does_not_move_it() -> None:
    noise = 0.02 * torch.randn(1, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    found = register(blob(20, 20), blob(22.3, 18.6) + noise)
    assert (found.offset[0] - torch.tensor([2.3, -1.4])).abs().max() < 0.1


def test_an_empty_frame_shows_nothing() -> None:
    found = register(blob(20, 20), torch.zeros(1, 3, SIDE, SIDE))
    assert found.shown.item() == 0
    assert found.explained.item() == 0
    assert found.offset.isfinite().all()


def test_an_empty_rendering_explains_nothing() -> None:
    found = register(torch.zeros(1, 3, SIDE, SIDE), blob(20, 20))
    assert found.explained.item() == 0
    assert found.offset.isfinite().all()


def test_another_object_is_not_explained() -> None:
    assert register(blob(20, 20), blob(20, 20, BLUE)).explained.item() < 0.5


def test_objects_are_registered_independently() -> None:
    found = register(torch.cat([blob(20, 20), blob(20, 20)]), torch.cat([blob(22, 20), blob(20, 17)]))
    assert (found.offset - torch.tensor([[2.0, 0.0], [0.0, -3.0]])).abs().max() < 0.1


def test_equal_objects_do_not_differ_wherever_they_are() -> None:
    one = blob(20, 20)[0]
    assert appearance_difference(one, one) < 1e-3
    assert appearance_difference(one, blob(23, 18)[0]) < 1e-2
    assert appearance_difference(one, blob(20.4, 19.6)[0]) < 2 * DISTINCT  # sub-pixel shifts are not compensated


def test_another_colour_or_size_differs() -> None:
    assert appearance_difference(blob(20, 20)[0], blob(20, 20, BLUE)[0]) > 1
    assert appearance_difference(blob(20, 20)[0], blob(20, 20, width=5)[0]) > 2 * DISTINCT
