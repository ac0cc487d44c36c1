"""On footage, whose encoder sees only changed pixels, the dense and the sparse engine give the same numbers."""

import copy

import numpy as np
import pytest
import torch

from withinpx.data import scenes
from withinpx.discovery.fixed_camera import fixed_background
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode
from withinpx.training.clip_engine import TOLERANCE, clip_engine
from withinpx.training.engine import DenseEngine, Engine, SparseEngine
from withinpx.training.fit import FitSettings, learn
from withinpx.training.losses import LOST_PX, layer_errors
from withinpx.training.recipe import Recipe
from withinpx.training.scene import Scene

FRAMES, HEIGHT, WIDTH = 6, 40, 48
MADE = scenes.three_objects(frames=FRAMES, width=WIDTH, height=HEIGHT)
CHOSEN = torch.tensor([4, 0, 3, 1])


def engines(
    mode: BackgroundMode, one_background: bool = True, weighted: bool = False
) -> tuple[SparseEngine, DenseEngine]:
    """In double precision, of copies of one network, over frames of three moving objects, one of them once absent.

    If ``weighted``, errors of changed pixels count three times.
    """
    frames = (MADE.clip.frames / 255).astype(np.float32)
    background = fixed_background(MADE.clip.frames)
    changed = torch.from_numpy(background.changed(frames))
    images = torch.from_numpy(frames).permute(0, 3, 1, 2).double()
    backgrounds = torch.from_numpy(background.images).permute(0, 3, 1, 2).double()
    if not one_background:
        backgrounds = backgrounds + torch.linspace(0, 0.02, FRAMES).view(-1, 1, 1, 1)
    config = NetworkConfig(HEIGHT, WIDTH, 5, 7, 0.8, 1.6, objects=3, colours=3, channels=6, background=mode)
    model = new_network(config, 0).double().train()
    model.background.still.copy_(backgrounds[0])  # type: ignore[operator]
    twin = copy.deepcopy(model)
    present = torch.ones(FRAMES, 3, dtype=torch.bool)
    present[1, 2] = False
    own = 1.0 + 2.0 * changed.unsqueeze(1).double() if weighted else None
    sparse = SparseEngine(model, Scene.of_foreground(images, changed, backgrounds, model, own), TOLERANCE, present)
    dense = DenseEngine.of_foreground(
        twin, images, changed, backgrounds, tolerance=TOLERANCE, present=present, weights=own
    )
    return sparse, dense


def gradients(model: Autoencoder) -> torch.Tensor:
    return torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])


def centres() -> torch.Tensor:
    """Beside the objects; one in a corner where nothing changed, one unknown."""
    positions = torch.from_numpy(MADE.truth).double() + 0.7
    positions[0, 0], positions[3, 1] = torch.tensor([0.5, 0.5]), torch.nan
    return positions


def losses(engine: Engine, what: str) -> list[torch.Tensor]:
    """The loss, and the accuracy if there is one."""
    if what == "heatmaps":
        return [engine.heatmap_loss(CHOSEN, centres()[CHOSEN], 0.5)]
    engine.shows_change = "layer" in what
    if "decoder" in what:
        return [engine.decoder_loss(CHOSEN, centres()[CHOSEN])]
    engine.centre_loss = (centres(), 0.3) if what.endswith("centre loss") else None
    if what.endswith("lost heatmaps"):
        engine.centre_loss, engine.lost_weight = (centres(), 0.0), 0.3
    return list(engine.reconstruct(CHOSEN, CHOSEN))


@pytest.mark.parametrize("one_background", [True, False], ids=["one background", "a background per frame"])
@pytest.mark.parametrize("mode", [BackgroundMode.LAYERED, BackgroundMode.PERSPECTIVE])
@pytest.mark.parametrize(
    "what",
    [
        "reconstruction",
        "weighted reconstruction",
        "reconstruction, centre loss",
        "reconstruction, lost heatmaps",
        "decoder",
        "decoder's layer",
        "weighted decoder's layer",
        "heatmaps",
    ],
)
def test_losses_and_gradients_are_equal(mode: BackgroundMode, what: str, one_background: bool) -> None:
    both = engines(mode, one_background, weighted=what.startswith("weighted"))
    sparse, dense = (losses(engine, what) for engine in both)
    for one, other in zip(sparse, dense, strict=True):
        assert one.double().item() == pytest.approx(other.double().item(), rel=1e-6)
    for values in (sparse, dense):
        values[0].backward()
    one, other = (gradients(engine.model) for engine in both)
    assert (one - other).abs().max() < 1e-8 * one.abs().max()
    if "reconstruction" in what:
        assert torch.allclose(both[0].latest_z[CHOSEN], both[1].latest_z[CHOSEN], atol=1e-8)


def test_weights_count_in_the_loss_and_not_in_the_accuracy() -> None:
    (plain, _), (weighted, _) = (engines(BackgroundMode.LAYERED, weighted=weighted) for weighted in (False, True))
    one, other = (losses(engine, "reconstruction") for engine in (plain, weighted))
    assert other[0].item() > one[0].item() + 1e-6
    assert one[1] == other[1]


def test_only_heatmaps_that_are_not_at_their_object_are_drawn_to_it() -> None:
    engine, _ = engines(BackgroundMode.LAYERED)
    plain = losses(engine, "reconstruction")[0]
    row, column = (engine.scene.images != engine.scene.backgrounds)[0].any(dim=0).nonzero()[0]
    wanted = torch.full((FRAMES, 3, 2), torch.nan, dtype=torch.float64)
    wanted[0, 0] = torch.stack([column, row]) + 0.5
    assert (engine.latest_z[0, 0] - wanted[0, 0]).abs().max() > LOST_PX
    engine.centre_loss, engine.lost_weight = (wanted, 0.0), 0.3
    assert engine.reconstruct(CHOSEN, CHOSEN)[0].item() > plain.item() + 0.1
    wanted[0, 0] += (engine.latest_z[0, 0] - wanted[0, 0]) * 0.99
    assert torch.equal(engine.reconstruct(CHOSEN, CHOSEN)[0], plain)


def test_heatmaps_targets_and_backgrounds_are_equal() -> None:
    sparse, dense = engines(BackgroundMode.LAYERED, one_background=False)
    assert (sparse.heatmaps(CHOSEN) - dense.heatmaps(CHOSEN)).abs().max() < 1e-9
    assert torch.equal(sparse.images, dense.images)
    one, other = sparse.backgrounds_of(CHOSEN), dense.backgrounds_of(CHOSEN)
    assert one is not None and other is not None
    assert torch.equal(one, other)


def test_both_learn_the_same() -> None:
    """With warm start, centre loss and restarts."""
    recipe = Recipe("small", 4, 3, 1e-3, warm_start_steps=3, centre_loss_weight=0.3, restart_at=(0.5,))
    both = engines(BackgroundMode.LAYERED)
    for engine in both:
        learn(engine, FRAMES, centres(), recipe, seed=0, settings=FitSettings())
    for (name, one), other in zip(both[0].model.named_parameters(), both[1].model.parameters(), strict=True):
        if name != "encoder.12.bias":  # the softargmax does not depend on it
            assert (one - other).abs().max() < 1e-6 * (1 + one.abs().max()), name


def test_without_a_gpu_the_sparse_engine_is_used() -> None:
    sparse, _ = engines(BackgroundMode.LAYERED)
    scene = sparse.scene
    changed = (scene.images != scene.backgrounds).any(dim=1)
    engine = clip_engine(sparse.model, scene.images, changed, scene.backgrounds, torch.ones(FRAMES, 3).bool())
    assert type(engine) is SparseEngine
    assert engine.shows_change


def test_a_layer_is_taught_its_colours_where_it_is_transparent_and_its_opacity_where_they_are_wrong() -> None:
    still, image = torch.full((1, 1, 1, 2), 0.2), torch.tensor([[[[0.2, 0.9]]]])
    maps = torch.tensor([[[[-30.0, -30.0]], [[0.0, -1.0]]]], requires_grad=True)  # transparent, and too dark
    (transparent,) = torch.autograd.grad(layer_errors(maps, still, image).sum(), maps)
    assert transparent[0, 0].flatten().tolist() == pytest.approx([0, -1], abs=1e-6)
    assert transparent[0, 1, 0, 0] == 0
    assert transparent[0, 1, 0, 1] < -0.1
    right = torch.tensor([[[[-30.0, 30.0]], [[0.0, 2.1972246]]]])
    assert layer_errors(right, still, image).max() < 1e-6
