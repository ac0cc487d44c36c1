"""Generated clips: which are tracked, and what their table says."""

import json
from pathlib import Path

import pytest

from withinpx.errors import InputError
from withinpx.experiments import generated
from withinpx.experiments.generated import CASES, COLUMNS, GeneratedExperiment, summarise, track_generated
from withinpx.training.fit import FitSettings

RESULTS = Path(__file__).parents[2] / "results" / "generated"


def test_the_first_case_has_all_seeds_the_others_a_tenth(tmp_path: Path) -> None:
    jobs = GeneratedExperiment(FitSettings(), seeds=20).jobs(GeneratedExperiment.open_table(tmp_path))
    assert [job.name for job in jobs][:20] == [f"three_things, seed {seed}" for seed in range(20)]
    assert len(jobs) == 20 + 2 * (len(CASES) - 1)
    assert len(GeneratedExperiment(FitSettings(), seeds=3).jobs(GeneratedExperiment.open_table(RESULTS))) == 0


def test_a_clip_in_which_nothing_is_found_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_moves(*_: object) -> None:
        raise InputError("Nothing moves.")

    monkeypatch.setattr(generated, "inspect", nothing_moves)
    rows = track_generated("twins", 3, FitSettings())
    assert tuple(rows[0]) == tuple(COLUMNS)
    experiment, table = GeneratedExperiment(FitSettings()), GeneratedExperiment.open_table(tmp_path)
    table.add_all(rows)
    assert json.loads(experiment.report(table, tmp_path)[0]) == {
        "case": "twins",
        "runs": 1,
        "all_found": 0,
        "fully_certified": 0,
        "median_px": None,
        "max_px": None,
        "outside": 0,
    }
    assert "0 of 1 clips" in experiment.progress(table)


def test_the_committed_summary_follows_from_the_committed_table() -> None:
    committed = json.loads((RESULTS / "summary.json").read_text())["cases"]
    assert summarise(GeneratedExperiment.open_table(RESULTS)) == committed
