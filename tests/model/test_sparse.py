"""Run only where something changed, the network gives what it gives when it is run everywhere."""

import copy

import pytest
import torch
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder, NetworkConfig
from withinpx.model.background import BackgroundMode
from withinpx.model.field import Base, Field, Patch, dense_maps, maps_in
from withinpx.model.softargmax import softargmax
from withinpx.model.sparse import first_layer_reach, sparse_cnn, sparse_decode, sparse_decoder_maps, sparse_softargmax
from withinpx.model.windows import Windows, changed_boxes, crop_images, group_windows, joined

HEIGHT, WIDTH = 26, 30


def make_model(mode: BackgroundMode, objects: int, support: float | None) -> Autoencoder:
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
    )
    model = Autoencoder(config).double()
    for parameter in model.parameters():  # codes, biases, scales: nothing stays at its tidy initial value
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def scene(objects: int) -> tuple[Tensor, Tensor]:
    """A textured background and pictures with objects anywhere: apart, touching, at the border, in a corner."""
    generator = torch.Generator().manual_seed(2)
    background = torch.rand(2, HEIGHT, WIDTH, generator=generator, dtype=torch.float64)
    images = background.repeat(6, 1, 1, 1)
    for image in images:
        for _ in range(objects):
            top, left = (
                int(torch.randint(-1, HEIGHT - 2, (), generator=generator)),
                int(torch.randint(-1, WIDTH - 2, (), generator=generator)),
            )
            here = image[:, max(top, 0) : top + 4, max(left, 0) : left + 3]
            here += 0.5 + torch.rand(here.shape, generator=generator, dtype=torch.float64)
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
    """The field written out."""
    maps = field.base.spread().repeat(field.pictures, 1, 1, 1)
    height, width = field.size
    for patch in field.patches:
        rows, columns = patch.windows.rows(), patch.windows.columns()
        for index, picture in enumerate(patch.windows.picture):
            down = (rows[index] >= 0) & (rows[index] < height)
            right = (columns[index] >= 0) & (columns[index] < width)
            value = patch.values[index][:, down][:, :, right]
            maps[picture, :, rows[index][down][:, None], columns[index][right][None]] = value
    return maps


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("objects", [1, 2, 4])
def test_the_encoder_s_heatmaps_and_positions_are_the_dense_ones(objects: int, training: bool) -> None:
    background, images = scene(objects)
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
def test_what_the_decoder_draws_is_the_dense_picture(
    mode: BackgroundMode, objects: int, support: float | None, training: bool
) -> None:
    model = make_model(mode, objects, support).train(training)
    positions = torch.rand(5, objects, 2, dtype=torch.float64) * torch.tensor([WIDTH, HEIGHT])
    positions[0, 0] = torch.tensor([0.3, HEIGHT - 0.2])  # a corner
    field = sparse_decode(copy.deepcopy(model), positions)
    assert (dense(field) - model.decode(positions)).abs().max() < 1e-9


@pytest.mark.parametrize("objects", [1, 3])
def test_the_gradients_and_running_statistics_are_the_dense_ones(objects: int) -> None:
    background, images = scene(objects)
    model = make_model(BackgroundMode.POSITIONAL, objects, 2.5).train()
    twin = copy.deepcopy(model)
    weights = torch.rand_like(images)
    positions, drawn = model(images)
    (drawn * weights).sum().backward()
    found, _ = sparse_softargmax(sparse_heatmaps(twin, background, images), twin.config.temperature)
    (dense(sparse_decode(twin, found)) * weights).sum().backward()
    assert (found - positions).abs().max() < 1e-9
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


def test_boxes_at_the_same_place_are_joined_and_not_lost() -> None:
    box = (3, 4, 9, 10)
    assert joined([box, box], gap=2) == [box]
    assert joined([box, (30, 30, 32, 32), box], gap=2) == [box, (30, 30, 32, 32)]


@pytest.mark.parametrize("objects", [1, 3])
def test_a_window_shows_what_the_whole_map_shows_there(objects: int) -> None:
    model = make_model(BackgroundMode.LAYERED, objects, 2.5).eval()
    positions = torch.rand(6, objects, 2, dtype=torch.float64) * torch.tensor([WIDTH, HEIGHT])
    drawn = sparse_decoder_maps(model, positions)
    pictures = torch.arange(6).repeat_interleave(2)
    windows = Windows(pictures, torch.randint(-3, HEIGHT - 8, (12,)), torch.randint(-3, WIDTH - 8, (12,)), 11, 9)
    inside = windows.inside((HEIGHT, WIDTH))
    assert inside is not None
    expected = crop_images(dense_maps(drawn), windows)
    assert ((maps_in(drawn, windows) - expected) * inside).abs().max() == 0
