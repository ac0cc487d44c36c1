"""One training step, of one network or of several."""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.optim import Optimizer

from withinpx.errors import BrokenTrainingError
from withinpx.training.engine import Engine

Batch = Int[Tensor, "2 b"]  # indices of images, and of an image nearby in time for each
Step = Callable[[Tensor], tuple[Tensor, Tensor]]  # a batch -> its loss and accuracy
Results = tuple[Float[Tensor, " s"], Float[Tensor, " s"]]  # loss and accuracy of every network
Steps = Callable[[Tensor], Results]  # one batch for every network (s 2 b) -> loss and accuracy of each


def reconstruction_step(engine: Engine, optimiser: Optimizer) -> Step:
    def step(batch: Batch) -> tuple[Tensor, Tensor]:
        loss, accuracy = descend(*engine.reconstruct(*batch), optimiser)
        # A Gaussian at a NaN position is not rendered, so the loss alone would stay finite.
        return loss + 0 * engine.latest_z[batch[0]].sum(), accuracy

    return step


def descend(loss: Tensor, accuracy: Tensor, optimiser: Optimizer) -> tuple[Tensor, Tensor]:
    """One optimiser step; loss and accuracy are returned detached.

    If the loss is not finite the weights are left as they are. On a GPU, where that check would block, they are
    updated all the same, and the epoch's loss is checked.
    """
    if loss.device.type != "cpu" or loss.isfinite():
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return loss.detach(), accuracy.detach()


def check_finite_loss(when: str, loss: float) -> None:
    if not math.isfinite(loss):
        raise _broken(when, f"the loss is {loss}")


def check_finite_weights(when: str, model: nn.Module) -> None:
    """A NaN gradient reaches the weights a step before it reaches a loss; such weights must not be saved."""
    if not torch.stack([value.isfinite().all() for value in model.state_dict().values()]).all():
        raise _broken(when, "a weight is not a number")


def _broken(when: str, what: str) -> BrokenTrainingError:
    return BrokenTrainingError(
        f"Training broke {when}: {what}. Try another seed or a smaller learning rate; the last good checkpoint is kept."
    )


def sequentially(steps: Sequence[Step]) -> Steps:
    """One step of every network, one after the other."""

    def run(batches: Int[Tensor, "s 2 b"]) -> Results:
        losses, accuracies = zip(*(step(batch) for step, batch in zip(steps, batches, strict=True)), strict=True)
        return torch.stack(losses), torch.stack(accuracies)

    return run
