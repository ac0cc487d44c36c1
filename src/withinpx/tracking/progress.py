"""Progress of a run as events, and their display on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from withinpx.training.callback import Callback
from withinpx.training.log import Epoch
from withinpx.training.recipe import Recipe

Stage = Literal["reading", "inspecting", "warm start", "training", "detecting", "writing"]


@dataclass(frozen=True)
class Event:
    """One step of a run: a position on a progress bar with a note, or, with ``done`` zero, a message."""

    stage: Stage
    done: int = 0
    total: int | None = None  # None where the end is unknown
    message: str = ""


Report = Callable[[Event], None]


def silent(event: Event) -> None:
    """Report nothing."""


class TrainingEvents(Callback):
    """Reports a training as events."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def on_warm_start_step(self, step: int, recipe: Recipe) -> None:
        self._report(Event("warm start", step, recipe.warm_start_steps))

    def on_epoch(self, epoch: Epoch, recipe: Recipe) -> None:
        numbers = f"loss {epoch.loss:.1e}, accuracy {epoch.reconstruction_accuracy:.2%}"
        self._report(Event("training", epoch.epoch, recipe.epochs, numbers))


class Display:
    """Live bars and messages on standard error, so that a command's output can be piped."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, event: Event) -> None:
        if not event.done:
            self._console.print(f"withinpx: {event.message}", markup=False)
            return
        if event.stage not in self._tasks:
            self._bars.start()
            self._tasks[event.stage] = self._bars.add_task(event.stage, total=event.total, note="")
        task = self._tasks[event.stage]
        self._bars.update(task, completed=event.done, total=event.total, note=event.message)

    def close(self) -> None:
        self._bars.stop()


@contextmanager
def reporting(progress: bool | Report) -> Iterator[Report]:
    """Where events go: to a display, nowhere, or to the caller's own function."""
    if progress is True:
        display = Display()
        try:
            yield display
        finally:
            display.close()
    else:
        yield progress or silent
