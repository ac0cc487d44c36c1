"""The experiments on rendered scenes: what is run, what counts as learned, and what the table and the figures say."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from withinpx.cli import main
from withinpx.data.clevr_folder import read_split
from withinpx.errors import BrokenTrainingError, InputError
from withinpx.experiments import clevr_runs
from withinpx.experiments.clevr import (
    ASKED,
    COLUMNS,
    EXPERIMENTS,
    OBJECTS,
    RecipeName,
    Setting,
    errors_in,
    jobs,
    run_columns,
)
from withinpx.experiments.clevr_runs import Seen, is_learned, largest_errors, measured, train_and_measure
from withinpx.experiments.clevr_sweep import Asked, add_baselines, open_table, sweep
from withinpx.experiments.clevr_table import PAPERS, table_1
from withinpx.jobs.local import LocalEngine
from withinpx.theory.bound import SizeRange
from withinpx.training.recipe import CLIP

SAMPLE = Path(__file__).parents[1] / "data" / "clevr_sample"
ISSUE_COLUMNS = (
    "experiment,dataset,method,recipe,encoder_rf,decoder_rf,sigma,seed,object,size_min,size_max,learned,"
    "position_error,calibrated_error,bound_2sigma"
)
trained: list[tuple[str, int]] = []


def train(data: str, setting: Setting, recipe: RecipeName, seed: int, device: str) -> list[dict[str, Any]]:
    """Made-up rows: the first object is near, the second on the bound, the third not learned."""
    trained.append((setting.name, seed))
    size = setting.sizes.smallest + 2.0
    bound = setting.bound(sizes=SizeRange(size, size) if setting.experiment == "fig5c" else None)
    return [
        {
            **run_columns(setting, recipe, seed),
            "object": name,
            "size_min": setting.sizes.smallest,
            "size_max": setting.sizes.largest,
            "learned": learned,
            "position_error": error,
            "calibrated_error": 0.2,
            "bound_2sigma": bound,
            "size": size,
            "calibrated_median": 0.1,
            "missing": 0.0,
            "reconstruction_accuracy": 0.99,
            "seconds": 1.0,
        }
        for name, learned, error in (("red", True, 0.5), ("green", True, bound), ("blue", False, 50.0))
    ]


@pytest.fixture(autouse=True)
def forget() -> None:
    trained.clear()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Folders with the datasets' names."""
    folder = tmp_path / "data"
    for experiment in EXPERIMENTS.values():
        for setting in experiment.settings:
            (folder / setting.dataset).mkdir(parents=True, exist_ok=True)
    return folder


def asked(data: Path, what: str, seeds: int = 1) -> Asked:
    return Asked(data, ASKED[what], "ours", seeds, "cpu")


def test_the_appendix_s_settings() -> None:
    at = {name: experiment.fixed for name, experiment in EXPERIMENTS.items()}
    assert (at["fig5a"].encoder_rf, at["fig5a"].decoder_rf, at["fig5a"].sigma) == (9, 25, 0.8)
    assert (at["fig5d"].encoder_rf, at["fig5d"].decoder_rf) == (5, 13)
    assert at["fig9b"].dataset == "shapes-09-19"
    assert len(EXPERIMENTS["fig5c"].settings) == 6
    rates = {name: (each.learning_rate, each.batch_size) for name, each in EXPERIMENTS.items()}
    assert rates["fig5c"] == (1e-3, 150)
    assert rates["fig5a"] == rates["fig5b"] == rates["fig5d"] == (1e-2, 128)


def test_a_sweep_goes_on_where_it_was_and_its_table_has_the_columns_asked_for(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(out, asked(data, "fig5c"), train, LocalEngine(), "withinpx reproduce fig5c")
    assert len(trained) == 6
    sweep(out, asked(data, "fig5c", seeds=2), train, LocalEngine(), "withinpx reproduce fig5c")
    assert len(trained) == len(set(trained)) == 12
    table = open_table(out)
    assert len(table.rows) == 12 * OBJECTS
    assert ",".join(table.columns).startswith(ISSUE_COLUMNS)
    assert ",".join(COLUMNS) == ISSUE_COLUMNS
    assert not jobs(table, ASKED["fig5c"], "ours", 2, train=train, data="", device="cpu")


def test_a_dataset_that_is_not_there_has_its_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no dataset spheres-06-10: render it with"):
        sweep(tmp_path / "out", asked(tmp_path, "fig5a"), train, LocalEngine(), "")


def test_an_object_is_learned_if_one_heatmap_alone_follows_it() -> None:
    truth = np.random.default_rng(0).uniform(0, 128, (50, 2, 2))
    found = np.stack([truth[:, 0] + 3, truth[:, 0] - 2, np.full((50, 2), 5.0)], axis=1)
    errors = largest_errors(found, truth)
    assert errors.shape == (3, 2)
    assert errors[0, 0] == pytest.approx(3)
    assert not is_learned(errors[:, 0])  # two follow the first
    assert not is_learned(errors[:, 1])  # nobody follows the second
    assert is_learned(errors[1:, 0])


def test_errors_are_the_largest_over_the_test_pictures_along_either_axis() -> None:
    rng = np.random.default_rng(1)
    test = replace(read_split(SAMPLE, "test"), boxes=rng.uniform(10, 118, (40, 3, 4)))
    raw = test.positions.copy()
    raw[2, 1, 0] += 4.0
    raw[:, 2] += 0.5
    seen = Seen(raw, test.positions, np.ones(raw.shape[:2], dtype=bool), 0.99)
    setting = EXPERIMENTS["fig9b"].settings[0]
    first, second, third = measured(seen, test, setting)
    assert (first["position_error"], second["position_error"], third["position_error"]) == (0.0, 4.0, 0.5)
    assert first["calibrated_error"] == 0
    assert second["size"] == pytest.approx(test.boxes[2, 1, 2:].max(), abs=1e-3)
    assert all(row["learned"] for row in (first, second, third))
    restless = Seen(raw, test.positions, seen.present, 0.99, before=raw + np.array([0.0, 6.0]))
    assert not any(row["learned"] for row in measured(restless, test, setting))


def test_a_training_that_breaks_has_learned_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SAMPLE, tmp_path / "shapes-09-19")

    def breaks(*_: object) -> None:
        raise BrokenTrainingError("Training broke.")

    monkeypatch.setattr(clevr_runs, "fit", breaks)
    first, *others = EXPERIMENTS["fig9b"].settings
    table = open_table(tmp_path)
    table.add_all(train_and_measure(str(tmp_path), first, "paper", 0, "cpu"))
    assert not any(each.learned or each.inside for each in errors_in(open_table(tmp_path)))
    left = jobs(table, ["fig9b"], "paper", 1, train=train, data="", device="cpu")
    assert len(left) == len(others), "it is not tried again"


@pytest.mark.parametrize("recipe", ["paper", "ours"])
def test_both_recipes_run_on_rendered_pictures(
    recipe: RecipeName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SAMPLE, tmp_path / "shapes-09-19")
    monkeypatch.setattr(clevr_runs, "STEPS", 2)
    monkeypatch.setattr(clevr_runs, "REST", 1)
    monkeypatch.setattr("withinpx.tracking.attempt.STEPS_OF_A_SET", 2)
    monkeypatch.setattr("withinpx.tracking.attempt.CLIP", replace(CLIP, warm_start_steps=2))
    setting = Setting("fig9b", "shapes-09-19", 3, 7, 0.8)
    rows = train_and_measure(str(tmp_path), setting, recipe, 0, "cpu")
    assert [row["object"] for row in rows] == ["red metal sphere", "blue rubber cylinder", "green rubber cube"]
    assert all(np.isfinite(row["position_error"]) and row["bound_2sigma"] > 0 for row in rows)


def test_table_1_counts_what_was_learned_by_size(data: Path, tmp_path: Path) -> None:
    table = sweep(tmp_path / "out", asked(data, "fig5c"), train, LocalEngine(), "")
    (line,) = table_1(errors_in(table))
    everything, *bins = line.shares
    assert (everything.inside, everything.of) == (12, 12)  # two objects of six datasets; the third is not learned
    assert [share.of for share in bins] == [2, 4, 2, 4, 0, 0]  # sizes 8, 11, 13, 15, 17, 19
    assert bins[-1].percent is None


def test_other_detectors_come_from_their_errors(data: Path, tmp_path: Path) -> None:
    out, found = tmp_path / "out", tmp_path / "found" / "mobilesam" / "spheres-13-19"
    found.mkdir(parents=True)
    (found / "errors.csv").write_text(
        "set,object,images,images_used,error_px,kept,image,size_px,near_error_px\n"
        "0,0,50,50,0.8,1,3,15.0,0.8\n0,1,50,48,40.5,0,3,15.0,0.8\n0,2,50,0,,0,,,\n"
    )
    sweep(out, asked(data, "fig5c"), train, LocalEngine(), "")
    assert add_baselines(out, tmp_path / "found") == 3
    assert add_baselines(out, tmp_path / "found") == 0
    lines = {line.name: line for line in table_1(errors_in(open_table(out)))}
    assert lines["MobileSAM"].shares[0].of == 1  # above 35 px, or never found, is discarded
    with pytest.raises(InputError, match="has no METHOD/DATASET"):
        add_baselines(out, tmp_path / "data")


@pytest.mark.parametrize("what", ["fig5", "fig5a", "fig5c", "fig6", "fig9", "table1"])
def test_everything_is_drawn_again_from_the_table(
    what: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, out = tmp_path / "runs", tmp_path / "out"
    sweep(runs, asked(data, what), train, LocalEngine(), "")
    main(["reproduce", what, "--from", str(runs), "--out", str(out)])
    said = capsys.readouterr().out
    assert "objects learned" in said
    if what == "table1":
        page = (out / "table1.md").read_text()
        assert "| withinpx, our recipe | 100.0 (12 of 12) |" in page
        assert f"| *the paper's SAM* (not available here) | *{PAPERS['SAM'][0]}* |" in page
    else:
        with Image.open(out / f"{what}.png") as picture:
            assert min(picture.size) > 500


def test_no_data_and_no_runs_have_their_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, words in (([], "On which pictures?"), (["--from", str(tmp_path)], "has no runs to draw")):
        with pytest.raises(SystemExit) as stop:
            main(["reproduce", "fig5", "--out", str(tmp_path / "out"), *options])
        assert stop.value.code == 2
        assert words in capsys.readouterr().err
