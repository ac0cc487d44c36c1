"""The options of a run: what a person may choose, how a change is validated, and what ``track`` gets from it."""

from dataclasses import asdict, dataclass, fields
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, FiniteFloat, TypeAdapter
from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from withinpx.tracking.track import TrackSettings

MIN_CROP = 16  # px
CHANNELS, QUICK_CHANNELS = 32, 24  # of the network


@dataclass(frozen=True)
class Options:
    """The fields are validated by pydantic wherever JSON becomes options."""

    objects: Annotated[int, Field(ge=1, le=20)] | None = None  # None: as many as are found
    crop: tuple[int, int, int, int] | None = None  # left, top, width, height, px of the recording
    background: Literal["auto", "layered", "perspective", "nearby"] = "auto"
    target: Annotated[FiniteFloat, Field(gt=0)] | None = None  # largest accepted bound, px of the recording
    seed: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    quick: bool = False  # one seed and a narrow network


def change_options(options: Options, changes: dict[str, Any], width: int, height: int) -> Options:
    """The options with some fields replaced; ``width`` and ``height`` are those of the recording."""
    unknown = changes.keys() - {field.name for field in fields(Options)}
    if unknown:
        raise _invalid(f"There is no option {min(unknown)!r}.")
    changed = TypeAdapter(Options).validate_python(asdict(options) | changes)
    if changed.crop is not None:
        left, top, crop_width, crop_height = changed.crop
        if min(crop_width, crop_height) < MIN_CROP:
            raise _invalid(f"The crop is {crop_width}x{crop_height} px: it must be at least {MIN_CROP} px on a side.")
        if min(left, top) < 0 or left + crop_width > width or top + crop_height > height:
            crop = f"{left} {top} {crop_width} {crop_height}"
            raise _invalid(f"The crop {crop} reaches outside the frame of {width}x{height} px.")
    return changed


def track_settings(options: Options) -> "TrackSettings":
    """The options as ``track`` takes them. The imports are here because they load torch."""
    from withinpx.studio.read_progress import WatchedSelection  # noqa: PLC0415
    from withinpx.tracking.plan import Wishes  # noqa: PLC0415
    from withinpx.tracking.track import TrackSettings  # noqa: PLC0415

    wishes = Wishes(
        options.objects,
        options.background,
        target=options.target,
        channels=QUICK_CHANNELS if options.quick else CHANNELS,
    )
    return TrackSettings(
        WatchedSelection(crop=options.crop),
        wishes,
        options.seed,
        budget_s=0.0 if options.quick else TrackSettings.budget_s,
    )


def _invalid(message: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, message)
