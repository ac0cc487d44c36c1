"""Jobs as tasks on a Ray cluster; a job whose node dies is submitted again (extra ``scale``)."""

import logging
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from withinpx.errors import InputError
from withinpx.jobs.job import Job, Row

RETRIES = 3  # by Ray, when a worker or its node dies
SUBMISSIONS = 3  # by this module, when Ray has given up
CONNECT_TIMEOUT_S = 5.0  # Ray itself would wait for minutes
LOCAL = "local"  # starts a new cluster on this machine


class RayEngine:
    """Rows come back to this process, which alone writes them to disk."""

    def __init__(self, address: str | None = None, gpu: bool = False) -> None:
        try:
            import ray  # noqa: PLC0415  (an extra)
        except ImportError:
            raise InputError("Ray is not installed: pip install 'withinpx[scale]'.") from None
        self._ray: Any = ray
        self._address = address or LOCAL
        self._gpu = gpu  # one per job, if the cluster has any
        self._description = ""

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
        if not jobs:
            return
        with self._connected():
            has_gpu = self._ray.cluster_resources().get("GPU", 0) >= 1
            task = self._ray.remote(max_retries=RETRIES, num_gpus=1 if self._gpu and has_gpu else 0)(_run_job)
            pending = {task.remote(job): (job, 1) for job in jobs}
            errors: list[Exception] = []
            try:
                while pending and not errors:
                    for reference in self._finished(list(pending)):
                        job, submissions = pending.pop(reference)
                        try:
                            rows = self._rows(job, reference, submissions)
                        except Exception as error:  # raised after the other jobs that have finished by now
                            errors.append(error)
                            continue
                        if rows is None:
                            pending[task.remote(job)] = job, submissions + 1
                        else:
                            yield job, rows
            finally:
                for reference in pending:
                    self._ray.cancel(reference, force=True)
            if errors:
                raise errors[0]

    def describe(self) -> str:
        """Nodes, cores and GPUs of the cluster when it was last used."""
        return self._description

    def _finished(self, pending: list[Any]) -> list[Any]:
        """Wait for one task, then return all that have finished."""
        self._ray.wait(pending, num_returns=1)
        ready: list[Any] = self._ray.wait(pending, num_returns=len(pending), timeout=0)[0]
        return ready

    def _rows(self, job: Job, reference: Any, submissions: int) -> list[Row] | None:
        """The rows of a finished task; None if its node died and it should be submitted again."""
        try:
            rows: list[Row] = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise _job_error(job, error) from None
        except self._ray.exceptions.RayError as error:
            if submissions < SUBMISSIONS:
                return None
            raise InputError(
                f"{job.name} lost its node {SUBMISSIONS * (RETRIES + 1)} times ({type(error).__name__}): check the "
                "memory of the nodes, then run the same command again."
            ) from None
        return rows

    @contextmanager
    def _connected(self) -> Iterator[None]:
        if self._ray.is_initialized():  # the caller's connection, and theirs to close
            yield
            return
        _check_reachable(self._address)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            self._ray.init(address=self._address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError(f"The Ray cluster {self._address} cannot be used: {reason}") from None
        try:
            nodes, resources = sum(node["Alive"] for node in self._ray.nodes()), self._ray.cluster_resources()
            cores, gpus = (f"{resources.get(name, 0):g}" for name in ("CPU", "GPU"))
            self._description = f"Ray, {nodes} nodes, {cores} CPU cores, {gpus} GPUs"
            yield
        finally:
            self._ray.shutdown()


def _run_job(job: Job) -> list[Row]:
    return job()


def _check_reachable(address: str) -> None:
    """Connect to HOST:PORT. Addresses without a port are Ray's own keywords, which it resolves at once."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
    except (OSError, ValueError, OverflowError):
        raise InputError(
            f"No Ray cluster answers at {address}: start one with  ray start --head --port=6379  and give HOST:6379."
        ) from None


def _job_error(job: Job, error: Any) -> Exception:
    """The exception that the job would have raised in this process."""
    if isinstance(error.cause, InputError | OSError):
        return error.cause
    missing = re.search(r"No module named '[^']+'", str(error))
    if missing:
        return InputError(
            f"A node of the cluster lacks a module ({missing[0]}): install the same version of withinpx there."
        )
    return RuntimeError(f"{job.name} failed on the cluster:\n{error}")
