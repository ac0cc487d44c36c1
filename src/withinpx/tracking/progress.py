"""Progress of a run as events; bars on a terminal, a line every few seconds elsewhere. Loads without torch."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from threading import Event as Flag
from threading import Lock, Thread
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from withinpx.training.callback import Callback

if TYPE_CHECKING:
    from withinpx.training.engine import Engine
    from withinpx.training.log import Epoch
    from withinpx.training.recipe import Recipe

Stage = Literal["reading", "inspecting", "warm start", "training", "detecting", "writing"]
UNITS: dict[Stage, str] = {"reading": "frame", "warm start": "step", "training": "epoch", "detecting": "frame"}
FIRST_LINE_S = 1.0  # where there is no terminal; a command that is refused at once prints its refusal only
LINE_EVERY_S = 5.0
Clock = Callable[[], float]


@dataclass(frozen=True)
class Event:
    """One step of a run: a position on a progress bar with a note, or, with ``done`` zero, a message."""

    stage: Stage
    done: int = 0
    total: int | None = None  # None where the end is unknown
    message: str = ""
    remaining_s: float | None = None  # until the training is over, with all stages of it; None if unknown


Report = Callable[[Event], None]


def silent(event: Event) -> None:
    """Report nothing."""


class Pace:
    """Time left, by the time that steps took so far. The first one is not counted: it is slower than the others."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock, self._first_s, self._first = clock, 0.0, 0

    def remaining_s(self, done: int, left: int) -> float | None:
        """After ``done`` steps, the time for ``left`` more; None until two steps are known."""
        now = self._clock()
        if not self._first or done <= self._first:
            self._first_s, self._first = now, done
            return None
        return (now - self._first_s) / (done - self._first) * left


class TrainingEvents(Callback):
    """Reports a training as events, with the time left in it from the second step on.

    A step of the warm start takes about as long as one of an epoch.
    """

    def __init__(self, report: Report, clock: Clock = time.monotonic) -> None:
        self._report, self._clock = report, clock
        self._images = self._steps = self._epochs = 0
        self._pace = Pace(clock)

    def on_start(self, engine: "Engine", seed: int) -> None:
        self._images, self._steps, self._epochs = len(engine.latest_z), 0, 0
        self._pace = Pace(self._clock)

    def on_warm_start_step(self, step: int, recipe: "Recipe") -> None:
        self._steps += 1
        remaining_s = self._remaining_s(recipe, recipe.warm_start_steps - step)
        self._report(Event("warm start", step, recipe.warm_start_steps, remaining_s=remaining_s))

    def on_epoch(self, epoch: "Epoch", recipe: "Recipe") -> None:
        self._epochs = epoch.epoch
        self._steps += self._per_epoch(recipe)
        numbers = f"loss {epoch.loss:.1e}, accuracy {epoch.reconstruction_accuracy:.2%}"
        self._report(Event("training", epoch.epoch, recipe.epochs, numbers, self._remaining_s(recipe, 0)))

    def _remaining_s(self, recipe: "Recipe", warm_start_steps: int) -> float | None:
        left = warm_start_steps + (recipe.epochs - self._epochs) * self._per_epoch(recipe)
        return self._pace.remaining_s(self._steps, left)

    def _per_epoch(self, recipe: "Recipe") -> int:
        return max(1, self._images // recipe.batch_size)


class TimeLeftColumn(ProgressColumn):
    """The time left that the event came with, or that of its own stage."""

    def render(self, task: Task) -> Text:
        return Text(_left(task.fields["remaining_s"]))


class Display:
    """Progress and messages on standard error, so that a command's output can be piped.

    Without a terminal, the last event is repeated as a line from time to time, also while none arrives.
    """

    def __init__(self, console: Console | None = None, clock: Clock = time.monotonic) -> None:
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TimeLeftColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[Stage, TaskID] = {}
        self._clock, self._started = clock, clock()
        self._next_line = self._started + FIRST_LINE_S
        self._last: tuple[Event, float] | None = None  # with its time
        self._pace, self._estimated = Pace(clock), False
        self._lock, self._closed = Lock(), Flag()

    def __call__(self, event: Event) -> None:
        if event.message and not event.done:
            self._console.print(f"withinpx: {event.message}", markup=False)
            return
        with self._lock:
            if event.remaining_s is not None and not self._estimated:  # the first estimate does not wait for its turn
                self._estimated, self._next_line = True, min(self._next_line, self._started + FIRST_LINE_S)
            event = self._with_remaining(event)
            self._last = event, self._clock()
        if self._console.is_terminal:
            self._show_bar(event)
        else:
            self.print_line_if_due()

    def print_line_if_due(self) -> None:
        with self._lock:
            now = self._clock()
            if self._last is None or now < self._next_line:
                return
            self._next_line = now + LINE_EVERY_S
            event, at = self._last
            remaining_s = None if event.remaining_s is None else event.remaining_s - (now - at)
            words = (_position(event), _duration(now - self._started), _left(remaining_s))
            line = f"withinpx: {', '.join(filter(None, words))}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def start(self) -> None:
        """Print lines while no event arrives, as when libraries are loaded."""
        if not self._console.is_terminal:
            Thread(target=self._keep_printing, daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        self._bars.stop()

    def _keep_printing(self) -> None:
        while not self._closed.wait(FIRST_LINE_S):
            self.print_line_if_due()

    def _with_remaining(self, event: Event) -> Event:
        """With the time left of its stage, where the event has no estimate and the stage an end."""
        if self._last is None or self._last[0].stage != event.stage:
            self._pace = Pace(self._clock)
        if event.remaining_s is not None or not event.done or not event.total:
            return event
        remaining_s = self._pace.remaining_s(event.done, event.total - event.done)
        return Event(event.stage, event.done, event.total, event.message, remaining_s)

    def _show_bar(self, event: Event) -> None:
        if event.stage not in self._tasks:
            self._bars.start()
            self._tasks[event.stage] = self._bars.add_task(event.stage, total=None, note="", remaining_s=None)
        self._bars.update(
            self._tasks[event.stage],
            completed=event.done,
            total=event.total,
            note=event.message,
            remaining_s=event.remaining_s,
        )


def _position(event: Event) -> str:
    """As in "training epoch 12 of 80"."""
    if not event.done:
        return event.stage
    of = f"of {event.total}" if event.total else ""
    return " ".join(filter(None, [event.stage, UNITS.get(event.stage, ""), str(event.done), of]))


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"about {_duration(seconds)} left"


def _duration(seconds: float) -> str:
    """Hours, minutes and seconds."""
    return str(timedelta(seconds=round(max(0.0, seconds))))


@contextmanager
def reporting(progress: bool | Report) -> Iterator[Report]:
    """Where events go: to a display, nowhere, or to the caller's own function."""
    if progress is True:
        display = Display()
        display.start()
        try:
            yield display
        finally:
            display.close()
    else:
        yield progress or silent
