"""Callbacks of a training: for a progress bar, TensorBoard, the studio."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a progress bar is shown before torch is imported
    from withinpx.training.engine import Engine
    from withinpx.training.log import Epoch
    from withinpx.training.recipe import Recipe


class Callback:
    """Does nothing; override what you need."""

    def on_start(self, engine: "Engine", seed: int) -> None:
        """Training starts or is resumed; ``engine`` holds the network and its training images."""

    def on_warm_start_step(self, step: int, recipe: "Recipe") -> None:
        """``step`` steps of the warm start are done."""

    def on_epoch(self, epoch: "Epoch", recipe: "Recipe") -> None:
        """An epoch is done."""
