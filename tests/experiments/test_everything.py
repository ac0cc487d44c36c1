"""``reproduce all`` runs every part with options that the parts accept, and resumes the committed folders."""

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from tests.experiments import fake_runs
from withinpx.cli import main
from withinpx.cli.figures import CurvesCommand, FigureCommand, SweepCommand
from withinpx.cli.reproduce import AllCommand, SquaresCommand
from withinpx.errors import InputError
from withinpx.experiments.clevr import FIGURES, PANELS, QUICK, RenderedExperiment
from withinpx.experiments.everything import parts
from withinpx.experiments.fig2 import figure_2
from withinpx.experiments.fig4 import SquaresExperiment, select_panels
from withinpx.experiments.reading import PAPER_READING
from withinpx.experiments.sweep import run_experiment
from withinpx.jobs.local import LocalEngine

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[FigureCommand]:
    """The parts in place of their runs."""
    commands: list[FigureCommand] = []
    for kind in (CurvesCommand, SweepCommand):
        monkeypatch.setattr(kind, "run", lambda self: commands.append(self))  # noqa: PLW0108  (a method)
    return commands


@pytest.mark.parametrize("quick", [True, False])
def test_every_part_is_a_command_with_valid_options(run: list[FigureCommand], tmp_path: Path, quick: bool) -> None:
    for name in {setting for panel in FIGURES["fig5"] + FIGURES["fig9"] for setting in
                 [one.dataset for one in PANELS[panel].settings]}:  # fmt: skip
        (tmp_path / name).mkdir()
    AllCommand(what="all", out=tmp_path / "out", quick=quick, data=tmp_path, device="cpu").run()
    names = [command.what for command in run]
    assert names == [part.name for part in parts(tmp_path, quick=quick)]
    assert {"fig2", "fig3", "fig7", "fig4", "central", "choices", "fig5", "fig9", "table1", "fig6"} == set(names)
    sweeps = [command for command in run if isinstance(command, SweepCommand)]
    assert sweeps
    for command in sweeps:
        table_missing = command.experiment()
        assert table_missing.seeds >= 1
        assert "--device cpu" in command.as_typed()


def test_without_images_the_rendered_figures_are_left_out(
    run: list[FigureCommand], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["reproduce", "all", "--quick", "--out", str(tmp_path)])
    assert not {"fig5", "fig9", "table1"} & {command.what for command in run}
    assert "give --data" in capsys.readouterr().err


def test_the_folders_are_those_of_the_committed_results() -> None:
    for part in parts(RESULTS, quick=False):
        if part.name not in ("fig6", "choices") and part.folder != "synthetic/paper":  # not trained yet
            assert (RESULTS / part.folder).is_dir(), part


def test_a_quick_part_of_the_rendered_scenes_has_one_value_per_panel() -> None:
    assert set(QUICK) == set(PANELS)
    for name, value in QUICK.items():
        assert value in PANELS[name].values
    experiment = RenderedExperiment("fig5", quick=True, seeds=1)
    assert [setting.experiment for setting in experiment._settings()] == list(FIGURES["fig5"])


def test_the_paper_s_recipe_trains_all_epochs_by_the_reading() -> None:
    command = SquaresCommand(what="fig4d", recipe="paper", values=(0.8,))
    experiment = command.experiment()
    assert isinstance(experiment, SquaresExperiment)
    assert experiment.reading == PAPER_READING
    assert "--recipe paper" in command.as_typed()
    for refused in (replace(command, quick=True), replace(command, full=True)):
        with pytest.raises(InputError, match="trains all epochs"):
            refused.experiment()


def test_the_two_recipes_do_not_share_a_folder(tmp_path: Path) -> None:
    panels = select_panels("d", only=(0.8,))
    ours = SquaresExperiment(panels, 1, train=fake_runs.train)
    run_experiment(tmp_path, ours, LocalEngine(), "ours")
    with pytest.raises(InputError, match="mode"):
        run_experiment(tmp_path, replace(ours, reading=PAPER_READING), LocalEngine(), "the paper's")
    with pytest.raises(InputError, match="reading"):
        _trained_by_another_reading(tmp_path / "paper", replace(ours, reading=PAPER_READING))


def _trained_by_another_reading(folder: Path, experiment: SquaresExperiment) -> None:
    run_experiment(folder, experiment, LocalEngine(), "the paper's")
    other = replace(PAPER_READING, temperature=0.3)
    run_experiment(folder, replace(experiment, reading=other), LocalEngine(), "the paper's")


def test_figure_2_is_to_scale(tmp_path: Path) -> None:
    with Image.open(figure_2(tmp_path)) as image:
        assert image.width > 1000
