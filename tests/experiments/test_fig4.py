"""Figure 4: 78 settings, each network trained once, drawn and summarised from the table alone."""

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

from tests.experiments import fake_runs
from withinpx.cli import main
from withinpx.errors import InputError
from withinpx.experiments.fig4 import COLUMNS, PANELS, QUICK, Mode, Setting, SquaresExperiment, is_inside, select_panels
from withinpx.experiments.fig4_report import change_after_learning, summarise
from withinpx.experiments.sweep import run_experiment
from withinpx.experiments.table import RunTable
from withinpx.jobs.job import Row
from withinpx.jobs.local import LocalEngine

ISSUE_COLUMNS = (
    "experiment,encoder_rf,decoder_rf,object_size,sigma,seed,epochs,reconstruction_accuracy,accepted,position_error,"
    "calibrated_error,bound_encoder,bound_decoder_mean"
)
SHARED = {"encoder_rf": "9", "decoder_rf": "25", "object_size": "9", "sigma": "0.8"}  # in a, b and c
trained: list[tuple[Setting, int]] = []


def train(setting: Setting, seeds: Sequence[int], epochs: int, device: str, mode: Mode) -> list[Row]:
    trained.extend((setting, seed) for seed in seeds)
    return fake_runs.train(setting, seeds, epochs, device)


@pytest.fixture(autouse=True)
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiment finds the function above in place of the real training."""
    trained.clear()
    module: Any = ModuleType("withinpx.experiments.fig4_training")
    module.train_setting = train
    monkeypatch.setitem(sys.modules, module.__name__, module)


def fill(folder: Path, letters: str = "abcd", seeds: int = 20, quick: bool = False, **options: Any) -> RunTable:
    experiment = SquaresExperiment(select_panels(letters, quick), seeds, **{"epochs": 5, **options})
    return run_experiment(folder, experiment, LocalEngine(), "withinpx reproduce fig4")


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", *map(str, arguments)])
    assert stop.value.code == 2
    return capsys.readouterr().err


def is_shared(row: Row) -> bool:
    return SHARED.items() <= row.items()


def test_a_panel_may_be_restricted_to_some_values() -> None:
    assert [panel.values for panel in select_panels("ad", only=(1,))] == [(1,), (1,)]
    (panel,) = select_panels("a", only=(9.0,))
    assert [type(setting.encoder_rf) for setting in panel.settings] == [int]  # as the table has it
    with pytest.raises(InputError, match=r"Panel \(a\) has no value 2: its values are 1, 3"):
        select_panels("a", only=(1, 2))


def test_the_paper_s_values() -> None:
    values = {letter: panel.values for letter, panel in PANELS.items()}
    assert values["a"] == values["b"] == tuple(range(1, 32, 2))
    assert values["c"] == tuple(range(1, 26, 2))
    assert [f"{value:g}" for value in values["d"][:4]] == ["0.1", "0.2", "0.3", "0.4"]
    assert values["d"][2] == 0.3
    assert values["d"][19:24] == (2.0, 2.1, 2.25, 2.5, 2.75)
    assert values["d"][-1] == 5
    assert list(map(len, values.values())) == [16, 16, 13, 33]
    assert {setting.network[1:] for setting in PANELS["a"].settings} == {(25, 9, 0.8)}
    assert {setting.network[:3] for setting in PANELS["d"].settings} == {(9, 11, 7)}
    assert all(set(QUICK[letter]) < set(values[letter]) and len(QUICK[letter]) == 3 for letter in PANELS)


def test_the_bound_is_the_theorem_s_even_where_no_decoder_can_render_the_object() -> None:
    def with_error(setting: Setting, error: float) -> Row:
        return {**fake_runs.train(setting, (0,), 5, "cpu")[0], "position_error": error}

    setting = Setting("b", 9, 5, 9, 0.8)
    assert (setting.bound_encoder, setting.bound_decoder_mean) == (8, -2)
    assert setting.bound(4) == pytest.approx(1.2)
    assert is_inside(with_error(setting, 1.2 + 0.00005))
    assert not is_inside(with_error(setting, 1.2 + 0.0002))
    assert Setting("a", 9, 25, 9, 0.8).bound() == 8
    assert all(
        is_inside(with_error(setting, float(f"{setting.bound(n) + 1e-4:.4f}")), n)
        for panel in PANELS.values()
        for setting in panel.settings
        for n in (1, 2, 3, 4)
    )  # the table has four decimals


def test_a_network_that_panels_share_is_trained_once_and_has_a_row_in_each(tmp_path: Path) -> None:
    assert len(fill(tmp_path).rows) == 1560
    assert len(trained) == len(set(trained)) == 1560 - 2 * 20
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    shared = sorted((row["experiment"], int(row["seed"])) for row in rows if is_shared(row))
    assert shared == [(letter, seed) for letter in "abc" for seed in range(20)]
    assert ",".join(rows[0]).startswith(ISSUE_COLUMNS)
    assert ",".join(COLUMNS) == ISSUE_COLUMNS


def test_a_panel_takes_over_what_another_has_trained(tmp_path: Path) -> None:
    fill(tmp_path, "b", seeds=3)
    before = len(trained)
    table = fill(tmp_path, "ac", seeds=5)
    assert [seed for setting, seed in trained[before:] if setting.network == (9, 25, 9, 0.8)] == [3, 4]
    assert [(row["experiment"], int(row["seed"])) for row in table.rows if is_shared(row)] == [
        *(("a", seed) for seed in range(5)),
        *(("b", seed) for seed in range(3)),
        *(("c", seed) for seed in range(5)),
    ]


def test_only_missing_runs_become_jobs(tmp_path: Path) -> None:
    table = SquaresExperiment.open_table(tmp_path)
    panels = select_panels("d", quick=True)
    first, second, third = panels[0].settings
    table.add_all([*fake_runs.train(first, (0, 1, 2), 5, "cpu"), *fake_runs.train(second, (1,), 5, "cpu")])
    jobs = SquaresExperiment(panels, seeds=3).jobs(table)
    assert [job.arguments[:2] for job in jobs] == [(second, (0, 2)), (third, (0, 1, 2))]
    by_two = SquaresExperiment(panels, seeds=3, seeds_per_job=2)
    assert [job.arguments[1] for job in by_two.jobs(table)] == [(0, 2), (0, 1), (2,)]
    by_two.copy_shared(table)
    assert len(table.rows) == 4


def test_runs_of_different_lengths_do_not_mix(tmp_path: Path) -> None:
    fill(tmp_path, "d", seeds=1, quick=True)
    with pytest.raises(InputError, match="were made with epochs = 5, not 500"):
        fill(tmp_path, "d", seeds=1, epochs=500)


def test_the_summary_counts(tmp_path: Path) -> None:
    setting = Setting("b", 9, 15, 9, 0.8)  # the decoder's term is 3, the encoder's 8
    table = SquaresExperiment.open_table(tmp_path)
    (row,) = fake_runs.train(setting, (0,), 5, "cpu")
    for seed, (accepted, error) in enumerate([(True, 3.5), (True, 4.5), (True, 6.2), (True, 6.3), (False, 30)]):
        start = "random" if seed < 2 else "centre"
        table.add_all([{**row, "seed": seed, "accepted": accepted, "position_error": error, "start": start}])
    (summary,) = summarise(table)
    assert {name: value for name, value in summary.items() if name not in setting.columns(0)} == {
        "runs": 5,
        "accepted": 4,
        "accepted_at_first": 2,
        "largest_error": 6.3,
        "bound": 6.2,
        "limiting": "decoder",
        "inside_bound": 3,
        "inside_1_sd": 1,
        "inside_2_sd": 2,
        "inside_3_sd": 2,
        "inside_4_sd": 3,
        "largest_calibrated_error": 0.0001,
    }


def test_standard_deviations_are_not_counted_where_the_encoder_limits(tmp_path: Path) -> None:
    table = SquaresExperiment.open_table(tmp_path)
    table.add_all(fake_runs.train(Setting("a", 3, 25, 9, 0.8), (0, 2), 5, "cpu"))
    (summary,) = summarise(table)
    assert (summary["limiting"], summary["bound"], summary["inside_bound"]) == ("encoder", 5, 1)
    assert summary["inside_1_sd"] is None


def test_full_runs_record_how_far_they_moved_after_they_had_learned(tmp_path: Path) -> None:
    def to_the_last_epoch(*arguments: Any) -> list[Row]:
        return [
            {**row, "learned_at": 2, "accepted_then": row["accepted"], "error_then": 0} for row in train(*arguments)
        ]

    experiment = SquaresExperiment(
        select_panels("d", only=(0.8,)), 3, mode="to the last epoch", train=to_the_last_epoch
    )
    table = run_experiment(tmp_path, experiment, LocalEngine(), "withinpx reproduce fig4d --full")
    errors = [run["position_error"] for run in table.runs() if run["accepted"]]
    assert errors
    assert change_after_learning(table) == (
        f"Of {len(errors)} accepted runs {len(errors)} had learned before the last epoch: their error changed by at "
        f"most {max(errors):.4f} px after that."
    )
    assert change_after_learning(fill(tmp_path / "other", "d", seeds=1)) is None


def test_full_runs_that_would_have_been_abandoned_did_not_learn_early(tmp_path: Path) -> None:
    table = SquaresExperiment.open_table(tmp_path)
    rows = fake_runs.train(Setting("d", 9, 11, 7, 0.3), (0, 1), 500, "cpu")
    for row, then, error in zip(rows, (True, False), (1.0, 9.0), strict=True):
        row |= {"learned_at": 40, "accepted_then": then, "error_then": error}
    table.add_all(rows)
    assert change_after_learning(table) == (
        "Of 2 accepted runs 1 had learned before the last epoch: their error changed by at most 0.6000 px after that. "
        "1 more would have been abandoned or discarded before it."
    )


def test_the_command_trains_draws_and_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = ["reproduce", "fig4", "--quick", "--epochs", "7", "--out", str(out)]
    main(command)
    printed = capsys.readouterr()
    assert (
        "24 runs of 12 settings: 24 accepted, 0 discarded, 24 of the accepted inside the bound, 0 outside"
        in printed.out
    )
    assert "10/10 jobs, 20/20 runs, 20 accepted, 20 of them inside the bound, 0:00:00 left" in printed.err
    images = {f"fig4{letter}.png" for letter in ("", "a", "b", "c", "d")}
    assert {path.name for path in out.iterdir()} == {
        *images,
        "runs.csv",
        "about.json",
        "summary.json",
        "summary.md",
        "distribution.json",
    }
    with Image.open(out / "fig4.png") as image:
        assert image.width > 2000
    about = json.loads((out / "about.json").read_text())
    assert about["epochs"] == 7
    assert set(about["sweeps"][0]) == {"command", "version", "machine", "date", "runs", "seconds"}
    assert f"`{about['sweeps'][0]['command']}`" in (out / "summary.md").read_text()
    main(command)
    assert len(trained) == 20


def test_runs_trained_in_another_mode_do_not_share_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["reproduce", "fig4d", "--quick", "--out", str(tmp_path)])
    count = len(trained)
    capsys.readouterr()
    assert "were made with mode = quick" in refusal(capsys, "fig4d", "--full", "--out", tmp_path)
    assert "exclude each other" in refusal(capsys, "fig4d", "--full", "--quick", "--out", tmp_path)
    assert len(trained) == count


def test_figures_are_drawn_again_from_the_table_alone(tmp_path: Path) -> None:
    fill(tmp_path / "results", "ad", seeds=3, quick=True)
    trained.clear()
    main(["reproduce", "fig4a", "--from", str(tmp_path / "results"), "--out", str(tmp_path / "out")])
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "fig4a.png",
        "summary.json",
        "summary.md",
        "distribution.json",
    }
    assert not trained


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "has no runs to draw"),
        ("experiment,seed\na,0\n", "other columns"),
        (ISSUE_COLUMNS + "\na,9,25,9,0.8,0,500,1.0,Tr", "cut short at line 2"),
        (ISSUE_COLUMNS + "\na,9,25,nine,0.8,0,500,1.0,True,3.0,0.0,8.0,8.0\n", "not a table of runs at line 2"),
    ],
)
def test_a_folder_without_a_whole_table_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "runs.csv").write_text(content)
    commands = [["--from", str(tmp_path), "--out", str(tmp_path / "out")]]
    if content is not None:
        commands.append(["--out", str(tmp_path)])
    for options in commands:
        (line,) = refusal(capsys, "fig4", *options).splitlines()
        assert words in line
    assert not trained


@pytest.mark.parametrize("option", ["--seeds", "--epochs", "--at-once"])
def test_counts_below_one_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert "is 0: give one at least" in refusal(capsys, "fig4", option, "0", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_committed_summaries_follow_from_the_committed_tables() -> None:
    results = Path(__file__).parents[2] / "results" / "synthetic"
    for folder in (results, results / "full"):
        summaries = summarise(SquaresExperiment.open_table(folder))
        assert summaries == json.loads((folder / "summary.json").read_text())
