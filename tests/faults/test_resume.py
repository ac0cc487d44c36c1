"""A training that was stopped and resumed equals the uninterrupted one, to the last bit."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.faults.output_files import contents, timeless_log, timeless_rows, timeless_run
from tests.faults.small import (
    QUICK_CLIP,
    SQUARES,
    TRACK,
    CrashAfter,
    CrashError,
    is_equal,
    quick,
    small_clip,
    trained_weights,
)
from tests.faults.torture import Torture
from tests.tracked_clip import one_thread
from withinpx.errors import StoppedError
from withinpx.experiments import videos
from withinpx.experiments.central import CentralExperiment
from withinpx.experiments.sweep import run_experiment
from withinpx.experiments.synthetic import train
from withinpx.jobs.job import Job, JobCallback
from withinpx.jobs.local import LocalEngine
from withinpx.model.background import BackgroundMode
from withinpx.tracking import attempt
from withinpx.tracking.track import track
from withinpx.training import convergence
from withinpx.training.callback import Callback
from withinpx.training.clip_engine import TOLERANCE
from withinpx.training.engine import DenseEngine, Engine
from withinpx.training.fit import FitSettings
from withinpx.training.log import read_log

ROW = "resume"

RECIPES = {
    "paper's": SQUARES.recipe,
    "warm start": replace(SQUARES.recipe, warm_start_steps=3, jitter_px=0.5),
    "until converged": replace(SQUARES.recipe, epochs=12, batch_size=24, warm_start_steps=3, stop_when_converged=True),
    "clip's": replace(QUICK_CLIP, epochs=10, batch_size=16, restart_at=(0.2, 0.5, 0.7)),
}
FITS = [
    (recipe, background, engine)
    for recipe in RECIPES
    for background in BackgroundMode
    for engine in ("sparse", "dense")
    if (background, engine) != (BackgroundMode.NEARBY, "sparse")  # which does not exist
]
IN_SHORT = [
    (BackgroundMode.POSITIONAL, "sparse"),
    (BackgroundMode.NEARBY, "dense"),
    (BackgroundMode.LAYERED, "dense"),
    (BackgroundMode.PERSPECTIVE, "sparse"),
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One thread; every run converges at its second test for convergence."""
    monkeypatch.setattr(convergence, "CONVERGED_ACCURACY", 0.0)
    monkeypatch.setattr(convergence, "CONVERGED_PX", 100.0)
    monkeypatch.setattr(convergence, "CHECK_STEPS", 3)
    with one_thread(), quick():
        yield


def stop_after(epochs: int) -> Callable[[], bool]:
    """For ``FitSettings.stop``, which is called after every epoch: true after so many."""
    answers = iter([False] * (epochs - 1) + [True])
    return lambda: next(answers)


@pytest.mark.parametrize(("recipe", "background", "engine"), FITS)
def test_a_fit_stopped_twice_equals_the_uninterrupted_one(
    tmp_path: Path, torture: Torture, recipe: str, background: BackgroundMode, engine: str
) -> None:
    """Stopped with a checkpoint, then crashed later without one, then finished."""
    torture.skip_in_short((background, engine) not in IN_SHORT)
    run = replace(SQUARES, background=background, recipe=RECIPES[recipe])
    dense = engine == "dense"
    (tmp_path / "whole").mkdir()
    whole = trained_weights(run, FitSettings(folder=tmp_path / "whole", dense=dense))
    epochs = len(read_log(tmp_path / "whole"))
    assert (epochs < run.recipe.epochs) == run.recipe.stop_when_converged
    for first in range(1, epochs) if torture.full else [epochs // 2]:
        settings = FitSettings(folder=tmp_path / f"{first}", dense=dense)
        (tmp_path / f"{first}").mkdir()
        with pytest.raises(StoppedError):
            train(run, replace(settings, stop=stop_after(first)))
        if first < epochs - 1:
            with pytest.raises(CrashError):
                train(run, replace(settings, callbacks=(CrashAfter(epochs - 1),)))
        assert is_equal(trained_weights(run, settings), whole), first
        assert [logged.epoch for logged in read_log(tmp_path / f"{first}")] == list(range(1, epochs + 1))
        assert is_equal(trained_weights(run, settings), whole), "resuming a finished training changes nothing"
        torture.count(ROW, fits=1, identical=1)


class RecordStart(Callback):
    """The engine at the start of a training, and the latest z of each image at that time."""

    def on_start(self, engine: Engine, seed: int) -> None:
        self.engine, self.latest_z = engine, engine.latest_z.clone()


def test_the_latest_positions_are_kept(tmp_path: Path, torture: Torture) -> None:
    """They decide which heatmaps lost their object; an image may not be used again for several epochs."""
    first, second = RecordStart(), RecordStart()
    settings = FitSettings(folder=tmp_path, callbacks=(first,), stop=stop_after(2))
    with pytest.raises(StoppedError):
        train(SQUARES, settings)
    train(SQUARES, replace(settings, callbacks=(second,), stop=None))
    assert first.engine.latest_z.isfinite().any()
    assert torch.equal(first.engine.latest_z.nan_to_num(-1), second.latest_z.nan_to_num(-1))
    torture.count(ROW, identical=1)


def dense_engine(model, images, changed, backgrounds, present):  # type: ignore[no-untyped-def]
    """The engine that a GPU uses for small images."""
    return DenseEngine.of_foreground(model, images, changed, backgrounds, tolerance=TOLERANCE, present=present)


def timeless_contents(folder: Path) -> dict[str, object]:
    """Every file, without the times in the log and of the attempts."""
    files = contents(folder)
    return {**files, "log.jsonl": timeless_log(files["log.jsonl"]), "run.json": timeless_run(files["run.json"])}


@pytest.mark.parametrize("background", ["layered", "perspective", "nearby"])
@pytest.mark.parametrize("engine", ["sparse", "dense"])
def test_a_track_stopped_twice_equals_the_uninterrupted_one(
    tmp_path: Path, torture: Torture, monkeypatch: pytest.MonkeyPatch, background: str, engine: str
) -> None:
    """The detector, the certificate, the tables and the images, byte for byte."""
    torture.skip_in_short((background, engine) != ("layered", "sparse"))
    if engine == "dense":
        monkeypatch.setattr(attempt, "clip_engine", dense_engine)
    options: Any = replace(TRACK, background=background)  # type: ignore[arg-type]
    clip = small_clip(tmp_path / "clip")
    settings = FitSettings()
    run = partial(track, clip, options, progress=False)
    run(out=tmp_path / "whole", settings=settings)
    whole = timeless_contents(tmp_path / "whole")
    epochs = len(read_log(tmp_path / "whole"))
    for first in range(1, epochs) if torture.full else [4]:
        out = tmp_path / f"{first}"
        with pytest.raises(StoppedError):
            run(out=out, settings=replace(settings, stop=stop_after(first)))
        with pytest.raises(CrashError):
            run(out=out, settings=replace(settings, callbacks=(CrashAfter(epochs),)), resume=True)
        run(out=out, settings=settings, resume=True)
        assert timeless_contents(out) == whole, first
        torture.count(ROW, tracks=1, identical=1)


def test_an_experiment_on_a_clip_resumes_with_the_same_command(
    tmp_path: Path, torture: Torture, monkeypatch: pytest.MonkeyPatch
) -> None:
    torture.skip_in_short()
    monkeypatch.setattr(videos, "OPTIONS", TRACK)
    clip, out = small_clip(tmp_path / "clip"), tmp_path / "out"

    def reproduce(*callbacks: Callback) -> dict[str, Any]:
        return videos.reproduce_video(
            clip, None, out, origin=0, settings=FitSettings(callbacks=callbacks), progress=False
        )

    with pytest.raises(CrashError):
        reproduce(CrashAfter(3))
    found = reproduce()
    whole = timeless_contents(out)
    assert reproduce(CrashAfter(1)) == found  # which trains nothing
    again = timeless_contents(out)
    assert again.keys() == whole.keys()
    assert [name for name in whole if again[name] != whole[name]] in ([], ["superimposed.png"])  # by rounded positions
    torture.count(ROW, identical=1)


class StopAfter(JobCallback):
    """Counts the jobs of a sweep, and raises after so many."""

    def __init__(self, jobs: int | None = None) -> None:
        self._limit, self.jobs = jobs, 0

    def on_job(self, job: Job) -> None:
        self.jobs += 1
        if self.jobs == self._limit:
            raise CrashError


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "together"])
def test_a_sweep_stopped_after_any_job_equals_the_uninterrupted_one(
    tmp_path: Path, torture: Torture, together: bool
) -> None:
    seeds = 2
    experiment = CentralExperiment(replace(SQUARES.recipe, epochs=3), FitSettings(), seeds, together)
    runs_per_job = seeds if together else 1

    def sweep(folder: Path, callback: StopAfter) -> list[str]:
        return experiment.report(run_experiment(folder, experiment, LocalEngine(), "", callback), folder)

    all_jobs = StopAfter()
    summaries = sweep(tmp_path / "whole", all_jobs)
    whole = timeless_rows(tmp_path / "whole")
    assert all_jobs.jobs * runs_per_job == len(whole) == 2 * seeds
    for jobs in range(1, all_jobs.jobs) if torture.full else [all_jobs.jobs // 2]:
        out = tmp_path / f"{jobs}"
        with pytest.raises(CrashError):
            sweep(out, StopAfter(jobs))
        assert timeless_rows(out) == [row for row in whole if row in timeless_rows(out)]
        assert len(timeless_rows(out)) == jobs * runs_per_job
        again = StopAfter()
        assert sweep(out, again) == summaries
        assert timeless_rows(out) == whole
        assert again.jobs == all_jobs.jobs - jobs, "a finished run was repeated"
        torture.count(ROW, sweeps=1, identical=1)
