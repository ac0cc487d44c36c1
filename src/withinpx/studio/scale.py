"""The scale of a run: a known length between two clicks, or mm per px as typed. It is kept in a file of its own."""

from dataclasses import asdict, dataclass
from math import dist, isfinite
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from withinpx.errors import InputError
from withinpx.files import writable_folder, write_json
from withinpx.studio.runs import Run
from withinpx.tracking.scale import check_scale

SCALE = "scale.json"
MM_PER = {"mm": 1.0, "cm": 10.0, "m": 1000.0}
CLICK_PX = 1.0  # a click is right to about a pixel of the recording
MOST_CLICK_PX = 100.0  # where a pixel of a small screen is many of the recording
Json = dict[str, Any]


@dataclass(frozen=True)
class Clicks:
    """The ends of a known length, px of the recording."""

    points: tuple[tuple[float, float], tuple[float, float]]
    length: float
    unit: str
    click_px: float  # to within which each click is about right

    @property
    def pixels(self) -> float:
        return dist(*self.points)

    @property
    def mm(self) -> float:
        return self.length * MM_PER[self.unit]


@dataclass(frozen=True)
class Scale:
    """``of`` says of which recording: name, width, height and frames."""

    mm_per_px: float
    of: tuple[str, int, int, int]
    clicks: Clicks | None = None

    def to_json(self) -> Json:
        """With the interval that clicks which are off by ``click_px`` each leave; null if the scale was typed."""
        interval = None
        if self.clicks is not None:
            off = 2 * self.clicks.click_px
            interval = [self.clicks.mm / (self.clicks.pixels + off), self.clicks.mm / (self.clicks.pixels - off)]
        clicks = None if self.clicks is None else {**asdict(self.clicks), "pixels": self.clicks.pixels}
        return {"mm_per_px": self.mm_per_px, "clicks": clicks, "interval": interval}


NONE: Json = {"mm_per_px": None, "clicks": None, "interval": None}


def scale_of(order: Json, run: Run) -> Scale:
    """What the page sends: ``mm_per_px``, or two ``points`` with a ``length``, its ``unit`` and ``click_px``."""
    recording = _recording(run)
    if order.get("points") is None:
        if order.get("mm_per_px") is None:
            raise InputError("There is no scale in this: give mm_per_px, or two points and their length.")
        scale = Scale(_number(order["mm_per_px"], "the scale"), recording)
    else:
        clicks = _clicks(order, run)
        scale = Scale(clicks.mm / clicks.pixels, recording, clicks)
    check_scale(scale.mm_per_px)
    return scale


def _clicks(order: Json, run: Run) -> Clicks:
    unit = order.get("unit", "mm")
    if not isinstance(unit, str) or unit not in MM_PER:
        raise InputError(f"{str(unit)[:40]!r} is no unit of a length here: choose mm, cm or m.")
    length = _number(order.get("length"), "the length")
    if length <= 0:
        raise InputError(f"The length is {length:g} {unit}: give the length between the two points, above zero.")
    click_px = _number(order.get("click_px", CLICK_PX), "the precision of a click")
    first, second = _points(order["points"], run)
    clicks = Clicks((first, second), length, unit, min(max(click_px, CLICK_PX), MOST_CLICK_PX))
    if clicks.pixels <= 2 * clicks.click_px:
        raise InputError(
            f"The two points are {clicks.pixels:.3g} px apart, and a click is right to about {clicks.click_px:.3g} px: "
            "click the two ends of a known length, as far apart as you can."
        )
    return clicks


def _points(given: Any, run: Run) -> list[tuple[float, float]]:
    if not isinstance(given, list) or [len(point) if isinstance(point, list) else 0 for point in given] != [2, 2]:
        raise InputError("A known length has two points: give x and y of each, in px of the recording.")
    points = [(_number(x, "x of a point"), _number(y, "y of a point")) for x, y in given]
    width, height = run.clip.width, run.clip.height
    for x, y in points:
        if not (0 <= x <= width and 0 <= y <= height):
            raise InputError(f"The point {x:g}, {y:g} is outside the frame of {width}x{height} px: click within it.")
    return points


def _number(given: Any, what: str) -> float:
    """Text is what a person typed."""
    try:
        value = float("nan") if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not isfinite(value):
        shown = "nothing" if given in ("", None) else repr(str(given)[:40])
        raise InputError(f"{what[0].upper()}{what[1:]} is {shown}, which is no number: write it with a point, as 2.5.")
    return value


def _recording(run: Run) -> tuple[str, int, int, int]:
    return (run.name, run.clip.width, run.clip.height, run.clip.frames)


def write_scale(folder: Path, scale: Scale) -> None:
    write_json(writable_folder(folder) / SCALE, asdict(scale))


def remove_scale(folder: Path) -> None:
    (folder / SCALE).unlink(missing_ok=True)


def read_scale(folder: Path, run: Run) -> Scale | None:
    """None if there is none. A file that was copied from a run of another recording is refused."""
    try:
        content = (folder / SCALE).read_bytes()
    except FileNotFoundError:
        return None
    try:
        scale = TypeAdapter(Scale).validate_json(content)
        check_scale(scale.mm_per_px)
    except (ValidationError, InputError):
        raise InputError(f"The run's {SCALE} is broken: remove the scale and set it again.") from None
    if scale.of != _recording(run):
        name, width, height, frames = scale.of
        raise InputError(
            f"The run's {SCALE} is that of another recording, {name} ({frames} frames of {width}x{height} px): "
            "remove the scale and set that of this one."
        )
    return scale
