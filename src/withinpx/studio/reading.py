"""How far a reading of a clip is, and which of its frames can be decoded: told by what every frame passes through."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from withinpx.data.selection import Selection

EVERY_S = 0.5  # between two words about it
Tell = Callable[[int, bool], None]  # so many frames are read; is it the second time, smaller?


class Reading:
    """Counts the frames that pass, notes their times, and now and then says so."""

    def __init__(self, tell: Tell) -> None:
        self.times_s: list[float] = []  # of the frames that can be decoded, in their order
        self._tell, self._told = tell, 0.0
        self._scale: float | None = None  # of the first time
        self._again = 0  # frames, the second time

    def passed(self, time_s: float, scale: float) -> None:
        """One more frame; a clip that is worked on at another size is read twice."""
        if self._scale is None:
            self._scale = scale
        again = scale != self._scale
        if again:
            self._again += 1
        else:
            self.times_s.append(time_s)
        now = time.monotonic()
        if now - self._told > EVERY_S:
            self._told = now
            self._tell(self._again if again else len(self.times_s), again)


_readings: list[Reading] = []  # of this process, which does one thing at a time


class WatchedSelection(Selection):
    """Keeps what any selection keeps; who watches in this process is told of each frame."""

    def is_after(self, time_s: float) -> bool:
        """Does this time come after the stretch? Every frame that can be decoded is asked about, in order."""
        for reading in _readings:
            reading.passed(time_s, self.scale)
        return super().is_after(time_s)


@contextmanager
def watched(tell: Tell) -> Iterator[Reading]:
    """While this lasts, every frame that passes a watched selection is told."""
    reading = Reading(tell)
    _readings.append(reading)
    try:
        yield reading
    finally:
        _readings.remove(reading)
