"""Figures and experiments of the paper."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from withinpx.cli.common import Device, RecipeName


@dataclass(frozen=True)
class ReproduceCommand:
    """A figure or an experiment of the paper."""

    what: Positional[Literal["fig3", "fig7", "central"]]
    """fig3, fig7: the theory's curves. central: training at the paper's two central settings, seed by seed."""
    out: Path = Path("reproduced")
    """Folder for figures and tables; what it holds of an experiment already is not run again."""
    seeds: int = 20
    """Seeds per setting (central)."""
    recipe: RecipeName = "warm"
    """How to train (central)."""
    epochs: int | None = None
    """Epochs per run, if not the recipe's (central)."""
    device: Device = "auto"
    """Where to train (central)."""
    fast: bool = False
    """On CUDA: compiled, and captured as one graph (central)."""
    bfloat16: bool = False
    """With --fast: convolutions in bfloat16 (central)."""

    def run(self) -> None:
        """Make it."""
        from withinpx.experiments.theory_curves import FIGURES  # noqa: PLC0415

        if self.what in FIGURES:
            print(f"Drew {FIGURES[self.what](self.out)}")
            return
        from withinpx.experiments.central import run_central  # noqa: PLC0415
        from withinpx.training.device import choose_device  # noqa: PLC0415
        from withinpx.training.fit import FitSettings  # noqa: PLC0415
        from withinpx.training.recipe import named_recipe  # noqa: PLC0415

        settings = FitSettings(choose_device(self.device), self.fast, self.bfloat16)
        for summary in run_central(self.out, named_recipe(self.recipe, self.epochs), self.seeds, settings):
            print(json.dumps(summary))
