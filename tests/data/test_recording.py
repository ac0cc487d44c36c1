"""Frames that are decoded ahead are the same frames, and one array holds those of a clip."""

import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

from withinpx.data.clip import Clip, FrameStack
from withinpx.data.recording import prefetch
from withinpx.data.selection import EVERYTHING, Frame
from withinpx.errors import InputError


def frames(count: int, error: Exception | None = None) -> Iterator[Frame]:
    for number in range(count):
        yield Frame(np.full((2, 2, 1), number, np.uint8), float(number), number, (2, 2))
    if error:
        raise error


@pytest.mark.parametrize("most", [1, 4, 100])
def test_they_come_in_order(most: int) -> None:
    assert [frame.number for frame in prefetch(frames(20), most)] == list(range(20))


def test_what_goes_wrong_is_raised_where_it_came() -> None:
    seen = []
    with pytest.raises(InputError, match="broken"):
        for frame in prefetch(frames(3, InputError("broken")), 2):
            seen.append(frame.number)
    assert seen == [0, 1, 2]


def test_who_stops_early_leaves_no_thread() -> None:
    before = threading.active_count()
    reader = prefetch(frames(10_000), 2)
    assert next(reader).number == 0
    reader.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


@pytest.mark.parametrize("expected", [0, 1, 5, 9])
def test_a_stack_holds_its_frames_whatever_number_was_expected(expected: int) -> None:
    stack = FrameStack(expected)
    for frame in frames(9):
        stack.add(frame)
    clip = stack.clip("nine", EVERYTHING, ["one is lost"], complete=True)
    assert clip.frames[:, 0, 0, 0].tolist() == clip.numbers.tolist() == clip.times_s.tolist() == list(range(9))
    assert clip.lost == ("one is lost",)
    stack.halve()
    assert stack.clip("five", EVERYTHING, [], complete=False).frames[:, 1, 1, 0].tolist() == [0, 2, 4, 6, 8]


def test_frames_are_stacked_as_they_are_decoded() -> None:
    """Only one of them is in memory beside the stack."""
    seen: list[weakref.ref[Frame]] = []
    most = 0

    def decoded() -> Iterator[Frame]:
        nonlocal most
        for frame in frames(9):
            seen.append(weakref.ref(frame))
            most = max(most, sum(one() is not None for one in seen))
            yield frame

    assert len(Clip.of(decoded(), "nine", EVERYTHING, [])) == 9
    assert most <= 2
