"""What the formats are written from, and what their writers share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from withinpx.tracking.tracks import Array, Tracks

if TYPE_CHECKING:
    from withinpx.tracking.detector import Detector

SOFTWARE = "withinpx"
BODY_PART = "centre"  # of formats that know skeletons: each object has one
HALF_PIXEL = 0.5  # from the corner of the first pixel, our (0, 0), to its centre, the (0, 0) of most formats
ORIGIN = "(0, 0) is the centre of the first pixel; x to the right, y down"


@dataclass(frozen=True)
class Run:
    """A finished run. Only COCO's masks need its detector; SLEAP and TrackMate name its clip, nothing opens it."""

    tracks: Tracks
    detector: "Detector | None" = None
    clip: Path | None = None
    names: Mapping[int, str] = field(default_factory=dict)  # of the objects that a person named

    def name_of(self, index: int) -> str:
        return self.names.get(index, object_name(index))

    def title_of(self, index: int) -> str:
        """The name where it is shown to people."""
        return self.names.get(index, f"object {index}")


def centred(tracks: Tracks) -> Array:
    """(f, n, 2): positions from the centre of the first pixel; NaN where the object is absent."""
    return np.asarray(np.where(tracks.present[..., None], tracks.positions - HALF_PIXEL, np.nan))


def bounds(tracks: Tracks) -> Array:
    """(f, n): the bounds as in tracks.csv, rounded up; NaN where refused."""
    return np.asarray(tracks.to_dataframe()["bound_px"].to_numpy().reshape(tracks.present.shape))


def seconds(tracks: Tracks) -> Array | None:
    """(f,): the times of the frames; None where the recording has no clock."""
    return tracks.times_s if np.isfinite(tracks.times_s).all() else None


def frame_interval_s(tracks: Tracks) -> float | None:
    """Seconds from one frame of the recording to the next, the median; None if unknown."""
    times = seconds(tracks)
    if times is None or len(times) < 2:
        return None
    interval = float(np.median(np.diff(times) / np.diff(tracks.frames)))
    return interval if interval > 0 else None


def object_name(index: int) -> str:
    return f"object{index}"


def link_probability(tracks: Tracks) -> Array:
    """(f, n): the probability that a position is the object of the previous row: 1 if proved, NaN if unknown."""
    return np.asarray(np.where(tracks.identity_certified == 1, 1.0, tracks.identity_p))
