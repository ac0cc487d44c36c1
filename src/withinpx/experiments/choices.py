"""What the paper leaves open, one factor at a time: which reading trains networks that are accepted?"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from withinpx.errors import InputError
from withinpx.experiments.fig4 import NETWORK, PANELS, Setting, is_inside
from withinpx.experiments.reading import OTHERS, Variation, variations
from withinpx.experiments.sweep import Experiment, check_counts, chunks
from withinpx.experiments.table import RunTable
from withinpx.jobs.job import Job, Row

AT_ONCE = 20  # networks in one job; more do not fill an H200 better
KEY = ("factor", "value", *NETWORK, "seed")
COLUMNS = {
    **dict.fromkeys(("factor", "value"), str),
    **dict.fromkeys(("encoder_rf", "decoder_rf", "object_size"), int),
    "sigma": float,
    **dict.fromkeys(("seed", "epochs", "steps"), int),
    "reconstruction_accuracy": float,
    "accepted": bool,
    **dict.fromkeys(("position_error", "calibrated_error", "bound_encoder", "bound_decoder_mean"), float),
    "inside": bool,  # the bound at four standard deviations
    "precision": str,
    "seconds": float,
}


def _at(letter: str, value: float) -> Setting:
    return next(s for s in PANELS[letter].settings if getattr(s, PANELS[letter].variable) == value)


SETTINGS = {  # the two central ones of figure 4, and six where our recipe loses most of its first starts
    "central-abc": _at("a", 9),
    "central-d": _at("d", 0.8),
    "object-17": _at("c", 17),
    "object-21": _at("c", 21),
    "object-25": _at("c", 25),
    "decoder-9": _at("b", 9),
    "decoder-11": _at("b", 11),
    "sigma-0.3": _at("d", 0.3),
}

Train = Callable[[Setting, Sequence[tuple[Variation, int]], int, str], list[Row]]  # -, runs, epochs, device -> rows


@dataclass(frozen=True)
class ChoicesExperiment(Experiment):
    """Every variation at every setting, by the paper's optimiser: random start, all epochs, no restart."""

    factors: tuple[str, ...] = ()  # only these; the likeliest reading is always among them
    settings: tuple[str, ...] = ()  # only these of SETTINGS
    seeds: int = 5
    epochs: int = 500
    device: str = "auto"
    at_once: int = AT_ONCE
    train: Train | None = None  # ``train_variations`` if not given

    key, columns = KEY, COLUMNS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(epochs=self.epochs, at_once=self.at_once)
        _check_names("factor", self.factors, OTHERS)
        _check_names("setting", self.settings, SETTINGS)

    @property
    def config(self) -> dict[str, Any]:
        return {"epochs": self.epochs, "likeliest": asdict(variations()[0].reading)}

    def jobs(self, table: RunTable) -> list[Job]:
        """Networks on the same images by the same recipe share a job, whatever their reading of the network is."""
        train = self.train or import_module("withinpx.experiments.first_starts").train_variations  # imports torch
        jobs = []
        for name in self.settings or SETTINGS:
            by_recipe: dict[str, list[tuple[Variation, int]]] = {}
            for variation in self._variations():
                for seed in range(self.seeds):
                    if columns(SETTINGS[name], variation, seed) not in table:
                        by_recipe.setdefault(str(variation.reading.training), []).append((variation, seed))
            for runs in by_recipe.values():
                for part in chunks(runs, self.at_once):
                    arguments = (SETTINGS[name], part, self.epochs, self.device)
                    jobs.append(Job(f"{name}, {_readings(part)}", train, arguments, runs=len(part)))
        return jobs

    def progress(self, table: RunTable) -> str:
        runs = table.runs()
        return f"{sum(run['accepted'] for run in runs)} of {len(runs)} accepted"

    def report(self, table: RunTable, folder: Path) -> list[str]:
        from withinpx.experiments import choices_report  # noqa: PLC0415  (imports pandas)

        return choices_report.write(table, folder)

    def _variations(self) -> list[Variation]:
        likeliest, *others = variations()
        return [likeliest, *(one for one in others if one.factor in self.factors or not self.factors)]


def columns(setting: Setting, variation: Variation, seed: int) -> Row:
    """The key of a run."""
    network = dict(zip(NETWORK, setting.network, strict=True))
    return {"factor": variation.factor, "value": variation.value, **network, "seed": seed}


def row_of(setting: Setting, variation: Variation, seed: int, measured: Row) -> Row:
    """A line of the table, in the order of its columns."""
    bounds = {"bound_encoder": setting.bound_encoder, "bound_decoder_mean": setting.bound_decoder_mean}
    row = {**columns(setting, variation, seed), **measured, **bounds}
    row["inside"] = bool(is_inside(row))
    return {name: row[name] for name in COLUMNS}


def _readings(runs: Sequence[tuple[Variation, int]]) -> str:
    return "; ".join(dict.fromkeys(variation.name for variation, _ in runs))


def _check_names(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise InputError(f"There is no {what} {name}: choose from {', '.join(known)}.")
