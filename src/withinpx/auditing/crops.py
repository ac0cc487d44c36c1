"""Images of the frames to check: the foreign position, and the object's with its bound."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from withinpx.data.recording import Recording
from withinpx.palette import ALARM, colour_of, rgb
from withinpx.tracking.mp4 import enlarged
from withinpx.tracking.overlay import Mark, draw_marks

Pixels = NDArray[np.uint8]
Point = tuple[float, float]

SMALLEST_PX = 24  # side of a crop
SIDE_PX = 320  # to which it is enlarged
MARGIN = 1.5  # around what is marked


@dataclass(frozen=True)
class ToMark:
    """One foreign position that is wrong, and the object that it should be at; px of the recording."""

    label: str
    foreign: Point
    centre: Point
    bound_px: float
    object: int


def read_frames(recording: Recording | None, numbers: Iterable[int]) -> dict[int, Pixels]:
    """These frames of a recording; none without one."""
    wanted, found = set(numbers), dict[int, Pixels]()
    if recording is None or not wanted:
        return found
    for frame in recording.stream():
        if frame.number in wanted:
            found[frame.number] = frame.pixels
            if len(found) == len(wanted):
                break
    return found


def crop(frame: Pixels, marked: ToMark) -> Pixels:
    """A square part of the frame, enlarged, with the object's cross and bound, and a ring at the foreign position."""
    left, top, side = _square(frame, marked)
    part = frame[top : top + side, left : left + side]
    factor = max(1, round(SIDE_PX / side))
    image = enlarged(part, factor)
    x, y = ((value - low) * factor for value, low in zip(marked.centre, (left, top), strict=True))
    mark = Mark("", (x, y), marked.bound_px * factor, True, rgb(colour_of(marked.object)))
    draw_marks(image, [{marked.object: mark}])
    return _with_ring(image, marked, (left, top), factor)


def _square(frame: Pixels, marked: ToMark) -> tuple[int, int, int]:
    """Left, top and side of a square that holds everything marked, within the frame where it can be."""
    height, width = frame.shape[:2]
    points = np.array([marked.foreign, marked.centre])
    low, high = points.min(axis=0) - marked.bound_px, points.max(axis=0) + marked.bound_px
    side = int(min(max(SMALLEST_PX, MARGIN * float((high - low).max())), height, width))
    middle = (low + high) / 2
    left, top = (
        int(np.clip(round(float(value - side / 2)), 0, limit - side))
        for value, limit in zip(middle, (width, height), strict=True)
    )
    return left, top, side


def _with_ring(image: Pixels, marked: ToMark, corner: tuple[int, int], factor: int) -> Pixels:
    """A ring and its centre where the other program has the object."""
    canvas = Image.fromarray(image)
    pen = ImageDraw.Draw(canvas)
    x, y = ((value - low) * factor for value, low in zip(marked.foreign, corner, strict=True))
    for width, fill in ((5, (255, 255, 255)), (3, rgb(ALARM))):
        pen.ellipse((x - 9, y - 9, x + 9, y + 9), outline=fill, width=width)
        pen.ellipse((x - 1 - width / 2, y - 1 - width / 2, x + 1 + width / 2, y + 1 + width / 2), fill=fill)
    return np.asarray(canvas)
