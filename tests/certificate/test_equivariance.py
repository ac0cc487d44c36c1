"""The equivariance check and the receptive fields are computed in small windows, and are those of whole frames."""

from dataclasses import replace
from typing import cast

import pytest
import torch
from torch import Tensor

from withinpx.certificate.assumptions import SHIFTS, VISIBLE, _with_room, equivariance_error
from withinpx.certificate.certify import receptive_fields
from withinpx.inference.rendering import GREY, reconstruct
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode, LayeredBackground
from withinpx.model.foreground import foreground_only
from withinpx.theory.bound import GATE_PX
from withinpx.theory.receptive_field import LARGEST_RECEPTIVE_FIELD

HEIGHT, WIDTH = 60, 80
MIDDLE, CORNER = (41.3, 28.6), (4.2, 56.1)


def network(
    background: BackgroundMode, temperature: float = 0.1, size: tuple[int, int] = (HEIGHT, WIDTH)
) -> Autoencoder:
    """Untrained, but what it renders is visible, and its heatmap has peaks."""
    config = NetworkConfig(
        *(*size, 9, 11, 0.8),
        support=3.2,
        objects=2,
        colours=3,
        channels=4,
        temperature=temperature,
        background=background,
    )
    model = new_network(config, 1).eval()
    cast(LayeredBackground, model.background).still.fill_(GREY)
    for layer in (*model.encoder, *model.decoder):
        if isinstance(layer, torch.nn.Conv2d):
            layer.weight.data *= 3
    last = model.decoder[-1]
    if isinstance(last, torch.nn.Conv2d) and last.bias is not None and model.config.is_layered:
        last.weight.data *= 10
        last.bias.data.zero_()  # half opaque everywhere: an object may be more so or less
    return model


@torch.no_grad()
def whole_frame_error(model: Autoencoder, position: Tensor, index: int) -> float:
    """The same over whole frames."""
    config, shifts = model.config, torch.tensor(SHIFTS, dtype=torch.float32)
    z = torch.zeros(len(shifts), config.objects, 2)
    z[:, index] = position + shifts
    present = torch.zeros(len(shifts), config.objects, dtype=torch.bool)
    grey = torch.full((1, config.colours, HEIGHT, WIDTH), GREY)
    without = reconstruct(model, z, present, grey)
    present[:, index] = True
    image = reconstruct(model, z, present, grey)
    changed = (image - without).abs().amax(dim=1) > VISIBLE
    assert changed.any()
    again = model.encode(foreground_only(image, changed))[:, index]
    return float((again - again[:1] - shifts).abs().max())


@pytest.mark.parametrize("background", [BackgroundMode.LAYERED, BackgroundMode.PERSPECTIVE])
@pytest.mark.parametrize("position", [MIDDLE, CORNER])
@pytest.mark.parametrize("temperature", [0.01, 0.1, 1.0])
def test_the_error_in_windows_is_that_of_whole_frames(
    background: BackgroundMode, position: tuple[float, float], temperature: float
) -> None:
    model, at = network(background, temperature), torch.tensor(position)
    for index in range(2):
        assert equivariance_error(model, at, index) == pytest.approx(whole_frame_error(model, at, index), abs=1e-3)


def test_a_softargmax_that_is_pulled_to_the_middle_of_the_frame_is_not_equivariant() -> None:
    """Most of its mass lies outside the windows."""
    sharp, blurred = (network(BackgroundMode.LAYERED, temperature) for temperature in (0.01, 10.0))
    at = torch.tensor(MIDDLE)
    assert equivariance_error(sharp, at, 0) < 0.1
    assert equivariance_error(blurred, at, 0) > 4


def test_in_a_frame_lower_than_the_receptive_fields_equivariance_is_that_of_the_filters() -> None:
    """A strip has no place that is away from its borders; the same filters on a larger frame have."""
    strip = network(BackgroundMode.LAYERED, temperature=0.01, size=(12, WIDTH))
    at = torch.tensor([41.3, 6.0])
    roomy, moved = _with_room(strip, at)
    assert roomy.config.height > 2 * strip.config.decoder_rf
    assert roomy.config.width == strip.config.width
    assert equivariance_error(strip, at, 0) > 1
    assert equivariance_error(roomy, moved, 0) < 0.1


def test_a_frame_with_room_is_the_network_s_own_and_so_is_that_of_perspective() -> None:
    at = torch.tensor(MIDDLE)
    layered = network(BackgroundMode.LAYERED)
    assert _with_room(layered, at) == (layered, at)
    told = network(BackgroundMode.PERSPECTIVE, size=(14, WIDTH))
    assert _with_room(told, at) == (told, at)


@pytest.mark.parametrize("size", [1, 9, 31, 63, LARGEST_RECEPTIVE_FIELD])
def test_every_receptive_field_that_can_be_built_is_measured(size: int) -> None:
    config = network(BackgroundMode.LAYERED).config
    config = replace(config, height=140, width=140, encoder_rf=size, decoder_rf=size)
    fields = receptive_fields(new_network(config, 0).eval())
    assert (fields.encoder, fields.decoder) == (size + GATE_PX, size)
