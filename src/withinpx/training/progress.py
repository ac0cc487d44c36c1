"""What a person sees while a network trains: loss, accuracy, time left."""

from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from withinpx.errors import InputError
from withinpx.training.callback import Callback
from withinpx.training.log import Epoch
from withinpx.training.recipe import Recipe


class ProgressBar(Callback):
    """Live bars on standard error, so that what a command prints can be piped."""

    def __init__(self) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            TextColumn("{task.completed}/{task.total}"),
            TextColumn("{task.fields[numbers]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tasks:
            self._bars.stop()

    def on_warm_start_step(self, step: int, recipe: Recipe) -> None:
        """One more step of the warm start is done."""
        self._show("warm start", step, recipe.warm_start_steps, "")

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        """One more epoch is done."""
        numbers = f"loss {epoch.loss:.1e} accuracy {epoch.reconstruction_accuracy:.2%}"
        self._show("training", epoch.epoch, recipe.epochs, numbers)

    def _show(self, what: str, done: int, total: int, numbers: str) -> None:
        if not self._tasks:
            self._bars.start()
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total, numbers=numbers)
        self._bars.update(self._tasks[what], completed=done, numbers=numbers)


class Counter:
    """A bar for what has no known end: so many done, and how fast."""

    def __init__(self, unit: str) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            TextColumn("{task.completed} " + unit),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._task: TaskID | None = None

    def __enter__(self) -> "Counter":
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def __call__(self, done: int, what: str) -> None:
        """So many are done."""
        if self._task is None:
            self._task = self._bars.add_task(what, total=None)
        self._bars.update(self._task, completed=done)


class TensorBoard(Callback):
    """The same numbers for TensorBoard (extra ``tensorboard``)."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter  # noqa: PLC0415  (an extra)
        except ImportError:
            raise InputError("TensorBoard is not installed: pip install 'withinpx[tensorboard]'.") from None
        self._make_writer: Any = SummaryWriter
        self._folder = str(folder)
        self._writer: Any = None  # until the first epoch: the folder is the training's to make

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        """One more epoch is done."""
        self._writer = self._writer or self._make_writer(self._folder)
        self._writer.add_scalar("loss", epoch.loss, epoch.epoch)
        self._writer.add_scalar("reconstruction_accuracy", epoch.reconstruction_accuracy, epoch.epoch)
        self._writer.flush()
