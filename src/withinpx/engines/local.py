"""This machine: one job after the other, in this process."""

import os
import platform
from collections.abc import Iterator, Sequence

from withinpx.engines.job import Job, Row


class LocalEngine:
    """One job after the other; each has all cores, or the GPU, to itself."""

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
        """Each job's rows, as soon as they are there."""
        for job in jobs:
            yield job, job()

    def describe(self) -> str:
        """System, cores, and the GPU if there is one."""
        import torch  # noqa: PLC0415  (whoever asks has computed with it)

        gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
        return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores{gpu}"
