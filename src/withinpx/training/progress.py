"""Live progress on standard error, so that a command's output can be piped; and TensorBoard."""

from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from withinpx.errors import InputError
from withinpx.training.callback import Callback
from withinpx.training.log import Epoch
from withinpx.training.recipe import Recipe


class _Bars:
    """One bar per description, shown from the first update on."""

    def __init__(self, *columns: ProgressColumn) -> None:
        self._bars = Progress(TextColumn("{task.description}"), *columns, console=Console(stderr=True))
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._tasks:
            self._bars.stop()

    def _show(self, what: str, done: int, total: int | None = None, numbers: str = "") -> None:
        if what not in self._tasks:
            self._bars.start()
            self._tasks[what] = self._bars.add_task(what, total=total, numbers=numbers)
        self._bars.update(self._tasks[what], completed=done, numbers=numbers)


class ProgressBar(_Bars, Callback):
    """The progress of a training: loss, accuracy, time left."""

    def __init__(self) -> None:
        super().__init__(
            BarColumn(bar_width=10),
            TextColumn("{task.completed}/{task.total}"),
            TextColumn("{task.fields[numbers]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )

    def on_warm_start_step(self, step: int, recipe: Recipe) -> None:
        self._show("warm start", step, recipe.warm_start_steps)

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        numbers = f"loss {epoch.loss:.1e} accuracy {epoch.reconstruction_accuracy:.2%}"
        self._show("training", epoch.epoch, recipe.epochs, numbers)


class Counter(_Bars):
    """A count of something whose total is unknown."""

    def __init__(self, unit: str) -> None:
        super().__init__(TextColumn("{task.completed} " + unit), TimeElapsedColumn())

    def __call__(self, done: int, what: str) -> None:
        self._show(what, done)


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
