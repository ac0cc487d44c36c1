"""A training's own process: alone in its run's folder, and no longer there than its server."""

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

PATIENCE_S = 20.0  # that an earlier process of the same run has to end
ENDED = 3  # exit status of a process whose server is gone
NICE = 10  # how far a training steps back behind the server and the browser


class Flag(Protocol):
    """What tells a process to stop."""

    def is_set(self) -> bool:
        """Shall it?"""


Work = Callable[[Path, Run, Flag], None]


def begin(work: Work, folder: Path, run: Run, stop: Flag) -> None:
    """Do the work."""
    be_second(NICE)
    with ExitStack() as stack:
        _wait_for(stack, folder)
        work(folder, run, stop)


def be_second(nice: int) -> None:
    """This process comes after the server: it yields to it, and ends when it is gone, for nobody would hear of it."""
    if hasattr(os, "nice"):  # not on Windows
        os.nice(nice)
    parent = parent_process()
    if parent is not None:
        Thread(target=_end_after, args=[parent], daemon=True).start()


def train(folder: Path, run: Run, stop: Flag) -> None:
    """The work, imported where it is done: a server that starts need not wait for torch.

    A core is left to the page and its browser, and threads that wait do not keep theirs busy: on two cores, small
    pictures are learned from several times faster when somebody else is at work as well.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is loaded
    import torch  # noqa: PLC0415

    from withinpx.studio.worker import work  # noqa: PLC0415

    torch.set_num_threads(max(1, torch.get_num_threads() - 1))
    work(folder, run, stop)


def _wait_for(stack: ExitStack, folder: Path) -> None:
    """Until no other process works on the run: one whose server was killed takes a moment to notice."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return stack.enter_context(locked_folder(folder))
        except InputError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(ENDED)
