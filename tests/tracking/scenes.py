"""Made-up tracks: three objects, the second refused for a while, the third absent at first, uneven times."""

import numpy as np

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
    present, certified = (np.ones((frames, 3), np.bool_) for _ in range(2))
    certified[3:5, 1] = False
    present[:2, 2] = certified[:2, 2] = False
    return Tracks(
        frames=10 + 2 * rows,
        times_s=np.cumsum(random.uniform(0.01, 0.2, frames)).round(6),
        positions=positions,
        z=positions + np.array([0.5, -0.25]),
        sizes=np.broadcast_to([6.0, 4.0], positions.shape).copy(),
        bounds=np.where(certified, [5.75, 4.5, 7.0], np.nan),
        theorem_px=np.where(certified, [5.25, 4.0, 6.5], np.nan),
        residual_px=np.where(present, random.uniform(0, 1, present.shape).round(4), np.nan),
        present=present,
        reasons=np.where(certified, "", np.where(present, "reconstruction", "absent")),
        width=WIDTH,
        height=HEIGHT,
    )
