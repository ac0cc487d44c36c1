"""The training queue: one run at a time, each in its own process. A restarted server continues where it stopped."""

import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from http import HTTPStatus
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Condition, Thread, Timer
from typing import Any, Protocol

from starlette.exceptions import HTTPException

from withinpx.errors import InputError
from withinpx.files import locked_folder, read_json
from withinpx.studio.runs import ACTIVE, OUTCOME, Run, Runs

STOP_TIMEOUT_S = 15.0  # then a process is killed
RETRY_S = 5.0  # after a process could not be started
WAIT_FOR_LOCK_S = 20.0  # for an earlier process of the same run
ORPHANED = 3  # exit status of a process whose server is gone
TRAINING_NICENESS = 10


class Flag(Protocol):
    """An event, of threads or of processes."""

    def is_set(self) -> bool: ...


Work = Callable[[Path, Run, Flag], None]


class Queue:
    """A thread that starts the next process when the last one has ended."""

    def __init__(self, runs: Runs, work: Work) -> None:
        self._runs, self._work = runs, work
        self._context = get_context("spawn")
        self._changed = Condition()
        self._waiting: deque[str] = deque()
        self._current: tuple[str, Any, Any] | None = None  # run id, process, its stop event
        self._stopping: set[str] = set()
        self._closing = False
        self._thread = Thread(target=self._loop, name="queue", daemon=True)

    def open(self) -> None:
        """Start; the run that the last server was training comes first."""
        active = [run for run in self._runs if run.state in ACTIVE]
        for run in sorted(active, key=lambda run: (run.state != "training", run.queued)):
            if not self._record_outcome(run.id):
                self._runs.change(run.id, state="waiting")
                self._waiting.append(run.id)
        self._thread.start()

    def close(self) -> None:
        """Stop; the next server continues the current training."""
        with self._changed:
            self._closing = True
            if self._current is not None:
                self._current[2].set()
            self._changed.notify_all()
        self._thread.join(STOP_TIMEOUT_S)
        if self._current is not None:
            self._current[1].kill()

    def add(self, run_id: str) -> Run:
        """Queue a run, from scratch if its options have changed since it was trained."""
        with self._changed:
            run = self.check_idle(run_id)
            if run.state == "finished" and run.trained == run.options:
                raise _conflict("This run is finished: change its options to train it again.")
            refused = run.state == "failed" and (self._runs.folder(run_id) / OUTCOME).exists()  # it did not crash
            if run.trained != run.options or refused:
                self._runs.delete_training(run_id)
            self._waiting.append(run_id)
            changes = {"state": "waiting", "error": None, "result": None, "trained": run.options}
            run = self._runs.change(run_id, **changes, queued=time.time())
            self._changed.notify_all()
            return run

    def stop(self, run_id: str) -> Run:
        """Stop a run; ``add`` resumes it."""
        with self._changed:
            run = self._runs[run_id]
            if run_id in self._waiting:
                self._waiting.remove(run_id)
                return self._runs.change(run_id, state="stopped")
            if self._current is None or self._current[0] != run_id:
                raise _conflict("This run is not being trained.")
            _, process, stop = self._current
            self._stopping.add(run_id)
            stop.set()
            timer = Timer(STOP_TIMEOUT_S, _kill, [process])
            timer.daemon = True
            timer.start()
            return run

    def check_idle(self, run_id: str) -> Run:
        """The run, if it may be changed."""
        run = self._runs[run_id]
        if run.demo:
            raise HTTPException(HTTPStatus.FORBIDDEN, "The demo cannot be changed: make a copy of it.")
        if run.state in ACTIVE:
            raise _conflict("This run is being trained or waits for its turn: stop it first.")
        return run

    def _loop(self) -> None:
        while True:
            with self._changed:
                while not (self._waiting or self._closing):
                    self._changed.wait()
                if self._closing:
                    return
                run_id = self._waiting.popleft()
                try:
                    process = self._start(run_id)
                except OSError:  # the disk is full, or no process can be started: try again later
                    self._waiting.appendleft(run_id)
                    self._changed.wait(RETRY_S)
                    continue
            process.join()
            with self._changed, suppress(OSError):  # on a full disk the next server records the outcome
                self._end(run_id, process.exitcode)
            process.close()

    def _start(self, run_id: str) -> Any:
        run = self._runs.change(run_id, state="training")
        stop = self._context.Event()
        args = (self._work, self._runs.folder(run_id), run, stop)
        process = self._context.Process(target=run_work, args=args, daemon=True)
        process.start()
        self._current = run_id, process, stop
        return process

    def _end(self, run_id: str, exit_code: int | None) -> None:
        self._current = None
        stopped = run_id in self._stopping
        self._stopping.discard(run_id)
        if self._record_outcome(run_id) or self._closing:
            return
        if stopped:
            self._runs.change(run_id, state="stopped")
            return
        error = f"The training process ended with status {exit_code}, perhaps out of memory: start it again to resume."
        self._runs.change(run_id, state="failed", error=error)

    def _record_outcome(self, run_id: str) -> bool:
        """Take over what the process wrote at its end, if it came that far."""
        try:
            outcome = read_json(self._runs.folder(run_id) / OUTCOME)
        except InputError:
            return False
        if "result" in outcome:
            self._runs.change(run_id, state="finished", error=None, result=outcome["result"])
        else:
            self._runs.change(run_id, state="failed", error=outcome.get("error", "The training failed."))
        return True


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


def _conflict(message: str) -> HTTPException:
    return HTTPException(HTTPStatus.CONFLICT, message)


def _kill(process: Any) -> None:
    with suppress(ValueError):  # it has ended and is closed
        process.kill()
