"""How long something takes."""

import statistics
import time
from collections.abc import Callable


def median_seconds(run: Callable[[], object], times: int) -> float:
    """The median of several, after one to warm up."""
    run()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)
