"""Jobs, the engines that run them, and callbacks that follow their progress."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A function call. For workers and clusters the function must be at the top level of an importable module."""

    name: str
    function: Callable[..., list[Row]]
    arguments: tuple[Any, ...] = ()
    runs: int = 1  # rows that it returns

    def __call__(self) -> list[Row]:
        return self.function(*self.arguments)


class Engine(Protocol):
    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
        """Yield each job once with its rows, in order of completion.

        An error of a job is raised after the jobs that have finished by then.
        """

    def describe(self) -> str:
        """One line about the hardware, for result files."""


class JobCallback:
    """Does nothing; override what you need."""

    def on_start(self, jobs: Sequence[Job]) -> None:
        """Called once, before the first job."""

    def on_job(self, job: Job) -> None:
        """Called after each job, when its rows have been processed."""


def run_jobs(jobs: Sequence[Job], engine: Engine, *callbacks: JobCallback) -> Iterator[tuple[Job, list[Row]]]:
    """Yield each job once with its rows; ``on_job`` follows when the caller asks for the next one."""
    for callback in callbacks:
        callback.on_start(jobs)
    for job, rows in engine.run(jobs):
        yield job, rows
        for callback in callbacks:
            callback.on_job(job)
