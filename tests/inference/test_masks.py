"""The strength and the box of an object are those of its body: its shadow does not count."""

import pytest
import torch
from torch import Tensor

from withinpx.data.stage import Ground
from withinpx.inference.masks import box_centre_and_size, object_strength, soft_mask

WIDTH, HEIGHT, RADIUS = 60, 48, 7.0
X, Y = 27.3, 23.6
RED, BLUE, GREY = (0.8, 0.2, 0.2), (0.2, 0.3, 0.7), (0.9, 0.9, 0.9)
FINE = 8  # samples per pixel and axis


@pytest.fixture(scope="module")
def ground() -> Tensor:
    """A textured image (c, h, w)."""
    return torch.from_numpy(Ground().render(WIDTH, HEIGHT, (0, 0), 0)).float().permute(2, 0, 1)


def disc(x: float, y: float) -> Tensor:
    """How much of each pixel it covers: (h, w)."""
    columns, rows = ((torch.arange(FINE * side) + 0.5) / FINE for side in (WIDTH, HEIGHT))
    inside = (columns - x) ** 2 + (rows[:, None] - y) ** 2 < RADIUS**2
    return inside.float().reshape(HEIGHT, FINE, WIDTH, FINE).mean(dim=(1, 3))


def shaded(image: Tensor, cover: Tensor, light: float) -> Tensor:
    return image * (1 - (1 - light) * cover)


def painted(image: Tensor, cover: Tensor, colour: tuple[float, ...]) -> Tensor:
    return image * (1 - cover) + cover * torch.tensor(colour)[:, None, None]


def with_shadow(ground: Tensor, x: float, y: float, colour: tuple[float, ...], light: float) -> Tensor:
    return painted(shaded(ground, disc(x + 6, y + 3), light), disc(x, y), colour)


def error_px(strength: Tensor, x: float = X, y: float = Y) -> float:
    """Distance of the box's centre from a position, along the worse axis."""
    return float((box_centre_and_size(soft_mask(strength))[0] - torch.tensor([x, y])).abs().max())


def contrast(image: Tensor, background: Tensor) -> Tensor:
    return (image - background).abs().amax(dim=-3)


@pytest.mark.parametrize(("x", "y"), [(27.0, 23.0), (X, Y), (26.5, 24.25)])
@pytest.mark.parametrize("light", [0.45, 0.65, 0.7])
@pytest.mark.parametrize("colour", [RED, BLUE])
def test_the_shadow_of_a_coloured_object_does_not_move_its_centre(
    ground: Tensor, x: float, y: float, light: float, colour: tuple[float, ...]
) -> None:
    image = with_shadow(ground, x, y, colour, light)
    assert error_px(contrast(image, ground), x, y) > 1
    assert error_px(object_strength(image, ground), x, y) < 0.3


def test_without_a_shadow_the_strength_is_the_contrast(ground: Tensor) -> None:
    image = painted(ground, disc(X, Y), RED)
    assert (contrast(image, ground) - object_strength(image, ground)).abs().max() < 0.1
    assert error_px(object_strength(image, ground)) < 0.2


@pytest.mark.parametrize("light", [0.7, 0.8, 0.9])
def test_an_object_that_is_only_darker_than_the_background_is_no_shadow(ground: Tensor, light: float) -> None:
    image = shaded(ground, disc(X, Y), light)
    assert object_strength(image, ground).equal(contrast(image, ground))
    assert error_px(object_strength(image, ground)) < 0.2


@pytest.mark.parametrize(("light", "beside"), [(0.05, RED), (0.3, GREY)])
def test_what_is_darker_than_a_shadow_can_be_is_an_object(
    ground: Tensor, light: float, beside: tuple[float, ...]
) -> None:
    both = painted(shaded(ground, disc(20, 24), light), disc(40, 24), beside)  # so that neither is alone
    inside = disc(20, 24) == 1
    assert object_strength(both, ground)[inside].equal(contrast(both, ground)[inside])


def test_what_is_brighter_than_the_background_is_no_shadow(ground: Tensor) -> None:
    both = painted(ground * (1 + 0.4 * disc(20, 24)), disc(40, 24), RED)
    inside = disc(20, 24) == 1
    assert object_strength(both, ground)[inside].equal(contrast(both, ground)[inside])


def test_images_of_a_batch_are_independent(ground: Tensor) -> None:
    images = torch.stack([with_shadow(ground, 27, 23, RED, 0.7), shaded(ground, disc(27, 23), 0.7)])
    together = object_strength(images, ground.expand_as(images))
    for strength, image in zip(together, images, strict=True):
        assert strength.equal(object_strength(image, ground))
    assert max(error_px(strength, 27, 23) for strength in together) < 0.3


def test_noise_does_not_make_a_darker_object_a_shadow(ground: Tensor) -> None:
    noise = 0.002 * torch.randn(ground.shape, generator=torch.Generator().manual_seed(0))
    assert error_px(object_strength(shaded(ground, disc(X, Y), 0.7) + noise, ground)) < 0.3


@pytest.mark.parametrize(("strength", "share"), [(0.09, 0), (0.25, 0.5), (0.41, 1), (1.0, 1)])
def test_a_pixel_of_a_quarter_of_the_peak_is_half_in_the_box(strength: float, share: float) -> None:
    row = torch.zeros(9, 9)
    row[4, 2:5] = 1.0
    row[4, 5] = strength
    centre, size = box_centre_and_size(soft_mask(row))
    assert size.tolist() == pytest.approx([3 + share, 1])
    assert centre.tolist() == pytest.approx([(3 * 3.5 + share * 5.5) / (3 + share), 4.5])


def test_a_gap_in_an_object_belongs_to_its_box() -> None:
    """The windscreen of a car looks like the road."""
    car = torch.zeros(12, 30)
    car[4:9, 5:9] = car[4:9, 17:20] = 1.0
    centre, size = box_centre_and_size(soft_mask(car))
    assert centre.tolist() == [12.5, 6.5]
    assert size.tolist() == [15, 5]
