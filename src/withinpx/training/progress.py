"""What a person sees while a network trains: loss, accuracy, time left."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from withinpx.errors import InputError
from withinpx.training.log import Epoch
from withinpx.training.recipe import Recipe


class ProgressBar:
    """A live bar on standard error, so that what a command prints can be piped."""

    def __init__(self, title: str = "training") -> None:
        self._title = title
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            TextColumn("{task.completed}/{task.total}"),
            TextColumn("loss {task.fields[loss]:.1e} accuracy {task.fields[accuracy]:.2%}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task: TaskID | None = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._bar.stop()

    def __call__(self, epoch: Epoch, recipe: Recipe) -> None:
        """One more epoch is done."""
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=recipe.epochs, loss=0.0, accuracy=0.0)
        self._bar.update(self._task, completed=epoch.epoch, loss=epoch.loss, accuracy=epoch.reconstruction_accuracy)


class TensorBoard:
    """The same numbers for TensorBoard (extra ``tensorboard``)."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter  # noqa: PLC0415  (an extra)
        except ImportError:
            raise InputError("TensorBoard is not installed: pip install 'withinpx[tensorboard]'.") from None
        self._make_writer: Callable[[str], Any] = SummaryWriter
        self._folder = str(folder)
        self._writer: Any = None  # until the first epoch: the folder is the training's to make

    def __call__(self, epoch: Epoch, recipe: Recipe) -> None:
        """One more epoch is done."""
        self._writer = self._writer or self._make_writer(self._folder)
        self._writer.add_scalar("loss", epoch.loss, epoch.epoch)
        self._writer.add_scalar("reconstruction_accuracy", epoch.reconstruction_accuracy, epoch.epoch)
        self._writer.flush()
