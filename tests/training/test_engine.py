"""Both engines give the same numbers, and the sparse one is chosen where it is faster."""

import copy

import pytest
import torch
from torch import Tensor

from withinpx.data.squares import Squares
from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.model.background import BackgroundMode
from withinpx.training.engine import DenseEngine, SparseEngine, choose_engine
from withinpx.training.fit import CPU, prepare_model, recompute_batch_norm
from withinpx.training.scene import Scene


def textured_squares() -> Tensor:
    """Squares over a textured background."""
    squares = torch.from_numpy(Squares(object_size=5, padding=3, image_size=24).train().images).double()
    texture = torch.rand(1, 24, 24, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return torch.where(squares > 0, 1.5 * squares, texture)


def engines(mode: BackgroundMode) -> tuple[DenseEngine, SparseEngine]:
    torch.manual_seed(0)
    config = NetworkConfig(24, 24, encoder_rf=5, decoder_rf=7, sigma=0.8, channels=6, background=mode)
    model, images = prepare_model(Autoencoder(config).double(), textured_squares(), CPU)
    twin = copy.deepcopy(model)
    return DenseEngine(model, images), SparseEngine(twin, Scene.of(images, twin))


def assert_same_gradients(one: Autoencoder, other: Autoencoder) -> None:
    for (name, expected), found in zip(one.named_parameters(), other.parameters(), strict=True):
        if expected.grad is not None:
            assert found.grad is not None, name
            assert (expected.grad - found.grad).abs().max() < 1e-9 * (1 + expected.grad.abs().max()), name


@pytest.mark.parametrize("mode", [BackgroundMode.POSITIONAL, BackgroundMode.LAYERED])
def test_loss_accuracy_and_gradients_are_equal(mode: BackgroundMode) -> None:
    dense, sparse = engines(mode)
    chosen = torch.tensor([5, 80, 3, 44, 45, 100])
    expected, accuracy = dense.reconstruct(chosen, chosen)
    found, found_accuracy = sparse.reconstruct(chosen, chosen)
    assert found.item() == pytest.approx(expected.item(), abs=1e-9)
    assert found_accuracy.item() == pytest.approx(accuracy.item(), abs=1e-6)
    expected.backward()
    found.backward()
    assert_same_gradients(dense.model, sparse.model)


def test_the_warm_start_s_loss_is_equal() -> None:
    dense, sparse = engines(BackgroundMode.POSITIONAL)
    chosen = torch.tensor([5, 80, 3])
    squares = dense.images[chosen][:, 0] > 1
    centres = torch.stack([square.nonzero().double().mean(dim=0).flip(0) + 0.5 for square in squares]).unsqueeze(1)
    expected, found = (engine.heatmap_loss(chosen, centres, 0.5) for engine in (dense, sparse))
    assert found.item() == pytest.approx(expected.item(), abs=1e-9)


def test_the_recomputed_batch_norm_statistics_are_equal() -> None:
    dense, sparse = engines(BackgroundMode.POSITIONAL)
    for engine in (dense, sparse):
        recompute_batch_norm([engine], len(dense.images), batch_size=50)
    for (name, expected), found in zip(dense.model.named_buffers(), sparse.model.buffers(), strict=True):
        assert (expected - found).abs().max() < 1e-9, name


def test_noise_below_its_level_is_background() -> None:
    model = Autoencoder(NetworkConfig(24, 24, encoder_rf=5, decoder_rf=7, sigma=0.8, channels=6))
    images = textured_squares().float()
    noisy = images + 0.01 * (torch.rand(images.shape, generator=torch.Generator().manual_seed(1)) - 0.5)
    assert Scene.of(noisy, model).share > 0.9
    quiet = Scene.of(noisy, model, noise=0.02)
    assert quiet.share < 0.25
    assert (quiet.images - noisy).abs().max() <= 0.02


def test_the_sparse_engine_is_chosen_only_where_few_pixels_change() -> None:
    images = torch.from_numpy(Squares(object_size=5, padding=8, image_size=40).train().images)
    model = Autoencoder(NetworkConfig(40, 40, encoder_rf=5, decoder_rf=7, sigma=0.8, channels=6))
    assert isinstance(choose_engine(model, images), SparseEngine)
    assert isinstance(choose_engine(model, images, dense=True), DenseEngine)
    assert isinstance(choose_engine(model, torch.rand(20, 1, 40, 40)), DenseEngine)
    nearby = Autoencoder(
        NetworkConfig(40, 40, encoder_rf=5, decoder_rf=7, sigma=0.8, channels=6, background=BackgroundMode.NEARBY)
    )
    assert isinstance(choose_engine(nearby, images), DenseEngine)


def test_a_centre_where_nothing_changed_has_no_effect() -> None:
    _, sparse = engines(BackgroundMode.POSITIONAL)
    chosen = torch.tensor([5, 80, 3])
    known = torch.tensor([[[8.0, 8.0]], [[9.5, 14.0]], [[12.0, 6.0]]], dtype=torch.float64)
    off = known.clone()
    off[1] = 1e3  # far from every window
    missing = known.clone()
    missing[1] = torch.nan
    lost, unknown = (sparse.heatmap_loss(chosen, centres, 0.5) for centres in (off, missing))
    assert lost.item() == unknown.item()
    lost.backward()
    assert all(weight.grad.isfinite().all() for weight in sparse.model.encoder.parameters() if weight.grad is not None)


@pytest.mark.parametrize(("padding", "identical"), [(4, True), (3, False)])
def test_identical_windows_are_computed_once_out_of_the_border_s_reach(padding: int, identical: bool) -> None:
    torch.manual_seed(0)
    images = torch.from_numpy(Squares(object_size=5, padding=padding, image_size=24).train().images).double()
    model = Autoencoder(NetworkConfig(24, 24, encoder_rf=5, decoder_rf=7, sigma=0.8, channels=6)).double()
    sparse = SparseEngine(copy.deepcopy(model), Scene.of(images, model))
    assert sparse.scene.identical == identical
    dense, chosen = DenseEngine(model, images), torch.tensor([5, 80, 3, 44])
    losses = [engine.reconstruct(chosen, chosen)[0] for engine in (dense, sparse)]
    assert losses[1].item() == pytest.approx(losses[0].item(), abs=1e-9)
    for loss in losses:
        loss.backward()
    assert_same_gradients(dense.model, sparse.model)
    for (name, expected), found in zip(dense.model.named_buffers(), sparse.model.buffers(), strict=True):
        assert (expected - found).abs().max() < 1e-9, name


def test_the_background_may_be_given_where_the_median_shows_the_object() -> None:
    images = torch.from_numpy(Squares(object_size=9, padding=7, image_size=28).train().images).double()
    assert images.median(dim=0).values.max() == 1  # six positions only: the middle is nearly always covered
    model = Autoencoder(NetworkConfig(28, 28, encoder_rf=5, decoder_rf=9, sigma=0.8, channels=6)).double()
    black = torch.zeros_like(images[0])
    engine = choose_engine(model, images, background=black)
    assert isinstance(engine, SparseEngine)
    assert engine.scene.identical
    chosen = torch.tensor([0, 7, 20])
    expected = DenseEngine(copy.deepcopy(model), images).reconstruct(chosen, chosen)[0]
    assert engine.reconstruct(chosen, chosen)[0].item() == pytest.approx(expected.item(), abs=1e-9)
