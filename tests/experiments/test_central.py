"""The sweep over seeds: resumable, and summed up from its table."""

from dataclasses import replace
from pathlib import Path

import pytest

from withinpx.experiments import central
from withinpx.experiments.synthetic import SquaresRun
from withinpx.experiments.table import RunTable
from withinpx.training.fit import FitSettings
from withinpx.training.recipe import WARM

RESULTS = Path(__file__).parents[2] / "results" / "central" / "runs.csv"


def test_what_is_in_the_table_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = SquaresRun(encoder_rf=3, decoder_rf=5, object_size=3, image_size=16, channels=4)
    monkeypatch.setattr(central, "SETTINGS", (tiny,))
    recipe = replace(WARM, epochs=1, warm_start_steps=1)
    said: list[str] = []
    central.run_central(tmp_path, recipe, 2, FitSettings(), said.append)
    (summary,) = central.run_central(tmp_path, recipe, 3, FitSettings(), said.append)
    assert len(said) == 3
    assert summary["runs"] == 3
    assert (tmp_path / "central.png").stat().st_size > 10_000
    assert [row["seed"] for row in RunTable(tmp_path / "runs.csv", central.KEY).rows] == ["0", "1", "2"]


def test_the_committed_table_says_what_the_documents_say() -> None:
    """At least 95 % of the seeds accepted in both central settings, and no accepted one outside its bound."""
    summaries = central.summarise(RunTable(RESULTS, central.KEY))
    assert all(each["accepted_within_bound"] == each["accepted"] for each in summaries)
    warm = {each["decoder_rf"]: each for each in summaries if each["recipe"] == "warm"}
    assert set(warm) == {"11", "25"}
    assert all(each["runs"] == 20 and each["accepted"] >= 19 for each in warm.values())
    assert all(each["largest_leakage"] <= 0.01 for each in warm.values())
