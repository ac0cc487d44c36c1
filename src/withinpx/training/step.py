"""One step of training, of one network or of several at once: reconstruct, compare, step."""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.optim import Optimizer

from withinpx.errors import BrokenTrainingError
from withinpx.training.engine import Engine

Batch = Int[Tensor, "2 b"]  # which pictures, and which picture nearby in time for each
Step = Callable[[Tensor], tuple[Tensor, Tensor]]  # a batch -> its loss and accuracy
Answers = tuple[Float[Tensor, " s"], Float[Tensor, " s"]]  # loss and accuracy of every network
Run = Callable[[Tensor], Answers]  # one batch for every network (s 2 b) -> loss and accuracy of each


def reconstruction_step(engine: Engine, optimiser: Optimizer) -> Step:
    """Reconstruct, compare, step. Where z is no number nothing is drawn, so the loss alone would not tell."""

    def step(batch: Batch) -> tuple[Tensor, Tensor]:
        loss, accuracy = descend(*engine.reconstruct(*batch), optimiser)
        return loss + 0 * engine.latest_z[batch[0]].sum(), accuracy

    return step


def descend(loss: Tensor, accuracy: Tensor, optimiser: Optimizer) -> tuple[Tensor, Tensor]:
    """One step down the loss; both numbers come back without their history.

    From a loss that is no number there is no way down, and the weights stay as they are. A GPU does not wait to see
    that: there they are spoiled, and it is found out after the epoch.
    """
    if loss.device.type != "cpu" or loss.isfinite():
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return loss.detach(), accuracy.detach()


def stop_if_broken(when: str, loss: float) -> None:
    """A loss that is no number never recovers."""
    if not math.isfinite(loss):
        raise _broken(when, f"the loss is {loss}")


def stop_if_spoiled(when: str, model: nn.Module) -> None:
    """One gradient that is no number spoils the weights before any loss tells: no checkpoint may have those."""
    if not torch.stack([value.isfinite().all() for value in model.state_dict().values()]).all():
        raise _broken(when, "a weight is not a number")


def _broken(when: str, what: str) -> BrokenTrainingError:
    return BrokenTrainingError(
        f"Training broke {when}: {what}. Try another seed or a smaller learning rate; the last good checkpoint is kept."
    )


class InTurn:
    """The same step of several networks, one after the other: their batches in, losses and accuracies out."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps

    def __call__(self, batches: Int[Tensor, "s 2 b"]) -> Answers:
        """One step of every network."""
        losses, accuracies = zip(*(step(each) for step, each in zip(self._steps, batches, strict=True)), strict=True)
        return torch.stack(losses), torch.stack(accuracies)
