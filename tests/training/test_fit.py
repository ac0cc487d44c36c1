"""Training learns, is repeatable, and can be interrupted at any moment."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.faults.small import SQUARES, CrashAfter, CrashError
from withinpx.errors import InputError
from withinpx.experiments.synthetic import SquaresRun, evaluate, train
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import BackgroundMode
from withinpx.training.checkpoint import CHECKPOINT
from withinpx.training.fit import FitSettings, batches
from withinpx.training.log import read_log
from withinpx.training.recipe import PAPER


def same_weights(one: Autoencoder, other: Autoencoder) -> bool:
    theirs = other.state_dict()
    return all(torch.equal(value, theirs[name]) for name, value in one.state_dict().items())


def test_a_square_is_learned(tiny_run: SquaresRun) -> None:
    """In 160 small steps: about fifteen seconds on two cores."""
    found = evaluate(train(replace(tiny_run, seed=1), FitSettings()), replace(tiny_run, seed=1))
    assert found.accepted
    assert found.within_bound
    assert found.calibrated_error < 0.25


def test_the_paper_s_recipe_is_the_paper_s() -> None:
    assert (PAPER.epochs, PAPER.batch_size, PAPER.learning_rate, PAPER.warm_start_steps) == (500, 128, 1e-3, 0)
    assert not PAPER.stop_when_converged


def test_a_seed_gives_the_same_weights_again_and_another_seed_others() -> None:
    assert same_weights(train(SQUARES, FitSettings()), train(SQUARES, FitSettings()))
    assert not same_weights(train(SQUARES, FitSettings()), train(replace(SQUARES, seed=1), FitSettings()))


@pytest.mark.parametrize("stop_after", [1, 4, 5])
@pytest.mark.parametrize("warm_start_steps", [0, 3])
def test_a_resumed_run_ends_with_bit_identical_weights(tmp_path: Path, stop_after: int, warm_start_steps: int) -> None:
    run = replace(SQUARES, recipe=replace(SQUARES.recipe, warm_start_steps=warm_start_steps))
    whole = train(run, FitSettings())
    with pytest.raises(CrashError):
        train(run, FitSettings(folder=tmp_path, checkpoint_every_s=0, callbacks=(CrashAfter(stop_after),)))
    resumed = train(run, FitSettings(folder=tmp_path))
    assert same_weights(whole, resumed)
    assert [epoch.epoch for epoch in read_log(tmp_path)] == [1, 2, 3, 4, 5, 6]


def test_every_epoch_is_one_json_line(tmp_path: Path) -> None:
    train(SQUARES, FitSettings(folder=tmp_path))
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert all(set(line) == {"epoch", "loss", "reconstruction_accuracy", "elapsed_s"} for line in lines)


def test_a_corrupt_checkpoint_is_reported(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_bytes(b"not a checkpoint")
    with pytest.raises(InputError, match="cannot be read"):
        train(SQUARES, FitSettings(folder=tmp_path))


def test_a_nan_loss_stops_the_training(tmp_path: Path) -> None:
    run = replace(SQUARES, recipe=replace(SQUARES.recipe, learning_rate=1e30))
    with pytest.raises(InputError, match="smaller learning rate"):
        train(run, FitSettings(folder=tmp_path, checkpoint_every_s=0))


def test_an_epoch_has_every_image_at_most_once_in_batches_of_one_size() -> None:
    images = torch.zeros(50, 1, 2, 2)
    chosen = [batch for batch, _ in batches(len(images), 16, seed=0, epoch=1)]
    assert [len(batch) for batch in chosen] == [16, 16, 16]
    assert len(torch.cat(chosen).unique()) == 48
    assert [len(batch) for batch, _ in batches(len(images), 128, seed=0, epoch=1)] == [50]


def test_a_nearby_frame_is_near_and_never_the_frame_itself() -> None:
    for chosen, nearby in batches(50, 50, seed=0, epoch=1):
        distance = (chosen - nearby).abs()
        assert distance.min() >= 1
        assert distance.max() <= 10


def test_a_layered_network_learns_too(tiny_run: SquaresRun) -> None:
    run = replace(tiny_run, background=BackgroundMode.LAYERED)
    found = evaluate(train(run, FitSettings()), run)
    assert found.accepted
    assert found.within_bound
    assert found.calibrated_error < 0.25


@pytest.mark.parametrize(("incomplete", "sizes"), [("dropped", [4, 4]), ("kept", [4, 4, 3])])
def test_images_that_do_not_fill_a_batch_are_dropped_or_kept(incomplete: Any, sizes: list[int]) -> None:
    found = list(batches(11, 4, 0, 1, incomplete=incomplete))
    assert [batch.shape[1] for batch in found] == sizes
    images = torch.cat([batch[0] for batch in found]).tolist()
    assert len(set(images)) == sum(sizes)
    first = torch.cat([batch[0] for batch in batches(11, 4, 0, 1)]).tolist()
    assert images[: len(first)] == first  # the same order either way


@pytest.mark.parametrize("incomplete", ["dropped", "kept"])
def test_fewer_images_than_a_batch_are_one_batch(incomplete: Any) -> None:
    assert [batch.shape[1] for batch in batches(3, 4, 0, 1, incomplete=incomplete)] == [3]
