"""The appearance code: what it may change in a rendering, and what it cannot."""

import copy
from dataclasses import replace
from typing import cast

import pytest
import torch
from torch import Tensor

from tests.certificate.planted import last_filter
from tests.model.test_sparse import HEIGHT, WIDTH, dense, make_model, sparse_heatmaps, textured_scene
from withinpx.errors import InputError
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network, with_appearance
from withinpx.model.background import BackgroundMode, LayeredBackground, build_background
from withinpx.model.cnn import CNN
from withinpx.model.sparse import sparse_decoder_maps, sparse_latents

SUPPORT = 2.5
CONFIG = NetworkConfig(
    48,
    52,
    encoder_rf=7,
    decoder_rf=9,
    sigma=0.8,
    support=SUPPORT,
    objects=2,
    colours=3,
    channels=6,
    background=BackgroundMode.LAYERED,
)


def random_network(entries: int, seed: int, temperature: float = CONFIG.temperature) -> Autoencoder:
    """Weights and batch-norm statistics of which none is at its initial value."""
    model = new_network(replace(CONFIG, appearance=entries, temperature=temperature), seed).double().eval()
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.state_dict().items():
        if value.is_floating_point():
            noise = 0.1 * torch.randn(value.shape, generator=generator, dtype=value.dtype)
            value.add_(noise.abs() if name.endswith("running_var") else noise)
    return model


def random_codes(model: Autoencoder, seed: int, count: int = 1) -> Tensor:
    shape = (count, model.config.objects, model.config.appearance)
    return 2 * torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) - 1


@pytest.mark.parametrize("mode", BackgroundMode)
def test_without_entries_the_network_is_the_paper_s_to_the_last_bit(mode: BackgroundMode) -> None:
    config = replace(CONFIG, background=mode)
    model = new_network(config, 5)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        background = build_background(mode, (config.height, config.width), config.colours)
        encoder = CNN(config.colours, config.objects, config.encoder_rf, config.channels)
        decoder = CNN(config.objects + background.input_maps, background.output_maps, config.decoder_rf, 6)
        if isinstance(background, LayeredBackground):
            background.start_faint(decoder)
    parts = {"background": background, "encoder": encoder, "decoder": decoder}
    expected = {f"{part}.{name}": value for part, own in parts.items() for name, value in own.state_dict().items()}
    found = model.state_dict()
    assert list(found) == list(expected)
    assert all(found[name].equal(value) for name, value in expected.items())
    images = torch.rand(2, 3, 48, 52, generator=torch.Generator().manual_seed(0))
    assert model.heatmaps(images).equal(encoder(images))
    assert model.latents(images).codes.shape == (2, 2, 0)


@pytest.mark.parametrize("entries", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_code_all_that_is_rendered_lies_within_the_decoder_s_reach_of_z(entries: int, seed: int) -> None:
    model = random_network(entries, seed)
    positions = torch.tensor([[[20.3, 22.8], [31.6, 25.1]]], dtype=torch.float64)
    nothing = torch.zeros(1, 2, dtype=torch.bool)
    empty = model.decode(positions, present=nothing)
    reach = model.config.decoder_rf // 2 + SUPPORT
    x, y = torch.arange(52) + 0.5, torch.arange(48) + 0.5
    for index in range(2):
        near_x, near_y = ((axis - at).abs() <= reach for axis, at in zip((x, y), positions[0, index], strict=True))
        near = near_y[:, None] & near_x
        only = nothing.clone()
        only[0, index] = True
        one, other = (
            (model.decode(positions, present=only, codes=random_codes(model, own)) - empty)[0] for own in (seed, 9)
        )
        assert one[:, ~near].abs().max() < 1e-12
        assert other[:, ~near].abs().max() < 1e-12
        assert (one - other)[:, near].abs().max() > 1e-9  # and the code does change what is rendered


@pytest.mark.parametrize("entries", [1, 3])
@pytest.mark.parametrize("shift", [(3, 0), (0, 4), (-5, 2)])
def test_a_shifted_object_shifts_z_and_its_rendering_and_keeps_its_code(entries: int, shift: tuple[int, int]) -> None:
    model, (right, down) = random_network(entries, 1, temperature=1e-5), shift  # read at the object alone
    cast(LayeredBackground, model.background).still.fill_(0.4)
    patch = torch.rand(3, 6, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)

    def image(top: int, left: int) -> Tensor:
        pixels = torch.zeros(1, 3, 48, 52, dtype=torch.float64)  # even, as what is beyond the border
        pixels[:, :, top : top + 6, left : left + 5] = 1 + patch
        return pixels

    before, after = (model.latents(image(20 + dy, 22 + dx)) for dx, dy in ((0, 0), (right, down)))
    moved = torch.tensor([right, down], dtype=torch.float64)
    assert (after.positions - before.positions - moved).abs().max() < 1e-6
    assert (after.codes - before.codes).abs().max() < 1e-6
    first, second = (model.decode(latents.positions, codes=latents.codes) for latents in (before, after))
    assert (second - torch.roll(first, (down, right), (-2, -1))).abs().max() < 1e-6


def test_codes_stay_within_their_range() -> None:
    model = random_network(3, 0)
    last_filter(model.encoder).weight.data[2:] *= 1e4
    codes = model.latents(torch.rand(4, 3, 48, 52, dtype=torch.float64)).codes
    assert codes.shape == (4, 2, 3)
    assert codes.abs().max() <= 1


def test_an_absent_object_contributes_nothing_whatever_its_code() -> None:
    model = random_network(2, 0)
    positions = torch.tensor([[[20.3, 22.8], [24.6, 25.1]]], dtype=torch.float64)
    present = torch.tensor([[True, False]])
    one, other = (random_codes(model, seed) for seed in (0, 1))
    other[0, 0] = one[0, 0]
    assert model.decode(positions, present=present, codes=one).equal(model.decode(positions, None, present, other))
    found = dense(sparse_decoder_maps(model, positions, present, other))
    assert (found - model.decoder_maps(positions, None, present, one)).abs().max() < 1e-9


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("objects", [1, 3])
def test_sparse_codes_and_gradients_are_the_dense_ones(objects: int, training: bool) -> None:
    background, images = textured_scene(objects)
    model = make_model(BackgroundMode.POSITIONAL, objects, SUPPORT, appearance=2).train(training)
    twin = copy.deepcopy(model)
    latents, (found, _) = model.latents(images), sparse_latents(twin, sparse_heatmaps(twin, background, images))
    assert (found.positions - latents.positions).abs().max() < 1e-9
    assert (found.codes - latents.codes).abs().max() < 1e-9
    for one in (latents, found):
        (one.codes * torch.arange(1, 3)).sum().backward()
    for own, other in zip(model.encoder.parameters(), twin.encoder.parameters(), strict=True):
        assert own.grad is not None
        assert other.grad is not None
        assert (own.grad - other.grad).abs().max() < 1e-8


@pytest.mark.parametrize("mode", [BackgroundMode.POSITIONAL, BackgroundMode.LAYERED, BackgroundMode.PERSPECTIVE])
@pytest.mark.parametrize("objects", [1, 3])
def test_the_sparse_decoder_renders_codes_as_the_dense_one(mode: BackgroundMode, objects: int) -> None:
    model = make_model(mode, objects, SUPPORT, appearance=2).eval()
    positions = torch.rand(5, objects, 2, dtype=torch.float64) * torch.tensor([WIDTH, HEIGHT])
    codes = random_codes(model, 0, 5)
    assert (
        dense(sparse_decoder_maps(model, positions, None, codes)) - model.decoder_maps(positions, codes=codes)
    ).abs().max() < 1e-9


@pytest.mark.parametrize("mode", [BackgroundMode.POSITIONAL, BackgroundMode.LAYERED, BackgroundMode.PERSPECTIVE])
def test_a_network_that_gets_a_code_renders_what_it_did(mode: BackgroundMode) -> None:
    model = make_model(mode, 2, SUPPORT).eval()
    wider = with_appearance(model, 3, seed=1)
    images = torch.rand(2, 2, HEIGHT, WIDTH, dtype=torch.float64)
    assert wider.config == replace(model.config, appearance=3)
    assert wider.latents(images).codes.abs().max() > 0  # else no gradient would reach the decoder's filters for it
    assert (wider(images).positions - model(images).positions).abs().max() < 1e-12
    assert (wider(images).images - model(images).images).abs().max() < 1e-12
    assert not wider.training
    first = wider.state_dict()["decoder.0.weight"]
    assert first[:, 2:8].abs().max() == 0
    again = with_appearance(model, 3, seed=1).state_dict()
    assert all(again[name].equal(value) for name, value in wider.state_dict().items())
    with pytest.raises(InputError, match="already"):
        with_appearance(wider, 2, seed=1)


def test_a_code_needs_a_gaussian_with_a_compact_support() -> None:
    with pytest.raises(InputError, match=r"give the Gaussian a support, such as 3.2 px"):
        replace(CONFIG, support=None, appearance=2)
    with pytest.raises(InputError, match="0 or more"):
        replace(CONFIG, appearance=-1)
