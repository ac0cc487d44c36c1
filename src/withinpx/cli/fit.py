"""``withinpx fit``: train on the paper's synthetic squares."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from withinpx.cli.common import Device, RecipeName
from withinpx.experiments.squares_options import SquaresOptions


@dataclass(frozen=True, kw_only=True)
class FitCommand(SquaresOptions):
    """Train on the paper's synthetic squares (app. C.1). For footage of your own, see `track`."""

    data: Positional[Literal["squares"]]
    """What to train on."""
    out: Path
    """A new folder for the detector, its log and its checkpoints."""
    background: Literal["positional", "layered"] = "positional"
    """How the decoder knows the background."""
    recipe: RecipeName = "warm"
    """How to train. `paper` is app. C.1 (Adam 1e-3, batches of 128, 500 epochs); `warm` adds a label-free warm start
    and stops once the images are reconstructed."""
    epochs: int | None = None
    """Fewer or more epochs than the recipe's."""
    device: Device = "auto"
    """Where to train."""
    dense: bool = False
    """Compute every pixel, even where nothing changes."""
    resume: bool = False
    """Resume an interrupted run in --out."""
    tensorboard: bool = False
    """Log for TensorBoard into --out as well."""

    def run(self) -> None:
        from withinpx.experiments.run_folder import train_in_folder  # noqa: PLC0415  (torch takes seconds to import)
        from withinpx.experiments.synthetic import SquaresRun  # noqa: PLC0415
        from withinpx.model import BackgroundMode  # noqa: PLC0415
        from withinpx.tracking.progress import TrainingEvents, reporting  # noqa: PLC0415
        from withinpx.training.device import choose_device  # noqa: PLC0415
        from withinpx.training.fit import FitSettings  # noqa: PLC0415
        from withinpx.training.recipe import named_recipe  # noqa: PLC0415
        from withinpx.training.tensorboard import TensorBoard  # noqa: PLC0415

        with reporting(True) as report:
            events = TrainingEvents(report)
            callbacks = (events, TensorBoard(self.out)) if self.tensorboard else (events,)
            settings = FitSettings(choose_device(self.device), dense=self.dense, callbacks=callbacks)
            run = SquaresRun(
                **{field.name: getattr(self, field.name) for field in fields(SquaresOptions)},
                background=BackgroundMode(self.background),
                recipe=named_recipe(self.recipe, self.epochs),
            )
            train_in_folder(run, self.out, settings, self.resume)
        print(f"Trained into {self.out}. How far off is it?  withinpx evaluate {self.out}")
