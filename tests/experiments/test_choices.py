"""The paper's open choices: one factor at a time, resumable, the best reading first."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from withinpx import InputError
from withinpx.experiments.choices import SETTINGS, ChoicesExperiment, row_of
from withinpx.experiments.choices_report import page, summarise, write
from withinpx.experiments.fig4 import Setting
from withinpx.experiments.first_starts import measure_first_starts, run_of, train_by_reading
from withinpx.experiments.reading import LIKELIEST, NONE, OTHERS, Reading, Variation, value_of, variations
from withinpx.experiments.sweep import run_experiment
from withinpx.jobs.job import Row
from withinpx.jobs.local import LocalEngine

TINY = Setting("a", encoder_rf=9, decoder_rf=25, object_size=25, sigma=0.8)  # 48 training images


def train(setting: Setting, runs: Sequence[tuple[Variation, int]], epochs: int, device: str) -> list[Row]:
    """The likeliest reading is accepted once in two seeds, a unit mass always, anything else never."""
    return [
        row_of(
            setting,
            variation,
            seed,
            {
                "epochs": epochs,
                "steps": epochs,
                "reconstruction_accuracy": 1.0,
                "accepted": variation.value == "unit mass" or (variation.factor == NONE and seed == 0),
                "position_error": 3.0,
                "calibrated_error": 0.0,
                "precision": "float32",
                "seconds": 1.0,
            },
        )
        for variation, seed in runs
    ]


def test_every_variation_differs_from_the_likeliest_in_one_factor() -> None:
    first, *others = variations()
    assert (first.factor, first.reading) == (NONE, LIKELIEST)
    assert len(others) == sum(len(values) - 1 for values in OTHERS.values())
    for variation in others:
        changed = [factor for factor in OTHERS if value_of(factor, variation.reading) != value_of(factor, LIKELIEST)]
        assert changed == [variation.factor]
        assert value_of(variation.factor, variation.reading) == variation.value


def test_another_base_leaves_every_value_to_be_tried() -> None:
    base = Reading(encoding="learned", encoding_rate=0.01)
    values = {variation.value for variation in variations(base) if variation.factor == "encoding"}
    assert values == {"coordinates", "sinusoidal", "learned"}


def test_networks_on_the_same_images_by_the_same_recipe_share_a_job(tmp_path: Path) -> None:
    experiment = ChoicesExperiment(settings=("object-17",), seeds=2, train=train)
    jobs = experiment.jobs(experiment.open_table(tmp_path))
    assert sum(job.runs for job in jobs) == 2 * len(variations())
    for job in jobs:
        _, runs, epochs, _ = job.arguments
        assert epochs == 500
        assert len({str(variation.reading.training) for variation, _ in runs}) == 1


def test_a_sweep_is_resumed_and_sorted_by_acceptance(tmp_path: Path) -> None:
    first = ChoicesExperiment(factors=("peak",), settings=("object-25",), seeds=1, epochs=3, train=train)
    run_experiment(tmp_path, first, LocalEngine(), "the command")
    more = replace(first, seeds=2)
    assert sum(job.runs for job in more.jobs(more.open_table(tmp_path))) == 2
    table = run_experiment(tmp_path, more, LocalEngine(), "the command")
    summaries = summarise(table)
    assert [(row["name"], row["accepted"], row["runs"]) for row in summaries] == [
        ("peak: unit mass", 2, 2),
        ("none: likeliest", 1, 2),
    ]
    assert "2 of 2, 3 px" in page(summaries, [])
    write(table, tmp_path / "figures")
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"summary.json", "summary.md", "choices.png"}


def test_another_number_of_epochs_needs_another_folder(tmp_path: Path) -> None:
    experiment = ChoicesExperiment(factors=("peak",), settings=("object-25",), seeds=1, epochs=3, train=train)
    run_experiment(tmp_path, experiment, LocalEngine(), "the command")
    with pytest.raises(InputError, match="epochs"):
        run_experiment(tmp_path, replace(experiment, epochs=4), LocalEngine(), "the command")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="no factor colour"):
        ChoicesExperiment(factors=("colour",))
    with pytest.raises(InputError, match="no setting object-18"):
        ChoicesExperiment(settings=("object-18",))


def test_the_settings_are_those_of_figure_4() -> None:
    assert [setting.network for setting in SETTINGS.values()] == [
        (9, 25, 9, 0.8),
        (9, 11, 7, 0.8),
        (9, 25, 17, 0.8),
        (9, 25, 21, 0.8),
        (9, 25, 25, 0.8),
        (9, 9, 9, 0.8),
        (9, 11, 9, 0.8),
        (9, 11, 7, 0.3),
    ]


def test_a_reading_reaches_the_network_and_the_recipe() -> None:
    reading = Reading("sinusoidal", 0.5, "means", 0.3, "unit mass", "dropped")
    run = run_of(TINY, reading, 3, 7)
    assert {name: str(value) for name, value in asdict(run.network).items() if name in reading.network} == {
        name: str(value) for name, value in reading.network.items()
    }
    assert (run.recipe.epochs, run.recipe.encoding_rate, run.recipe.incomplete_batches) == (7, 0.5, "dropped")
    assert (run.recipe.warm_start_steps, run.recipe.stop_when_converged, run.seed) == (0, False, 3)


def test_readings_trained_together_are_measured_as_if_alone() -> None:
    readings = [LIKELIEST, replace(LIKELIEST, softargmax="means")]
    runs = [replace(run_of(TINY, reading, 0, 1), channels=4) for reading in readings]
    together = measure_first_starts(runs, "cpu")
    alone = [measure_first_starts([run], "cpu")[0] for run in runs]
    for both in (together, alone):
        for row in both:
            del row["seconds"]
    assert together == alone
    assert together[0] != together[1]
    assert (together[0]["epochs"], together[0]["steps"], together[0]["precision"]) == (1, 1, "float32")


def test_a_row_of_figure_4_names_its_recipe_and_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {"epochs": 5, "reconstruction_accuracy": 1.0, "accepted": True, "position_error": 2.0}
    rest = {"calibrated_error": 0.0, "precision": "tf32", "seconds": 1.0}
    monkeypatch.setattr(
        "withinpx.experiments.first_starts.measure_first_starts", lambda runs, _: [{**measured, **rest} for _ in runs]
    )
    rows = train_by_reading(TINY, (0, 4), 5, "cpu", LIKELIEST)
    assert [(row["seed"], row["start"], row["recipe"], row["precision"]) for row in rows] == [
        (0, "random", "paper", "tf32"),
        (4, "random", "paper", "tf32"),
    ]
