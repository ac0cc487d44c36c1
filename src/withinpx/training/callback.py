"""Who wants to see a training: a progress bar, TensorBoard, a page."""

from withinpx.training.engine import Engine
from withinpx.training.log import Epoch
from withinpx.training.recipe import Recipe


class Callback:
    """Told of everything, does nothing: override what matters to you."""

    def on_start(self, engine: Engine, seed: int) -> None:
        """A training begins or goes on; the engine holds the network that learns and what it learns from."""

    def on_warm_start_step(self, step: int, recipe: Recipe) -> None:
        """One more step of the warm start is done."""

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        """One more epoch is done."""
