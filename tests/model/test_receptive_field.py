"""The measured receptive field of a network is the one that the theorem uses."""

import pytest
import torch

from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.model.background import BackgroundMode
from withinpx.model.cnn import CNN
from withinpx.model.receptive_field import measured_receptive_field, touched_pixels
from withinpx.theory.receptive_field import LARGEST_RECEPTIVE_FIELD

ODD = range(1, 32, 2)


@pytest.mark.parametrize("size", ODD)
def test_the_measured_receptive_field_is_the_declared_one(size: int) -> None:
    torch.manual_seed(size)
    network = Autoencoder(NetworkConfig(65, 65, encoder_rf=size, decoder_rf=size, sigma=0.8)).double().eval()
    assert measured_receptive_field(network.encoder, inputs=1) == size
    assert measured_receptive_field(network.decoder, inputs=8) == size  # a Gaussian and seven codes


@pytest.mark.parametrize("size", [33, 35, 37, 43, 61, 63, 65, 89, 127, LARGEST_RECEPTIVE_FIELD])
def test_a_dilated_network_sees_every_pixel_of_its_receptive_field_and_none_beyond(size: int) -> None:
    torch.manual_seed(size)
    cnn = CNN(1, 1, size, channels=2).double().eval()
    for layer in cnn:
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.constant_(layer.bias, 100.0)  # no ReLU hides a pixel
    touched = touched_pixels(cnn, inputs=1, canvas=size + 4)
    expected = torch.zeros_like(touched)
    expected[2:-2, 2:-2] = True
    assert touched.equal(expected)


@pytest.mark.parametrize("size", ODD)
def test_up_to_thirty_one_pixels_a_seed_gives_the_network_of_undilated_filters_bit_for_bit(size: int) -> None:
    share, rest = divmod((size - 1) // 2, 5)
    filters = [1 + 2 * (share + (layer < rest)) for layer in range(5)]
    torch.manual_seed(3)
    layers: list[torch.nn.Module] = []
    for side, inputs in zip(filters[:-1], (2, 8, 8, 8), strict=True):
        layers += [torch.nn.Conv2d(inputs, 8, side, padding=side // 2, bias=False)]
        layers += [torch.nn.BatchNorm2d(8), torch.nn.ReLU()]
    undilated = torch.nn.Sequential(*layers, torch.nn.Conv2d(8, 3, filters[-1], padding=filters[-1] // 2))
    torch.manual_seed(3)
    cnn = CNN(2, 3, size, channels=8)
    weights = cnn.state_dict()
    assert list(weights) == list(undilated.state_dict())
    assert all(weights[name].equal(value) for name, value in undilated.state_dict().items())
    maps = torch.rand(2, 2, 40, 40)
    assert cnn(maps).equal(undilated(maps))


def test_a_plain_function_can_be_measured_too() -> None:
    assert measured_receptive_field(lambda maps: torch.nn.functional.avg_pool2d(maps, 5, 1, 2), inputs=2) == 5


def test_a_constant_function_has_no_receptive_field() -> None:
    assert measured_receptive_field(lambda maps: 0 * maps, inputs=1) == 0


@pytest.mark.parametrize("size", [1, 9, 31])
def test_five_layers_and_thirty_two_channels(size: int) -> None:
    convolutions = [layer for layer in CNN(3, 2, size) if isinstance(layer, torch.nn.Conv2d)]
    assert len(convolutions) == 5
    assert {layer.out_channels for layer in convolutions[:-1]} == {32}
    assert {layer.kernel_size[0] for layer in convolutions} <= {1, 3, 5, 7}
    assert all(layer.stride == (1, 1) for layer in convolutions)


@pytest.mark.parametrize("mode", list(BackgroundMode))
def test_every_background_decodes_with_the_declared_receptive_field(mode: BackgroundMode) -> None:
    """Further from z than half the receptive field plus the support, the Gaussian changes nothing."""
    config = NetworkConfig(41, 41, encoder_rf=3, decoder_rf=9, sigma=0.8, support=3.0, background=mode)
    torch.manual_seed(0)
    network = Autoencoder(config).double().eval()
    frame = torch.rand(1, 1, 41, 41, dtype=torch.float64)
    z = torch.tensor([[[20.5, 20.5]]], dtype=torch.float64)
    without = network.decode(z, frame, present=torch.zeros(1, 1, dtype=torch.bool))
    changed = (network.decode(z, frame) != without)[0, 0].nonzero() + 0.5 - 20.5
    assert changed.abs().max() <= 9 / 2 + 3.0


@pytest.mark.parametrize("down", [-3, 0, 3])
@pytest.mark.parametrize("right", [-5, 5])
def test_a_receptive_field_is_symmetric_around_its_output(right: int, down: int) -> None:
    """A network that reads one pixel to one side sees as far as one that reads to both sides."""
    assert measured_receptive_field(lambda maps: maps.roll((down, right), (-2, -1)), inputs=1, canvas=15) == 11


def test_a_pixel_that_a_relu_hides_from_one_random_input_is_found_by_another() -> None:
    """Each of these networks is blind to its only pixel in half of the random inputs."""
    found = [
        measured_receptive_field(lambda maps, by=by: maps.relu().roll(by, -1), inputs=1, canvas=35)  # type: ignore[misc]
        for by in range(1, 17)
    ]
    assert sum(size == 2 * by + 1 for by, size in enumerate(found, 1)) >= 14
