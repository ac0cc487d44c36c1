"""What the paper leaves open about the network, as values of its config."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest
import torch

from withinpx import InputError
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network, with_kinds
from withinpx.model.background import Encoding, FixedBackground, coordinates
from withinpx.model.render import Peak, render
from withinpx.model.softargmax import Softargmax, softargmax

CONFIG = NetworkConfig(20, 24, encoder_rf=5, decoder_rf=7, sigma=0.8, channels=4)


def spot(column: int, row: int, height: float = 20.0) -> torch.Tensor:
    maps = torch.zeros(1, 1, 20, 24)
    maps[0, 0, row, column] = height
    return maps


def test_the_joint_softargmax_finds_a_spot_and_so_do_the_means() -> None:
    assert torch.allclose(softargmax(spot(7, 3), 0.1), torch.tensor([7.5, 3.5]))
    found = softargmax(spot(7, 3, 400.0), 0.1, Softargmax.MEANS)
    assert torch.allclose(found, torch.tensor([7.5, 3.5]), atol=1e-3)


def test_the_printed_softargmax_is_the_mean_over_lines_most_of_which_are_empty() -> None:
    found = softargmax(spot(7, 3), 0.1, Softargmax.LINES)[0, 0]
    x = (7.5 + 19 * 12) / 20  # 1 of 20 rows has the spot; in the others the expectation is the middle, 12
    y = (3.5 + 23 * 10) / 24
    assert torch.allclose(found, torch.tensor([x, y]))


def test_only_the_joint_softargmax_and_the_means_move_with_the_spot() -> None:
    moves = {kind: (softargmax(spot(8, 3, 400.0), 0.1, kind) - softargmax(spot(7, 3, 400.0), 0.1, kind))[0, 0, 0].item()
             for kind in Softargmax}  # fmt: skip
    assert moves == pytest.approx({Softargmax.JOINT: 1, Softargmax.MEANS: 1, Softargmax.LINES: 1 / 20}, abs=1e-3)


def test_a_gaussian_of_unit_mass_has_the_same_shape_and_mass_one() -> None:
    positions = torch.tensor([[[9.3, 8.1]]])
    one, unit = (render(positions, (20, 24), 1.3, peak=peak) for peak in Peak)
    assert unit.sum().item() == pytest.approx(1, abs=1e-3)
    assert torch.allclose(one / one.max(), unit / unit.max())
    assert render(torch.tensor([[[9.5, 8.5]]]), (20, 24), 1.3).max() == 1


def test_coordinates_are_those_of_pixel_centres_from_minus_one_to_one() -> None:
    x, y = coordinates((2, 4), (2, 4), torch.zeros(()))
    assert x[0].tolist() == [-0.75, -0.25, 0.25, 0.75]
    assert y[:, 0].tolist() == [-0.5, 0.5]


def test_fixed_encodings_differ_everywhere_and_are_not_learned() -> None:
    for encoding in (Encoding.COORDINATES, Encoding.SINUSOIDAL):
        background = FixedBackground(encoding, (20, 24), 1)
        assert not list(background.parameters())
        assert not background.state_dict()
        pixels = background.code.flatten(1).T
        distances = torch.cdist(pixels, pixels) + torch.eye(len(pixels))
        assert distances.min() > 0.01


def test_a_config_survives_a_file() -> None:
    config = replace(CONFIG, softargmax=Softargmax.MEANS, encoding=Encoding.COORDINATES, peak=Peak.UNIT_MASS)
    stored: dict[str, Any] = {"height": 20, "width": 24, "encoder_rf": 5, "decoder_rf": 7, "sigma": 0.8, "channels": 4}
    assert NetworkConfig(**stored) == CONFIG  # of a version that knew no readings
    text = {"softargmax": "means", "encoding": "coordinates", "peak": "unit mass", "background": "positional"}
    assert NetworkConfig(**with_kinds({**stored, **text})) == config


def test_an_appearance_code_needs_the_joint_softargmax() -> None:
    with pytest.raises(InputError, match="joint"):
        replace(CONFIG, appearance=2, support=3.0, softargmax=Softargmax.LINES)


def test_the_default_network_has_the_weights_and_outputs_it_always_had() -> None:
    model = new_network(CONFIG, 0).eval()
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    assert hashlib.sha256(weights).hexdigest() == "090a458b8c557fab8b5590931dae0fc2e1fa762bee6db4098c14209ae84f2b7a"
    images = torch.rand(2, 1, 20, 24, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        positions = model.encode(images)
    assert positions.flatten().tolist() == pytest.approx([11.9989, 9.9998, 11.9985, 9.9998], abs=2e-4)


@pytest.mark.parametrize("kind", Softargmax)
@pytest.mark.parametrize("encoding", Encoding)
def test_every_reading_can_be_trained(kind: Softargmax, encoding: Encoding) -> None:
    model = Autoencoder(replace(CONFIG, softargmax=kind, encoding=encoding, peak=Peak.UNIT_MASS))
    positions, rendered = model(torch.rand(2, 1, 20, 24))
    (rendered**2).mean().backward()
    assert positions.shape == (2, 1, 2)
    assert all(parameter.grad is not None for parameter in model.parameters())
