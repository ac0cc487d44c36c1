"""Does angle_deg agree with the direction in which an animal walks?

    python benchmarks/direction.py DETECTED_FOLDER/tracks.csv
    python benchmarks/direction.py DETECTED_FOLDER/tracks.csv --treadmill CLIP
    python benchmarks/direction.py DETECTED_FOLDER/tracks.csv --figure directions.png --frames 3000 3300

An animal walks where it moves faster than so many of its lengths per second, from an eighth of a second before the
frame to an eighth after it. On a treadmill its motion is also measured against the floor, whose own motion shows in
what is printed on it. The figure shows a trajectory with its directions.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import ndimage

from result_tables import markdown_table
from withinpx import Tracks, read_tracks
from withinpx.data.recording import open_recording
from withinpx.data.selection import Selection
from withinpx.figures import STYLE, save_figure
from withinpx.palette import colour_of

HALF_S = 1 / 8  # before and after a frame
SPEEDS = (0.5, 1.0)  # lengths per second
PARTS = 4  # of a recording, in each of which the floor has one speed
LAG = 8  # frames over which its motion is measured
BLUR_PX = 3.0  # what is printed is finer, what light does is coarser
STILL_PX = 2 * BLUR_PX  # what is still correlates with itself up to here
BORDER = 0.1  # of each side of the frame shows the walls
NEAR_PX = 24  # around the animal the floor is not seen
ARROWS, WIDTH = 30, 5.0  # of a figure; inches

Array = NDArray[np.float64]


def floor_motion(clip: Path, tracks: Tracks) -> Array:
    """By how many px the floor moves per frame, for each part of the recording (p, 2)."""
    images = np.stack([frame.pixels.mean(axis=-1) for frame in open_recording(clip).stream(Selection())])
    fine = images - ndimage.gaussian_filter(images, (0, BLUR_PX, BLUR_PX))
    printed = np.minimum(fine - np.median(fine, axis=0), 0)
    rows, columns = np.indices(images.shape[1:])
    for image, (x, y), size in zip(printed, tracks.positions[:, 0], tracks.sizes[:, 0], strict=True):
        reach = np.nan_to_num(size).max() / 2 + NEAR_PX
        image[(np.abs(columns - x) < reach) & (np.abs(rows - y) < reach)] = 0
    height, width = (int(BORDER * side) for side in images.shape[1:])
    printed = printed[:, height:-height, width:-width]
    edges = np.linspace(0, len(images), PARTS + 1).astype(int)
    return np.stack([_motion(printed[start:stop]) for start, stop in pairwise(edges)])


def _motion(printed: Array) -> Array:
    """Where frames correlate best with those some frames later, away from no motion at all."""
    size = tuple(2 * side for side in printed.shape[1:])
    spectra = np.fft.rfft2(printed, s=size)
    correlation = np.fft.irfft2((spectra[:-LAG].conj() * spectra[LAG:]).sum(axis=0), s=size)
    correlation[np.ix_(*(np.abs(np.fft.fftfreq(side, 1 / side)) <= STILL_PX for side in size))] = -np.inf
    row, column = np.unravel_index(correlation.argmax(), size)
    shift = [np.fft.fftfreq(side, 1 / side)[at] for side, at in ((size[1], column), (size[0], row))]
    return np.array(shift) / LAG


def compare(tracks: Tracks, positions: Array) -> list[list[str]]:
    """For each speed: frames, and the median difference from the motion of these positions (f, 2)."""
    angles = tracks.angles_deg[:, 0]
    fps = 1 / float(np.median(np.diff(tracks.times_s)))
    half = max(1, round(HALF_S * fps))
    length = float(np.median(tracks.sizes[np.isfinite(angles), 0].max(axis=1)))
    moved = np.full_like(positions, np.nan)
    moved[half:-half] = positions[2 * half :] - positions[: -2 * half]
    speed = np.hypot(*moved.T) / (2 * half / fps) / length
    differences = (angles - np.degrees(np.arctan2(moved[:, 1], moved[:, 0])) + 180) % 360 - 180
    rows = []
    for slowest in SPEEDS:
        signed = differences[(speed > slowest) & np.isfinite(differences)]
        walks = np.abs(signed)
        axis = np.minimum(walks, 180 - walks)
        numbers = np.median(walks), np.median(axis), np.median(signed), 100 * (walks > 90).mean()
        rows.append([f"{slowest:g}", f"{len(walks):,}", *(f"{number:.1f}" for number in numbers)])
    return rows


def plot(tracks: Tracks, frames: tuple[int, int]) -> Figure:
    """The trajectory of these frames, with an arrow from the middle of the animal to its front at some of them."""
    part = tracks[int(np.searchsorted(tracks.frames, frames[0])) : int(np.searchsorted(tracks.frames, frames[1]))]
    x, y = np.where(part.present[:, :1], part.positions[:, 0], np.nan).T
    angles = np.radians(part.angles_deg[:, 0])
    half = float(np.median(part.sizes[part.present[:, 0], 0].max(axis=1))) / 2
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, WIDTH), layout="constrained")
        axes = figure.add_subplot()
        axes.plot(x, y, color="0.6", linewidth=1.2, label="trajectory")
        rows = np.arange(0, len(part), max(1, len(part) // ARROWS))
        along, across = half * np.cos(angles[rows]), half * np.sin(angles[rows])
        arrows: dict[str, Any] = {
            "angles": "xy",
            "scale_units": "xy",
            "scale": 1,
            "width": 0.005,
            "color": colour_of(0),
        }
        axes.quiver(x[rows], y[rows], along, across, **arrows, label="angle_deg, half as long as the animal")
        limits = {
            "xlim": (np.nanmin(x) - half, np.nanmax(x) + half),
            "ylim": (np.nanmax(y) + half, np.nanmin(y) - half),
        }
        axes.set(xlabel="x [px]", ylabel="y [px]", aspect="equal", **limits)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    return figure


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("tracks", type=Path)
    parser.add_argument("--treadmill", type=Path, metavar="CLIP")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--frames", type=int, nargs=2, default=(0, 300), metavar=("FIRST", "LAST"))
    given = parser.parse_args()
    tracks = read_tracks(given.tracks)
    if given.figure is not None:
        print(f"Wrote {save_figure(plot(tracks, given.frames), given.figure)}")
        return
    known, shown = np.isfinite(tracks.angles_deg[:, 0]).sum(), tracks.present[:, 0].sum()
    print(f"{known:,} of {shown:,} positions have an angle.\n")
    positions = np.where(tracks.present[:, :1], tracks.positions[:, 0], np.nan)
    rows = [["the frame", *row] for row in compare(tracks, positions)]
    if given.treadmill is not None:
        motion = floor_motion(given.treadmill, tracks)
        print("Px per frame by which the floor moves:", ", ".join(f"({x:.1f}, {y:.1f})" for x, y in motion), "\n")
        part = np.arange(len(tracks)) * PARTS // len(tracks)
        rows += [["the floor", *row] for row in compare(tracks, positions - np.cumsum(motion[part], axis=0))]
    header = ["motion against", "lengths/s", "frames", "median difference", "of the axis", "signed", "wrong end, %"]
    print("\n".join(markdown_table(header, rows)))


if __name__ == "__main__":
    main()
