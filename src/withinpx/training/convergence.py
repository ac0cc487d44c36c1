"""When training may stop: the pictures are redrawn right and the positions stay where they are. No truth is asked."""

import math

from withinpx.training.accuracy import ACCEPTED_ACCURACY
from withinpx.training.engine import Engine
from withinpx.training.log import Epoch
from withinpx.training.recipe import Recipe

RIGHT = 0.9999  # of the pixels, in every epoch since the last look; ten times stricter than what a run is accepted at
STEADY_PX = 0.01  # what no picture's z may have moved by since the last look
STEPS = 50  # between two looks at least, in whole epochs


class Convergence:
    """Asked after every epoch; looks every few."""

    def __init__(self, engine: Engine, pictures: int, recipe: Recipe) -> None:
        self._engine, self._recipe = engine, recipe
        self._steps_per_epoch = max(1, pictures // recipe.batch_size)
        self._every = math.ceil(STEPS / self._steps_per_epoch)
        self.before = engine.latest_z.clone()  # as it was at the last look

    def is_over(self, epochs: list[Epoch]) -> bool:
        """Is there nothing more to learn, or no hope?"""
        if not self._recipe.stop_when_converged or len(epochs) % self._every:
            return False
        moved = (self._engine.latest_z - self.before).abs().amax().item()  # not a number as long as one was never seen
        self.before.copy_(self._engine.latest_z)
        worst = min(epoch.reconstruction_accuracy for epoch in epochs[-self._every :])
        return (worst >= RIGHT and moved < STEADY_PX) or self._is_hopeless(len(epochs) * self._steps_per_epoch, worst)

    def _is_hopeless(self, steps: int, worst: float) -> bool:
        most = self._recipe.max_steps
        return most is not None and (steps >= 3 * most or (steps >= most and worst < ACCEPTED_ACCURACY))
