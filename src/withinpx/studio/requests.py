"""What the page may send, checked before anybody acts on it."""

from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from withinpx.studio.refusal import Refusal
from withinpx.studio.runs import Footage, Options

SMALLEST_CROP = 16  # px
Place = tuple[FiniteFloat, FiniteFloat] | None


class OptionsChange(BaseModel):
    """Some options anew; the others stay."""

    model_config = ConfigDict(extra="forbid")

    objects: Annotated[int, Field(ge=1, le=20)] | None = None
    crop: tuple[int, int, int, int] | None = None
    background: Literal["auto", "layered", "perspective", "nearby"] = "auto"
    target: Annotated[FiniteFloat, Field(gt=0)] | None = None
    seed: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    quick: bool = False

    def applied(self, options: Options, clip: Footage) -> Options:
        """The options with what was sent."""
        sent: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if sent.get("crop") is not None:
            check_crop(sent["crop"], clip)
        return replace(options, **sent)


class DrawOrder(BaseModel):
    """Where each object is to be drawn, px of the recording; null for one that is not."""

    frame: int = 0
    positions: list[Place]


class FilmOrder(BaseModel):
    """The same for each frame of a film."""

    paths: list[list[Place]]
    fps: Annotated[FiniteFloat, Field(ge=1, le=240)] = 25.0


def check_crop(crop: tuple[int, int, int, int], clip: Footage) -> None:
    """Refuse a part of the picture that is not one."""
    left, top, width, height = crop
    if min(width, height) < SMALLEST_CROP:
        said = f"The crop is {width}x{height} px: it must be {SMALLEST_CROP} px wide and high at least."
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, said)
    if min(left, top) < 0 or left + width > clip.width or top + height > clip.height:
        said = f"The crop {left} {top} {width} {height} reaches outside the picture of {clip.width}x{clip.height} px."
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, said)
