"""The experiments on rendered scenes: what is trained, what counts as learned, the table and the figures."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from withinpx.cli import main
from withinpx.data.clevr_folder import read_split
from withinpx.errors import BrokenTrainingError, InputError
from withinpx.experiments import clevr_training
from withinpx.experiments.clevr import (
    COLUMNS,
    OBJECTS,
    PANELS,
    RecipeName,
    RenderedExperiment,
    Setting,
    add_baselines,
    is_inside,
)
from withinpx.experiments.clevr_training import (
    Detections,
    is_learned,
    largest_errors,
    measure,
    papers_recipe,
    train_and_measure,
)
from withinpx.experiments.sweep import run_experiment
from withinpx.experiments.table import RunTable
from withinpx.experiments.table1 import PAPERS, table_1
from withinpx.jobs.job import Row
from withinpx.jobs.local import LocalEngine
from withinpx.training.recipe import CLIP

SAMPLE = Path(__file__).parents[1] / "data" / "clevr_sample"
RESULTS = Path(__file__).parents[2] / "results" / "clevr"
ISSUE_COLUMNS = (
    "experiment,dataset,method,recipe,encoder_rf,decoder_rf,sigma,seed,object,size_min,size_max,learned,"
    "position_error,calibrated_error,bound_2sigma"
)
trained: list[tuple[str, int]] = []


def train(data: Path, setting: Setting, recipe: RecipeName, seed: int, device: str) -> list[Row]:
    """Made-up rows: the first object's error is small, the second's is the bound, the third is not learned."""
    trained.append((setting.name, seed))
    size = setting.sizes.smallest + 2.0
    bound = setting.bound_for_object(size)
    return [
        {
            **setting.columns(recipe, seed),
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
    for panel in PANELS.values():
        for setting in panel.settings:
            (folder / setting.dataset).mkdir(parents=True, exist_ok=True)
    return folder


def fill(folder: Path, data: Path, figure: str, seeds: int = 1) -> RunTable:
    experiment = RenderedExperiment(figure, data, "ours", seeds, "cpu", train)
    return run_experiment(folder, experiment, LocalEngine(), f"withinpx reproduce {figure}")


def test_the_appendix_s_settings() -> None:
    fixed = {name: panel.fixed for name, panel in PANELS.items()}
    assert (fixed["fig5a"].encoder_rf, fixed["fig5a"].decoder_rf, fixed["fig5a"].sigma) == (9, 25, 0.8)
    assert (fixed["fig5d"].encoder_rf, fixed["fig5d"].decoder_rf) == (5, 13)
    assert fixed["fig9b"].dataset == "shapes-09-19"
    assert len(PANELS["fig5c"].settings) == 6
    rates = {name: (papers_recipe(name).learning_rate, papers_recipe(name).batch_size) for name in PANELS}
    assert rates["fig5c"] == (1e-3, 150)
    assert rates["fig5a"] == rates["fig5b"] == rates["fig5d"] == (1e-2, 128)


def test_a_sweep_is_resumed_and_its_table_has_the_specified_columns(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fill(out, data, "fig5c")
    assert len(trained) == 6
    fill(out, data, "fig5c", seeds=2)
    assert len(trained) == len(set(trained)) == 12
    table = RenderedExperiment.open_table(out)
    assert len(table.rows) == 12 * OBJECTS
    assert ",".join(table.columns).startswith(ISSUE_COLUMNS)
    assert ",".join(COLUMNS).startswith(ISSUE_COLUMNS)
    assert not RenderedExperiment("fig5c", data, "ours", 2, train=train).jobs(table)


def test_a_missing_dataset_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no dataset spheres-06-10: render it with"):
        fill(tmp_path / "out", tmp_path, "fig5a")


def test_an_object_is_learned_if_exactly_one_heatmap_follows_it() -> None:
    truth = np.random.default_rng(0).uniform(0, 128, (50, 2, 2))
    found = np.stack([truth[:, 0] + 3, truth[:, 0] - 2, np.full((50, 2), 5.0)], axis=1)
    errors = largest_errors(found, truth)
    assert errors.shape == (3, 2)
    assert errors[0, 0] == pytest.approx(3)
    assert not is_learned(errors[:, 0])  # two follow the first
    assert not is_learned(errors[:, 1])  # none follows the second
    assert is_learned(errors[1:, 0])


def test_errors_are_the_largest_over_the_test_images_along_either_axis() -> None:
    rng = np.random.default_rng(1)
    test = replace(read_split(SAMPLE, "test"), boxes=rng.uniform(10, 118, (40, 3, 4)))
    z = test.positions.copy()
    z[2, 1, 0] += 4.0
    z[:, 2] += 0.5
    found = Detections(z, test.positions, np.ones(z.shape[:2], dtype=bool), 0.99)
    setting = PANELS["fig9b"].settings[0]
    first, second, third = measure(found, test, setting)
    assert (first["position_error"], second["position_error"], third["position_error"]) == (0.0, 4.0, 0.5)
    assert first["calibrated_error"] == 0
    assert second["size"] == pytest.approx(test.boxes[2, 1, 2:].max(), abs=1e-3)
    assert all(row["learned"] for row in (first, second, third))
    unstable = replace(found, earlier_z=z + np.array([0.0, 6.0]))
    assert not any(row["learned"] for row in measure(unstable, test, setting))


def test_a_training_that_breaks_has_learned_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SAMPLE, tmp_path / "shapes-09-19")

    def breaks(*_: object) -> None:
        raise BrokenTrainingError("Training broke.")

    monkeypatch.setattr(clevr_training, "fit", breaks)
    first, *others = PANELS["fig9b"].settings
    table = RenderedExperiment.open_table(tmp_path)
    table.add_all(train_and_measure(tmp_path, first, "paper", 0, "cpu"))
    assert not any(run["learned"] or is_inside(run) for run in RenderedExperiment.open_table(tmp_path).runs())
    left = RenderedExperiment("fig9b", tmp_path, "paper", 1, train=train).jobs(table)
    assert len(left) == len(others), "it is not repeated"


@pytest.mark.parametrize("recipe", ["paper", "ours"])
def test_both_recipes_train_on_rendered_images(
    recipe: RecipeName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SAMPLE, tmp_path / "shapes-09-19")
    monkeypatch.setattr(clevr_training, "STEPS", 2)
    monkeypatch.setattr(clevr_training, "STABLE_STEPS", 1)
    monkeypatch.setattr("withinpx.tracking.attempt.UNORDERED_STEPS", 2)
    monkeypatch.setattr("withinpx.tracking.attempt.CLIP", replace(CLIP, warm_start_steps=2))
    rows = train_and_measure(tmp_path, Setting("fig9b", "shapes-09-19", 3, 7, 0.8), recipe, 0, "cpu")
    assert [row["object"] for row in rows] == ["red metal sphere", "blue rubber cylinder", "green rubber cube"]
    assert all(np.isfinite(row["position_error"]) and row["bound_2sigma"] > 0 for row in rows)


def test_table_1_counts_learned_objects_by_size(data: Path, tmp_path: Path) -> None:
    (line,) = table_1(fill(tmp_path / "out", data, "fig5c"))
    assert (line.inside[0], line.of[0]) == (12, 12)  # two objects of six datasets; the third is not learned
    assert line.of[1:] == (2, 4, 2, 4, 0, 0)  # sizes 8, 11, 13, 15, 17, 19
    assert line.percents[-1] is None


def test_errors_of_other_detectors_are_added_once(data: Path, tmp_path: Path) -> None:
    out, found = tmp_path / "out", tmp_path / "found" / "mobilesam" / "spheres-13-19"
    found.mkdir(parents=True)
    (found / "errors.csv").write_text(
        "set,object,images,images_used,error_px,kept,image,size_px,near_error_px\n"
        "0,0,50,50,0.8,1,3,15.0,0.8\n0,1,50,48,40.5,0,3,15.0,0.8\n0,2,50,0,,0,,,\n"
    )
    fill(out, data, "fig5c")
    assert add_baselines(out, tmp_path / "found") == 3
    assert add_baselines(out, tmp_path / "found") == 0
    lines = {line.name: line for line in table_1(RenderedExperiment.open_table(out))}
    assert lines["MobileSAM"].of[0] == 1  # an error above 35 px, or an object never found, is discarded
    with pytest.raises(InputError, match="has no METHOD/DATASET"):
        add_baselines(out, tmp_path / "data")


@pytest.mark.parametrize("figure", ["fig5", "fig5a", "fig5c", "fig6", "fig9", "table1"])
def test_everything_is_drawn_again_from_the_table(
    figure: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, out = tmp_path / "runs", tmp_path / "out"
    fill(runs, data, figure)
    main(["reproduce", figure, "--from", str(runs), "--out", str(out)])
    assert "objects learned" in capsys.readouterr().out
    if figure == "table1":
        page = (out / "table1.md").read_text()
        assert "| withinpx, our recipe | 100.0 (12 of 12) |" in page
        assert f"| *the paper's SAM* (not available here) | *{PAPERS['SAM'][0]}* |" in page
    else:
        with Image.open(out / f"{figure}.png") as image:
            assert min(image.size) > 500


def test_the_committed_table_1_follows_from_the_committed_runs() -> None:
    lines = table_1(RenderedExperiment.open_table(RESULTS))
    committed = json.loads((RESULTS / "table1.json").read_text())["methods"]
    assert [{"method": line.name, "inside": [*line.inside], "of": [*line.of]} for line in lines] == committed
