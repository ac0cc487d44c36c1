"""Reconstruction accuracy and the rule that discards a run."""

import pytest
import torch
from torch import Tensor

from withinpx.training.accuracy import is_accepted, right_pixels


def accuracy(rendered: Tensor, images: Tensor) -> float:
    return right_pixels(rendered, images).double().mean().item()


def test_a_black_image_is_not_accepted() -> None:
    """App. C.1's reason for the threshold: a 7 x 7 square is 0.8 % of the image."""
    images = torch.zeros(1, 1, 80, 80)
    images[..., 30:37, 30:37] = 1
    black = accuracy(torch.zeros_like(images), images)
    assert black == pytest.approx(1 - 49 / 6400)
    assert not is_accepted(black)
    assert is_accepted(accuracy(images * 0.8 + 0.1, images))


def test_a_square_one_pixel_off_is_not_accepted() -> None:
    images = torch.zeros(1, 1, 80, 80)
    images[..., 30:37, 30:37] = 1
    assert not is_accepted(accuracy(images.roll(1, dims=-1), images))


def test_a_pixel_is_right_only_when_all_its_colours_are() -> None:
    images = torch.zeros(1, 3, 2, 2)
    rendered = images.clone()
    rendered[0, 1, 0, 0] = 0.9
    assert accuracy(rendered, images) == 0.75


def test_the_threshold_is_the_paper_s() -> None:
    assert is_accepted(0.999)
    assert not is_accepted(0.99899)
