"""Certified tracks that were made up, with a truth inside every bound, and another program's tracks of them."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from withinpx.auditing.audit import compare
from withinpx.auditing.foreign import read_foreign
from withinpx.auditing.options import AuditOptions
from withinpx.auditing.result import Audit
from withinpx.tracking.tracks import Tracks

WIDTH, HEIGHT, FRAMES = 200, 150, 40
Array = NDArray[np.float64]


def made_tracks(seed: int = 0, objects: int = 3, frames: int = FRAMES, **changes: Any) -> tuple[Tracks, Array]:
    """Objects on lines 40 px apart, and where they truly are (f, n, 2): anywhere within their bounds."""
    random = np.random.default_rng(seed)
    along = np.linspace(20, WIDTH - 20, frames)
    positions = np.stack([np.stack([along, np.full(frames, 20 + 40 * index)], axis=-1) for index in range(objects)], 1)
    positions = positions + random.uniform(-1, 1, positions.shape)
    bounds = random.uniform(0.3, 2.0, positions.shape[:2])
    truth = positions + random.uniform(-1, 1, positions.shape) * bounds[..., None]
    shape = positions.shape[:2]
    arrays: dict[str, Any] = {
        "frames": np.arange(frames),
        "times_s": np.full(frames, np.nan),
        "positions": positions,
        "sizes": np.full((*shape, 2), 12.0),
        "bounds": bounds,
        "z": positions,
        "theorem_px": bounds + 5,
        "residual_px": np.zeros(shape),
        "present": np.ones(shape, np.bool_),
        "reasons": np.full(shape, "", "<U14"),
        "sigma_px": np.full(shape, np.nan),
        "set_px": bounds,
    }
    return Tracks(**(arrays | changes), width=WIDTH, height=HEIGHT), truth


def refused(tracks: Tracks, where: NDArray[np.bool_], reason: str = "touching") -> dict[str, Any]:
    """The arrays of tracks in which some rows (f, n) are refused."""
    return {"bounds": np.where(where, np.nan, tracks.bounds), "reasons": np.where(where, reason, tracks.reasons)}


def as_table(positions: Array) -> pd.DataFrame:
    """Another program's table of positions (f, n, 2); NaN where it has none."""
    frames, objects = positions.shape[:2]
    frame, number = np.indices((frames, objects)).reshape(2, -1)
    x, y = positions.reshape(-1, 2).T
    return pd.DataFrame({"frame": frame, "id": [f"fly {index}" for index in number], "x": x, "y": y})


def audited(table: pd.DataFrame, tracks: Tracks, **options: Any) -> Audit:
    chosen = AuditOptions(**options)
    return compare(read_foreign(table, chosen), tracks, chosen)


def verdict_of(audit: Audit, frame: int, name: str) -> Any:
    """The row of one position."""
    table = audit.to_dataframe()
    ((_, row),) = table[(table.frame == frame) & (table.id == name)].iterrows()
    return row
