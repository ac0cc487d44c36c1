"""Made-up tracks: three objects, the second refused for a while, the third absent at first, uneven times."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from withinpx.tracking.tracks import Tracks

WIDTH, HEIGHT = 48, 36


def made_up(frames: int = 8) -> Tracks:
    rows = np.arange(frames)
    random = np.random.default_rng(0)
    positions = np.stack(
        [
            np.stack([8.25 + 3 * rows, 9.5 + 0 * rows], axis=-1),
            np.stack([40.5 - 2 * rows, 18.0 + rows], axis=-1),
            np.stack([12.75 + rows, 27.25 + 0 * rows], axis=-1),
        ],
        axis=1,
    ).astype(np.float64)
    present = np.ones((frames, 3), np.bool_)
    present[:2, 2] = False
    theorem_px = np.broadcast_to([5.25, 4.0, 6.5], present.shape)
    tracks = Tracks(
        frames=10 + 2 * rows,
        times_s=np.cumsum(random.uniform(0.01, 0.2, frames)).round(6),
        positions=positions,
        sizes=np.broadcast_to([6.0, 4.0], positions.shape).copy(),
        bounds=theorem_px + 0.5,
        z=positions + np.array([0.5, -0.25]),
        theorem_px=theorem_px,
        residual_px=np.where(present, random.uniform(0, 1, present.shape).round(4), np.nan),
        present=present,
        reasons=np.full(present.shape, "", "<U16"),
        sigma_px=np.full(present.shape, np.nan),
        set_px=np.full(present.shape, np.nan),
        width=WIDTH,
        height=HEIGHT,
    )
    at_border = np.zeros_like(present)
    at_border[3:5, 1] = True
    return refused(refused(tracks, ~present, "absent"), at_border, "border")


def alike() -> Tracks:
    """The last link of each object is guessed, as of objects that look the same; all others are as if distinct."""
    tracks = made_up()
    proved, guessed = tracks.identity_certified.copy(), np.full(tracks.present.shape, np.nan)
    proved[-1], guessed[-1] = 0, [0.9, 0.8, 0.7]
    return replace(tracks, classes=np.zeros(3, np.int64), step_px=4.0, proved=proved, guessed=guessed)


def refused(tracks: Tracks, which: NDArray[np.bool_], reason: str) -> Tracks:
    """The tracks with these positions (f, n) refused."""
    return replace(
        tracks,
        reasons=np.where(which, reason, tracks.reasons),
        bounds=np.where(which, np.nan, tracks.bounds),
        theorem_px=np.where(which, np.nan, tracks.theorem_px),
    )


def never_present(tracks: Tracks) -> Tracks:
    nowhere = np.zeros_like(tracks.present)
    nothing = np.full(nowhere.shape, np.nan)
    return refused(replace(tracks, present=nowhere, residual_px=nothing), ~nowhere, "absent")
