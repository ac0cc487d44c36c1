"""Identical discs followed by other programs: trackpy, and MOG2's foreground linked by trackpy, on clips of alike.py.

    python benchmarks/alike_others.py results/alike

The clips are those of ``clips.csv`` there; one that is in ``others.csv`` is not run again. Both programs get the
size of the discs and their largest step from the truth; withinpx gets the clip alone. One row per program and clip is
written to ``others.csv``, a summary to ``others.md``. trackpy is in the extra ``bench``.
"""

import datetime
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import trackpy

from result_tables import markdown_table
from withinpx.data.swarm import swarm_clip
from withinpx.data.zoo import WHOLE, ZooClip

MEMORY = 30  # frames that an object may be out of sight, as in withinpx
WIDER = 1.4  # than a disc is the window of trackpy: 91.5 % found and 0.99 px with one as wide as the disc
SEPARATION = 0.8  # of a disc, at least, between two that trackpy locates
HISTORY = 120  # frames of MOG2's background, all that there are


def grey(made: ZooClip) -> np.ndarray:
    return np.asarray(made.clip.frames.astype(np.float32).mean(axis=-1))


def by_trackpy(made: ZooClip, size: float) -> pd.DataFrame:
    """Bandpassed maxima of the difference from the clip's median, which is the best that trackpy can be given."""
    frames = grey(made)
    difference = np.abs(frames - np.median(frames, axis=0))
    diameter = 2 * int(WIDER * size / 2) + 1
    found = [
        trackpy.locate(image, diameter, separation=SEPARATION * size, percentile=90).assign(frame=number)
        for number, image in enumerate(difference)
    ]
    joint = pd.concat(found, ignore_index=True)
    return joint[joint.mass > joint.mass.max() / 4]


def by_mog2(made: ZooClip, size: float) -> pd.DataFrame:
    """Centroids of foreground regions of a third of a disc's square at least; MOG2 has seen the clip once before."""
    model = cv2.createBackgroundSubtractorMOG2(history=HISTORY, detectShadows=False)
    rows = []
    for learning in (True, False):
        for number, image in enumerate(made.clip.frames):
            mask = model.apply(np.ascontiguousarray(image), learningRate=-1 if learning else 0)
            if learning:
                continue
            mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
            _, _, stats, centres = cv2.connectedComponentsWithStats(mask)
            large = stats[1:, cv2.CC_STAT_AREA] >= size**2 / 3
            rows += [{"frame": number, "x": x, "y": y} for x, y in centres[1:][large]]
    return pd.DataFrame(rows, columns=["frame", "x", "y"])


PROGRAMS: dict[str, Callable[[ZooClip, float], pd.DataFrame]] = {"trackpy": by_trackpy, "MOG2 + linking": by_mog2}


def compared(made: ZooClip, tracks: pd.DataFrame, size: float) -> dict[str, float]:
    """Discs found, error, and links from one disc to another; as in alike.py."""
    whole = made.visible >= WHOLE
    found, switches, errors = 0, 0, list[float]()
    last: dict[int, tuple[int, int]] = {}
    for frame, own in tracks.groupby("frame"):
        apart = np.abs(own[["x", "y"]].to_numpy()[:, None] + 0.5 - made.truth[frame][None]).max(axis=-1)
        apart = np.where(np.isfinite(apart) & (made.visible[frame] > 0), apart, np.inf)
        nearest = np.where(apart.min(axis=1) < size / 2, apart.argmin(axis=1), -1)
        for disc in np.flatnonzero(whole[frame]):
            here = apart[nearest == disc, disc]
            found += bool(len(here))
            errors += [float(here.min())] if len(here) else []
        for particle, disc in zip(own["particle"].tolist(), nearest.tolist(), strict=True):
            before = last.get(particle)
            if disc >= 0:
                switches += before is not None and before[0] == frame - 1 and before[1] != disc
                last[particle] = frame, disc
    positions = int(whole.sum())
    return {"positions": positions, "found": found, "switches": switches, "error_px": float(np.median(errors))}


def run(folder: Path) -> None:
    trackpy.quiet()
    path = folder / "others.csv"
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    known = {row["seed"] for row in rows}
    for seed in pd.read_csv(folder / "clips.csv")["seed"].tolist():
        if seed in known:
            continue
        made = swarm_clip(seed)
        size = float(made.sizes.max())
        step = float(np.nanmax(np.abs(np.diff(made.truth, axis=0)))) + 1
        for name, locate in PROGRAMS.items():
            started = time.monotonic()
            located = locate(made, size)
            try:
                tracks = trackpy.link(located, search_range=step, memory=MEMORY)
            except trackpy.SubnetOversizeException:
                tracks = trackpy.link(located, search_range=step, memory=0, link_strategy="drop")
            seconds = round(time.monotonic() - started, 1)
            rows.append({"seed": seed, "program": name, **compared(made, tracks, size), "seconds": seconds})
            print(rows[-1], flush=True)
            pd.DataFrame(rows).to_csv(path, index=False)
    write_summary(folder, pd.DataFrame(rows))


def write_summary(folder: Path, table: pd.DataFrame) -> None:
    """The table of all programs, as others.md."""
    lines = []
    for name, own in table.groupby("program", sort=False):
        found = f"{own.found.sum() / own.positions.sum():.1%}"
        counts = [len(own), own.positions.sum(), found, own.switches.sum()]
        lines.append([name, *counts, own.error_px.median(), own.seconds.sum()])
    header = ("program", "clips", "positions", "found", "switches", "error px", "seconds")
    machine = (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores, Python {platform.python_version()}"
    )
    made = f"{machine}, trackpy {trackpy.__version__}, OpenCV {cv2.__version__}, {datetime.date.today()}"
    text = ["# Identical discs by other programs", "", *(__doc__ or "").strip().splitlines(), "", made, ""]
    (folder / "others.md").write_text("\n".join([*text, *markdown_table(header, lines)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
