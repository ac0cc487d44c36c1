"""Work in a process of its own, for what may crash or hang: a decoder, on a file that is broken."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LIMIT_S = 10.0  # for one piece of work
START_S = 60.0  # for the process to begin


class Apart:
    """Does one thing at a time. A crash is told by the silence that follows it."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.longest_s = 0.0
        self._pool.apply_async(time.monotonic).get(START_S)

    def __call__(self, work: Callable[..., Any], *given: Any) -> Any:
        began = time.monotonic()
        try:
            answer = self._pool.apply_async(work, given).get(LIMIT_S)
        except multiprocessing.TimeoutError:
            raise AssertionError(f"{work.__name__} of {given} crashed or takes more than {LIMIT_S:.0f} s") from None
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        return answer


@contextmanager
def apart() -> Iterator[Apart]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield Apart(pool)
