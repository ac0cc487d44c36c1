"""Does angle_deg agree with the direction in which an animal walks?

    python benchmarks/direction.py DETECTED_FOLDER/tracks.csv
    python benchmarks/direction.py DETECTED_FOLDER/tracks.csv --treadmill CLIP

An animal walks where it moves faster than so many of its lengths per second, from an eighth of a second before the
frame to an eighth after it. On a treadmill its motion is also measured against the floor, whose own motion shows in
what is printed on it.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from result_tables import markdown_table
from withinpx import Tracks, read_tracks
from withinpx.data.recording import open_recording
from withinpx.data.selection import Selection

HALF_S = 1 / 8  # before and after a frame
SPEEDS = (0.5, 1.0)  # lengths per second
PARTS = 4  # of a recording, in each of which the floor has one speed
LAG = 8  # frames over which its motion is measured
BLUR_PX = 3.0  # what is printed is finer, what light does is coarser
STILL_PX = 2 * BLUR_PX  # what is still correlates with itself up to here
BORDER = 0.1  # of each side of the frame shows the walls
NEAR_PX = 24  # around the animal the floor is not seen

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
    differences = np.abs((angles - np.degrees(np.arctan2(moved[:, 1], moved[:, 0])) + 180) % 360 - 180)
    rows = []
    for slowest in SPEEDS:
        walks = differences[(speed > slowest) & np.isfinite(differences)]
        axis = np.minimum(walks, 180 - walks)
        numbers = np.median(walks), np.median(axis), 100 * (walks > 90).mean()
        rows.append([f"{slowest:g}", f"{len(walks):,}", *(f"{number:.1f}" for number in numbers)])
    return rows


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("tracks", type=Path)
    parser.add_argument("--treadmill", type=Path, metavar="CLIP")
    given = parser.parse_args()
    tracks = read_tracks(given.tracks)
    known, shown = np.isfinite(tracks.angles_deg[:, 0]).sum(), tracks.present[:, 0].sum()
    print(f"{known:,} of {shown:,} positions have an angle.\n")
    positions = np.where(tracks.present[:, :1], tracks.positions[:, 0], np.nan)
    rows = [["the frame", *row] for row in compare(tracks, positions)]
    if given.treadmill is not None:
        motion = floor_motion(given.treadmill, tracks)
        print("Px per frame by which the floor moves:", ", ".join(f"({x:.1f}, {y:.1f})" for x, y in motion), "\n")
        part = np.arange(len(tracks)) * PARTS // len(tracks)
        rows += [["the floor", *row] for row in compare(tracks, positions - np.cumsum(motion[part], axis=0))]
    header = ["motion against", "lengths/s", "frames", "median difference", "of the axis", "wrong end, %"]
    print("\n".join(markdown_table(header, rows)))


if __name__ == "__main__":
    main()
