"""A shadow is no part of the body that casts it."""

import pytest
import torch
from torch import Tensor

from withinpx.data.stage import Ground
from withinpx.inference.masks import middle_and_box, soft_mask, strength_of_body

WIDTH, HEIGHT, RADIUS = 60, 48, 7.0
RED, BLUE, GREY = (0.8, 0.2, 0.2), (0.2, 0.3, 0.7), (0.9, 0.9, 0.9)
FINE = 8  # samples per pixel and axis


@pytest.fixture(scope="module")
def ground() -> Tensor:
    """A textured picture (c, h, w)."""
    return torch.from_numpy(Ground().render(WIDTH, HEIGHT, (0, 0), 0)).float().permute(2, 0, 1)


def disc(x: float, y: float) -> Tensor:
    """How much of each pixel it covers: (h, w)."""
    columns, rows = ((torch.arange(FINE * side) + 0.5) / FINE for side in (WIDTH, HEIGHT))
    inside = (columns - x) ** 2 + (rows[:, None] - y) ** 2 < RADIUS**2
    return inside.float().reshape(HEIGHT, FINE, WIDTH, FINE).mean(dim=(1, 3))


def darker(picture: Tensor, where: Tensor, light: float) -> Tensor:
    """Only so much of the light where a shadow falls."""
    return picture * (1 - (1 - light) * where)


def painted(picture: Tensor, where: Tensor, colour: tuple[float, ...]) -> Tensor:
    return picture * (1 - where) + where * torch.tensor(colour)[:, None, None]


def with_its_shadow(ground: Tensor, x: float, y: float, colour: tuple[float, ...], light: float) -> Tensor:
    return painted(darker(ground, disc(x + 6, y + 3), light), disc(x, y), colour)


def off(strength: Tensor, x: float, y: float) -> float:
    """How far the middle of what is strong is from a place, px along the worse axis."""
    return float((middle_and_box(soft_mask(strength))[0] - torch.tensor([x, y])).abs().max())


def plain(picture: Tensor, behind: Tensor) -> Tensor:
    return (picture - behind).abs().amax(dim=-3)


@pytest.mark.parametrize(("x", "y"), [(27.0, 23.0), (27.3, 23.6), (26.5, 24.25)])
@pytest.mark.parametrize("light", [0.45, 0.65, 0.7])
@pytest.mark.parametrize("colour", [RED, BLUE])
def test_a_coloured_thing_s_shadow_does_not_move_its_middle(
    ground: Tensor, x: float, y: float, light: float, colour: tuple[float, ...]
) -> None:
    picture = with_its_shadow(ground, x, y, colour, light)
    assert off(plain(picture, ground), x, y) > 1
    assert off(strength_of_body(picture, ground), x, y) < 0.3


def test_without_a_shadow_all_that_differs_is_the_body(ground: Tensor) -> None:
    picture = painted(ground, disc(27.3, 23.6), RED)
    assert (plain(picture, ground) - strength_of_body(picture, ground)).abs().max() < 0.1
    assert off(strength_of_body(picture, ground), 27.3, 23.6) < 0.2


@pytest.mark.parametrize("light", [0.7, 0.8, 0.9])
def test_a_thing_that_is_only_darker_than_the_ground_is_not_taken_for_a_shadow(ground: Tensor, light: float) -> None:
    picture = darker(ground, disc(27.3, 23.6), light)
    assert strength_of_body(picture, ground).equal(plain(picture, ground))
    assert off(strength_of_body(picture, ground), 27.3, 23.6) < 0.2


@pytest.mark.parametrize(("light", "beside"), [(0.05, RED), (0.3, GREY)])
def test_what_is_darker_than_a_shadow_can_be_is_a_thing(
    ground: Tensor, light: float, beside: tuple[float, ...]
) -> None:
    dark = darker(ground, disc(20, 24), light)
    both = painted(dark, disc(40, 24), beside)  # so that neither is all there is
    inside = disc(20, 24) == 1
    assert strength_of_body(both, ground)[inside].equal(plain(both, ground)[inside])


def test_what_is_brighter_than_the_ground_is_no_shadow(ground: Tensor) -> None:
    both = painted(ground * (1 + 0.4 * disc(20, 24)), disc(40, 24), RED)
    inside = disc(20, 24) == 1
    assert strength_of_body(both, ground)[inside].equal(plain(both, ground)[inside])


def test_each_picture_is_judged_by_itself(ground: Tensor) -> None:
    pictures = torch.stack([with_its_shadow(ground, 27, 23, RED, 0.7), darker(ground, disc(27, 23), 0.7)])
    together = strength_of_body(pictures, ground.expand_as(pictures))
    for one, alone in zip(together, pictures, strict=True):
        assert one.equal(strength_of_body(alone, ground))
    assert max(off(one, 27, 23) for one in together) < 0.3


def test_noise_does_not_make_a_darker_thing_a_shadow(ground: Tensor) -> None:
    noise = 0.002 * torch.randn(ground.shape, generator=torch.Generator().manual_seed(0))
    assert off(strength_of_body(darker(ground, disc(27.3, 23.6), 0.7) + noise, ground), 27.3, 23.6) < 0.3
