"""``withinpx reproduce``: every figure has its own options, and records a command that can be run again."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import tyro

from withinpx.cli import main
from withinpx.cli.figures import SweepCommand
from withinpx.cli.reproduce import ReproduceCommand

ROOT = Path(__file__).parents[2]
NAMES = (
    "fig2 fig3 fig7 fig4 fig4a fig4b fig4c fig4d choices central fig5 fig5a fig5b fig5c fig5d fig6 table1 fig9 fig9b "
    "fig9c traffic minipool generated all zoo"
)


def parsed(command: str) -> Any:
    return tyro.cli(ReproduceCommand, args=shlex.split(command)).figure


@pytest.mark.parametrize("name", NAMES.split())
def test_every_figure_is_a_subcommand(name: str) -> None:
    figure = parsed(f"{name} --out somewhere")
    assert (figure.what, figure.out) == (name, Path("somewhere"))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fig4 --recipe warm", "--recipe"),
        ("fig3 --seeds 2", "--seeds"),
        ("central --quick", "--quick"),
        ("fig4 --quick --full", "exclude each other"),
        ("fig4 --recipe paper --quick", "leave out --quick"),
        ("central --data .", "--data"),
        ("central --engine ray", "--engine"),
        ("generated --recipe paper", "--recipe"),
        ("traffic --seeds 2", "--seeds"),
        ("table1 --clip .", "--clip"),
        ("fig4 --what fig5", "--what"),
        ("fig8", "fig8"),
        ("traffic", "is not public: give one of your own with --clip"),
        ("central --fast --device cpu", "give --together as well"),
        ("fig4 --from . --seeds 2", "combine it with --out only"),
        ("fig4 --from .", "has no runs to draw"),
        ("fig5 --from .", "has no runs to draw"),
        ("central --from .", "has no runs to draw"),
        ("fig5", "No images are given"),
        ("table1 --baselines . --seeds 2", "Nothing is trained without --data"),
        ("fig4 --engine ray --workers 2", "leave out --workers"),
        ("fig4 --address localhost:1", "give --engine ray as well"),
        ("generated --seeds 0", "is 0: give one at least"),
        ("central --seeds 1000000", "is 1000000: give at most 10000"),
    ],
)
def test_options_that_do_not_apply_are_refused(
    command: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", *command.split()])
    assert stop.value.code == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        "fig4 --device cuda --out 'my results'",
        "fig4d --full --values 0.3 1.5 --epochs 100 --at-once 5",
        "fig5c --data clevr --recipe paper --seeds 5 --workers 3",
        "central --recipe paper --together --fast",
        "generated --seeds 3",
    ],
)
def test_the_recorded_command_is_the_one_given(command: str) -> None:
    given = parsed(command)
    assert isinstance(given, SweepCommand)
    program, verb, *recorded = shlex.split(given.as_typed())
    assert (program, verb) == ("withinpx", "reproduce")
    assert parsed(shlex.join(recorded)) == given


def test_the_address_of_a_cluster_is_not_recorded() -> None:
    assert "secret" not in parsed("fig4 --engine ray --address secret:1").as_typed()


def test_committed_results_record_commands_that_can_be_run() -> None:
    paths = sorted(ROOT.glob("results/**/about.json"))
    assert paths
    for path in paths:
        for sweep in json.loads(path.read_text())["sweeps"]:
            for command in sweep["command"].split(" && "):
                program, script, *_ = shlex.split(command)
                if program == "python":
                    assert (ROOT / script).is_file()
                else:
                    assert isinstance(parsed(command.removeprefix("withinpx reproduce ")), SweepCommand)
