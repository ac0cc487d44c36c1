"""Which frames of a recording could not be decoded: a decoder's input packets compared with its output frames."""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

MAX_DELAY = 64  # packets: no decoder holds a frame back for longer
MAX_REORDERING = 16  # frames: how far ahead of its display order a frame may be stored
GAP = 0.75  # of a step: a frame that is later than this follows a missing one
ROUNDING = 0.25  # of a step, by which time stamps may be off
CONSTANT_RATE = 0.8  # fraction of equal steps above which the frame rate is taken to be constant
MAX_GAPS = 100  # with as many gaps as this, the frame rate is not constant


@dataclass
class MissingFrames:
    """Follows the decoding of one recording. Times are in ticks of its time base."""

    tick_s: Fraction
    step: int  # between frames, until it can be measured
    suspected: bool = False  # a frame may be missing
    first: int | None = None  # time of the earliest packet
    last: int | None = None  # time of the latest frame
    _last_end: int = 0  # end of the latest frame
    _end: int = 0  # end of all frames so far
    _packets: int = 0
    _pending: dict[int, int] = field(default_factory=dict)  # time -> packet number
    _untimed: int = 0  # pending packets without a time
    _lost: list[list[int]] = field(default_factory=list)  # times, grouped by consecutive packets
    _last_lost: int = 0  # packet number
    _steps: Counter[int] = field(default_factory=Counter)
    _gaps: list[tuple[int, int]] = field(default_factory=list)  # times of the frames on both sides
    _messages: list[str] = field(default_factory=list)

    def add_packet(self, time: int | None) -> None:
        self._packets += 1
        if time is None:  # only the number of missing frames can be known, not their times
            self._untimed += 1
            self.suspected = True
            return
        self.first = time if self.first is None else min(self.first, time)
        self._pending[time] = self._packets
        self._give_up([at for at, packet in self._pending.items() if packet <= self._packets - MAX_DELAY])

    def add_frame(self, time: int | None, duration: int) -> None:
        if time is None:
            self._untimed -= 1
            return
        self._pending.pop(time, None)
        self.suspected |= any(at < time for at in self._pending)
        if self.last is not None:
            self._steps[time - self.last] += 1
            if 0 < GAP * duration < time - self._last_end and len(self._gaps) < MAX_GAPS:
                self._gaps.append((self.last, time))
        self.last, self._last_end = time, time + duration
        self._end = max(self._end, self._last_end)

    def finish(self, expected_end: int) -> None:
        """All frames are decoded; the header gives ``expected_end`` as the end of the recording."""
        self._give_up(list(self._pending))
        step = self._usual_step()
        if self.last is not None and expected_end - max(self._end, self.last + step) > GAP * step:
            earliest = self.last - MAX_REORDERING * step
            last = min([before for before, _ in self._gaps if before > earliest], default=self.last)
            self.add_message(f"the file ends after {self._in_s(last)} instead of at {self._in_s(expected_end)}")

    def add_message(self, message: str) -> None:
        self._messages.append(message)
        self.suspected = True

    def messages(self) -> list[str]:
        """One sentence per missing stretch."""
        self._give_up([at for at in self._pending if self.last is not None and at < self.last])
        gaps = self._gaps_at_constant_rate()
        messages = [f"there is no frame between {self._in_s(low)} and {self._in_s(high)}" for low, high in gaps]
        for times in self._lost:
            low, high = min(times), max(times)
            if any(before < low and high < after for before, after in gaps):
                continue
            if low == high:
                messages.append(f"the frame at {self._in_s(low)} cannot be decoded")
            else:
                messages.append(f"{len(times)} frames from {self._in_s(low)} to {self._in_s(high)} cannot be decoded")
        if self._untimed > 0:
            messages.append(f"{self._untimed} frame(s) whose time is unknown cannot be decoded")
        return messages + self._messages

    def progress(self) -> str:
        """The time of the latest frame, for messages."""
        return "the start" if self.last is None else self._in_s(self.last)

    def _give_up(self, times: list[int]) -> None:
        for time in times:
            packet = self._pending.pop(time)
            if not self._lost or packet != self._last_lost + 1:
                self._lost.append([])
            self._lost[-1].append(time)
            self._last_lost = packet
            self.suspected = True

    def _usual_step(self) -> int:
        return self._steps.most_common(1)[0][0] if self._steps else self.step

    def _gaps_at_constant_rate(self) -> list[tuple[int, int]]:
        """At a variable frame rate, a gap does not mean that a frame is missing."""
        usual = self._usual_step()
        equal = sum(count for step, count in self._steps.items() if abs(step - usual) <= ROUNDING * usual)
        if equal < CONSTANT_RATE * self._steps.total() or len(self._gaps) == MAX_GAPS:
            return []
        return [(before, after) for before, after in self._gaps if after - before > (1 + GAP) * usual]

    def _in_s(self, time: int) -> str:
        return f"{float(time * self.tick_s):.3f} s"
