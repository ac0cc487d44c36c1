"""Figures 5, 6 and 9 and table 1 (sec. 5.2, app. C.2, app. D): the experiments on rendered scenes, as data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from withinpx.data.clevr import DATASETS
from withinpx.errors import InputError
from withinpx.experiments.table import RunTable
from withinpx.jobs.job import Job, Row
from withinpx.theory.bound import Gaussian, SizeRange, theorem

RecipeName = Literal["ours", "paper"]

OBJECTS = 3  # in every picture
CUT = 35.0  # px: a position farther off is not the object's (app. C.2)
N_SIGMA = 2  # table 1 counts errors within two standard deviations
ROUNDING = 1e-4  # px; what a float32 position may be off by
WITHINPX = "withinpx"
RUN = ("experiment", "dataset", "method", "recipe", "encoder_rf", "decoder_rf", "sigma", "seed")
KEY = (*RUN, "object")
COLUMNS = (*KEY, "size_min", "size_max", "learned", "position_error", "calibrated_error", "bound_2sigma")
# A table may have more columns after these.


@dataclass(frozen=True)
class Setting:
    """One place on one of the horizontal axes."""

    experiment: str
    dataset: str
    encoder_rf: int
    decoder_rf: int
    sigma: float

    @property
    def sizes(self) -> SizeRange:
        """Of the dataset's objects, px."""
        made = DATASETS[self.dataset]
        return SizeRange(made.smallest, made.largest)

    def bound(self, n_sigma: float = N_SIGMA, sizes: SizeRange | None = None) -> float:
        """Theorem 4.1 over these sizes, or all of the dataset's, at so many standard deviations, px."""
        rendering = Gaussian(self.sigma, n_sigma)
        return theorem(self.encoder_rf, self.decoder_rf, sizes or self.sizes, rendering).bound

    @property
    def name(self) -> str:
        """For people."""
        return (
            f"{self.experiment}: {self.dataset}, encoder {self.encoder_rf}, decoder {self.decoder_rf}, "
            f"sigma {self.sigma:g}"
        )


@dataclass(frozen=True)
class Experiment:
    """One panel: ``variable`` takes ``values``, the rest stays as in ``fixed``."""

    name: str
    variable: str  # a field of Setting
    axis: str  # what the horizontal axis says
    fixed: Setting
    values: tuple[Any, ...]
    learning_rate: float  # of the paper's recipe (app. C.2)
    batch_size: int

    @property
    def settings(self) -> list[Setting]:
        """The places on the horizontal axis."""
        at_home = replace(self.fixed, experiment=self.name)
        return [replace(at_home, **{self.variable: value}) for value in self.values]


_SPHERES = Setting("", "spheres-06-10", encoder_rf=9, decoder_rf=25, sigma=0.8)
_WIDTHS = Setting("", "spheres-06-10", encoder_rf=5, decoder_rf=13, sigma=0.8)
_SHAPES = Setting("", "shapes-09-19", encoder_rf=9, decoder_rf=25, sigma=0.8)
_ENCODER, _DECODER = "encoder receptive field (px)", "decoder receptive field (px)"
_SIGMAS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 1.75, 2.0)
_OF_SPHERES = tuple(name for name in DATASETS if name.startswith("spheres"))

EXPERIMENTS = {
    each.name: each
    for each in (
        Experiment("fig5a", "encoder_rf", _ENCODER, _SPHERES, tuple(range(1, 22, 2)), 1e-2, 128),
        Experiment("fig5b", "decoder_rf", _DECODER, _SPHERES, tuple(range(9, 32, 2)), 1e-2, 128),
        Experiment("fig5c", "dataset", "object size (px)", _SPHERES, _OF_SPHERES, 1e-3, 150),
        Experiment("fig5d", "sigma", "Gaussian s.d. (px)", _WIDTHS, _SIGMAS, 1e-2, 128),
        Experiment("fig9b", "encoder_rf", _ENCODER, _SHAPES, tuple(range(1, 22, 2)), 1e-2, 128),
        Experiment("fig9c", "decoder_rf", _DECODER, _SHAPES, tuple(range(19, 32, 2)), 1e-2, 128),
    )
}
ASKED = {  # what a person may ask for: the experiments that it is drawn from
    **{name: (name,) for name in EXPERIMENTS},
    "fig5": ("fig5a", "fig5b", "fig5c", "fig5d"),
    "fig6": ("fig5c",),
    "table1": ("fig5c",),
    "fig9": ("fig9b", "fig9c"),
}


@dataclass(frozen=True)
class Error:
    """One row of the table, as numbers: the largest error of one object over a set of pictures."""

    setting: Setting  # RFs and sigma are 0 where a method has none
    method: str
    recipe: str
    seed: int
    object: str
    learned: bool
    position: float  # px
    calibrated: float | None
    bound: float  # at two standard deviations, px
    size: float  # of the object where the error is largest, px

    @property
    def inside(self) -> bool:
        """Is the error within the bound?"""
        return self.position <= self.bound + ROUNDING


def errors_in(table: RunTable) -> list[Error]:
    """All rows."""
    return [
        Error(
            Setting(
                row["experiment"],
                row["dataset"],
                int(row["encoder_rf"]),
                int(row["decoder_rf"]),
                float(row["sigma"]),
            ),
            row["method"],
            row["recipe"],
            int(row["seed"]),
            row["object"],
            row["learned"] == "True",
            float(row["position_error"] or "nan"),
            float(row["calibrated_error"]) if row["calibrated_error"] else None,
            float(row["bound_2sigma"]),
            float(row["size"]),
        )
        for row in table.rows
    ]


Train = Callable[[str, Setting, RecipeName, int, str], list[Row]]  # data, setting, recipe, seed, device -> rows


def jobs(
    table: RunTable,
    experiments: Sequence[str],
    recipe: RecipeName,
    seeds: int,
    *,
    train: Train,
    data: str,
    device: str,
) -> list[Job]:
    """What the table does not have yet: one job for each network."""
    if seeds < 1:
        raise InputError(f"The number of seeds is {seeds}: give one at least.")
    done = {tuple(row[column] for column in RUN) for row in table.rows}
    wanted = [
        (setting, seed)
        for seed in range(seeds)
        for name in experiments
        for setting in EXPERIMENTS[name].settings
        if tuple(str(value) for value in run_columns(setting, recipe, seed).values()) not in done
    ]
    return [
        Job(f"{setting.name}, seed {seed}", train, (data, setting, recipe, seed, device), runs=OBJECTS)
        for setting, seed in wanted
    ]


def run_columns(setting: Setting, recipe: str, seed: int, method: str = WITHINPX) -> dict[str, Any]:
    """The names of a run."""
    return {
        "experiment": setting.experiment,
        "dataset": setting.dataset,
        "method": method,
        "recipe": recipe,
        "encoder_rf": setting.encoder_rf,
        "decoder_rf": setting.decoder_rf,
        "sigma": setting.sigma,
        "seed": seed,
    }
