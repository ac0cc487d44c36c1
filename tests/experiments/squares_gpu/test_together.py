"""Networks trained together learn exactly what each learns alone."""

from dataclasses import replace

import pytest
import torch

from withinpx import InputError
from withinpx.data.squares import Squares
from withinpx.experiments.squares_gpu import engines_for, fit_together
from withinpx.model.autoencoder import NetworkConfig, new_network
from withinpx.model.background import BackgroundMode
from withinpx.training.convergence import Convergence
from withinpx.training.engine import SparseEngine
from withinpx.training.fit import CPU, DEFAULTS, fit
from withinpx.training.recipe import CLIP, PAPER, WARM

SEEDS = (3, 0, 7)
IMAGES = torch.from_numpy(Squares(object_size=5, padding=6, image_size=28).train().images)
CONFIG = NetworkConfig(28, 28, encoder_rf=5, decoder_rf=7, sigma=0.8, channels=6)


@pytest.mark.parametrize("mode", [BackgroundMode.POSITIONAL, BackgroundMode.LAYERED])
@pytest.mark.parametrize(
    "recipe",
    [replace(PAPER, epochs=2, batch_size=32), replace(WARM, epochs=3, batch_size=32, warm_start_steps=6)],
    ids=["paper", "warm, which may stop early"],
)
def test_weights_are_the_same_to_the_last_bit(recipe, mode) -> None:  # type: ignore[no-untyped-def]
    config = replace(CONFIG, background=mode)
    together = [new_network(config, seed) for seed in SEEDS]
    fit_together(together, IMAGES, recipe, SEEDS)
    for seed, found in zip(SEEDS, together, strict=True):
        alone = fit(new_network(config, seed), IMAGES, recipe, seed)
        for name, expected in alone.state_dict().items():
            assert torch.equal(found.state_dict()[name], expected), (seed, name)


def test_trained_beyond_convergence_they_pass_their_stopping_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = replace(PAPER, epochs=4, batch_size=32)
    monkeypatch.setattr(Convergence, "is_over", lambda _, epochs: len(epochs) >= 2)
    stopped, continued = ([new_network(CONFIG, seed) for seed in SEEDS] for _ in range(2))
    logs = fit_together(stopped, IMAGES, recipe, SEEDS)
    then: dict[int, dict[str, torch.Tensor]] = {}

    def remember(index: int, epoch: int) -> None:
        assert (index not in then, epoch) == (True, 2)
        then[index] = {name: value.clone() for name, value in continued[index].named_parameters()}

    longer = fit_together(continued, IMAGES, recipe, SEEDS, when_learned=remember)
    assert [len(log.epochs) for log in (*logs, *longer)] == [2, 2, 2, 4, 4, 4]
    for index, model in enumerate(stopped):
        for name, value in model.named_parameters():
            assert torch.equal(then[index][name], value), (index, name)


def test_all_share_one_scene() -> None:
    engines = engines_for([new_network(CONFIG, seed) for seed in SEEDS], IMAGES.to(CPU), DEFAULTS)
    scenes = [engine.scene for engine in engines if isinstance(engine, SparseEngine)]
    assert len(scenes) == len(SEEDS)
    assert all(scene is scenes[0] for scene in scenes)
    assert scenes[0].one_per_image


def test_a_recipe_with_a_schedule_is_refused() -> None:
    with pytest.raises(InputError, match="one by one"):
        fit_together([new_network(CONFIG, 0)], IMAGES, CLIP, (0,))
