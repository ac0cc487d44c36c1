"""Figures and experiments of the paper."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from tyro.conf import Positional, arg

from withinpx.cli.common import Device, EngineName, RecipeName, print_json
from withinpx.cli.common import log as tell
from withinpx.errors import InputError

Curves = Literal["fig3", "fig7"]
Squares = Literal["fig4", "fig4a", "fig4b", "fig4c", "fig4d", "central"]
Rendered = Literal["fig5", "fig5a", "fig5b", "fig5c", "fig5d", "fig6", "table1", "fig9", "fig9b", "fig9c"]
Clips = Literal["traffic", "minipool", "generated"]


@dataclass(frozen=True)
class ReproduceCommand:
    """A figure or an experiment of the paper."""

    what: Positional[Literal[Curves, Squares, Rendered, Clips]]
    """fig3, fig7: the theory's curves. fig4: 1,560 trainings on squares against them, or one of its four panels.
    central: training at the paper's two central settings, seed by seed. fig5, fig6, fig9, table1: rendered scenes
    (--data, --baselines). traffic, minipool: appendix E on a clip of your own (--clip, --truth). generated: clips made
    by withinpx, seed by seed."""
    out: Path = Path("reproduced")
    """Folder for figures and tables; what it holds of an experiment already is not run again."""
    seeds: int = 20
    """Seeds per setting (fig4, central, rendered scenes, generated)."""
    clip: Path | None = None
    """A video or folder of images (traffic, minipool)."""
    truth: Path | None = None
    """Its positions, to compare with at the end: a CSV of frame,object,x,y,w,h,full (traffic, minipool)."""
    truth_origin: Literal["corner", "centre"] = "corner"
    """Where the truth has (0, 0): at the corner or at the centre of the first pixel (traffic, minipool)."""
    recipe: RecipeName = "warm"
    """How to train (central, rendered scenes): the paper's way, or ours, which begins at what moves."""
    data: Path | None = None
    """The folder that `withinpx data clevr --name all` filled (rendered scenes)."""
    baselines: Path | None = None
    """Other detectors' METHOD/DATASET/errors.csv, as `withinpx baseline` writes them (rendered scenes)."""
    epochs: int | None = None
    """Epochs per run, if not the recipe's (central) or the paper's (fig4)."""
    device: Device = "auto"
    """Where to train."""
    together: bool = False
    """All seeds of a setting at once (central)."""
    fast: bool = False
    """With --together, on CUDA: kernels by hand, wide filters in half precision (central)."""
    quick: bool = False
    """Three values and two seeds of each experiment in small batches: a first look, 15 minutes on two cores (fig4)."""
    at_once: int | None = None
    """Seeds per job; all of a setting when not given (fig4)."""
    engine: EngineName = "local"
    """Train on this machine, or all over a Ray cluster (fig4, rendered scenes)."""
    workers: int = 1
    """Jobs at once on this machine, in processes of their own (fig4, rendered scenes)."""
    address: str | None = None
    """HOST:PORT of the Ray cluster; a new one on this machine when not given (fig4, rendered scenes)."""
    full: bool = False
    """Every run to its last epoch, and what it was when it would have stopped (fig4)."""
    values: tuple[float, ...] = ()
    """These places on the horizontal axis alone (fig4a to fig4d)."""
    from_: Annotated[Path | None, arg(name="from")] = None
    """Draw the runs of this folder into --out, and train nothing (fig4, rendered scenes)."""

    def run(self) -> None:
        """Make it."""
        from withinpx.experiments.theory_curves import FIGURES  # noqa: PLC0415

        if self.what in FIGURES:
            print(f"Drew {FIGURES[self.what](self.out)}")
            return
        if self.what.startswith("fig4"):
            from withinpx.cli.fig4 import reproduce_fig4  # noqa: PLC0415

            return reproduce_fig4(self)
        if self.what in get_args(Rendered):
            from withinpx.cli.clevr import reproduce_clevr  # noqa: PLC0415

            return reproduce_clevr(self)
        if self.what in ("traffic", "minipool"):
            return self._video()
        if self.what == "generated":
            return self._generated()
        from withinpx.experiments.central import run_central  # noqa: PLC0415
        from withinpx.training.device import choose_device  # noqa: PLC0415
        from withinpx.training.fit import FitSettings  # noqa: PLC0415
        from withinpx.training.recipe import named_recipe  # noqa: PLC0415

        settings = FitSettings(choose_device(self.device))
        for summary in run_central(
            self.out,
            named_recipe(self.recipe, self.epochs),
            self.seeds,
            settings,
            together=self.together,
            fast=self.fast,
        ):
            print_json(summary)

    def _video(self) -> None:
        from withinpx.experiments.videos import reproduce_video  # noqa: PLC0415
        from withinpx.training.device import choose_device  # noqa: PLC0415
        from withinpx.training.fit import FitSettings  # noqa: PLC0415
        from withinpx.training.progress import ProgressBar  # noqa: PLC0415

        if self.clip is None:
            raise InputError(f"The {self.what} clip of the paper is not public: give one of your own with --clip.")
        origin = 0.5 if self.truth_origin == "centre" else 0.0
        with ProgressBar() as bar:
            settings = FitSettings(choose_device(self.device), callbacks=(bar,))
            found = reproduce_video(self.clip, self.truth, self.out, origin=origin, settings=settings, say=tell)
        print_json(found)

    def _generated(self) -> None:
        from withinpx.experiments.generated import CASES, run_generated  # noqa: PLC0415
        from withinpx.training.device import choose_device  # noqa: PLC0415
        from withinpx.training.fit import FitSettings  # noqa: PLC0415

        cases = dict.fromkeys(CASES, max(1, self.seeds // 10)) | {"three_things": self.seeds}
        for summary in run_generated(self.out, cases, FitSettings(choose_device(self.device))):
            print_json(summary)
