"""Figure 4 as a folder: runs.csv, about.json, the summary and the figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from withinpx.errors import InputError
from withinpx.experiments.fig4 import COLUMNS, KEY, Experiment, Train, copy_shared, jobs, missing, so_far
from withinpx.experiments.fig4_summary import Summary, moved_after, summarise, write_summary
from withinpx.experiments.sweep import Diary, about_runs, in_words, note_runs, run_sweep
from withinpx.experiments.table import RunTable
from withinpx.files import locked_folder
from withinpx.jobs.job import Engine
from withinpx.jobs.progress import job_progress

TABLE = "runs.csv"


@dataclass(frozen=True)
class Asked:
    """What to train, and how."""

    experiments: Sequence[Experiment]
    seeds: int
    epochs: int
    device: str
    at_once: int | None = None  # seeds per job; all of a setting if not given
    way: str = "until learned"  # how far each is trained

    def __post_init__(self) -> None:
        for name, value in (("seeds", self.seeds), ("epochs", self.epochs), ("seeds at once", self.at_once)):
            if value is not None and value < 1:
                raise InputError(f"The number of {name} is {value}: give one at least.")


def open_table(folder: Path) -> RunTable:
    """The runs in a folder, or an empty table where there are none yet."""
    return RunTable(folder / TABLE, KEY, COLUMNS)


def sweep(folder: Path, asked: Asked, train: Train, engine: Engine, command: str) -> RunTable:
    """Train what the table in ``folder`` does not have yet; ``command`` is what was typed to get here."""
    with locked_folder(folder):
        table = open_table(folder)
        about = _begin(folder, asked)
        copy_shared(table, asked.experiments)
        left = missing(table, asked.experiments, range(asked.seeds))
        work = jobs(left, train, asked.epochs, asked.device, asked.at_once)
        diary = Diary(folder, about, command, engine)
        with job_progress(lambda: so_far(table)) as bar:
            run_sweep(work, table, engine, diary, bar)
        copy_shared(table, asked.experiments)
    return table


def summarise_folder(source: Path, table: RunTable, folder: Path) -> list[Summary]:
    """Write the summary of the runs in ``source`` into a folder."""
    summaries = summarise(table)
    after = moved_after(table)
    write_summary(folder, summaries, in_words(source) + ([after] if after else []))
    return summaries


def _begin(folder: Path, asked: Asked) -> dict[str, Any]:
    """Runs of other lengths, or trained another way, do not go into one table."""
    about = {"epochs": None, **about_runs(folder)}
    if about["epochs"] not in (None, asked.epochs):
        raise InputError(
            f"The runs in {folder} are of {about['epochs']} epochs and {asked.epochs} are asked for: choose another "
            f"folder, or give --epochs {about['epochs']}."
        )
    if about.get("way", asked.way) != asked.way:
        raise InputError(f"The runs in {folder} were trained another way, {about['way']}: choose another folder.")
    about |= {"epochs": asked.epochs, "way": asked.way}
    note_runs(folder, about)
    return about
