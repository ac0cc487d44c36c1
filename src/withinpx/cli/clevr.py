"""Figures 5, 6 and 9 and table 1: trained and drawn, or drawn again from a table."""

from pathlib import Path
from typing import TYPE_CHECKING

from withinpx.cli.common import engine_named
from withinpx.errors import InputError
from withinpx.experiments.clevr import ASKED, RecipeName, errors_in
from withinpx.experiments.clevr_figures import draw
from withinpx.experiments.clevr_summary import summarise
from withinpx.experiments.clevr_sweep import Asked, add_baselines, open_table, sweep
from withinpx.experiments.clevr_table import table_1, write_table_1

if TYPE_CHECKING:
    from withinpx.cli.reproduce import ReproduceCommand


def reproduce_clevr(command: "ReproduceCommand") -> None:
    """Train what ``out`` does not hold yet, take in other detectors, or take what another folder holds; then draw."""
    source = command.out if command.from_ is None else command.from_
    if command.from_ is None:
        if command.data is None and command.baselines is None:
            raise InputError(
                "On which pictures? Give --data with the folder that  withinpx data clevr --name all  filled, or "
                "--from with a folder of runs to draw."
            )
        if command.data is not None:
            _sweep(command, command.data)
        if command.baselines is not None:
            print(f"{add_baselines(command.out, command.baselines)} errors of other detectors are new.")
    table = open_table(source)
    if not table.rows:
        raise InputError(f"{table.path} has no runs to draw: name the folder of a sweep.")
    errors = errors_in(table)
    lines = table_1(errors)
    for line in summarise(table, ASKED[command.what]):
        print(line)
    if command.what in ("fig6", "table1"):
        print(f"Wrote {write_table_1(command.out, lines)}")
    for path in draw(command.what, errors, lines, command.out):
        print(f"Drew {path}")


def _sweep(command: "ReproduceCommand", data: Path) -> None:
    from withinpx.experiments.clevr_runs import train_and_measure  # noqa: PLC0415  (brings torch)

    recipe: RecipeName = "paper" if command.recipe == "paper" else "ours"
    asked = Asked(data, ASKED[command.what], recipe, command.seeds, command.device)
    engine = engine_named(command.engine, command.address, command.device, command.workers)
    options = f"--recipe {command.recipe} --seeds {asked.seeds} --device {asked.device} --engine {command.engine}"
    typed = f"withinpx reproduce {command.what} --data {data} {options} --out {command.out}"
    sweep(command.out, asked, train_and_measure, engine, typed)
