"""Seeing what moves, without labels."""

import pytest
import torch

from withinpx.data.squares import Squares
from withinpx.errors import InputError
from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.training.discover import moving_centres, warm_start
from withinpx.training.engine import DenseEngine


def test_the_centre_of_what_moves_is_the_square_s_over_any_background() -> None:
    data = Squares(object_size=5, padding=4, image_size=24).train()
    images = torch.from_numpy(data.images)
    background = 0.4 * torch.rand(1, 24, 24, generator=torch.Generator().manual_seed(0))
    painted = torch.where(images > 0, images, background)
    assert (moving_centres(painted) - torch.from_numpy(data.positions)).abs().max() < 1e-4


def test_nothing_that_moves_is_said() -> None:
    with pytest.raises(InputError, match="Nothing moves"):
        moving_centres(torch.ones(3, 1, 8, 8))


def test_after_a_warm_start_the_encoder_looks_where_it_was_told() -> None:
    data = Squares(object_size=5, padding=4, image_size=24).train()
    images, centres = torch.from_numpy(data.images), torch.from_numpy(data.positions).float().unsqueeze(1)
    torch.manual_seed(0)
    model = Autoencoder(NetworkConfig(24, 24, encoder_rf=5, decoder_rf=5, sigma=0.8, channels=8))
    decoder_before = next(model.decoder.parameters()).detach().clone()
    assert list(warm_start(DenseEngine(model, images), centres, steps=100, seed=0))[-1] == 100
    with torch.no_grad():
        assert (model.encode(images) - centres).abs().max() < 1
    assert torch.equal(next(model.decoder.parameters()), decoder_before)
