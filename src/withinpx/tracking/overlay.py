"""The recording with what was found drawn on it, as a video: where each object is, and how far off that can be."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from withinpx.data.selection import EVERYTHING, Selection
from withinpx.errors import InputError
from withinpx.palette import ALARM, REFUSED, RGB, colour_of, rgb
from withinpx.tracking.mp4 import Mp4Writer, Pixels, enlarged, enlargement
from withinpx.tracking.tracks import Tracks, bound_text, in_picture

TRAIL = 20  # frames
SUPERSAMPLE = 2
LINE = 28  # px, height of a line below the picture
FONT = 13  # px
LONGEST_HEAD, LONGEST_CAPTION = "frame 00000   000.00 s", "0: refused: reconstruct"
STRIP, TEXT = (22, 24, 29), (224, 226, 230)
NO_REASONS: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True)
class Mark:
    """One object in one frame, in the pixels of the enlarged picture."""

    each: int
    position: tuple[float, float]
    z: tuple[float, float]
    bound: float
    certified: bool

    @property
    def colour(self) -> RGB:
        """Grey where nothing is promised."""
        return rgb(colour_of(self.each) if self.certified else REFUSED)

    @property
    def casing(self) -> tuple[int, int, int, int]:
        """Around every line, so that it shows on any picture: light around dark colours, dark around light ones."""
        bright = float(np.dot(self.colour, (0.299, 0.587, 0.114))) > 127
        return (0, 0, 0, 200) if bright else (255, 255, 255, 200)


class OverlayWriter:
    """``overlay.mp4``, frame by frame, with the recording's own times; the first frame is shown at 0 s.

    A cross is the calibrated position. The thin square holds all that is within the bound of z along both axes. Where
    the bound is refused the cross is grey and dashed, has a question mark, and a red bar runs below the picture.
    """

    def __init__(self, path: Path, objects: int, selection: Selection = EVERYTHING) -> None:
        self._video = Mp4Writer(path, "overlay")
        self._objects, self._selection = objects, selection
        self._trail: deque[dict[int, Mark]] = deque(maxlen=TRAIL + 1)

    def __enter__(self) -> Self:
        self._video.__enter__()
        return self

    def add(self, pixels: Pixels, tracks: Tracks, row: int, reasons: Mapping[int, str] = NO_REASONS) -> None:
        """The next frame (height, width, colours), with a row of the tracks; why objects are refused, in a word."""
        if tracks.objects != self._objects:
            raise InputError(f"The overlay was begun for {self._objects} objects, the tracks have {tracks.objects}.")
        factor = enlargement(pixels)
        marks = _marks(tracks, row, self._selection, factor)
        self._trail.append(marks)
        picture = draw_marks(Image.fromarray(enlarged(pixels, factor)), list(self._trail))
        captions = [_caption(tracks, row, each, reasons.get(each)) for each in range(self._objects)]
        head = f"frame {tracks.frames[row]}   {tracks.times_s[row]:.2f} s"
        refused = any(not mark.certified for mark in marks.values())
        picture = with_legend(picture, head, captions, refused)
        self._video.add(np.asarray(picture), float(tracks.times_s[row]))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._video.__exit__(kind, error, trace)


def _marks(tracks: Tracks, row: int, selection: Selection, factor: int) -> dict[int, Mark]:
    """What is present in a frame, by object."""
    positions, raw = (in_picture(points[row], selection) * factor for points in (tracks.positions, tracks.z))
    bounds = tracks.bound_px[row] * selection.scale * factor
    return {
        each: Mark(
            each,
            (float(positions[each, 0]), float(positions[each, 1])),
            (float(raw[each, 0]), float(raw[each, 1])),
            float(bounds[each]),
            bool(tracks.certified[row, each]),
        )
        for each in np.flatnonzero(tracks.present[row]).tolist()
    }


def draw_marks(picture: Image.Image, trail: list[dict[int, Mark]]) -> Image.Image:
    """Trails through the frames before, then the crosses, bounds and numbers of the last frame."""
    layer = Image.new("RGBA", (picture.width * SUPERSAMPLE, picture.height * SUPERSAMPLE))
    pen = ImageDraw.Draw(layer)
    unit = SUPERSAMPLE * _unit(picture)
    _draw_trails(pen, trail, unit)
    for mark in trail[-1].values():
        _draw_cross(pen, mark, unit)
        if mark.certified and np.isfinite(mark.bound):
            _draw_bound(pen, mark, unit)
        _draw_number(pen, mark, unit, layer.size)
    touched = layer.getbbox()
    if touched is None:
        return picture
    left, top, right, bottom = touched[0] // SUPERSAMPLE, touched[1] // SUPERSAMPLE, *touched[2:]
    part = layer.crop((left * SUPERSAMPLE, top * SUPERSAMPLE, right, bottom)).reduce(SUPERSAMPLE)
    picture.paste(part.convert("RGB"), (left, top), part.getchannel("A"))
    return picture


def _unit(picture: Image.Image) -> float:
    """Lines and letters grow with large pictures, which are looked at from further away."""
    return max(1.0, max(picture.size) / 1000)


def _draw_trails(pen: ImageDraw.ImageDraw, trail: list[dict[int, Mark]], unit: float) -> None:
    for age, (before, after) in enumerate(pairwise(trail), start=TRAIL + 1 - len(trail)):
        opacity = round(20 + 215 * (age + 1) / TRAIL)
        for each in before.keys() & after.keys():
            line = [tuple(SUPERSAMPLE * value for value in mark[each].position) for mark in (before, after)]
            pen.line(line, fill=(*after[each].colour, opacity), width=round(2 * unit))


def _draw_bound(pen: ImageDraw.ImageDraw, mark: Mark, unit: float) -> None:
    for grown, width, fill in ((0.8, 3, mark.casing), (0.0, 1.4, (*mark.colour, 255))):
        radius = mark.bound * SUPERSAMPLE + grown * unit
        pen.rectangle(_box(mark.z, radius, radius), outline=fill, width=round(width * unit))


def _draw_cross(pen: ImageDraw.ImageDraw, mark: Mark, unit: float) -> None:
    arm, half = 9 * unit, 1.5 * unit
    for grown, fill in ((unit, mark.casing), (0.0, (*mark.colour, 255))):
        for start, end in _strokes(mark.certified, arm):
            for sign in (-1, 1):
                middle, reach = sign * (start + end) / 2, (end - start) / 2 + grown
                x, y = mark.position
                pen.rectangle(_box((x + middle / SUPERSAMPLE, y), reach, half + grown), fill=fill)
                pen.rectangle(_box((x, y + middle / SUPERSAMPLE), half + grown, reach), fill=fill)


def _strokes(whole: bool, arm: float) -> Iterator[tuple[float, float]]:
    """From the centre outwards: one stroke, or dashes."""
    if whole:
        yield 0, arm
        return
    yield from ((0, 0.2 * arm), (0.45 * arm, 0.75 * arm), (arm, 1.3 * arm))


def _draw_number(pen: ImageDraw.ImageDraw, mark: Mark, unit: float, size: tuple[int, int]) -> None:
    """Up and to the right of the cross, or to the side where there is room."""
    text = f"{mark.each}" if mark.certified else f"{mark.each}?"
    font = _font(1.2 * FONT * unit)
    x, y = (SUPERSAMPLE * value for value in mark.position)
    right = x + 8 * unit + font.getlength(text) < size[0]
    above = y > (FONT + 8) * unit
    place = (x + 5 * unit if right else x - 5 * unit, y - 5 * unit if above else y + 5 * unit)
    anchor = ("l" if right else "r") + ("d" if above else "a")
    pen.text(place, text, (*mark.colour, 255), font, anchor, stroke_width=round(unit), stroke_fill=mark.casing)


def _box(centre: tuple[float, float], across: float, down: float) -> tuple[int, int, int, int]:
    """The pixels of the layer from ``centre - reach`` to ``centre + reach``, both ends counted, as PIL wants them."""
    x, y = (SUPERSAMPLE * value for value in centre)
    left, top = round(x - across), round(y - down)
    return left, top, max(left, round(x + across) - 1), max(top, round(y + down) - 1)


def with_legend(picture: Image.Image, head: str, captions: list[str], refused: bool) -> Image.Image:
    """The picture over a strip with a caption per object; even sides, which the codec needs."""
    unit = _unit(picture)
    font, line = _font(FONT * unit), round(LINE * unit)
    indent, column = (round(font.getlength(longest) + 14 * unit) for longest in (LONGEST_HEAD, LONGEST_CAPTION))
    columns = max(1, int(picture.width - indent) // column)
    lines = ceil(len(captions) / columns)
    width, height = (side + side % 2 for side in (picture.width, picture.height + lines * line))
    canvas = Image.new("RGB", (width, height), STRIP)
    canvas.paste(picture, (0, 0))
    pen = ImageDraw.Draw(canvas)
    if refused:
        pen.rectangle((0, picture.height, width, picture.height + round(3 * unit)), fill=rgb(ALARM))
    middle = picture.height + line / 2 + unit
    pen.text((10 * unit, middle), head, TEXT, font, "lm")
    for each, caption in enumerate(captions):
        x, y = indent + each % columns * column, middle + each // columns * line
        radius = 5 * unit
        pen.ellipse((x, y - radius, x + 2 * radius, y + radius), fill=rgb(colour_of(each)))
        pen.text((x + 3 * radius, y), _shortened(caption), TEXT, font, "lm")
    return canvas


def _shortened(caption: str) -> str:
    return caption if len(caption) <= len(LONGEST_CAPTION) else caption[: len(LONGEST_CAPTION) - 1] + "…"


def _caption(tracks: Tracks, row: int, each: int, reason: str | None) -> str:
    if not tracks.present[row, each]:
        return f"{each}: absent"
    if tracks.certified[row, each]:
        return f"{each}: {bound_text(float(tracks.bound_px[row, each]))} certified"
    return f"{each}: refused: {reason}" if reason else f"{each}: refused"


@cache
def _font(size: float) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise InputError("The overlay needs a Pillow with FreeType: pip install --force-reinstall pillow.")
    return font
