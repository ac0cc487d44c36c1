"""What a person sees while jobs run: how many are done, how it goes, and the time left."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from withinpx.jobs.job import Job, JobWatcher

Notes = Callable[[], str]  # how it goes so far, in a few words


def nothing() -> str:
    """No notes."""
    return ""


class Tally:
    """How much is done, and from that how long the rest will take."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs, self.runs = len(jobs), sum(job.runs for job in jobs)
        self.jobs_done = self.runs_done = 0
        self._started = time.monotonic()
        self._end: float | None = None

    def finished(self, job: Job) -> None:
        """One more job is done."""
        self.jobs_done += 1
        self.runs_done += job.runs
        now = time.monotonic()
        self._end = now + (now - self._started) * (self.runs - self.runs_done) / max(1, self.runs_done)

    @property
    def left(self) -> str:
        """As h:mm:ss; unknown until something is finished."""
        if self._end is None:
            return "-:--:--"
        return str(timedelta(seconds=round(max(0.0, self._end - time.monotonic()))))


class JobProgress(JobWatcher, AbstractContextManager["JobProgress"]):
    """Watches jobs while the ``with`` lasts; all on standard error, so that what a command prints can be piped."""

    def __init__(self, notes: Notes = nothing, unit: str = "jobs") -> None:
        self._unit, self._notes = unit, notes
        self._tally = Tally(())

    def begin(self, jobs: Sequence[Job]) -> None:
        """These are the jobs."""
        self._tally = Tally(jobs)

    def finished(self, job: Job) -> None:
        """One more job is done."""
        self._tally.finished(job)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class JobLines(JobProgress):
    """One line per job, for logs."""

    def finished(self, job: Job) -> None:
        """One more job is done."""
        super().finished(job)
        done = self._tally
        parts = (
            f"{done.jobs_done}/{done.jobs} {self._unit}",
            f"{done.runs_done}/{done.runs} runs" if done.runs != done.jobs else "",
            self._notes(),
            f"{done.left} left",
        )
        print(f"withinpx: {job.name}: {', '.join(part for part in parts if part)}", file=sys.stderr, flush=True)


class JobBar(JobProgress):
    """A live bar."""

    def __init__(self, notes: Notes = nothing, unit: str = "jobs", console: Console | None = None) -> None:
        super().__init__(notes, unit)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            TextColumn("{task.completed}/{task.total} runs"),
            TextColumn("{task.fields[notes]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            _TimeLeft(self),
            console=console or Console(stderr=True),
        )

    @property
    def left(self) -> str:
        """Time left, counting down between jobs."""
        return self._tally.left

    def begin(self, jobs: Sequence[Job]) -> None:
        """These are the jobs."""
        super().begin(jobs)
        self._shown = self._bars.add_task(self._done(), total=self._tally.runs, notes=self._notes())
        self._bars.start()

    def finished(self, job: Job) -> None:
        """One more job is done."""
        super().finished(job)
        self._bars.update(
            self._shown, description=self._done(), completed=self._tally.runs_done, notes=self._notes(), refresh=True
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def _done(self) -> str:
        return f"{self._tally.jobs_done}/{self._tally.jobs} {self._unit}"


class _TimeLeft(ProgressColumn):
    """From finished work; rich's own goes by the last half minute, in which nothing may have finished."""

    def __init__(self, bar: JobBar) -> None:
        super().__init__()
        self._bar = bar

    def render(self, task: Task) -> Text:
        """The time left now."""
        return Text(self._bar.left, style="progress.remaining")


def job_progress(notes: Notes = nothing, unit: str = "jobs") -> JobProgress:
    """A live bar where a person looks on, lines elsewhere."""
    return JobBar(notes, unit) if sys.stderr.isatty() else JobLines(notes, unit)
