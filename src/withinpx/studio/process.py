"""Processes beside the server: at a lower priority, one per run folder, and ended when the server is gone."""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Protocol

from withinpx.errors import InputError
from withinpx.files import locked_folder
from withinpx.studio.runs import Run

WAIT_FOR_LOCK_S = 20.0  # for an earlier process of the same run
ORPHANED = 3  # exit status of a process whose server is gone
TRAINING_NICENESS = 10


class Flag(Protocol):
    """An event, of threads or of processes."""

    def is_set(self) -> bool: ...


Work = Callable[[Path, Run, Flag], None]


def run_work(work: Work, folder: Path, run: Run, stop: Flag) -> None:
    """The target of a training's process."""
    follow_server(TRAINING_NICENESS)
    with ExitStack() as stack:
        deadline = time.monotonic() + WAIT_FOR_LOCK_S
        while True:  # the process of a server that was killed takes a moment to end
            try:
                stack.enter_context(locked_folder(folder))
                break
            except InputError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        work(folder, run, stop)


def follow_server(niceness: int) -> None:
    """Yield CPU time to the server, and end with it."""
    if hasattr(os, "nice"):  # not on Windows
        os.nice(niceness)
    parent = parent_process()
    if parent is not None:
        Thread(target=_exit_after, args=[parent], daemon=True).start()


def train(folder: Path, run: Run, stop: Flag) -> None:
    """Train a run, with one core left to the server and the browser.

    Threads that wait must not spin: on two cores, spinning makes training several times slower beside other work.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is imported
    import torch  # noqa: PLC0415

    from withinpx.studio.worker import work  # noqa: PLC0415

    torch.set_num_threads(max(1, torch.get_num_threads() - 1))
    work(folder, run, stop)


def _exit_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(ORPHANED)
