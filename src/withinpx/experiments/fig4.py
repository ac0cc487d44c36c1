"""Figure 4: the four experiments on squares, 78 settings with 20 seeds each."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from withinpx.errors import InputError
from withinpx.experiments.reading import Reading
from withinpx.experiments.sweep import Experiment, Panel, check_counts, chunks
from withinpx.experiments.table import RunTable
from withinpx.jobs.job import Job, Row
from withinpx.theory.bound import decoder_term, encoder_term

N_SIGMA = 4  # the paper's runs all lie within four standard deviations (sec. 5.1)
ROUNDING = 1e-4  # px; what a float32 position may be off by

NETWORK = ("encoder_rf", "decoder_rf", "object_size", "sigma")
KEY = ("experiment", *NETWORK, "seed")
COLUMNS = {  # a table may have more columns after these
    "experiment": str,
    **dict.fromkeys(("encoder_rf", "decoder_rf", "object_size"), int),
    "sigma": float,
    **dict.fromkeys(("seed", "epochs"), int),
    "reconstruction_accuracy": float,
    "accepted": bool,
    **dict.fromkeys(("position_error", "calibrated_error", "bound_encoder", "bound_decoder_mean"), float),
}


@dataclass(frozen=True)
class Setting:
    """One network: a value on the horizontal axis of one panel."""

    experiment: str  # a, b, c or d
    encoder_rf: int
    decoder_rf: int
    object_size: int
    sigma: float

    @property
    def bound_encoder(self) -> float:
        """The theorem's first term, px."""
        return encoder_term(self.encoder_rf, self.object_size)

    @property
    def bound_decoder_mean(self) -> float:
        """The theorem's second term for Delta_G = 0, px; negative where the decoder is smaller than the object."""
        return decoder_term(self.decoder_rf, self.object_size, 0)

    def bound(self, n_sigma: float = N_SIGMA) -> float:
        """Theorem 4.1 at so many standard deviations, px."""
        return min(self.bound_encoder, self.bound_decoder_mean + n_sigma * self.sigma)

    @property
    def network(self) -> tuple[int, int, int, float]:
        """What is trained: the same network may be part of several panels."""
        return self.encoder_rf, self.decoder_rf, self.object_size, self.sigma

    @property
    def name(self) -> str:
        sizes = f"encoder {self.encoder_rf}, decoder {self.decoder_rf}, object {self.object_size}"
        return f"({self.experiment}) {sizes}, sigma {self.sigma:g}"

    def columns(self, seed: int) -> Row:
        """The key of a run."""
        return {**asdict(self), "seed": seed}


def is_inside(run: Any, n_sigma: float = N_SIGMA) -> Any:
    """Is the error within theorem 4.1 at so many standard deviations? Of one row, or of all rows of a DataFrame."""
    bound = np.minimum(run["bound_encoder"], run["bound_decoder_mean"] + n_sigma * run["sigma"])
    return run["position_error"] <= np.round(bound + ROUNDING, 6)  # compared as decimals: 3.2001 may be in a table


_ODD = tuple(range(1, 32, 2))
_SIGMAS = (*(round(0.1 * step, 1) for step in range(1, 22)), *(0.25 * step for step in range(9, 21)))
_ABC = Setting("", encoder_rf=9, decoder_rf=25, object_size=9, sigma=0.8)
_D = Setting("", encoder_rf=9, decoder_rf=11, object_size=7, sigma=0.8)

PANELS = {
    panel.name: panel
    for panel in (
        Panel("a", "encoder_rf", "encoder receptive field (px)", _ABC, _ODD),
        Panel("b", "decoder_rf", "decoder receptive field (px)", _ABC, _ODD),
        Panel("c", "object_size", "object size (px)", _ABC, _ODD[:13]),
        Panel("d", "sigma", "Gaussian s.d. (px)", _D, _SIGMAS),
    )
}
QUICK = {"a": (3, 9, 17), "b": (15, 19, 25), "c": (3, 9, 13), "d": (0.4, 0.8, 1.2)}


def select_panels(letters: Iterable[str], quick: bool = False, only: Sequence[float] = ()) -> list[Panel[Setting]]:
    """Panels by their letters, with three values each if ``quick``, or with the values in ``only``."""
    panels = [PANELS[letter] for letter in letters]
    if quick:
        panels = [replace(panel, values=QUICK[panel.name]) for panel in panels]
    for panel in panels:
        if unknown := sorted(set(only) - set(panel.values)):
            known = ", ".join(f"{value:g}" for value in panel.values)
            raise InputError(f"Panel ({panel.name}) has no value {unknown[0]:g}: its values are {known}.")
    return [replace(panel, values=tuple(v for v in panel.values if v in only or not only)) for panel in panels]


Mode = Literal["until learned", "to the last epoch", "quick"]
Train = Callable[[Setting, Sequence[int], int, str, Any], list[Row]]  # setting, seeds, epochs, device, mode -> rows


@dataclass(frozen=True)
class SquaresExperiment(Experiment):
    """The trainings of some panels."""

    panels: Sequence[Panel[Setting]]
    seeds: int = 20
    epochs: int = 500  # app. C.1
    device: str = "auto"
    seeds_per_job: int | None = None  # all seeds of a setting if not given
    mode: Mode = "until learned"
    reading: Reading | None = None  # of the paper's recipe: first starts alone, all epochs; ours if not given
    train: Train | None = None  # ``train_setting`` or ``train_by_reading`` if not given

    key, columns = KEY, COLUMNS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(epochs=self.epochs, seeds_per_job=self.seeds_per_job)

    @property
    def config(self) -> dict[str, Any]:
        if self.reading is not None:
            return {"epochs": self.epochs, "mode": "the paper's recipe", "reading": asdict(self.reading)}
        return {"epochs": self.epochs, "mode": self.mode}

    def jobs(self, table: RunTable) -> list[Job]:
        """One job for each setting, or for each ``seeds_per_job`` of its seeds; a shared network is trained once."""
        train, last = self._training()
        done = {(*_network(run), run["seed"]) for run in table.runs()}
        networks: dict[tuple[Any, ...], Setting] = {}
        for setting in self._settings():
            networks.setdefault(setting.network, setting)
        return [
            Job(setting.name, train, (setting, seeds, self.epochs, self.device, last), runs=len(seeds))
            for setting in networks.values()
            for missing in [tuple(seed for seed in range(self.seeds) if (*setting.network, seed) not in done)]
            for seeds in chunks(missing, self.seeds_per_job or self.seeds)
        ]

    def progress(self, table: RunTable) -> str:
        accepted = [run for run in table.runs() if run["accepted"]]
        return f"{len(accepted)} accepted, {sum(map(is_inside, accepted))} of them inside the bound"

    def copy_shared(self, table: RunTable) -> None:
        """Every panel gets a row of each run that another panel has trained."""
        table.add_all(
            [
                {**row, "experiment": setting.experiment}
                for row, run in zip(table.rows, table.runs(), strict=True)
                for setting in self._settings()
                if setting.network == _network(run)
            ]
        )

    def report(self, table: RunTable, folder: Path) -> list[str]:
        from withinpx.experiments.fig4_report import draw, total, write_summary  # noqa: PLC0415  (imports pandas)

        paths = draw(table, folder, [panel.name for panel in self.panels])
        return [total(write_summary(folder, table)), *(f"Drew {path}" for path in paths)]

    def _training(self) -> tuple[Train, Any]:
        """What trains a setting, and its last argument. Both modules import torch."""
        if self.reading is not None:
            train = self.train or import_module("withinpx.experiments.first_starts").train_by_reading
            return train, self.reading
        return self.train or import_module("withinpx.experiments.fig4_training").train_setting, self.mode

    def _settings(self) -> list[Setting]:
        return [setting for panel in self.panels for setting in panel.settings]


def _network(run: Row) -> tuple[Any, ...]:
    return tuple(run[name] for name in NETWORK)
