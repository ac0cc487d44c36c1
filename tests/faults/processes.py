"""Processes that start within milliseconds, with everything imported, and can be killed."""

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch

from tests.faults.file_calls import FileCalls

PRELOADED = ["pytest", "tests.faults.processes", "tests.faults.kill_targets"]
LIMIT_S = 120.0
WORK = "work"  # the folder in which calls are counted
Action = Callable[[Path], object]  # works in a folder; started again, it resumes


def _run(action: Action, folder: Path, calls: Path, kill_at: int) -> None:
    torch.set_num_threads(1)
    output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        counted = FileCalls(folder / WORK, kill_at, lambda: os.kill(os.getpid(), signal.SIGKILL), removals=True)
        with counted.watched():
            action(folder)
        calls.write_text(str(counted.count))
    except BaseException:
        traceback.print_exc()
        raise


def _start(action: Action, folder: Path, kill_at: int = 0) -> tuple[BaseProcess, Path]:
    """A child of a fork server: a process with threads, such as the test run, must not be forked itself."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    calls = folder / "calls.txt"
    process = context.Process(target=_run, args=(action, folder, calls, kill_at))
    process.start()
    return process, calls


def finish(action: Action, folder: Path, limit_s: float = LIMIT_S) -> tuple[float, int]:
    """Run to the end: the time in seconds and the number of calls that changed a file."""
    began = time.monotonic()
    process, calls = _start(action, folder)
    process.join(limit_s)
    assert process.exitcode == 0, (folder / "output.txt").read_text()
    return time.monotonic() - began, int(calls.read_text())


def kill_after(action: Action, folder: Path, delay_s: float) -> bool:
    """Whether it was killed, or had finished by then."""
    process, _ = _start(action, folder)
    process.join(delay_s)
    process.kill()
    return _was_killed(process, folder)


def kill_at(action: Action, folder: Path, call: int) -> bool:
    """The same, just before the n-th call that changes a file."""
    process, _ = _start(action, folder, call)
    return _was_killed(process, folder)


def _was_killed(process: BaseProcess, folder: Path) -> bool:
    process.join(LIMIT_S)
    assert process.exitcode in (0, -signal.SIGKILL), (folder / "output.txt").read_text()
    return process.exitcode != 0
