"""A drawing that is off is found to be off by as much, between the pixels, without any label."""

import pytest
import torch
from torch import Tensor

from withinpx.certificate.assumptions import UNLIKE, unlikeness
from withinpx.inference.registration import register

SIDE = 40
RED, BLUE = (0.6, -0.2, -0.3), (-0.2, -0.1, 0.6)  # as differences from what lies behind


def blob(x: float, y: float, colour: tuple[float, ...] = RED, width: float = 3.0) -> Tensor:
    """A soft thing around (x, y): (1, c, h, w)."""
    rows, columns = torch.meshgrid(torch.arange(SIDE) + 0.5, torch.arange(SIDE) + 0.5, indexing="ij")
    shape = torch.exp(-((((columns - x) / width) ** 2 + ((rows - y) / width) ** 2) ** 2))  # flat on top, as things are
    return (torch.tensor(colour)[:, None, None] * shape)[None]


@pytest.mark.parametrize("off", [(2.3, -1.4), (0.0, 0.0), (0.5, 0.5), (-3.25, 4.75), (5.5, -5.5)])
def test_what_is_drawn_off_is_found_to_be_off_by_as_much(off: tuple[float, float]) -> None:
    found = register(blob(20.1, 19.7), blob(20.1 + off[0], 19.7 + off[1]))
    assert (found.offset[0] - torch.tensor(off)).abs().max() < 0.1
    assert found.explained.item() > 0.95
    assert found.shown.item() == pytest.approx(1, abs=0.1)


def test_a_fainter_drawing_is_at_the_same_place() -> None:
    found = register(0.7 * blob(20, 20), blob(21.6, 19.2))
    assert (found.offset[0] - torch.tensor([1.6, -0.8])).abs().max() < 0.1


def test_noise_does_not_move_it() -> None:
    noise = 0.02 * torch.randn(1, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    found = register(blob(20, 20), blob(22.3, 18.6) + noise)
    assert (found.offset[0] - torch.tensor([2.3, -1.4])).abs().max() < 0.1


def test_where_the_frame_shows_nothing_nothing_is_shown() -> None:
    found = register(blob(20, 20), torch.zeros(1, 3, SIDE, SIDE))
    assert found.shown.item() == 0
    assert found.explained.item() == 0
    assert found.offset.isfinite().all()


def test_where_nothing_is_drawn_nothing_is_explained() -> None:
    found = register(torch.zeros(1, 3, SIDE, SIDE), blob(20, 20))
    assert found.explained.item() == 0
    assert found.offset.isfinite().all()


def test_another_thing_is_not_explained() -> None:
    assert register(blob(20, 20), blob(20, 20, BLUE)).explained.item() < 0.5


def test_each_is_registered_by_itself() -> None:
    found = register(torch.cat([blob(20, 20), blob(20, 20)]), torch.cat([blob(22, 20), blob(20, 17)]))
    assert (found.offset - torch.tensor([[2.0, 0.0], [0.0, -3.0]])).abs().max() < 0.1


def test_twins_are_not_unlike_wherever_they_are_drawn() -> None:
    one = blob(20, 20)[0]
    assert unlikeness(one, one) < 1e-3
    assert unlikeness(one, blob(23, 18)[0]) < 1e-2
    assert unlikeness(one, blob(20.4, 19.6)[0]) < 2 * UNLIKE  # the parts of a pixel are not made up for


def test_another_colour_or_size_is_unlike() -> None:
    assert unlikeness(blob(20, 20)[0], blob(20, 20, BLUE)[0]) > 1
    assert unlikeness(blob(20, 20)[0], blob(20, 20, width=5)[0]) > 2 * UNLIKE
