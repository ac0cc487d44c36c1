"""Progress while a clip is decoded.

To be replaced by ``Recording.stream(on_frame=...)`` and ``track(progress=...)``: until then every decoded frame passes
``Selection.is_after``, which is the only hook there is. ``options.track_settings`` puts the watched selection in.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from withinpx.data.selection import Selection

REPORT_EVERY_S = 0.5
OnProgress = Callable[[int], None]  # gets the number of frames decoded so far


class ReadProgress:
    """Counts decoded frames and keeps their times; a clip that is read again at another scale counts once."""

    def __init__(self, on_progress: OnProgress) -> None:
        self.times_s: list[float] = []  # of the frames that can be decoded, in order
        self._on_progress, self._reported_at = on_progress, 0.0
        self._scale: float | None = None

    def add(self, time_s: float, scale: float) -> None:
        if self._scale is None:
            self._scale = scale
        if scale == self._scale:
            self.times_s.append(time_s)
        now = time.monotonic()
        if now - self._reported_at > REPORT_EVERY_S:
            self._reported_at = now
            self._on_progress(len(self.times_s))


_active: list[ReadProgress] = []  # in this process, which reads one clip at a time


class WatchedSelection(Selection):
    """A selection that reports every frame it is applied to."""

    def is_after(self, time_s: float) -> bool:
        for progress in _active:
            progress.add(time_s, self.scale)
        return super().is_after(time_s)


@contextmanager
def reading_progress(on_progress: OnProgress) -> Iterator[ReadProgress]:
    """Report frames that pass a ``WatchedSelection`` inside this block."""
    progress = ReadProgress(on_progress)
    _active.append(progress)
    try:
        yield progress
    finally:
        _active.remove(progress)
