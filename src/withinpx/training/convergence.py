"""When training may stop: the images are reconstructed and the positions have settled. No ground truth is used."""

import math

from withinpx.training.accuracy import ACCEPTED_ACCURACY
from withinpx.training.engine import Engine
from withinpx.training.log import Epoch
from withinpx.training.recipe import Recipe

CONVERGED_ACCURACY = 0.9999  # in every epoch since the last check; ten times stricter than what a run is accepted at
CONVERGED_PX = 0.01  # the largest change of any z since the last check
CHECK_STEPS = 50  # between two checks at least, in whole epochs


class Convergence:
    """The stopping rule of one network, evaluated every few epochs."""

    def __init__(self, engine: Engine, count: int, recipe: Recipe) -> None:
        self._engine, self._recipe = engine, recipe
        self._steps_per_epoch = max(1, count // recipe.batch_size)
        self._every = math.ceil(CHECK_STEPS / self._steps_per_epoch)
        self.before = engine.latest_z.clone()  # at the last check

    def is_over(self, epochs: list[Epoch]) -> bool:
        """Whether the network has converged, or has failed within the recipe's ``max_steps``."""
        if not self._recipe.stop_when_converged or len(epochs) % self._every:
            return False
        moved = (self._engine.latest_z - self.before).abs().amax().item()  # NaN until every image was seen
        self.before.copy_(self._engine.latest_z)
        worst = min(epoch.reconstruction_accuracy for epoch in epochs[-self._every :])
        if worst >= CONVERGED_ACCURACY and moved < CONVERGED_PX:
            return True
        steps, most = len(epochs) * self._steps_per_epoch, self._recipe.max_steps
        return most is not None and (steps >= 3 * most or (steps >= most and worst < ACCEPTED_ACCURACY))
