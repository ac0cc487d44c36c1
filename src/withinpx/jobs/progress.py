"""Progress of jobs: a live bar on a terminal, one line per job elsewhere."""

import sys
from collections.abc import Callable, Sequence
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from withinpx.jobs.job import Job, JobCallback


class TimeLeftColumn(ProgressColumn):
    """Estimated from all finished runs; rich's own column uses the last 30 s, in which no job may have finished."""

    def render(self, task: Task) -> Text:
        """h:mm:ss, counting down between jobs; unknown until the first job has finished."""
        total_s = task.fields["total_s"]
        if total_s is None:
            return Text("-:--:-- left")
        return Text(f"{timedelta(seconds=round(max(0.0, total_s - (task.elapsed or 0.0))))} left")


class JobProgress(Progress, JobCallback):
    """Written to standard error, so that a command's output can be piped.

    ``notes`` returns a few words about the results so far; ``unit`` is what a job is called.
    """

    def __init__(
        self,
        notes: Callable[[], str] = lambda: "",
        unit: str = "jobs",
        console: Console | None = None,
        get_time: Callable[[], float] | None = None,
    ) -> None:
        console = console or Console(stderr=True, force_terminal=sys.stderr.isatty())
        columns = TextColumn("{task.description}"), BarColumn(bar_width=10), TimeElapsedColumn(), TimeLeftColumn()
        super().__init__(*columns, console=console, get_time=get_time, disable=not console.is_terminal)
        self._notes, self._unit, self._jobs, self._jobs_done = notes, unit, 0, 0

    def on_start(self, jobs: Sequence[Job]) -> None:
        self._jobs = len(jobs)
        task = self.add_task("", total=sum(job.runs for job in jobs), total_s=None)
        self.update(task, description=self._counts())

    def on_job(self, job: Job) -> None:
        task = self.tasks[-1]
        self._jobs_done += 1
        self.update(task.id, advance=job.runs)
        total_s = (task.elapsed or 0.0) * (task.total or 0.0) / max(1, task.completed)
        self.update(task.id, description=self._counts(), total_s=total_s, refresh=True)
        if self.disable:
            line = f"withinpx: {job.name}: {task.description}, {TimeLeftColumn().render(task)}"
            self.console.print(line, soft_wrap=True, markup=False, highlight=False)

    def _counts(self) -> str:
        task = self.tasks[-1]
        runs = f"{task.completed:g}/{task.total:g} runs" if task.total != self._jobs else ""
        return ", ".join(filter(None, [f"{self._jobs_done}/{self._jobs} {self._unit}", runs, self._notes()]))
