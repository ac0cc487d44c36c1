"""The recording as a video with each object's position and its bound marked."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from withinpx.data.selection import EVERYTHING, Selection
from withinpx.errors import InputError
from withinpx.model.windows import Box, joined
from withinpx.palette import ALARM, REFUSED, RGB, colour_of, luma, rgb
from withinpx.tracking.mp4 import FRAMES_PER_SECOND, Mp4Writer, Pixels, enlarged, enlargement
from withinpx.tracking.tracks import Tracks, bound_text

if TYPE_CHECKING:
    from withinpx.tracking.detect import Chunk

TRAIL = 20  # frames
IMAGES_PER_SECOND = 1  # of unordered images
SUPERSAMPLE = 2
LINE = 28  # px, height of a line below the frame
FONT = 13  # px
LONGEST_HEAD, LONGEST_CAPTION = "frame 00000   000.00 s", "0: refused: reconstruct"
STRIP, TEXT = (22, 24, 29), (224, 226, 230)

Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """One object in one frame, in px of the enlarged frame."""

    label: str
    position: Point
    bound: float
    certified: bool
    colour: RGB  # grey where the position is refused
    guessed: bool = False  # is it a guess that it is the object of the frame before?

    @property
    def casing(self) -> tuple[int, int, int, int]:
        """The outline of every line: light around dark colours, dark around light ones, so that it shows anywhere."""
        return (0, 0, 0, 200) if luma(self.colour) > 127 else (255, 255, 255, 200)


Marks = dict[int, Mark]  # by object


class OverlayWriter:
    """Writes overlay.mp4 frame by frame, with the recording's times; the first frame is shown at 0 s.

    A cross marks the position (x, y), a square around it the bound, and a line the last positions, dashed where it is
    a guess that they are one object's. A refused position has no square: its cross is grey and dashed, and a red bar
    runs below the frame. Objects have the palette's colours unless ``colours`` are given.
    """

    def __init__(
        self,
        path: Path,
        objects: int,
        selection: Selection = EVERYTHING,
        colours: Sequence[str] | None = None,
    ) -> None:
        self._video = Mp4Writer(path, "overlay")
        self._selection = selection
        self._colours = [rgb(colour) for colour in colours or map(colour_of, range(objects))]
        self._trail: deque[Marks] = deque(maxlen=TRAIL + 1)
        self._frames = 0

    def __enter__(self) -> Self:
        self._video.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._video.__exit__(*error)

    def add_chunk(self, chunk: "Chunk") -> None:
        for row, frame in enumerate(chunk.frames):
            self.add(frame.pixels, chunk.tracks, row)

    def add(self, pixels: Pixels, tracks: Tracks, row: int) -> None:
        """Append a frame (height, width, colours) with the marks of one row of the tracks."""
        count = len(self._colours)
        if tracks.objects != count:
            raise InputError(f"The overlay was begun for {count} objects, the tracks have {tracks.objects}.")
        factor = enlargement(pixels)
        marks = self._marks(tracks, row, factor)
        if tracks.unordered:
            self._trail.clear()
        self._trail.append(marks)
        image = enlarged(pixels, factor)
        draw_marks(image, list(self._trail))
        time_s = float(tracks.times_s[row])
        head = f"frame {tracks.frames[row]}" + ("" if isnan(time_s) else f"   {time_s:.2f} s")
        refused = any(not mark.certified for mark in marks.values())
        captions = [_caption(tracks, row, index) for index in range(count)] if tracks.classes is None else []
        if tracks.classes is not None:
            head += f"   {_counted(tracks, row)}"
        image = self._with_legend(image, head, captions, refused)
        if isnan(time_s):
            time_s = self._frames / (IMAGES_PER_SECOND if tracks.unordered else FRAMES_PER_SECOND)
        self._video.add(image, time_s)
        self._frames += 1

    def _marks(self, tracks: Tracks, row: int, factor: int) -> Marks:
        positions = self._selection.from_recording(tracks.positions[row]) * factor
        bounds = tracks.bounds[row] * self._selection.scale * factor
        marks = {}
        for index in np.flatnonzero(tracks.present[row]).tolist():
            x, y = positions[index].tolist()
            certified = bool(tracks.certified[row, index])
            label, colour = (str(index), self._colours[index]) if certified else (f"{index}?", rgb(REFUSED))
            guessed = tracks.proved is not None and tracks.proved[row, index] == 0
            marks[index] = Mark(label, (x, y), float(bounds[index]), certified, colour, bool(guessed))
        return marks

    def _with_legend(self, image: Pixels, head: str, captions: list[str], refused: bool) -> Pixels:
        """The image above a strip with a caption per object; the sides are even, which the codec needs."""
        unit, (image_height, image_width) = _unit(image), image.shape[:2]
        font, line = _font(FONT * unit), round(LINE * unit)
        indent, column = (round(font.getlength(longest) + 14 * unit) for longest in (LONGEST_HEAD, LONGEST_CAPTION))
        columns = max(1, int(image_width - indent) // column)
        lines = max(1, ceil(len(captions) / columns))
        width, height = (side + side % 2 for side in (image_width, image_height + lines * line))
        strip = Image.new("RGB", (width, height - image_height), STRIP)
        pen = ImageDraw.Draw(strip)
        if refused:
            pen.rectangle((0, 0, width, round(3 * unit)), fill=rgb(ALARM))
        middle, radius = line / 2 + unit, 5 * unit
        pen.text((10 * unit, middle), head, TEXT, font, "lm")
        for index, caption in enumerate(captions):
            x, y = indent + index % columns * column, middle + index // columns * line
            pen.ellipse((x, y - radius, x + 2 * radius, y + radius), fill=self._colours[index])
            pen.text((x + 3 * radius, y), caption, TEXT, font, "lm")
        canvas = np.empty((height, width, 3), np.uint8)
        canvas[:image_height, :image_width], canvas[:image_height, image_width:] = image, STRIP
        canvas[image_height:] = strip
        return canvas


def _caption(tracks: Tracks, row: int, index: int) -> str:
    if not tracks.present[row, index]:
        return f"{index}: absent"
    if tracks.certified[row, index]:
        return f"{index}: {bound_text(float(tracks.bounds[row, index]))} certified"
    caption = f"{index}: refused: {tracks.reasons[row, index]}"
    return caption if len(caption) <= len(LONGEST_CAPTION) else caption[: len(LONGEST_CAPTION) - 1] + "…"


def _counted(tracks: Tracks, row: int) -> str:
    """The objects of one frame that look alike, counted: too many for a caption each."""
    present, certified = (int(values[row].sum()) for values in (tracks.present, tracks.certified))
    guessed = 0 if tracks.proved is None else int((tracks.proved[row] == 0).sum())
    identities = f", {guessed} identities guessed" if guessed else ""
    return f"{present} objects, {certified} certified{identities}"


def draw_marks(image: Pixels, trail: Sequence[Marks]) -> None:
    """Draw lines through the frames before, then the crosses, bounds and numbers of the last frame, into the image."""
    height, width = image.shape[:2]
    layer = Image.new("RGBA", (width * SUPERSAMPLE, height * SUPERSAMPLE))
    pen = ImageDraw.Draw(layer)
    unit = SUPERSAMPLE * _unit(image)
    for age, (before, after) in enumerate(pairwise(trail), start=TRAIL + 1 - len(trail)):
        opacity = round(20 + 215 * (age + 1) / TRAIL)
        for index in before.keys() & after.keys():
            start, end = (SUPERSAMPLE * np.array(marks[index].position) for marks in (before, after))
            for first, last in _dashes(float(np.hypot(*(end - start))), unit) if after[index].guessed else [(0.0, 1.0)]:
                ends = [tuple((start + share * (end - start)).tolist()) for share in (first, last)]
                pen.line(ends, fill=(*after[index].colour, opacity), width=round(2 * unit))
    for mark in trail[-1].values():
        _draw_cross(pen, mark, unit)
        if mark.certified:
            _draw_bound(pen, mark, unit)
        _draw_label(pen, mark, unit, layer.size)
    objects = set[int]().union(*trail)
    for top, left, bottom, right in joined([_extent(image, trail, index) for index in objects], 0):
        part = layer.crop((left * SUPERSAMPLE, top * SUPERSAMPLE, right * SUPERSAMPLE, bottom * SUPERSAMPLE))
        _blend(image[top:bottom, left:right], part)


def _dashes(length: float, unit: float) -> list[tuple[float, float]]:
    """Where the dashes of a line begin and end, as shares of it; one at least, of half its length."""
    count = max(1, round(length / (8 * unit)))
    return [(number / count, (number + 0.5) / count) for number in range(count)]


def _extent(image: Pixels, trail: Sequence[Marks], index: int) -> Box:
    """A box around everything that is marked for one object, within the image."""
    marks = [marks[index] for marks in trail if index in marks]
    reach = FONT * (2 + len(marks[-1].label)) * _unit(image)  # of the cross and, on any side of it, the label
    if marks[-1].certified:
        reach += marks[-1].bound
    x, y = np.array([mark.position for mark in marks]).T
    left, top = (max(0, int(axis.min() - reach)) for axis in (x, y))
    bottom, right = (min(side, ceil(axis.max() + reach)) for side, axis in zip(image.shape, (y, x), strict=False))
    return top, left, max(top, bottom), max(left, right)


def _blend(image: Pixels, layer: Image.Image) -> None:
    """Blend a layer with SUPERSAMPLE times as many rows and columns into the image, where it is not empty."""
    if not image.size:
        return
    rows, columns = np.nonzero(np.asarray(layer.getchannel("A").reduce(SUPERSAMPLE)) > 0)
    fine = np.asarray(layer).reshape(image.shape[0], SUPERSAMPLE, image.shape[1], SUPERSAMPLE, 4)[rows, :, columns]
    opacity = fine[..., 3:] / np.float32(255)
    colour, cover = (values.mean(axis=(1, 2)) for values in (opacity * fine[..., :3], opacity))
    image[rows, columns] = (colour + (1 - cover) * image[rows, columns]).round()


def _draw_bound(pen: ImageDraw.ImageDraw, mark: Mark, unit: float) -> None:
    for grown, width, fill in ((0.8, 3, mark.casing), (0.0, 1.4, (*mark.colour, 255))):
        radius = mark.bound * SUPERSAMPLE + grown * unit
        pen.rectangle(_box(mark.position, radius, radius), outline=fill, width=round(width * unit))


def _draw_cross(pen: ImageDraw.ImageDraw, mark: Mark, unit: float) -> None:
    arm, half = 9 * unit, 1.5 * unit
    dashes = ((0.0, 0.2), (0.45, 0.75), (1.0, 1.3))  # shares of the arm, from the centre outwards
    x, y = mark.position
    for grown, fill in ((unit, mark.casing), (0.0, (*mark.colour, 255))):
        for start, end in ((0.0, 1.0),) if mark.certified else dashes:
            for sign in (-arm, arm):
                middle, reach = sign * (start + end) / (2 * SUPERSAMPLE), arm * (end - start) / 2 + grown
                pen.rectangle(_box((x + middle, y), reach, half + grown), fill=fill)
                pen.rectangle(_box((x, y + middle), half + grown, reach), fill=fill)


def _draw_label(pen: ImageDraw.ImageDraw, mark: Mark, unit: float, size: tuple[int, int]) -> None:
    """Above and to the right of the cross, or on another side where there is room."""
    font = _font(1.2 * FONT * unit)
    x, y = (SUPERSAMPLE * value for value in mark.position)
    right = x + 8 * unit + font.getlength(mark.label) < size[0]
    above = y > (FONT + 8) * unit
    corner = (x + 5 * unit if right else x - 5 * unit, y - 5 * unit if above else y + 5 * unit)
    anchor = ("l" if right else "r") + ("d" if above else "a")
    pen.text(corner, mark.label, (*mark.colour, 255), font, anchor, stroke_width=round(unit), stroke_fill=mark.casing)


def _box(centre: Point, across: float, down: float) -> tuple[int, int, int, int]:
    """First and last pixel of the layer within ``centre`` ± ``across``, ``down``, as PIL counts them."""
    x, y = (SUPERSAMPLE * value for value in centre)
    left, top = round(x - across), round(y - down)
    return left, top, max(left, round(x + across) - 1), max(top, round(y + down) - 1)


def _unit(image: Pixels) -> float:
    """Lines and letters grow with large frames, which are displayed smaller."""
    return max(1.0, int(max(image.shape[:2])) / 1000)


@cache
def _font(size: float) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise InputError("The overlay needs a Pillow with FreeType: pip install --force-reinstall pillow.")
    return font
