"""Training logs for TensorBoard."""

from pathlib import Path
from typing import Any

from withinpx.errors import InputError
from withinpx.training.callback import Callback
from withinpx.training.log import Epoch
from withinpx.training.recipe import Recipe


class TensorBoard(Callback):
    """Loss and accuracy for TensorBoard (extra ``tensorboard``)."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter  # noqa: PLC0415  (an extra)
        except ImportError:
            raise InputError("TensorBoard is not installed: pip install 'withinpx[tensorboard]'.") from None
        self._make_writer: Any = SummaryWriter
        self._folder = str(folder)
        self._writer: Any = None  # until the first epoch: the training makes the folder

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        self._writer = self._writer or self._make_writer(self._folder)
        self._writer.add_scalar("loss", epoch.loss, epoch.epoch)
        self._writer.add_scalar("reconstruction_accuracy", epoch.reconstruction_accuracy, epoch.epoch)
        self._writer.flush()
