"""Figures 5, 6 and 9 and table 1 (sec. 5.2, app. C.2, app. D): the experiments on rendered scenes."""

import csv
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from withinpx.data.clevr import DATASETS
from withinpx.errors import InputError
from withinpx.experiments.sweep import Experiment, Panel
from withinpx.experiments.table import RunTable
from withinpx.files import locked_folder
from withinpx.jobs.job import Job, Row
from withinpx.theory.bound import Gaussian, SizeRange, theorem

RecipeName = Literal["ours", "paper"]

OBJECTS = 3  # in every image
CUT = 35.0  # px: a position farther away is not the object's (app. C.2)
N_SIGMA = 2  # table 1 counts errors within two standard deviations
ROUNDING = 1e-4  # px; what a float32 position may be off by
WITHINPX = "withinpx"
ERRORS = "errors.csv"  # of another detector on a dataset
RUN = ("experiment", "dataset", "method", "recipe", "encoder_rf", "decoder_rf", "sigma", "seed")
COLUMNS = {
    **dict.fromkeys(("experiment", "dataset", "method", "recipe"), str),  # the recipe of other detectors is empty
    **dict.fromkeys(("encoder_rf", "decoder_rf"), int),
    "sigma": float,
    "seed": int,
    "object": str,
    **dict.fromkeys(("size_min", "size_max"), float),
    "learned": bool,
    **dict.fromkeys(("position_error", "calibrated_error", "bound_2sigma"), float),  # the largest over the images, px
    "size": float,  # of the object where the error is largest, px
    **dict.fromkeys(("calibrated_median", "missing", "reconstruction_accuracy", "seconds"), float),
}


@dataclass(frozen=True)
class Setting:
    """One network on one dataset: a value on the horizontal axis of one panel."""

    experiment: str
    dataset: str
    encoder_rf: int
    decoder_rf: int
    sigma: float

    @property
    def sizes(self) -> SizeRange:
        """Of the dataset's objects, px."""
        dataset = DATASETS[self.dataset]
        return SizeRange(dataset.smallest, dataset.largest)

    def bound(self, n_sigma: float = N_SIGMA, size: float | None = None) -> float:
        """Theorem 4.1 for objects of this size, or of all sizes of the dataset, px."""
        sizes = self.sizes if size is None else SizeRange(size, size)
        return theorem(self.encoder_rf, self.decoder_rf, sizes, Gaussian(self.sigma, n_sigma)).bound

    def bound_for_object(self, size: float) -> float:
        """What an object's error is compared with: figure 5 (c) knows its size, the others the dataset's range."""
        return self.bound(size=size if self.experiment == "fig5c" else None)

    @property
    def name(self) -> str:
        sizes = f"encoder {self.encoder_rf}, decoder {self.decoder_rf}, sigma {self.sigma:g}"
        return f"{self.experiment}: {self.dataset}, {sizes}"

    def columns(self, recipe: str, seed: int, method: str = WITHINPX) -> Row:
        """The key of a run."""
        row = {**asdict(self), "method": method, "recipe": recipe, "seed": seed}
        return {name: row[name] for name in RUN}


_SPHERES = Setting("", "spheres-06-10", encoder_rf=9, decoder_rf=25, sigma=0.8)
_SMALL = Setting("", "spheres-06-10", encoder_rf=5, decoder_rf=13, sigma=0.8)
_SHAPES = Setting("", "shapes-09-19", encoder_rf=9, decoder_rf=25, sigma=0.8)
_ENCODER, _DECODER = "encoder receptive field (px)", "decoder receptive field (px)"
_SIGMAS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 1.75, 2.0)
_SPHERE_DATASETS = tuple(name for name in DATASETS if name.startswith("spheres"))

PANELS = {
    panel.name: panel
    for panel in (
        Panel("fig5a", "encoder_rf", _ENCODER, _SPHERES, tuple(range(1, 22, 2))),
        Panel("fig5b", "decoder_rf", _DECODER, _SPHERES, tuple(range(9, 32, 2))),
        Panel("fig5c", "dataset", "object size (px)", _SPHERES, _SPHERE_DATASETS),
        Panel("fig5d", "sigma", "Gaussian s.d. (px)", _SMALL, _SIGMAS),
        Panel("fig9b", "encoder_rf", _ENCODER, _SHAPES, tuple(range(1, 22, 2))),
        Panel("fig9c", "decoder_rf", _DECODER, _SHAPES, tuple(range(19, 32, 2))),
    )
}
QUICK: dict[str, Any] = {  # the middle of each panel
    "fig5a": 9,
    "fig5b": 25,
    "fig5c": "spheres-09-14",
    "fig5d": 0.8,
    "fig9b": 9,
    "fig9c": 25,
}
FIGURES = {  # the panels that each figure or table needs
    **{name: (name,) for name in PANELS},
    "fig5": ("fig5a", "fig5b", "fig5c", "fig5d"),
    "fig6": ("fig5c",),
    "table1": ("fig5c",),
    "fig9": ("fig9b", "fig9c"),
}

Train = Callable[[Path, Setting, RecipeName, int, str], list[Row]]  # data, setting, recipe, seed, device -> rows


@dataclass(frozen=True)
class RenderedExperiment(Experiment):
    """The trainings of some panels."""

    figure: str  # one of FIGURES
    data: Path | None = None  # the folder that holds the datasets; without it nothing is trained
    recipe: RecipeName = "ours"
    seeds: int = 20
    device: str = "auto"
    train: Train | None = None  # ``train_and_measure`` if not given
    quick: bool = False  # one value of each panel

    key, columns = (*RUN, "object"), COLUMNS

    def __post_init__(self) -> None:
        super().__post_init__()
        for dataset in sorted({setting.dataset for setting in self._settings()}):
            if self.data is not None and not (self.data / dataset).is_dir():
                raise InputError(
                    f"{self.data} has no dataset {dataset}: render it with  withinpx data clevr --name {dataset} "
                    f"--out {self.data / dataset}."
                )

    def jobs(self, table: RunTable) -> list[Job]:
        """One job for each network."""
        if self.data is None:
            return []
        train = self.train or import_module("withinpx.experiments.clevr_training").train_and_measure  # imports torch
        done = {tuple(row[column] for column in RUN) for row in table.rows}
        return [
            Job(f"{setting.name}, seed {seed}", train, (self.data, setting, self.recipe, seed, self.device), OBJECTS)
            for seed in range(self.seeds)
            for setting in self._settings()
            if tuple(map(str, setting.columns(self.recipe, seed).values())) not in done
        ]

    def progress(self, table: RunTable) -> str:
        runs = [run for run in table.runs() if run["method"] == WITHINPX]
        learned = [run for run in runs if run["learned"]]
        return f"{len(learned)} of {len(runs)} objects learned, {sum(map(is_inside, learned))} inside the bound"

    def report(self, table: RunTable, folder: Path) -> list[str]:
        from withinpx.experiments import clevr_report, table1  # noqa: PLC0415  (imports pandas)

        lines = clevr_report.summarise(table, FIGURES[self.figure])
        if self.figure not in ("fig6", "table1"):
            return [*lines, f"Drew {clevr_report.draw(table, self.figure, folder)}"]
        methods = table1.table_1(table)
        lines.append(f"Wrote {table1.write_table_1(folder, methods)}")
        if self.figure == "fig6":
            lines.append(f"Drew {table1.draw_figure_6(folder / 'fig6.png', methods)}")
        return lines

    def _settings(self) -> list[Setting]:
        panels = [PANELS[name] for name in FIGURES[self.figure]]
        if self.quick:
            panels = [replace(panel, values=(QUICK[panel.name],)) for panel in panels]
        return [setting for panel in panels for setting in panel.settings]


def is_inside(run: Any) -> Any:
    """Is the error within the bound at two standard deviations? Of one row, or of all rows of a DataFrame."""
    return run["position_error"] <= run["bound_2sigma"] + ROUNDING


def add_baselines(folder: Path, baselines: Path) -> int:
    """Add METHOD/DATASET/errors.csv, as ``withinpx baseline`` writes them; returns the number of new rows."""
    paths = sorted(baselines.glob(f"*/*/{ERRORS}"))
    if not paths:
        raise InputError(f"{baselines} has no METHOD/DATASET/{ERRORS}: name a folder that `withinpx baseline` filled.")
    with locked_folder(folder):
        table = RenderedExperiment.open_table(folder)
        before = len(table.rows)
        for path in paths:
            method, dataset = path.parts[-3:-1]
            if dataset not in DATASETS:
                raise InputError(f"{path} is for an unknown dataset, {dataset}: move it away.")
            with path.open(encoding="utf-8", newline="") as file:
                table.add_all([_baseline_row(method, dataset, row) for row in csv.DictReader(file)])
    return len(table.rows) - before


def _baseline_row(method: str, dataset: str, row: dict[str, str]) -> Row:
    """Measured against the bound of figure 5 (c)'s network, or of figure 9's."""
    experiment = "fig5c" if dataset.startswith("spheres") else "fig9b"
    setting = replace(PANELS[experiment].fixed, experiment=experiment, dataset=dataset)
    size = float(row["size_px"]) if row["size_px"] else setting.sizes.largest  # the object was never found
    return {
        **setting.columns("", int(row["set"]), method),
        "object": row["object"],
        "size_min": setting.sizes.smallest,
        "size_max": setting.sizes.largest,
        "learned": row["kept"] == "1",
        "position_error": row["error_px"],
        "calibrated_error": "",
        "bound_2sigma": round(setting.bound_for_object(size), 4),
        "size": round(size, 4),
        "calibrated_median": "",
        "missing": round(1 - int(row["images_used"]) / int(row["images"]), 4),
        "reconstruction_accuracy": "",
        "seconds": "",
    }
