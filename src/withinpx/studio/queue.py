"""One training at a time, in a process of its own; the others wait. A server that comes back goes on where it was."""

import time
from collections import deque
from contextlib import suppress
from http import HTTPStatus
from multiprocessing import get_context
from threading import Condition, Thread, Timer
from typing import Any

from withinpx.errors import InputError
from withinpx.files import read_json
from withinpx.studio.process import Work, begin, train
from withinpx.studio.refusal import Refusal
from withinpx.studio.runs import ACTIVE, OUTCOME, Run, Runs

PATIENCE_S = 15.0  # that a process has to stop by itself
RETRY_S = 5.0  # after a process could not be started


class Queue:
    """Who is being trained, and who is next."""

    def __init__(self, runs: Runs, work: Work = train) -> None:
        self._runs, self._work = runs, work
        self._context = get_context("spawn")
        self._changed = Condition()
        self._waiting: deque[str] = deque()
        self._current: tuple[str, Any, Any] | None = None  # id, process, the event that stops it
        self._stopping: set[str] = set()
        self._closing = False
        self._thread = Thread(target=self._go_on, name="queue", daemon=True)

    def open(self) -> None:
        """Begin; what was being trained when the last server ended comes first."""
        left = [run for run in self._runs if run.state in ACTIVE]
        for run in sorted(left, key=lambda run: (run.state != "training", run.queued)):
            if not self._settled(run.id):
                self._runs.change(run.id, state="waiting")
                self._waiting.append(run.id)
        self._thread.start()

    def close(self) -> None:
        """End, and leave what is being trained to the next server."""
        with self._changed:
            self._closing = True
            if self._current is not None:
                self._current[2].set()
            self._changed.notify_all()
        self._thread.join(PATIENCE_S)
        if self._current is not None:
            self._current[1].kill()

    def add(self, each: str) -> Run:
        """Train this one, or go on with it, when its turn comes."""
        with self._changed:
            run = self._runs[each]
            if run.demo:
                raise Refusal(HTTPStatus.FORBIDDEN, "The demo is finished: make a copy of it to train it again.")
            if run.state in ACTIVE:
                raise Refusal(HTTPStatus.CONFLICT, "This run is being trained, or waits for its turn.")
            if run.state == "finished" and run.trained == run.options:
                raise Refusal(HTTPStatus.CONFLICT, "This run is finished: choose other options to train it again.")
            if run.trained != run.options or run.state == "failed":
                self._begin_anew(run)
            self._waiting.append(each)
            run = self._runs.change(
                each, state="waiting", error=None, result=None, trained=run.options, queued=time.time()
            )
            self._changed.notify_all()
            return run

    def stop(self, each: str) -> Run:
        """Stop this one; it can go on later."""
        with self._changed:
            run = self._runs[each]
            if each in self._waiting:
                self._waiting.remove(each)
                return self._runs.change(each, state="stopped")
            if self._current is None or self._current[0] != each:
                raise Refusal(HTTPStatus.CONFLICT, "This run is not being trained.")
            _, process, event = self._current
            self._stopping.add(each)
            event.set()
            timer = Timer(PATIENCE_S, _kill, [process])
            timer.daemon = True
            timer.start()
            return run

    def check_idle(self, each: str, what: str) -> Run:
        """Refuse what must not happen to a run while it is being trained."""
        run = self._runs[each]
        if run.state in ACTIVE:
            raise Refusal(HTTPStatus.CONFLICT, f"This run is being trained, or waits for its turn: stop it {what}.")
        return run

    def _begin_anew(self, run: Run) -> None:
        """Remove what other options left; what failed for want of memory or by a kill goes on with the same ones."""
        if run.trained == run.options and not (self._runs.folder(run.id) / OUTCOME).exists():
            return
        self._runs.forget_training(run.id)

    def _go_on(self) -> None:
        while True:
            with self._changed:
                while not (self._waiting or self._closing):
                    self._changed.wait()
                if self._closing:
                    return
                each = self._waiting.popleft()
                try:
                    process = self._started(each)
                except OSError:  # a full disk, no process to be had: perhaps later
                    self._waiting.appendleft(each)
                    self._changed.wait(RETRY_S)
                    continue
            process.join()
            with self._changed, suppress(OSError):  # what cannot be noted now, the next server finds out
                self._ended(process.exitcode)
            process.close()

    def _started(self, each: str) -> Any:
        run = self._runs.change(each, state="training")
        stop = self._context.Event()
        process = self._context.Process(
            target=begin, args=(self._work, self._runs.folder(each), run, stop), daemon=True
        )
        process.start()
        self._current = each, process, stop
        return process

    def _ended(self, code: int | None) -> None:
        if self._current is None:
            return
        each, self._current = self._current[0], None
        asked = each in self._stopping
        self._stopping.discard(each)
        if self._settled(each) or self._closing:
            return
        if asked:
            self._runs.change(each, state="stopped")
            return
        said = f"The training's process ended by itself (status {code}), perhaps for want of memory: start it to go on."
        self._runs.change(each, state="failed", error=said)

    def _settled(self, each: str) -> bool:
        """Has the process left word of how it ended? Then the run says so."""
        outcome = self._runs.folder(each) / OUTCOME
        if not outcome.exists():
            return False
        try:
            known = read_json(outcome)
        except InputError:
            return False
        if "result" in known:
            self._runs.change(each, state="finished", error=None, result=known["result"])
        else:
            self._runs.change(each, state="failed", error=known.get("error", "The training failed."))
        return True


def _kill(process: Any) -> None:
    """One that does not stop by itself; most have ended long ago, and are closed."""
    with suppress(ValueError):
        process.kill()
