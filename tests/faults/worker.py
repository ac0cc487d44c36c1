"""Calls in a separate process, for decoders and loaders that may crash, hang or take too much memory."""

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from withinpx.errors import InputError

LIMIT_S = 10.0  # for one call
START_S = 60.0  # for the process to start


class Worker:
    """One call at a time. A crash shows as a missing answer."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.longest_s = 0.0
        self._pool.apply_async(time.monotonic).get(START_S)

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        began = time.monotonic()
        try:
            answer = self._pool.apply_async(function, arguments).get(LIMIT_S)
        except multiprocessing.TimeoutError:
            raise AssertionError(f"{function} of {arguments} crashed or takes more than {LIMIT_S:.0f} s") from None
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        return answer

    def refusal_and_growth_mb(self, read: Callable[[Path], object], path: Path) -> tuple[str, float]:
        """The message with which a file is refused, empty if it is not, and by how much the process grew."""
        message, grown_mb = self(_refusal_and_growth_mb, read, path)
        return message, grown_mb


def _refusal_and_growth_mb(read: Callable[[Path], object], path: Path) -> tuple[str, float]:
    before, message = _peak_mb(), ""
    try:
        read(path)
    except InputError as error:
        message = str(error)
    return message, _peak_mb() - before


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def running_worker() -> Iterator[Worker]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield Worker(pool)
