"""Figure 4: trained and drawn, or drawn again from a table."""

from typing import TYPE_CHECKING

from withinpx.cli.common import engine_named
from withinpx.errors import InputError
from withinpx.experiments.fig4 import EPOCHS, EXPERIMENTS, QUICK_SEEDS, chosen
from withinpx.experiments.fig4_figures import draw
from withinpx.experiments.fig4_summary import total
from withinpx.experiments.fig4_sweep import Asked, open_table, summarise_folder, sweep

if TYPE_CHECKING:
    from withinpx.cli.reproduce import ReproduceCommand


def reproduce_fig4(command: "ReproduceCommand") -> None:
    """Train what ``out`` does not hold yet, or take what another folder holds; then draw."""
    source = command.out if command.from_ is None else command.from_
    if command.from_ is None:
        _sweep(command)
    table = open_table(source)
    if not table.rows:
        raise InputError(f"{table.path} has no runs to draw: name the folder of a sweep.")
    print(total(summarise_folder(source, table, command.out)))
    for path in draw(table, command.out, _letters(command)):
        print(f"Drew {path}")


def _sweep(command: "ReproduceCommand") -> None:
    from withinpx.experiments import fig4_runs  # noqa: PLC0415  (brings torch)

    if command.quick and command.full:
        raise InputError("Quick and full exclude each other: give --quick or --full.")
    asked = Asked(
        experiments=chosen(_letters(command), command.quick, command.values),
        seeds=min(command.seeds, QUICK_SEEDS) if command.quick else command.seeds,
        epochs=EPOCHS if command.epochs is None else command.epochs,
        device=command.device,
        at_once=command.at_once,
        way="quick" if command.quick else "to the last epoch" if command.full else "until learned",
    )
    engine = engine_named(command.engine, command.address, command.device, command.workers)
    ways = {
        "until learned": fig4_runs.train_setting,
        "to the last epoch": fig4_runs.train_setting_fully,
        "quick": fig4_runs.train_setting_quickly,
    }
    sweep(command.out, asked, ways[asked.way], engine, _as_typed(command, asked))


def _letters(command: "ReproduceCommand") -> str:
    return command.what.removeprefix("fig4") or "".join(EXPERIMENTS)


def _as_typed(command: "ReproduceCommand", asked: Asked) -> str:
    """The command for those who read the results; a cluster's address is nobody's business."""
    options = f"--seeds {asked.seeds} --epochs {asked.epochs} --device {asked.device} --engine {command.engine}"
    way = (" --quick" if command.quick else "") + (" --full" if command.full else "")
    values = "".join(f" {value:g}" for value in command.values)
    some = f" --values{values}" if values else ""
    return f"withinpx reproduce {command.what}{way}{some} {options} --out {command.out}"
