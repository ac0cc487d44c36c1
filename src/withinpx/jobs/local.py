"""This machine: one job after the other in this process, or several at once in processes of their own."""

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
    """One job after the other has all cores, or the GPU, to itself; several ``workers`` share them."""

    workers: int = 1

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"The number of workers is {self.workers}: give one at least.")

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
        """Each job's rows, as soon as they are there."""
        if self.workers == 1:
            for job in jobs:
                yield job, job()
            return
        before = os.environ.get(THREADS)
        os.environ[THREADS] = before or str(max(1, (os.cpu_count() or 1) // self.workers))  # what workers begin with
        pool = ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"))
        try:
            waiting = {pool.submit(job): job for job in jobs}
            failed = None
            for done in as_completed(waiting):
                error = done.exception()
                failed = failed or error  # told after what was finished
                if error is None:
                    yield waiting[done], done.result()
            if failed is not None:
                raise failed
        finally:
            for worker in multiprocessing.active_children():  # none has work left, unless somebody stopped it all
                worker.terminate()
            pool.shutdown(cancel_futures=True)
            os.environ.pop(THREADS) if before is None else os.environ.update({THREADS: before})

    def describe(self) -> str:
        """System, cores, and the GPU if there is one."""
        import torch  # noqa: PLC0415  (whoever asks has computed with it)

        gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
        return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores{gpu}"
