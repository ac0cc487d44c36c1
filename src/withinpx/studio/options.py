"""The options of a run: those of ``track`` that the page may change, and how a change is validated."""

from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from math import isfinite
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from starlette.exceptions import HTTPException

from withinpx.tracking.options import TrackOptions, only

if TYPE_CHECKING:
    from withinpx.studio.runs import Footage

EDITABLE = ("objects", "crop", "frames", "background", "target", "seed", "quick")
MIN_CROP = 16  # px
MAX_OBJECTS, MAX_SEED = 20, 1_000_000
QUICK_CHANNELS = 24


@dataclass(frozen=True, kw_only=True)
class Options(TrackOptions):
    """Validated by pydantic wherever JSON becomes options."""

    quick: bool = False
    """One seed and a narrower network."""

    def for_track(self) -> TrackOptions:
        options = only(TrackOptions, self)
        return replace(options, channels=QUICK_CHANNELS, budget=0.0) if self.quick else options


def change_options(options: Options, changes: dict[str, Any], clip: "Footage") -> Options:
    """The options with some fields replaced, checked against the clip."""
    unknown = changes.keys() - set(EDITABLE)
    if unknown:
        raise _invalid(f"There is no option {min(unknown)!r}.")
    changed = TypeAdapter(Options).validate_python(asdict(options) | changes)
    if changed.objects != "auto" and changed.objects > MAX_OBJECTS:
        raise _invalid(f"The number of objects is {changed.objects}: give at most {MAX_OBJECTS}.")
    if changed.target is not None and not (isfinite(changed.target) and changed.target > 0):
        raise _invalid(f"The target is {changed.target} px: give a number above zero.")
    if not 0 <= changed.seed <= MAX_SEED:
        raise _invalid(f"The seed is {changed.seed}: give a number from 0 to {MAX_SEED}.")
    if changed.crop is not None:
        left, top, crop_width, crop_height = changed.crop
        if min(crop_width, crop_height) < MIN_CROP:
            raise _invalid(f"The crop is {crop_width}x{crop_height} px: it must be at least {MIN_CROP} px on a side.")
        if min(left, top) < 0 or left + crop_width > clip.width or top + crop_height > clip.height:
            crop = f"{left} {top} {crop_width} {crop_height}"
            raise _invalid(f"The crop {crop} reaches outside the frame of {clip.width}x{clip.height} px.")
    if changed.frames is not None and changed.frames[1] >= clip.frames:
        last = changed.frames[1]
        raise _invalid(f"The clip has frames 0 to {clip.frames - 1}, and no frame {last}: choose an end within it.")
    return changed


def _invalid(message: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, message)
