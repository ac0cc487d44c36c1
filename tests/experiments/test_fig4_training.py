"""The starts of a setting's seeds: a random one, and two more for runs that are lost."""

from types import SimpleNamespace
from typing import Any

import pytest

from withinpx.experiments import fig4_training
from withinpx.experiments.fig4 import Setting
from withinpx.experiments.fig4_training import train_setting
from withinpx.experiments.squares_options import Kernels
from withinpx.experiments.synthetic import Evaluation, SquaresRun
from withinpx.training.log import Log

SETTING = Setting("b", 9, 11, 9, 0.8)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[list[SquaresRun]]:
    """Every group of runs that is trained; seed 0 is accepted at once, 1 with jitter, 2 from the centre, 3 never."""
    groups: list[list[SquaresRun]] = []

    def train_together(runs: list[SquaresRun], _: object, kernels: Kernels) -> tuple[list[Any], list[Log]]:
        groups.append(list(runs))
        logs = [Log(None, 0) for _ in runs]
        for log in logs:
            log.add(1, 0.0, 1.0)
        return [SimpleNamespace()] * len(runs), logs

    def evaluate(_: object, run: SquaresRun) -> Evaluation:
        accepted = run.seed < len(groups)
        return Evaluation(1.0, 5.2, 4.0, True, 0.9995 if accepted else 0.99, accepted, (1.0, 0.0), 0.0, 0.0)

    def train_beyond(runs: list[SquaresRun], _: object, kernels: Kernels) -> tuple[Any, ...]:
        return *train_together(runs, _, kernels), {0: (7, SimpleNamespace())}

    for function in (train_together, train_beyond, evaluate):
        monkeypatch.setattr(fig4_training, function.__name__, function)
    return groups


def test_only_lost_runs_are_restarted(trained: list[list[SquaresRun]]) -> None:
    rows = train_setting(SETTING, (0, 1, 2, 3), 500, "cpu", "until learned")
    assert [[run.seed for run in group] for group in trained] == [[0, 1, 2, 3], [1, 2, 3], [2, 3]]
    assert [(row["seed"], row["start"], row["accepted"]) for row in rows] == [
        (0, "random", True),
        (1, "aside", True),
        (2, "centre", True),
        (3, "centre", False),
    ]
    assert rows[0]["epochs"] == 1
    assert (rows[0]["bound_encoder"], rows[0]["bound_decoder_mean"]) == (8, 1)


def test_first_the_paper_s_start_then_a_jitter_of_half_the_encoder_s_reach(trained: list[list[SquaresRun]]) -> None:
    train_setting(SETTING, (3,), 500, "cpu", "until learned")
    recipes = [group[0].recipe for group in trained]
    assert [recipe.warm_start_steps > 0 for recipe in recipes] == [False, True, True]
    assert [recipe.jitter_px for recipe in recipes] == [0, 4, 0]
    assert all(recipe.stop_when_converged and recipe.epochs == 500 for recipe in recipes)


def test_a_full_run_records_when_it_would_have_stopped(trained: list[list[SquaresRun]]) -> None:
    rows = train_setting(SETTING, (0, 1, 2, 3), 500, "cpu", "to the last epoch")
    assert [group[0].recipe.epochs for group in trained] == [500, 500, 500]
    recorded = [tuple(row[name] for name in fig4_training.WHEN_LEARNED) for row in rows]
    assert recorded == [(7, True, 1.0), (7, True, 1.0), (7, True, 1.0), ("", "", "")]  # the last never would have
