"""Sparse execution gives what the network gives when every pixel is computed."""

import copy

import pytest
import torch
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.model.background import BackgroundMode, LayeredBackground
from withinpx.model.field import Base, Field, Patch, dense_maps, maps_in
from withinpx.model.softargmax import softargmax
from withinpx.model.sparse import first_layer_reach, sparse_cnn, sparse_decoder_maps, sparse_softargmax
from withinpx.model.windows import Windows, changed_boxes, crop_images, group_windows, joined

HEIGHT, WIDTH = 26, 30


def make_model(mode: BackgroundMode, objects: int, support: float | None, appearance: int = 0) -> Autoencoder:
    torch.manual_seed(1)
    config = NetworkConfig(
        HEIGHT,
        WIDTH,
        encoder_rf=7,
        decoder_rf=9,
        sigma=0.8,
        support=support,
        objects=objects,
        colours=2,
        channels=6,
        temperature=0.5,
        background=mode,
        appearance=appearance,
    )
    model = Autoencoder(config).double()
    for parameter in model.parameters():  # codes, biases, scales: nothing stays at its initial value
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def textured_scene(objects: int) -> tuple[Tensor, Tensor]:
    """A textured background and images with objects anywhere: apart, touching, at the border, in a corner."""
    generator = torch.Generator().manual_seed(2)
    background = torch.rand(2, HEIGHT, WIDTH, generator=generator, dtype=torch.float64)
    images = background.repeat(6, 1, 1, 1)
    for image in images:
        for _ in range(objects):
            top, left = (
                int(torch.randint(-1, HEIGHT - 2, (), generator=generator)),
                int(torch.randint(-1, WIDTH - 2, (), generator=generator)),
            )
            patch = image[:, max(top, 0) : top + 4, max(left, 0) : left + 3]
            patch += 0.5 + torch.rand(patch.shape, generator=generator, dtype=torch.float64)
    images[0, :, :3, :3] += 1  # a corner
    return background, images


def sparse_heatmaps(model: Autoencoder, background: Tensor, images: Tensor) -> Field:
    boxes = [changed_boxes((image != background).any(dim=0)) for image in images]
    patches = []
    for windows in group_windows(boxes, 2 * (model.config.encoder_rf // 2), torch.device("cpu")):
        wider = windows.grown(first_layer_reach(model.encoder))
        patches.append(Patch(wider, crop_images(images, wider)))
    return sparse_cnn(model.encoder, Field(len(images), Base.whole(background.unsqueeze(0)), patches))


def dense(field: Field) -> Tensor:
    """The field in full, window by window: the reference for ``dense_maps``, and differentiable."""
    maps = field.base.full().repeat(field.count, 1, 1, 1)
    height, width = field.size
    for patch in field.patches:
        rows, columns = patch.windows.rows(), patch.windows.columns()
        for index, image in enumerate(patch.windows.image):
            down = (rows[index] >= 0) & (rows[index] < height)
            right = (columns[index] >= 0) & (columns[index] < width)
            value = patch.values[index][:, down][:, :, right]
            maps[image, :, rows[index][down][:, None], columns[index][right][None]] = value
    return maps


def sparse_images(model: Autoencoder, positions: Tensor) -> Tensor:
    maps = dense(sparse_decoder_maps(model, positions))
    still = getattr(model.background, "still", None)
    return maps if still is None else LayeredBackground.over(maps, still.unsqueeze(0))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("objects", [1, 2, 4])
def test_the_encoder_s_heatmaps_and_positions_are_the_dense_ones(objects: int, training: bool) -> None:
    background, images = textured_scene(objects)
    model = make_model(BackgroundMode.POSITIONAL, objects, None).train(training)
    field = sparse_heatmaps(copy.deepcopy(model), background, images)
    heatmaps = model.heatmaps(images)
    assert (dense(field) - heatmaps).abs().max() < 1e-9
    positions, log_mass = sparse_softargmax(field, model.config.temperature)
    assert (positions - softargmax(heatmaps, model.config.temperature)).abs().max() < 1e-9
    expected = (heatmaps / model.config.temperature).flatten(start_dim=-2).logsumexp(dim=-1)
    assert (log_mass - expected).abs().max() < 1e-9


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mode", [BackgroundMode.POSITIONAL, BackgroundMode.LAYERED])
@pytest.mark.parametrize(("objects", "support"), [(1, None), (1, 2.5), (3, 2.5), (3, None)])
def test_the_decoder_s_images_are_the_dense_ones(
    mode: BackgroundMode, objects: int, support: float | None, training: bool
) -> None:
    model = make_model(mode, objects, support).train(training)
    positions = torch.rand(5, objects, 2, dtype=torch.float64) * torch.tensor([WIDTH, HEIGHT])
    positions[0, 0] = torch.tensor([0.3, HEIGHT - 0.2])  # a corner
    assert (sparse_images(copy.deepcopy(model), positions) - model.decode(positions)).abs().max() < 1e-9


@pytest.mark.parametrize("objects", [1, 3])
def test_the_gradients_and_running_statistics_are_the_dense_ones(objects: int) -> None:
    background, images = textured_scene(objects)
    model = make_model(BackgroundMode.POSITIONAL, objects, 2.5).train()
    twin = copy.deepcopy(model)
    weights = torch.rand_like(images)
    positions, rendered = model(images)
    (rendered * weights).sum().backward()
    found, _ = sparse_softargmax(sparse_heatmaps(twin, background, images), twin.config.temperature)
    (sparse_images(twin, found) * weights).sum().backward()
    assert (found - positions).abs().max() < 1e-9
    for (name, one), other in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert one.grad is not None and other.grad is not None
        assert (one.grad - other.grad).abs().max() < 1e-9 * (1 + one.grad.abs().max()), name
    for (name, expected), buffer in zip(model.named_buffers(), twin.buffers(), strict=True):
        assert (expected - buffer).abs().max() < 1e-9, name


@pytest.mark.parametrize(("encoder_rf", "decoder_rf"), [(33, 37), (43, 63), (65, 41)])
def test_dilated_filters_give_the_dense_maps_gradients_and_running_statistics(encoder_rf: int, decoder_rf: int) -> None:
    """Two objects in a frame: near enough for one window, too far for that, and at the border."""
    config = NetworkConfig(
        70,
        150,
        encoder_rf,
        decoder_rf,
        sigma=0.8,
        support=2.5,
        objects=2,
        channels=3,
        temperature=0.5,
        background=BackgroundMode.LAYERED,
    )
    torch.manual_seed(4)
    model = Autoencoder(config).double().train()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    background = torch.rand(1, 70, 150, dtype=torch.float64)
    images = background.repeat(3, 1, 1, 1)
    for image, (x, y) in zip(
        (0, 0, 1, 1, 2, 2), ((10, 30), (30, 35), (12, 20), (130, 50), (0, 66), (146, 0)), strict=True
    ):
        images[image, :, y : y + 4, x : x + 5] += 1
    twin = copy.deepcopy(model)
    heatmaps, field = model.heatmaps(images), sparse_heatmaps(twin, background, images)
    assert (dense(field) - heatmaps).abs().max() < 1e-9
    positions = torch.tensor([[[12.2, 32.1], [33.0, 37.4]], [[14.5, 22.3], [132.1, 52.0]], [[0.4, 69.1], [149.0, 1.0]]])
    rendered, found = model.decode(positions.double()), sparse_images(twin, positions.double())
    assert (rendered - found).abs().max() < 1e-9
    for maps, images_of in ((heatmaps, rendered), (dense(field), found)):
        ((maps**2).sum() + (images_of**2).sum()).backward()
    for (name, one), other in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert one.grad is not None and other.grad is not None
        assert (one.grad - other.grad).abs().max() < 1e-9 * (1 + one.grad.abs().max()), name
    for (name, expected), buffer in zip(model.named_buffers(), twin.buffers(), strict=True):
        assert (expected - buffer).abs().max() < 1e-9, name


def test_boxes_are_joined_until_none_are_near() -> None:
    boxes = [(0, 0, 2, 2), (0, 6, 2, 8), (0, 3, 2, 5), (20, 20, 22, 22)]
    assert joined(boxes, gap=1) == [(0, 0, 2, 8), (20, 20, 22, 22)]
    assert joined(boxes, gap=0) == boxes
    assert joined(boxes, gap=12) == [(0, 0, 2, 8), (20, 20, 22, 22)]
    assert joined(boxes, gap=18) == [(0, 0, 22, 22)]


def test_identical_boxes_are_joined_and_not_lost() -> None:
    box = (3, 4, 9, 10)
    assert joined([box, box], gap=2) == [box]
    assert joined([box, (30, 30, 32, 32), box], gap=2) == [box, (30, 30, 32, 32)]


@pytest.mark.parametrize("objects", [1, 3])
def test_a_window_of_a_field_equals_the_crop_of_the_dense_maps(objects: int) -> None:
    model = make_model(BackgroundMode.LAYERED, objects, 2.5).eval()
    positions = torch.rand(6, objects, 2, dtype=torch.float64) * torch.tensor([WIDTH, HEIGHT])
    field = sparse_decoder_maps(model, positions)
    image = torch.arange(6).repeat_interleave(2)
    windows = Windows(image, torch.randint(-3, HEIGHT - 8, (12,)), torch.randint(-3, WIDTH - 8, (12,)), 11, 9)
    inside = windows.inside((HEIGHT, WIDTH))
    assert inside is not None
    assert torch.equal(dense_maps(field), dense(field))
    expected = crop_images(dense_maps(field), windows)
    assert ((maps_in(field, windows) - expected) * inside).abs().max() == 0
