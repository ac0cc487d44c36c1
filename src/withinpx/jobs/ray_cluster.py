"""A Ray cluster: jobs run wherever there is room, and again elsewhere when their machine dies (extra ``scale``)."""

import logging
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from withinpx.errors import InputError
from withinpx.jobs.job import Job, Row

RETRIES = 3  # by Ray itself, when a worker or its node dies
SUBMISSIONS = 3  # by us, when Ray has given up
REACHABLE_S = 5.0  # Ray itself would wait for minutes
LOCAL = "local"  # Ray's word for a cluster of its own, on this machine


class RayEngine:
    """Jobs as Ray tasks. Rows come back to this process, which alone writes them down."""

    def __init__(self, address: str | None = None, gpu: bool = False) -> None:
        self._ray = _import_ray()
        self._address = address or LOCAL
        self._gpu = gpu  # one for each job, if the cluster has any
        self._machines = ""

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
        """Each job's rows once, however often its machine died."""
        if not jobs:
            return
        with self._connected():
            task = self._task()
            waiting = {task.remote(job): (job, 1) for job in jobs}
            failures: list[Exception] = []
            try:
                while waiting and not failures:
                    for reference in self._some_finished(list(waiting)):
                        job, submissions = waiting.pop(reference)
                        try:
                            rows = self._rows(job, reference, submissions)
                        except Exception as error:  # said after the others that have finished by now
                            failures.append(error)
                            continue
                        if rows is None:
                            waiting[task.remote(job)] = job, submissions + 1
                        else:
                            yield job, rows
            finally:
                for reference in waiting:
                    self._ray.cancel(reference, force=True)
            if failures:
                raise failures[0]

    def describe(self) -> str:
        """How many nodes, cores and GPUs the cluster had when it was last used."""
        return self._machines

    def _task(self) -> Any:
        """``_do`` as a task; Ray hides a node's GPUs from tasks that ask for none."""
        has_gpu = self._ray.cluster_resources().get("GPU", 0) >= 1
        return self._ray.remote(max_retries=RETRIES, num_gpus=1 if self._gpu and has_gpu else 0)(_do)

    def _some_finished(self, waiting: list[Any]) -> list[Any]:
        """Wait for one, and take all that are there by then."""
        self._ray.wait(waiting, num_returns=1)
        ready: list[Any] = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)[0]
        return ready

    def _rows(self, job: Job, reference: Any, submissions: int) -> list[Row] | None:
        """What a finished task answered; None if its machine died and it is worth another try."""
        try:
            rows: list[Row] = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise _told(job, error) from None
        except self._ray.exceptions.RayError as error:
            if submissions == SUBMISSIONS:
                raise _lost(job, error) from None
            return None
        return rows

    @contextmanager
    def _connected(self) -> Iterator[None]:
        if self._ray.is_initialized():  # whoever did that will also end it
            yield
            return
        _check_reachable(self._address)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            self._ray.init(address=self._address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(f"The Ray cluster {self._address} cannot be used: {_first_line(error)}") from None
        try:
            self._machines = self._counted()
            yield
        finally:
            self._ray.shutdown()

    def _counted(self) -> str:
        nodes = sum(node["Alive"] for node in self._ray.nodes())
        there = self._ray.cluster_resources()
        return f"Ray, {nodes} nodes, {there.get('CPU', 0):g} CPU cores, {there.get('GPU', 0):g} GPUs"


def _do(job: Job) -> list[Row]:
    return job()


def _import_ray() -> Any:
    try:
        import ray  # noqa: PLC0415  (an extra)
    except ImportError:
        raise InputError("Ray is not installed: pip install 'withinpx[scale]'.") from None
    return ray


def _check_reachable(address: str) -> None:
    """Does anything answer there? Names without a port are Ray's own words, and Ray answers for them at once."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), REACHABLE_S).close()
    except (OSError, ValueError, OverflowError):
        raise InputError(
            f"No Ray cluster answers at {address}: start one with  ray start --head --port=6379  and give HOST:6379."
        ) from None


def _told(job: Job, error: Any) -> Exception:
    """What went wrong in the job, as it would have been said here."""
    cause = error.cause
    if isinstance(cause, InputError | OSError):
        return cause
    lacking = re.search(r"No module named '[^']+'", str(error))
    if lacking:
        return InputError(
            f"A node of the cluster lacks what it needs ({lacking[0]}): install withinpx there, in this version."
        )
    return RuntimeError(f"{job.name} failed on the cluster:\n{error}")


def _lost(job: Job, error: Exception) -> InputError:
    return InputError(
        f"{job.name} lost its machine {SUBMISSIONS * (RETRIES + 1)} times ({type(error).__name__}): look at the nodes' "
        f"memory, then give the same command again."
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
