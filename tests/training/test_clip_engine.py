"""Whole pictures and windows give the same numbers."""

import copy

import numpy as np
import pytest
import torch

from withinpx.data import scenes
from withinpx.discovery.background import fixed_background
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode
from withinpx.model.foreground import foreground_only
from withinpx.training.clip_engine import WholeEngine, clip_engine
from withinpx.training.engine import SparseEngine
from withinpx.training.scene import Scene

FRAMES, HEIGHT, WIDTH = 6, 40, 48
MADE = scenes.three_things(frames=FRAMES, width=WIDTH, height=HEIGHT)
CHOSEN = torch.tensor([4, 0, 3, 1])


def engines(mode: BackgroundMode) -> tuple[SparseEngine, WholeEngine]:
    """Both, in double precision, of twins, over frames in which three things move, one of them sometimes gone."""
    images = (MADE.clip.frames / 255).astype(np.float32)
    backdrop = fixed_background(images)
    changed = torch.from_numpy(backdrop.changed(images))
    shown = torch.from_numpy(images).permute(0, 3, 1, 2).double()
    behind = torch.from_numpy(backdrop.images).permute(0, 3, 1, 2).double()
    config = NetworkConfig(HEIGHT, WIDTH, 5, 7, 0.8, 1.6, objects=3, colours=3, channels=6, background=mode)
    model = new_network(config, 0).double().train()
    model.background.still.copy_(behind[0])  # type: ignore[operator]
    twin = copy.deepcopy(model)
    present = torch.ones(FRAMES, 3, dtype=torch.bool)
    present[1, 2] = False
    sparse = SparseEngine(model, Scene.of_foreground(shown, changed, behind, model), 0.1, present)
    scene = Scene.of_foreground(shown, changed, behind, twin)
    return sparse, WholeEngine(twin, scene, foreground_only(shown, changed), 0.1, present)


def gradients(model: Autoencoder) -> torch.Tensor:
    return torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])


def centres() -> torch.Tensor:
    """Beside the things, in a corner where nothing changed, and unknown."""
    places = torch.from_numpy(MADE.truth).double() + 0.7
    places[0, 0], places[3, 1] = torch.tensor([0.5, 0.5]), torch.nan
    return places


@pytest.mark.parametrize("mode", [BackgroundMode.LAYERED, BackgroundMode.PERSPECTIVE])
@pytest.mark.parametrize("what", ["redraw", "redraw, held", "decoder_loss", "look"])
def test_losses_and_gradients_are_equal(mode: BackgroundMode, what: str) -> None:
    both = engines(mode)
    losses = []
    for engine in both:
        if what == "look":
            loss = engine.heatmap_loss(CHOSEN, centres()[CHOSEN], 0.5)
        elif what == "decoder_loss":
            loss = engine.decoder_loss(CHOSEN, centres()[CHOSEN])
        else:
            engine.centre_loss = (centres(), 0.3) if what.endswith("held") else None
            loss, accuracy = engine.reconstruct(CHOSEN, CHOSEN)
            losses.append(accuracy)
        loss.backward()
        losses.append(loss.detach())
    half = len(losses) // 2
    for one, other in zip(losses[:half], losses[half:], strict=True):
        assert one.double().item() == pytest.approx(other.double().item(), rel=1e-6)
    one, other = (gradients(engine.model) for engine in both)
    assert (one - other).abs().max() < 1e-8 * one.abs().max()
    if what.startswith("redraw") and what != "decoder_loss":
        assert torch.allclose(both[0].latest_z[CHOSEN], both[1].latest_z[CHOSEN], atol=1e-8)


def test_without_a_gpu_windows_are_used() -> None:
    sparse, _ = engines(BackgroundMode.LAYERED)
    scene = sparse.scene
    changed = (scene.images != scene.backgrounds).any(dim=1)
    engine = clip_engine(sparse.model, scene.images, changed, scene.backgrounds, torch.ones(FRAMES, 3).bool())
    assert type(engine) is SparseEngine
