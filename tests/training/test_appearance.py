"""A network with an appearance code learns an object that changes its appearance."""

import copy

import pytest
import torch

from tests.training.turning import bar_engine, loss_of, new_bar_network, trained, turning_bar
from withinpx.model.autoencoder import with_appearance
from withinpx.training.clip_engine import clip_engine
from withinpx.training.engine import DenseEngine, Engine

pytestmark = pytest.mark.usefixtures("alone")
EVERYTHING = torch.arange(16)


def test_a_blinking_bar_is_rendered_better_with_a_code_than_after_longer_training() -> None:
    clip = turning_bar(20, turns=0, blinks=3.5)
    rigid = trained(new_bar_network(), clip, 25, warm=True)
    wider = with_appearance(rigid, 2, seed=1)
    assert loss_of(wider, clip) == pytest.approx(loss_of(rigid, clip), rel=1e-3)
    longer = trained(copy.deepcopy(rigid), clip, 40, warm=False)
    wider = trained(wider, clip, 25, warm=False)
    assert loss_of(wider, clip) < 0.7 * loss_of(longer, clip)


def losses(engine: Engine, penalty: float) -> float:
    engine.code_penalty = penalty
    return engine.reconstruct(EVERYTHING, EVERYTHING)[0].item()


def test_codes_are_penalised_where_an_object_is_present() -> None:
    engine = bar_engine(new_bar_network(appearance=2).eval(), turning_bar(16))
    assert engine.present is not None
    engine.present[8:] = False
    codes = engine.latents(EVERYTHING).codes
    assert losses(engine, 0.5) - losses(engine, 0.0) == pytest.approx(0.5 * (codes[:8] ** 2).mean().item(), rel=1e-3)
    engine.model = new_bar_network().eval()
    assert losses(engine, 0.5) == losses(engine, 0.0)  # there is nothing to penalise


@pytest.mark.parametrize("training", [True, False])
def test_both_engines_have_the_same_loss_and_codes(training: bool) -> None:
    model, clip = new_bar_network(appearance=3).double().train(training), turning_bar(16)
    frames = torch.from_numpy(clip.frames).permute(0, 3, 1, 2).double() / 255
    backgrounds = torch.from_numpy(clip.background.images).permute(0, 3, 1, 2).double()
    changed = torch.from_numpy(clip.background.changed(clip.frames))
    present = torch.ones(16, 1, dtype=torch.bool)
    dense = DenseEngine.of_foreground(model, frames, changed, backgrounds, tolerance=0.1, present=present)
    sparse = clip_engine(copy.deepcopy(model), frames, changed, backgrounds, present)
    for engine in (sparse, dense):
        engine.code_penalty = 0.1
    (one, two), (other, other_codes) = (
        (engine.reconstruct(EVERYTHING, EVERYTHING)[0], engine.latents(EVERYTHING).codes) for engine in (sparse, dense)
    )
    assert one.item() == pytest.approx(other.item(), rel=1e-7)
    assert (two - other_codes).abs().max() < 1e-6
    assert sparse.heatmaps(EVERYTHING).shape == dense.heatmaps(EVERYTHING).shape == (16, 1, 40, 48)
