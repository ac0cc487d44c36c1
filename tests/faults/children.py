"""Processes that begin in a few milliseconds, with everything imported, and that may be killed."""

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch

from tests.faults.disk import Calls

IMPORTED = ["pytest", "tests.faults.children", "tests.faults.work"]
LONGEST_S = 120.0
WORK = "work"  # the folder in which calls count
Action = Callable[[Path], object]  # in a folder; begun again it goes on


def _forker() -> multiprocessing.context.ForkServerContext:
    """Children of a small process of its own: one that has threads, as a test run may have, must not be forked."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


def _child(action: Action, folder: Path, calls: Path, at: int) -> None:
    torch.set_num_threads(1)
    said = os.open(folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    try:
        with Calls(folder / WORK, at, lambda: os.kill(os.getpid(), signal.SIGKILL), removals=True).watched() as seen:
            action(folder)
        calls.write_text(str(seen.count))
    except BaseException:
        traceback.print_exc()
        raise


def _begun(action: Action, folder: Path, at: int = 0) -> tuple[multiprocessing.process.BaseProcess, Path]:
    calls = folder / "calls.txt"
    process = _forker().Process(target=_child, args=(action, folder, calls, at))
    process.start()
    return process, calls


def finish(action: Action, folder: Path, longest_s: float = LONGEST_S) -> tuple[float, int]:
    """To the end: in how many seconds, with how many calls that change a file."""
    began = time.monotonic()
    process, calls = _begun(action, folder)
    process.join(longest_s)
    assert process.exitcode == 0, (folder / "said.txt").read_text()
    return time.monotonic() - began, int(calls.read_text())


def kill_after(action: Action, folder: Path, delay_s: float) -> bool:
    """Was it killed, or done by then?"""
    process, _ = _begun(action, folder)
    process.join(delay_s)
    process.kill()
    return _was_killed(process, folder)


def kill_at(action: Action, folder: Path, call: int) -> bool:
    """The same, just before the n-th call that changes a file."""
    process, _ = _begun(action, folder, call)
    return _was_killed(process, folder)


def _was_killed(process: multiprocessing.process.BaseProcess, folder: Path) -> bool:
    process.join(LONGEST_S)
    assert process.exitcode in (0, -signal.SIGKILL), (folder / "said.txt").read_text()
    return process.exitcode != 0
