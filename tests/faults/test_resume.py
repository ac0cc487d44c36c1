"""A training that was stopped and goes on ends as if nothing had happened, to the last bit."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.faults.small import QUICK_CLIP, SQUARES, TRACK, CrashAfter, CrashError, quick, small_clip
from tests.faults.torture import Torture
from tests.tracked_clip import one_thread
from withinpx.errors import StoppedError
from withinpx.experiments import central, videos
from withinpx.experiments.synthetic import SquaresRun, train
from withinpx.model.background import BackgroundMode
from withinpx.model.foreground import foreground_only
from withinpx.tracking import attempt
from withinpx.tracking.track import track
from withinpx.training import convergence
from withinpx.training.callback import Callback
from withinpx.training.clip_engine import TOLERANCE, WholeEngine
from withinpx.training.engine import Engine
from withinpx.training.fit import FitSettings
from withinpx.training.log import read_log
from withinpx.training.scene import Scene

ROW = "resume"
WHEN = ("seconds", "date")  # columns of a sweep that say when a run was, not what came of it

RECIPES = {
    "paper's": SQUARES.recipe,
    "warm start": replace(SQUARES.recipe, warm_start_steps=3, jitter_px=0.5),
    "until learned": replace(SQUARES.recipe, epochs=12, batch_size=24, warm_start_steps=3, stop_when_converged=True),
    "clip's": replace(QUICK_CLIP, epochs=10, batch_size=16, restart_at=(0.2, 0.5, 0.7)),
}
FITS = [
    (recipe, background, engine)
    for recipe in RECIPES
    for background in BackgroundMode
    for engine in ("sparse", "dense")
    if (background, engine) != (BackgroundMode.NEARBY, "sparse")  # which there is not
]
IN_SHORT = [
    (BackgroundMode.POSITIONAL, "sparse"),
    (BackgroundMode.NEARBY, "dense"),
    (BackgroundMode.LAYERED, "dense"),
    (BackgroundMode.PERSPECTIVE, "sparse"),
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One thread; whoever asks whether a network has learned finds that it has, at its second look."""
    monkeypatch.setattr(convergence, "RIGHT", 0.0)
    monkeypatch.setattr(convergence, "STEADY_PX", 100.0)
    monkeypatch.setattr(convergence, "STEPS", 3)
    with one_thread(), quick():
        yield


def weights(run: SquaresRun, settings: FitSettings) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in train(run, settings).state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


def stopped_after(epochs: int) -> Callable[[], bool]:
    """Asked after every epoch: yes after so many."""
    left = iter([False] * (epochs - 1) + [True])
    return lambda: next(left)


@pytest.mark.parametrize(("recipe", "background", "engine"), FITS)
def test_a_fit_stopped_twice_is_the_uninterrupted_one(
    tmp_path: Path, torture: Torture, recipe: str, background: BackgroundMode, engine: str
) -> None:
    """Stopped with a checkpoint, then broken off later without one, then finished."""
    if not torture.full and (background, engine) not in IN_SHORT:
        pytest.skip("in full only")
    run = replace(SQUARES, background=background, recipe=RECIPES[recipe])
    dense = engine == "dense"
    (tmp_path / "whole").mkdir()
    whole = weights(run, FitSettings(folder=tmp_path / "whole", dense=dense))
    epochs = len(read_log(tmp_path / "whole"))
    assert (epochs < run.recipe.epochs) == run.recipe.stop_when_converged
    for first in range(1, epochs) if torture.full else [epochs // 2]:
        settings = FitSettings(folder=tmp_path / f"{first}", dense=dense)
        (tmp_path / f"{first}").mkdir()
        with pytest.raises(StoppedError):
            train(run, replace(settings, stop=stopped_after(first)))
        if first < epochs - 1:
            with pytest.raises(CrashError):
                train(run, replace(settings, callbacks=(CrashAfter(epochs - 1),)))
        assert same(weights(run, settings), whole), first
        assert [each.epoch for each in read_log(tmp_path / f"{first}")] == list(range(1, epochs + 1))
        assert same(weights(run, settings), whole), "of a training that was over"
        torture.count(ROW, fits=1, identical=1)


class Beginning(Callback):
    """Where each picture's object was last seen when a training begins or goes on; its engine."""

    def on_start(self, engine: Engine, seed: int) -> None:
        self.engine, self.latest_z = engine, engine.latest_z.clone()


def test_where_objects_were_last_seen_is_not_forgotten(tmp_path: Path, torture: Torture) -> None:
    """By that it is told which are lost; a picture may wait for several epochs to be seen again."""
    first, second = Beginning(), Beginning()
    settings = FitSettings(folder=tmp_path, callbacks=(first,), stop=stopped_after(2))
    with pytest.raises(StoppedError):
        train(SQUARES, settings)
    train(SQUARES, replace(settings, callbacks=(second,), stop=None))
    assert first.engine.latest_z.isfinite().any()
    assert torch.equal(first.engine.latest_z.nan_to_num(-1), second.latest_z.nan_to_num(-1))
    torture.count(ROW, identical=1)


def whole_engine(model, images, changed, backgrounds, present):  # type: ignore[no-untyped-def]
    """What a GPU uses for small pictures."""
    scene = Scene.of_foreground(images, changed, backgrounds, model)
    return WholeEngine(model, scene, foreground_only(images, changed), TOLERANCE, present)


def content(folder: Path) -> dict[str, bytes]:
    """Every file, without the times in the log."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    lines = [json.loads(line) for line in files.pop("log.jsonl").splitlines()]
    files["log.jsonl"] = json.dumps([{**line, "elapsed_s": 0} for line in lines]).encode()
    return files


@pytest.mark.parametrize("background", ["layered", "perspective", "nearby"])
@pytest.mark.parametrize("engine", ["sparse", "whole"])
def test_a_track_stopped_twice_is_the_uninterrupted_one(
    tmp_path: Path, torture: Torture, monkeypatch: pytest.MonkeyPatch, background: str, engine: str
) -> None:
    """The detector, the certificate, the tables and the pictures, byte for byte."""
    if not torture.full and (background, engine) != ("layered", "sparse"):
        pytest.skip("in full only")
    if engine == "whole":
        monkeypatch.setattr(attempt, "clip_engine", whole_engine)
    asked = replace(TRACK, wishes=replace(TRACK.wishes, background=background))
    clip = small_clip(tmp_path / "clip")
    settings = FitSettings()
    track(clip, tmp_path / "whole", asked, settings)
    whole = content(tmp_path / "whole")
    epochs = len(read_log(tmp_path / "whole"))
    for first in range(1, epochs) if torture.full else [4]:
        out = tmp_path / f"{first}"
        with pytest.raises(StoppedError):
            track(clip, out, asked, replace(settings, stop=stopped_after(first)))
        with pytest.raises(CrashError):
            track(clip, out, asked, replace(settings, callbacks=(CrashAfter(epochs),)), resume=True)
        track(clip, out, asked, settings, resume=True)
        assert content(out) == whole, first
        torture.count(ROW, tracks=1, identical=1)


def test_an_experiment_on_a_clip_goes_on_with_the_same_command(
    tmp_path: Path, torture: Torture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not torture.full:
        pytest.skip("in full only")
    monkeypatch.setattr(videos, "TrackSettings", lambda: TRACK)
    clip, out = small_clip(tmp_path / "clip"), tmp_path / "out"
    said: list[str] = []

    def reproduce(*callbacks: Callback) -> dict[str, Any]:
        return videos.reproduce_video(
            clip, None, out, origin=0, settings=FitSettings(callbacks=callbacks), say=said.append
        )

    with pytest.raises(CrashError):
        reproduce(CrashAfter(3))
    found = reproduce()
    whole = content(out)
    assert reproduce(CrashAfter(1)) == found  # which trains nothing
    again = content(out)
    assert again.keys() == whole.keys()
    assert [name for name in whole if again[name] != whole[name]] in ([], ["superimposed.png"])  # by rounded positions
    torture.count(ROW, identical=1)


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "runs.csv").open(newline="", encoding="utf-8") as file:
        return [{name: value for name, value in row.items() if name not in WHEN} for row in csv.DictReader(file)]


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "together"])
def test_a_sweep_stopped_after_any_run_is_the_uninterrupted_one(
    tmp_path: Path, torture: Torture, together: bool
) -> None:
    recipe, settings, seeds = replace(SQUARES.recipe, epochs=3), FitSettings(), 2
    done: list[str] = []
    summaries = central.run_central(tmp_path / "whole", recipe, seeds, settings, done.append, together=together)
    whole = rows(tmp_path / "whole")
    assert len(done) == len(whole) == 2 * seeds

    def stop_after(runs: int) -> Callable[[str], None]:
        left = iter(range(runs - 1, -1, -1))

        def told(row: str) -> None:
            if next(left) == 0:
                raise CrashError

        return told

    for runs in range(1, 2 * seeds) if torture.full else [2]:
        out = tmp_path / f"{runs}"
        with pytest.raises(CrashError):
            central.run_central(out, recipe, seeds, settings, stop_after(runs), together=together)
        assert rows(out) == [row for row in whole if row in rows(out)]
        assert len(rows(out)) == runs
        again: list[str] = []
        assert central.run_central(out, recipe, seeds, settings, again.append, together=together) == summaries
        assert rows(out) == whole
        assert len(again) == 2 * seeds - runs, "a finished run was done again"
        torture.count(ROW, sweeps=1, identical=1)
