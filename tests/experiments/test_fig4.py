"""Figure 4: 78 settings, each network trained once, drawn and summed up from the table alone."""

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

from tests.experiments import fake_runs
from withinpx.cli import main
from withinpx.errors import InputError
from withinpx.experiments.fig4 import (
    COLUMNS,
    EXPERIMENTS,
    Run,
    Setting,
    chosen,
    copy_shared,
    jobs,
    missing,
    runs_in,
    settings,
)
from withinpx.experiments.fig4_summary import moved_after, summarise
from withinpx.experiments.fig4_sweep import Asked, open_table, sweep
from withinpx.experiments.table import RunTable
from withinpx.jobs.job import Row
from withinpx.jobs.local import LocalEngine

ISSUE_COLUMNS = (
    "experiment,encoder_rf,decoder_rf,object_size,sigma,seed,epochs,reconstruction_accuracy,accepted,position_error,"
    "calibrated_error,bound_encoder,bound_decoder_mean"
)
SHARED = (9, 25, 9, 0.8)  # in a, b and c
trained: list[tuple[Setting, int]] = []


def train(setting: Setting, seeds: tuple[int, ...], epochs: int, device: str) -> list[dict[str, object]]:
    trained.extend((setting, seed) for seed in seeds)
    return fake_runs.train(setting, seeds, epochs, device)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    trained.clear()
    yield


@pytest.fixture
def with_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line finds this training instead of the real one."""
    stand_in = ModuleType("withinpx.experiments.fig4_runs")
    for name in ("train_setting", "train_setting_fully", "train_setting_quickly"):
        setattr(stand_in, name, train)
    monkeypatch.setitem(sys.modules, "withinpx.experiments.fig4_runs", stand_in)
    monkeypatch.setattr("withinpx.experiments.fig4_runs", stand_in, raising=False)


def filled(folder: Path, letters: str = "abcd", seeds: int = 20, quick: bool = False) -> RunTable:
    folder.mkdir(exist_ok=True)
    return sweep(
        folder, Asked(chosen(letters, quick), seeds, 5, "cpu"), train, LocalEngine(), "withinpx reproduce fig4"
    )


def test_some_values_alone() -> None:
    assert [each.values for each in chosen("ad", only=(1,))] == [(1,), (1,)]
    with pytest.raises(InputError, match=r"Panel \(a\) has no value 2: its values are 1, 3"):
        chosen("a", only=(1, 2))


def test_a_table_of_full_runs_says_how_far_they_moved_after_they_had_learned(tmp_path: Path) -> None:
    def to_the_last_epoch(setting: Setting, seeds: tuple[int, ...], epochs: int, device: str) -> list[Row]:
        rows = train(setting, seeds, epochs, device)
        return [{**row, "learned_at": 2, "accepted_then": row["accepted"], "error_then": 0} for row in rows]

    asked = Asked(chosen("d", only=(0.8,)), 3, 5, "cpu", way="to the last epoch")
    table = sweep(tmp_path, asked, to_the_last_epoch, LocalEngine(), "withinpx reproduce fig4d --full")
    errors = [run.error for run in runs_in(table) if run.accepted]
    assert errors
    assert moved_after(table) == (
        f"Of {len(errors)} accepted runs {len(errors)} had learned before the last epoch: their error changed by at "
        f"most {max(errors):.4f} px after that."
    )
    assert moved_after(filled(tmp_path / "other", "d", seeds=1)) is None


def test_the_paper_s_values() -> None:
    values = {letter: experiment.values for letter, experiment in EXPERIMENTS.items()}
    assert values["a"] == values["b"] == tuple(range(1, 32, 2))
    assert values["c"] == tuple(range(1, 26, 2))
    assert [f"{value:g}" for value in values["d"][:4]] == ["0.1", "0.2", "0.3", "0.4"]
    assert values["d"][2] == 0.3
    assert values["d"][19:24] == (2.0, 2.1, 2.25, 2.5, 2.75)
    assert values["d"][-1] == 5
    assert [len(each) for each in values.values()] == [16, 16, 13, 33]
    assert {each.network[1:] for each in settings(EXPERIMENTS["a"])} == {(25, 9, 0.8)}
    assert {each.network[:3] for each in settings(EXPERIMENTS["d"])} == {(9, 11, 7)}
    assert all(set(each.quick) < set(each.values) and len(each.quick) == 3 for each in EXPERIMENTS.values())


def test_the_bound_is_the_theorem_s_even_where_no_decoder_can_draw_the_object() -> None:
    setting = Setting("b", 9, 5, 9, 0.8)
    assert (setting.bound_encoder, setting.bound_decoder_mean) == (8, -2)
    assert setting.bound(4) == pytest.approx(1.2)
    on_the_edge, beyond = (Run(setting, 0, True, 1.2 + off, 0.0) for off in (0.00005, 0.0002))
    assert on_the_edge.inside()
    assert not beyond.inside()
    assert Setting("a", 9, 25, 9, 0.8).bound() == 8
    assert all(
        Run(each, 0, True, float(f"{each.bound(n) + 1e-4:.4f}"), 0.0).inside(n)
        for experiment in EXPERIMENTS.values()
        for each in settings(experiment)
        for n in (1, 2, 3, 4)
    )  # the table has four decimals


def test_a_network_that_experiments_share_is_trained_once_and_has_a_row_in_each(tmp_path: Path) -> None:
    table = filled(tmp_path)
    assert len(table.rows) == 1560
    assert len(trained) == len(set(trained)) == 1560 - 2 * 20
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    shared = [row for row in rows if (row["decoder_rf"], row["encoder_rf"], row["object_size"]) == ("25", "9", "9")]
    assert sorted((row["experiment"], int(row["seed"])) for row in shared) == [(e, s) for e in "abc" for s in range(20)]
    assert ",".join(rows[0]).startswith(ISSUE_COLUMNS)
    assert ",".join(COLUMNS) == ISSUE_COLUMNS


def test_what_one_experiment_trained_another_takes_over(tmp_path: Path) -> None:
    filled(tmp_path, "b", seeds=3)
    before = len(trained)
    table = filled(tmp_path, "ac", seeds=5)
    again = [(setting.network, seed) for setting, seed in trained[before:]]
    assert [seed for network, seed in again if network == SHARED] == [3, 4]
    shared = [run for run in runs_in(table) if run.setting.network == SHARED]
    assert [(run.setting.experiment, run.seed) for run in shared] == [
        *(("a", seed) for seed in range(5)),
        *(("b", seed) for seed in range(3)),
        *(("c", seed) for seed in range(5)),
    ]


def test_only_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    experiments = chosen("d", quick=True)
    first, second, *_ = settings(experiments[0])
    table.add_all([*fake_runs.train(first, (0, 1, 2), 5, "cpu"), *fake_runs.train(second, (1,), 5, "cpu")])
    left = missing(table, experiments, range(3))
    assert left[0] == (second, (0, 2))
    assert [seeds for _, seeds in left[1:]] == [(0, 1, 2)]
    assert [job.arguments[1] for job in jobs(left, train, 5, "cpu", at_once=2)][:3] == [(0, 2), (0, 1), (2,)]
    copy_shared(table, experiments)
    assert len(table.rows) == 4


def test_runs_of_other_lengths_do_not_mix(tmp_path: Path) -> None:
    filled(tmp_path, "d", seeds=1, quick=True)
    with pytest.raises(InputError, match="are of 5 epochs and 500 are asked for"):
        sweep(tmp_path, Asked(chosen("d"), 1, 500, "cpu"), train, LocalEngine(), "")


def test_the_summary_counts(tmp_path: Path) -> None:
    setting = Setting("b", 9, 15, 9, 0.8)  # the decoder's term is 3, the encoder's 8
    table = open_table(tmp_path)
    (row,) = fake_runs.train(setting, (0,), 5, "cpu")
    for seed, (accepted, error) in enumerate([(True, 3.5), (True, 4.5), (True, 6.2), (True, 6.3), (False, 30)]):
        start = "random" if seed < 2 else "centre"
        table.add({**row, "seed": seed, "accepted": accepted, "position_error": error, "start": start})
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


def test_nothing_is_counted_by_standard_deviations_where_the_encoder_limits(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    table.add_all(fake_runs.train(Setting("a", 3, 25, 9, 0.8), (0, 2), 5, "cpu"))
    (summary,) = summarise(table)
    assert (summary["limiting"], summary["bound"], summary["inside_bound"]) == ("encoder", 5, 1)
    assert summary["inside_1_sd"] is None


@pytest.mark.usefixtures("with_training")
def test_the_command_trains_draws_and_says_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    main(["reproduce", "fig4", "--quick", "--epochs", "7", "--out", str(out)])
    said = capsys.readouterr()
    assert (
        "24 runs of 12 settings: 24 accepted, 0 discarded, 24 of the accepted inside the bound, 0 outside" in said.out
    )
    assert "10/10 jobs, 20/20 runs, 20 accepted, 20 of them inside the bound, 0:00:00 left" in said.err
    pictures = {f"fig4{letter}.png" for letter in ("", "a", "b", "c", "d")}
    assert {path.name for path in out.iterdir()} == {*pictures, "runs.csv", "about.json", "summary.json", "summary.md"}
    with Image.open(out / "fig4.png") as picture:
        assert picture.width > 2000
    about = json.loads((out / "about.json").read_text())
    assert about["epochs"] == 7
    assert set(about["sweeps"][0]) == {"command", "version", "machine", "date", "runs", "seconds"}
    assert "withinpx reproduce fig4 --quick --seeds 2 --epochs 7" in (out / "summary.md").read_text()
    main(["reproduce", "fig4", "--quick", "--epochs", "7", "--out", str(out)])
    assert len(trained) == 20


@pytest.mark.usefixtures("with_training")
def test_runs_that_were_trained_another_way_do_not_share_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["reproduce", "fig4d", "--quick", "--out", str(tmp_path)])
    count = len(trained)
    for options, words in ((["--full"], "trained another way, quick"), (["--full", "--quick"], "exclude each other")):
        with pytest.raises(SystemExit) as stop:
            main(["reproduce", "fig4d", *options, "--out", str(tmp_path)])
        assert stop.value.code == 2
        assert words in capsys.readouterr().err
    assert len(trained) == count


def test_figures_are_drawn_again_from_the_table_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "results", "ad", seeds=3, quick=True)
    trained.clear()
    main(["reproduce", "fig4a", "--from", str(tmp_path / "results"), "--out", str(tmp_path / "out")])
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"fig4a.png", "summary.json", "summary.md"}
    assert not trained


@pytest.mark.usefixtures("with_training")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "has no runs to draw"),
        ("experiment,seed\na,0\n", "other columns"),
        (ISSUE_COLUMNS + "\na,9,25,9,0.8,0,500,1.0,Tr", "cut short at line 2"),
        (ISSUE_COLUMNS + "\na,9,25,nine,0.8,0,500,1.0,True,3.0,0.0,8.0,8.0\n", "no run at line 2"),
    ],
)
def test_a_folder_without_a_whole_table_gets_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "runs.csv").write_text(content)
    commands = [["--from", str(tmp_path), "--out", str(tmp_path / "out")]]
    if content is not None:
        commands.append(["--out", str(tmp_path)])
    for options in commands:
        with pytest.raises(SystemExit) as stop:
            main(["reproduce", "fig4", *options])
        assert stop.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert words in line
    assert not trained


@pytest.mark.usefixtures("with_training")
@pytest.mark.parametrize("option", ["--seeds", "--epochs", "--at-once"])
def test_numbers_that_are_none_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "fig4", option, "0", "--out", str(tmp_path / "out")])
    assert stop.value.code == 2
    assert "is 0: give one at least" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
