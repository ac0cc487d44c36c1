"""Frames that are decoded ahead are the same frames."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from withinpx.data.recording import prefetch
from withinpx.data.selection import Frame
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
