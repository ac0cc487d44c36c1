"""How a network is trained. The guarantee does not depend on it; the share of runs that succeed does."""

from dataclasses import dataclass, replace
from typing import Literal

from withinpx.errors import InputError

CODE_PENALTY = 1e-5  # of a reconstruction error of some 1e-3: a code must explain one percent of it to be worth having

IncompleteBatches = Literal[
    "dropped", "kept"
]  # images that do not fill a batch: left for another epoch, or a last step


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of the training loop.

    ``PAPER`` is app. C.1 with our reading of what it leaves open, ``WARM`` adds a label-free warm start, ``CLIP`` is
    for footage.

    >>> replace(WARM, epochs=20).warm_start_steps
    150
    """

    name: str
    epochs: int
    batch_size: int  # images per step
    learning_rate: float  # Adam's
    warm_start_steps: int = 0  # label-free steps towards the moving objects (training/warm_start.py)
    jitter_px: float = 0.0  # the warm start's centres are shifted by up to this much, by the seed
    stop_when_converged: bool = False  # before the last epoch (training/convergence.py)
    max_steps: int | None = None  # with that: a network that has not learned by then is abandoned
    encoding_rate: float = 1.0  # learning rate of the positional code, as a share of the filters'
    cosine_schedule: bool = False  # of the learning rate, down to 1 %
    centre_loss_weight: float = 0.0  # of the heatmaps' distance to the moving objects; 0 after half of the epochs
    lost_weight: float = 0.0  # of the same loss, throughout, in images in which a heatmap is not at its object
    incomplete_batches: IncompleteBatches = "dropped"
    code_penalty: float = CODE_PENALTY  # times the mean square of the appearance codes: a rigid object keeps none
    restart_at: tuple[float, ...] = ()  # shares of the epochs at which heatmaps that lost their object are restarted

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate"):
            if not getattr(self, name) > 0:
                raise InputError(f"The {name.replace('_', ' ')} is {getattr(self, name)}: give a number above zero.")


PAPER = Recipe(name="paper", epochs=500, batch_size=128, learning_rate=1e-3)
WARM = Recipe(
    name="warm", epochs=100, batch_size=128, learning_rate=1e-3, warm_start_steps=150, stop_when_converged=True
)
# Figure 4's: the paper's, with early stopping and a slow positional code. At the filters' rate the code memorises the
# region without objects in the training images, and the decoder renders none there.
FIGURE = replace(PAPER, name="figure", stop_when_converged=True, max_steps=600, encoding_rate=0.01)
CLIP = Recipe(  # the epochs are chosen for a number of steps (tracking/attempt.py)
    name="clip",
    epochs=100,
    batch_size=8,
    learning_rate=2e-3,
    warm_start_steps=100,
    cosine_schedule=True,
    centre_loss_weight=0.01,
    lost_weight=0.01,
    restart_at=(0.1, 0.25, 0.5),
)
RECIPES = {recipe.name: recipe for recipe in (PAPER, WARM)}


def named_recipe(name: str, epochs: int | None = None) -> Recipe:
    """A recipe by its name, with another number of epochs if one is given."""
    if name not in RECIPES:
        raise InputError(f"There is no recipe {name}: choose one of {', '.join(RECIPES)}.")
    return RECIPES[name] if epochs is None else replace(RECIPES[name], epochs=epochs)
