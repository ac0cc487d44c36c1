"""A loss that is not finite: training stops within a step, keeps its last good checkpoint, and says what to try."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isfinite, isinf, nan
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from safetensors import safe_open

from tests.faults.small import (
    SQUARES,
    TRACK_COMMAND,
    is_equal,
    quick,
    refused_command,
    run_command,
    small_clip,
    trained_weights,
)
from tests.faults.torture import Torture
from tests.tracked_clip import one_thread
from withinpx.cli import main
from withinpx.errors import BrokenTrainingError
from withinpx.experiments import fig4_training
from withinpx.experiments.fig4 import Setting
from withinpx.experiments.synthetic import SquaresRun, evaluate, train, train_together
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import BackgroundMode
from withinpx.tracking.detector import Detector
from withinpx.training.checkpoint import CHECKPOINT
from withinpx.training.engine import DenseEngine, SparseEngine
from withinpx.training.fit import FitSettings
from withinpx.training.log import read_log

ROW = "broken loss"
Victim = Literal["loss", "batch", "weight", "gradient"]
STEPS_PER_EPOCH, WARM = 3, 4
RUN = replace(SQUARES, recipe=replace(SQUARES.recipe, epochs=4, batch_size=9))  # 27 images
WARM_RUN = replace(RUN, recipe=replace(RUN.recipe, warm_start_steps=WARM))
LAST = RUN.recipe.epochs * STEPS_PER_EPOCH
HINTS = ("Training broke", "Try another seed or a smaller learning rate", "the last good checkpoint is kept")


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    with one_thread(), quick():
        yield


@dataclass
class Poison:
    """Makes a value non-finite in the n-th step of training, or of the warm start, for one kind of engine."""

    victim: Victim
    value: float
    at: int
    kind: type[DenseEngine] | type[SparseEngine]
    method: str = "reconstruct"  # or heatmap_loss
    only: int | None = None  # index of the network, if several are trained together
    always: bool = False  # in every later step as well
    calls: int = 0  # steps so far
    order: dict[int, int] = field(default_factory=dict)  # index of each engine, by its first step

    @contextmanager
    def given(self) -> Iterator["Poison"]:
        original = getattr(self.kind, self.method)

        def poisoned(engine: Any, chosen: torch.Tensor, *others: Any) -> Any:
            index = self.order.setdefault(id(engine), len(self.order))
            if not engine.model.training or self.only not in (None, index):
                return original(engine, chosen, *others)
            self.calls += 1
            now = self.calls == self.at or (self.always and self.calls > self.at)
            if now:
                self._before(engine, chosen)
            answer = original(engine, chosen, *others)
            return self._after(engine, answer) if now else answer

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.kind, self.method, poisoned)
            yield self

    def _before(self, engine: Any, chosen: torch.Tensor) -> None:
        if self.victim == "weight":
            with torch.no_grad():
                next(engine.model.encoder.parameters()).view(-1)[0] = self.value
        if self.victim == "batch":
            engine.images = engine.images.clone()
            engine.images[chosen[0], 0, 0, 0] = self.value

    def _after(self, engine: Any, answer: Any) -> Any:
        if self.victim == "gradient":
            weight = next(engine.model.encoder.parameters())
            hook = weight.register_hook(lambda gradient: gradient * self.value)
            weight.register_post_accumulate_grad_hook(lambda _: hook.remove())
        if self.victim != "loss":
            return answer
        return answer * self.value if self.method == "heatmap_loss" else (answer[0] * self.value, answer[1])


def poisoned_steps(torture: Torture, last: int) -> list[int]:
    """All steps, or in the short form the last of the first epoch and the very last."""
    return list(range(1, last + 1)) if torture.full else [STEPS_PER_EPOCH, last]


def is_finite(model: Autoencoder) -> bool:
    return all(bool(value.isfinite().all()) for value in model.state_dict().values())


def check_kept(folder: Path, epochs: int) -> None:
    """The checkpoint is that of the last good epoch; it and the log are finite."""
    assert all(isfinite(epoch.loss) for epoch in read_log(folder))
    if not epochs:
        assert not (folder / CHECKPOINT).exists()
        return
    with safe_open(folder / CHECKPOINT, framework="pt") as file:
        assert int(file.metadata()["epoch"]) == epochs
        for name in file.keys():  # noqa: SIM118
            assert name.startswith("seen.") or file.get_tensor(name).isfinite().all(), name


@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize("victim", ["loss", "weight", "gradient", "batch"])
@pytest.mark.parametrize("kind", [SparseEngine, DenseEngine])
def test_training_stops_within_a_step_and_resumes_from_the_last_good_epoch(
    tmp_path: Path, torture: Torture, kind: Any, victim: Victim, value: float
) -> None:
    torture.skip_in_short(isinf(value))
    if victim == "batch" and kind is SparseEngine:
        pytest.skip("windows are cut out before training: there is no image to poison")
    whole = trained_weights(RUN, FitSettings(dense=kind is DenseEngine))
    for at in poisoned_steps(torture, LAST):
        folder = tmp_path / f"{at}"
        folder.mkdir()
        settings = FitSettings(dense=kind is DenseEngine, folder=folder, checkpoint_every_s=0)
        with Poison(victim, value, at, kind).given() as poison, pytest.raises(BrokenTrainingError) as raised:
            train(RUN, settings)
        assert poison.calls <= at + (victim == "gradient"), "training did not stop"
        assert all(hint in str(raised.value) for hint in HINTS)
        assert "\n" not in str(raised.value)
        check_kept(folder, (at - 1) // STEPS_PER_EPOCH)
        assert is_equal(whole, trained_weights(RUN, settings))
        torture.count(ROW, poisoned=1, stopped_within_a_step=1, resumed=1)


@pytest.mark.parametrize("value", [nan, inf])
@pytest.mark.parametrize("victim", ["loss", "weight", "gradient"])
@pytest.mark.parametrize("kind", [SparseEngine, DenseEngine])
def test_the_warm_start_stops_within_a_step(torture: Torture, kind: Any, victim: Victim, value: float) -> None:
    torture.skip_in_short(isinf(value))
    run = replace(WARM_RUN, background=BackgroundMode.LAYERED) if kind is SparseEngine else WARM_RUN
    for at in range(1, WARM + 1, torture.of(WARM - 1, 1)):
        poison = Poison(victim, value, at, kind, method="heatmap_loss")
        with poison.given(), pytest.raises(BrokenTrainingError, match="Training broke"):
            train(run, FitSettings(dense=kind is DenseEngine))
        assert poison.calls <= at + (victim == "gradient"), "the warm start did not stop"
        torture.count(ROW, poisoned=1, stopped_within_a_step=1)


@pytest.mark.parametrize("victim", ["loss", "weight", "gradient"])
def test_one_broken_network_does_not_affect_those_trained_together_with_it(torture: Torture, victim: Victim) -> None:
    runs = [replace(RUN, seed=seed) for seed in range(3)]
    alone = [trained_weights(run, FitSettings()) for run in runs]
    for at in poisoned_steps(torture, LAST)[: torture.of(1, LAST)]:
        with Poison(victim, nan, at, SparseEngine, only=1).given():
            models, logs = train_together(runs, FitSettings())
        for index in (0, 2):
            assert is_equal(models[index].state_dict(), alone[index])
        assert all(isfinite(epoch.loss) for log in (logs[0], logs[2]) for epoch in log.epochs)
        losses = [epoch.loss for epoch in logs[1].epochs]
        assert all(map(isfinite, losses[:-1]))
        found = at + (victim == "gradient")  # the step in which it shows
        if found <= LAST:
            assert not isfinite(losses[-1])
            assert len(losses) == (found - 1) // STEPS_PER_EPOCH + 1, "its training did not stop"
        if victim == "loss":
            assert is_finite(models[1]), "a step was taken along a gradient that is not finite"
        assert not evaluate(models[1], runs[1]).accepted
        torture.count(ROW, poisoned=1, stopped_within_an_epoch=1)


def test_a_sweep_starts_a_broken_network_again(torture: Torture, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting("a", encoder_rf=3, decoder_rf=5, object_size=3, sigma=0.8)
    monkeypatch.setattr(fig4_training, "SquaresRun", partial(SquaresRun, image_size=16, channels=4))
    monkeypatch.setattr(fig4_training, "WARM", WARM_RUN.recipe)
    with Poison("gradient", nan, 2, SparseEngine, only=0).given() as poison:
        (row,) = fig4_training.train_setting(setting, (0,), 3, "cpu", "quick")
    assert poison.calls >= 2
    assert row["start"] != "random"
    assert isfinite(row["position_error"])
    torture.count(ROW, poisoned=1, begun_again=1)


def test_fit_says_what_to_try_and_resumes(tmp_path: Path, torture: Torture, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    fit = "fit squares --encoder-rf 3 --decoder-rf 5 --object-size 3 --image-size 16 --epochs 3 --device cpu --out"
    with Poison("loss", nan, 2, SparseEngine).given():
        message = refused_command(capsys, *fit.split(), out)[-1]
    assert message.startswith("withinpx: Training broke in epoch 2: the loss is nan.")
    assert all(hint in message for hint in HINTS)
    assert not (out / "detector.json").exists()
    main([*fit.split(), str(out), "--resume"])
    main(["evaluate", str(out)])
    torture.count(ROW, commands=1, resumed=1)


def test_track_tries_another_seed_and_stops_after_three(
    tmp_path: Path, torture: Torture, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = small_clip(tmp_path / "clip")
    with Poison("weight", nan, 3, SparseEngine).given():
        run_command(["track", str(clip), "--out", str(tmp_path / "out"), "--no-overlay", *TRACK_COMMAND.split()])
    assert "seed 0: Training broke in epoch 2" in capsys.readouterr().err
    assert is_finite(Detector.load(tmp_path / "out").model)
    with Poison("loss", nan, 1, SparseEngine, always=True).given() as poison:
        message = refused_command(capsys, "track", clip, "--out", tmp_path / "other", *TRACK_COMMAND.split())[-1]
    assert poison.calls == 3, "one step of each seed"
    assert all(hint in message for hint in HINTS)
    torture.count(ROW, commands=2)
