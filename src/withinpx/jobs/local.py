"""Jobs on this machine: one after the other in this process, or in several worker processes."""

import multiprocessing
import os
import platform
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from withinpx.errors import InputError
from withinpx.jobs.job import Job, Row

THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class LocalEngine:
    """With one worker, each job can use all cores or the GPU; several workers share them."""

    workers: int = 1

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"The number of workers is {self.workers}: give one at least.")

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
        if self.workers == 1:
            for job in jobs:
                yield job, job()
            return
        threads = os.environ.get(THREADS)
        os.environ[THREADS] = threads or str(max(1, (os.cpu_count() or 1) // self.workers))  # inherited by the workers
        pool = ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"))
        try:
            jobs_of = {pool.submit(job): job for job in jobs}
            first_error = None
            for future in as_completed(jobs_of):
                error = future.exception()
                first_error = first_error or error
                if error is None:
                    yield jobs_of[future], future.result()
            if first_error is not None:
                raise first_error
        finally:
            for worker in multiprocessing.active_children():  # they are still busy only after an interruption
                worker.terminate()
            pool.shutdown(cancel_futures=True)
            os.environ.pop(THREADS) if threads is None else os.environ.update({THREADS: threads})

    def describe(self) -> str:
        import torch  # noqa: PLC0415  (slow to import; the jobs have used it)

        gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
        return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores{gpu}"
