"""How a network is trained. The guarantee does not care; the share of runs that succeed does."""

from dataclasses import dataclass, replace

from withinpx.errors import InputError


@dataclass(frozen=True)
class Recipe:
    """What the training loop needs to know."""

    name: str
    epochs: int
    batch_size: int  # images per step; what is left over at the end of a shuffled epoch waits for the next one
    learning_rate: float  # Adam's
    warm_start_steps: int = 0  # label-free steps of the encoder alone, towards what moves (training/discover.py)
    jitter_px: float = 0.0  # px that the warm start aims beside what moves at most, each network elsewhere, by its seed
    stop_when_converged: bool = False  # before the last epoch, if the pictures are redrawn right (training/fit.py)
    max_steps: int | None = None  # with that: after so many, one that has not learned is given up
    encoding_rate: float = 1.0  # the positional code's learning rate, as a share of the filters'
    cosine_schedule: bool = False  # the learning rate falls to nothing along a cosine
    centre_loss_weight: float = (
        0.0  # how firmly heatmaps are first held to what moves; fades to nothing by half of the epochs
    )
    restart_at: tuple[float, ...] = ()  # at these shares of the epochs, heatmaps that lost their object start again

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate"):
            if not getattr(self, name) > 0:
                raise InputError(f"The {name.replace('_', ' ')} is {getattr(self, name)}: give a number above zero.")


PAPER = Recipe(name="paper", epochs=500, batch_size=128, learning_rate=1e-3)  # app. C.1, to the letter
WARM = Recipe(
    name="warm", epochs=100, batch_size=128, learning_rate=1e-3, warm_start_steps=150, stop_when_converged=True
)
# Figure 4's: the paper's, but that a run stops once it has learned, and that the positional code learns slowly. At the
# filters' rate it learns where no training picture has an object, and draws none there.
FIGURE = Recipe(
    name="figure",
    epochs=500,
    batch_size=128,
    learning_rate=1e-3,
    stop_when_converged=True,
    max_steps=600,
    encoding_rate=0.01,
)
CLIP = Recipe(  # real footage; the epochs are chosen for a number of steps (tracking/attempt.py)
    name="clip",
    epochs=100,
    batch_size=16,
    learning_rate=2e-3,
    warm_start_steps=100,
    cosine_schedule=True,
    centre_loss_weight=0.01,
    restart_at=(0.1, 0.25, 0.5),
)
RECIPES = {recipe.name: recipe for recipe in (PAPER, WARM)}


def named_recipe(name: str, epochs: int | None = None) -> Recipe:
    """A recipe by its name, with another number of epochs if one is given."""
    if name not in RECIPES:
        raise InputError(f"There is no recipe {name}: choose one of {', '.join(RECIPES)}.")
    return RECIPES[name] if epochs is None else replace(RECIPES[name], epochs=epochs)
