"""The paper's central settings: resumable, summarised from their table."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from withinpx.experiments import central
from withinpx.experiments.central import CentralExperiment
from withinpx.experiments.sweep import run_experiment
from withinpx.experiments.synthetic import SquaresRun
from withinpx.jobs.job import Job, JobCallback
from withinpx.jobs.local import LocalEngine
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import WARM

RESULTS = Path(__file__).parents[2] / "results" / "central"


class Finished(JobCallback):
    def __init__(self) -> None:
        self.names: list[str] = []

    def on_job(self, job: Job) -> None:
        self.names.append(job.name)


def test_runs_in_the_table_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = SquaresRun(encoder_rf=3, decoder_rf=5, object_size=3, image_size=16, channels=4)
    monkeypatch.setattr(central, "SETTINGS", (tiny,))
    recipe, finished = replace(WARM, epochs=1, warm_start_steps=1), Finished()
    for seeds in (2, 3):
        experiment = CentralExperiment(recipe, FitSettings(), seeds)
        table = run_experiment(tmp_path, experiment, LocalEngine(), "", finished)
        (summary,) = map(json.loads, experiment.report(table, tmp_path))
    assert len(finished.names) == 3
    assert summary["runs"] == 3
    assert (tmp_path / "central.png").stat().st_size > 10_000
    assert [row["seed"] for row in CentralExperiment.open_table(tmp_path).rows] == ["0", "1", "2"]


def test_the_committed_table_supports_the_documents() -> None:
    """At least 95 % of the seeds accepted in both central settings, and no accepted one outside its bound."""
    summaries = central.summarise(CentralExperiment.open_table(RESULTS))
    assert summaries == json.loads((RESULTS / "summary.json").read_text())
    assert all(summary["accepted_within_bound"] == summary["accepted"] for summary in summaries)
    warm = {summary["decoder_rf"]: summary for summary in summaries if summary["recipe"] == "warm"}
    assert set(warm) == {"11", "25"}
    assert all(summary["runs"] == 20 and summary["accepted"] >= 19 for summary in warm.values())
    assert all(summary["largest_leakage"] <= 0.01 for summary in warm.values())
