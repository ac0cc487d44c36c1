"""Settings times seeds: jobs on some machine, their rows in a table on disk."""

from collections.abc import Sequence

from withinpx.engines.job import Engine, Job, JobWatcher, watched
from withinpx.experiments.table import RunTable


def run_sweep(jobs: Sequence[Job], table: RunTable, engine: Engine, *watchers: JobWatcher) -> None:
    """Run every job, and add its rows to the table as soon as it is done.

    Only this process writes the table. Whatever stops the sweep, finished jobs are in it.
    """
    for _, rows in watched(jobs, engine, *watchers):
        table.add_all(rows)
