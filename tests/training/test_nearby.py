"""The nearby background: a scene whose light varies, known from a frame nearby in time."""

import math

import pytest
import torch

from withinpx.certificate.calibration import rendered_centres
from withinpx.data.squares import Squares
from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.model.background import BackgroundMode
from withinpx.training.fit import FitSettings, fit
from withinpx.training.recipe import Recipe


def test_an_object_in_varying_light_is_rendered_at_z() -> None:
    data = Squares(object_size=5, padding=6, image_size=26).train()
    squares = torch.from_numpy(data.images)
    light = torch.tensor([0.25 + 0.15 * math.sin(time / 12) for time in range(len(data))]).view(-1, 1, 1, 1)
    images = torch.where(squares > 0, squares, light)
    torch.manual_seed(0)
    config = NetworkConfig(26, 26, encoder_rf=5, decoder_rf=7, sigma=0.8, channels=12, background=BackgroundMode.NEARBY)
    recipe = Recipe(name="tiny", epochs=150, batch_size=len(data), learning_rate=3e-3, warm_start_steps=80)
    model = fit(Autoencoder(config), images, recipe, seed=0, settings=FitSettings())

    now, other = images[30:31], images[34:35]
    with torch.no_grad():
        z, rendered = model(now, other)
    assert ((rendered > 0.7) == (now > 0.7)).float().mean() > 0.98
    shift = torch.tensor([2, 3])
    before = rendered_centres(model, z, other)
    after = rendered_centres(model, z + shift, other)
    assert (after - before)[0, 0].tolist() == pytest.approx([2, 3], abs=0.5)
