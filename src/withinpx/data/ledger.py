"""What a decoder owes: the packets that went in, less the frames that came out."""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

PATIENCE = 64  # packets: no decoder holds a frame back for longer
MOST_AHEAD = 16  # frames: so far ahead of others that are shown before it may one be stored
LATE = 0.75  # of a step: a frame so much after its turn follows one that is missing
ALIKE = 0.25  # of a step: clocks round
STEADY = 0.8  # of the steps are alike where the rate is constant
MOST_LATE = 100  # frames: where so many are late, the rate is not constant


@dataclass
class Ledger:
    """Of one recording. Times are in ticks of its clock."""

    tick_s: Fraction
    step: int  # from frame to frame, until more is known
    doubtful: bool = False  # a frame may be missing
    first: int | None = None  # the earliest time of a packet
    last: int | None = None  # when the frame that came last is shown
    _until: int = 0  # and until when
    _end: int = 0  # when all that came is over
    _sent: int = 0
    _owed: dict[int, int] = field(default_factory=dict)  # time -> number of the packet
    _timeless: int = 0  # the same, of packets without a time
    _lost: list[list[int]] = field(default_factory=list)  # times of packets in a row
    _lost_last: int = 0  # number of the packet that was lost last
    _steps: Counter[int] = field(default_factory=Counter)
    _late: list[tuple[int, int]] = field(default_factory=list)  # a frame, and the next one
    _noted: list[str] = field(default_factory=list)

    def sent(self, time: int | None) -> None:
        """A packet went in."""
        self._sent += 1
        if time is None:  # then it is only known how many frames are missing, not which
            self._timeless += 1
            self.doubtful = True
            return
        self.first = time if self.first is None else min(self.first, time)
        self._owed[time] = self._sent
        self._lose([each for each, number in self._owed.items() if number <= self._sent - PATIENCE])

    def came(self, time: int | None, duration: int) -> None:
        """A frame came out."""
        if time is None:
            self._timeless -= 1
            return
        self._owed.pop(time, None)
        self.doubtful |= any(each < time for each in self._owed)
        if self.last is not None:
            self._steps[time - self.last] += 1
            if 0 < LATE * duration < time - self._until and len(self._late) < MOST_LATE:
                self._late.append((self.last, time))
        self.last, self._until = time, time + duration
        self._end = max(self._end, self._until)

    def close(self, promised: int) -> None:
        """No frame will come any more, though the recording was to last until ``promised``."""
        self._lose(list(self._owed))
        usual = self._usual_step()
        if self.last is not None and promised - max(self._end, self.last + usual) > LATE * usual:
            ahead = self.last - MOST_AHEAD * usual
            whole = min([one for one, _ in self._late if one > ahead], default=self.last)
            self.note(f"the file breaks off after {self._in_s(whole)}: it was to last until {self._in_s(promised)}")

    def note(self, loss: str) -> None:
        """A loss that is known already."""
        self._noted.append(loss)
        self.doubtful = True

    def losses(self) -> list[str]:
        """A sentence a stretch."""
        self._lose([each for each in self._owed if self.last is not None and each < self.last])
        gaps = self._gaps()
        sentences = [f"there is no frame between {self._in_s(low)} and {self._in_s(high)}" for low, high in gaps]
        for times in self._lost:
            low, high = min(times), max(times)
            if any(one < low and high < other for one, other in gaps):
                continue
            if low == high:
                sentences.append(f"the frame at {self._in_s(low)} cannot be decoded")
            else:
                sentences.append(f"{len(times)} frames from {self._in_s(low)} to {self._in_s(high)} cannot be decoded")
        if self._timeless > 0:
            sentences.append(f"{self._timeless} frame(s) whose time is unknown cannot be decoded")
        return sentences + self._noted

    def where(self) -> str:
        """How far the recording has been shown."""
        return "the start" if self.last is None else self._in_s(self.last)

    def _lose(self, times: list[int]) -> None:
        for each in times:
            number = self._owed.pop(each)
            if not self._lost or number != self._lost_last + 1:
                self._lost.append([])
            self._lost[-1].append(each)
            self._lost_last = number
            self.doubtful = True

    def _usual_step(self) -> int:
        return self._steps.most_common(1)[0][0] if self._steps else self.step

    def _gaps(self) -> list[tuple[int, int]]:
        """Where a constant rate leaves frames out."""
        usual = self._usual_step()
        alike = sum(count for step, count in self._steps.items() if abs(step - usual) <= ALIKE * usual)
        if alike < STEADY * self._steps.total() or len(self._late) == MOST_LATE:
            return []
        return [(one, other) for one, other in self._late if other - one > (1 + LATE) * usual]

    def _in_s(self, time: int) -> str:
        return f"{float(time * self.tick_s):.3f} s"
