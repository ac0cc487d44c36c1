"""A piece of work that can be done anywhere, and what does such pieces."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A function and what it is given. It lies at the top of a module, so that any process can import it."""

    name: str
    function: Callable[..., list[Row]]
    arguments: tuple[Any, ...] = ()
    runs: int = 1  # rows that it will answer with

    def __call__(self) -> list[Row]:
        """Do it."""
        return self.function(*self.arguments)


class Engine(Protocol):
    """Does jobs somewhere."""

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
        """Each job's rows once, in the order in which jobs finish. A job's error comes after what was finished."""

    def describe(self) -> str:
        """The machine or machines, in words."""


class JobWatcher:
    """Told of everything, does nothing: override what matters to you."""

    def begin(self, jobs: Sequence[Job]) -> None:
        """These are the jobs."""

    def finished(self, job: Job) -> None:
        """One more job is done."""


def watched(jobs: Sequence[Job], engine: Engine, *callbacks: JobWatcher) -> Iterator[tuple[Job, list[Row]]]:
    """Each job's rows once; a job is told to be finished when whoever asked has dealt with its rows."""
    for callback in callbacks:
        callback.begin(jobs)
    for job, rows in engine.run(jobs):
        yield job, rows
        for callback in callbacks:
            callback.finished(job)
