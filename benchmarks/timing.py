"""Timing."""

import statistics
import time
from collections.abc import Callable


def median_seconds(run: Callable[[], object], times: int) -> float:
    """The median over several calls, after one to warm up."""
    run()
    durations = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        durations.append(time.perf_counter() - started)
    return statistics.median(durations)
