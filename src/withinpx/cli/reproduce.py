"""Figures, tables and experiments of the paper: each is a subcommand with its own options."""

# ruff: noqa: PLC0415  (imports stand in functions: torch takes seconds, and drawing a table does not need it)

import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from tyro.conf import Fixed, OmitArgPrefixes, Suppress, subcommand

from withinpx.cli.common import Device, RecipeName, log
from withinpx.cli.figures import ClusterCommand, CurvesCommand, FigureCommand, SweepCommand, VideoCommand, fit_settings
from withinpx.errors import InputError

if TYPE_CHECKING:
    from withinpx.experiments.everything import Part
    from withinpx.experiments.sweep import Experiment


@dataclass(frozen=True)
class CentralCommand(SweepCommand):
    recipe: RecipeName = "warm"
    """`paper` is app. C.1; `warm` adds a label-free warm start."""
    epochs: int | None = None
    """Epochs per run; the recipe's if not given."""
    together: bool = False
    """Train all seeds of a setting at once."""
    fast: bool = False
    """With --together, on CUDA: hand-written kernels, wide filters in half precision."""

    def experiment(self) -> "Experiment":
        from withinpx.experiments.central import CentralExperiment
        from withinpx.training.recipe import named_recipe

        if self.fast and not self.together:
            raise InputError("--fast trains all seeds of a setting at once: give --together as well.")
        recipe = named_recipe(self.recipe, self.epochs)
        return CentralExperiment(recipe, fit_settings(self.device), self.seed_count(), self.together, self.fast)


@dataclass(frozen=True)
class GeneratedCommand(SweepCommand):
    def experiment(self) -> "Experiment":
        from withinpx.experiments.generated import GeneratedExperiment

        return GeneratedExperiment(fit_settings(self.device), self.seed_count())


@dataclass(frozen=True)
class ZooCommand(ClusterCommand):
    seeds: Suppress[Fixed[int | None]] = None  # a seed is a clip: see --clips and --seed
    clips: int = 300
    """How many clips."""
    seed: int = 0
    """The seed of the first clip; the others follow."""
    train: int = 0
    """How many of the clips to train and certify, spread evenly over the seeds; the others are inspected only."""
    budget: float = 120.0
    """Seconds of training per clip within which another seed is tried if one is refused."""

    def experiment(self) -> "Experiment":
        from withinpx.experiments.zoo import ZooExperiment

        return ZooExperiment(self.clips, self.seed, self.train, self.budget, self.device)


@dataclass(frozen=True)
class SquaresCommand(ClusterCommand):
    epochs: int = 500
    """Epochs per run at most (app. C.1)."""
    quick: bool = False
    """Three values and two seeds of each panel in small batches: 15 minutes on two cores."""
    full: bool = False
    """Train every run to its last epoch, and record its state when it would have stopped."""
    values: tuple[float, ...] = ()
    """Only these values of the horizontal axis."""
    at_once: int | None = None
    """Seeds per job; all of a setting if not given."""
    recipe: Literal["ours", "paper"] = "ours"
    """`paper` is app. C.1: random start, all epochs, no restart; `ours` stops early and restarts discarded runs."""

    def experiment(self) -> "Experiment":
        from withinpx.experiments.fig4 import SquaresExperiment, select_panels
        from withinpx.experiments.reading import PAPER_READING

        if self.quick and self.full:
            raise InputError("Quick and full exclude each other: give --quick or --full.")
        if self.recipe == "paper" and (self.quick or self.full):
            raise InputError(
                "The paper's recipe trains all epochs: leave out --quick and --full; see --values, --epochs."
            )
        panels = select_panels(self.what.removeprefix("fig4") or "abcd", self.quick, self.values)
        seeds = self.seed_count(2 if self.quick else 20)
        mode: Any = "quick" if self.quick else "to the last epoch" if self.full else "until learned"
        reading = PAPER_READING if self.recipe == "paper" else None
        return SquaresExperiment(panels, seeds, self.epochs, self.device, self.at_once, mode, reading)


@dataclass(frozen=True)
class ChoicesCommand(ClusterCommand):
    only: tuple[str, ...] = ()
    """Only these factors, beside the likeliest reading: encoding, softargmax, temperature, peak, incomplete batches."""
    settings: tuple[str, ...] = ()
    """Only these settings, such as central-d or object-17."""
    epochs: int = 500
    """Epochs per run (app. C.1)."""
    at_once: int = 20
    """Networks per job."""

    def experiment(self) -> "Experiment":
        from withinpx.experiments.choices import ChoicesExperiment

        return ChoicesExperiment(self.only, self.settings, self.seed_count(5), self.epochs, self.device, self.at_once)


@dataclass(frozen=True)
class RenderedCommand(ClusterCommand):
    recipe: RecipeName = "warm"
    """`paper` is app. C.2; `warm` is that of `withinpx track`, which begins with a label-free warm start."""
    data: Path | None = None
    """The folder that `withinpx data clevr --name all` filled."""
    quick: bool = False
    """One value of each panel."""
    baselines: Path | None = None
    """Other detectors' METHOD/DATASET/errors.csv, as `withinpx baseline` writes them."""

    def experiment(self) -> "Experiment":
        from withinpx.experiments.clevr import RenderedExperiment

        recipe: Any = "paper" if self.recipe == "paper" else "ours"
        return RenderedExperiment(self.what, self.data, recipe, self.seed_count(), self.device, quick=self.quick)

    def run_missing(self, experiment: "Experiment") -> None:
        from withinpx.experiments.clevr import add_baselines

        if self.data is None and self.baselines is None:
            raise InputError(
                "No images are given: give --data with the folder that  withinpx data clevr --name all  filled, or "
                "--from with a folder of runs to draw."
            )
        if self.data is not None:
            super().run_missing(experiment)
        elif not self.has_only("baselines"):
            raise InputError("Nothing is trained without --data: give it, or combine --baselines with --out only.")
        if self.baselines is not None:
            print(f"{add_baselines(self.out, self.baselines)} errors of other detectors are new.")


@dataclass(frozen=True)
class AllCommand(FigureCommand):
    """Resumes what --out holds: with --out results, the committed runs."""

    quick: bool = False
    """Few values, seeds and epochs of everything."""
    data: Path | None = None
    """Images for figures 5, 6 and 9 and table 1: the folder that `withinpx data clevr --name all` filled."""
    device: Device = "auto"
    """Where to train."""

    def run(self) -> None:
        from withinpx.experiments.everything import parts

        if self.data is None:
            log("Figures 5, 6 and 9 and table 1 are left out: give --data with the images of `withinpx data clevr`.")
        log("Figures 10 and 11 are left out: `reproduce traffic` and `reproduce minipool` need a clip of your own.")
        for part in parts(self.data, quick=self.quick):
            began = time.monotonic()
            print(f"-- {part.name}")
            self._command(part).run()
            print(f"-- {part.name}: {time.monotonic() - began:.0f} s", flush=True)

    def _command(self, part: "Part") -> FigureCommand:
        kind = next(kind for kind, commands in _COMMANDS.items() if part.name in commands)
        options = dict(part.options)
        if "device" in {field.name for field in fields(kind)}:
            options["device"] = self.device
        return kind(what=part.name, out=self.out / part.folder, **options)


_COMMANDS: dict[type[FigureCommand], dict[str, str]] = {
    CurvesCommand: {
        "fig2": "Where the encoder's and the decoder's largest errors come from.",
        "fig3": "The bound against each of its variables.",
        "fig7": "The bound for a range of object sizes.",
    },
    SquaresCommand: {
        "fig4": "1,560 trainings on squares against the theory.",
        **{f"fig4{letter}": f"Panel ({letter}) of figure 4." for letter in "abcd"},
    },
    ChoicesCommand: {"choices": "What the paper leaves open, one factor at a time."},
    CentralCommand: {"central": "The paper's two central settings, seed by seed."},
    RenderedCommand: {
        "fig5": "Trainings on rendered spheres against the theory.",
        **{f"fig5{letter}": f"Panel ({letter}) of figure 5." for letter in "abcd"},
        "fig6": "Table 1 as a figure.",
        "table1": "The share of errors within the bound by object size, beside other detectors.",
        "fig9": "Trainings on rendered shapes against the theory.",
        **{f"fig9{letter}": f"Panel ({letter}) of figure 9." for letter in "bc"},
    },
    VideoCommand: {
        "traffic": "Appendix E on a traffic clip of your own.",
        "minipool": "Appendix E on a mini pool clip of your own.",
    },
    GeneratedCommand: {"generated": "Generated clips with exact truth, seed by seed."},
    AllCommand: {"all": "Every figure and table that needs no clip of your own."},
    ZooCommand: {"zoo": "Random clips with exact truth: are objects found, counted and certified?"},
}

if TYPE_CHECKING:
    _Figure = FigureCommand
else:
    _Figure = Union[  # noqa: UP007  (made from a table)
        tuple(
            Annotated[kind, subcommand(name, default=kind(what=name), description=description, prefix_name=False)]
            for kind, commands in _COMMANDS.items()
            for name, description in commands.items()
        )
    ]


@dataclass(frozen=True)
class ReproduceCommand:
    """A figure, a table or an experiment of the paper."""

    figure: OmitArgPrefixes[_Figure]

    def run(self) -> None:
        self.figure.run()
