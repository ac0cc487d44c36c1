"""Options of an audit, declared once for library and command line."""

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from withinpx.errors import InputError

OriginName = Literal["auto", "corner", "centre", "one"]
OffsetName = Literal["none", "measured"]
ORIGIN_PX: dict[str, float] = {"corner": 0.0, "centre": 0.5, "one": -1.0}  # added to reach ours, the corner


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """How another program's positions are read, and what counts as wrong.

    >>> AuditOptions(offset="measured").within is None
    True
    """

    origin: OriginName = "auto"
    """What is at (0, 0) in TRACKS: the `corner` of the first pixel, as in withinpx, or its `centre`. `one`: the corner
    is at (1, 1). `auto`: by the format (docs/audit.md)."""
    bodypart: str | None = None
    """Which body part to compare, where TRACKS has several."""
    first_frame: int | Literal["auto"] = "auto"
    """The number that TRACKS gives the clip's first frame; `auto`: by the format, 1 in MOT and 0 in the others."""
    offset: OffsetName = "none"
    """`none`: a position is claimed to be the centre of the object's box. `measured`: it is claimed to be any point at
    a constant offset from it, and at least half of the positions near each object to be right."""
    within: float | None = None
    """Call a position wrong only if its error is proved to exceed this many px, and right only if it is proved not to.
    If not given: wrong where it cannot be the centre, right where it can, each with how far off it is at most."""

    def __post_init__(self) -> None:
        if self.within is not None and not (isfinite(self.within) and self.within >= 0):
            raise InputError(f"The error to allow is {self.within} px: give 0 or more with --within.")
        if self.first_frame != "auto" and self.first_frame < 0:
            raise InputError(f"The number of the first frame is {self.first_frame}: give 0 or more.")
