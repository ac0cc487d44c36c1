"""idtracker.ai's trajectories as a folder of tables, which hold no pickle."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from withinpx import __version__
from withinpx.files import writable_folder, write_csv, write_json
from withinpx.tracking.formats.run import (
    SOFTWARE,
    Run,
    bounds,
    centred,
    frame_interval_s,
    link_probability,
)
from withinpx.tracking.tracks import Array

FOLDER = "trajectories_csv"  # its reader goes by the ending
FILES = tuple(
    f"{FOLDER}/{name}"
    for name in ("trajectories.csv", "id_probabilities.csv", "bound_px.csv", "certified.csv", "attributes.json")
)


def write_idtracker(run: Run, folder: Path) -> None:
    """One line per frame of the recording up to the last that is tracked, NaN where a frame or an object is missing.

    idtracker.ai puts (0, 0) at the centre of the first pixel. Its reader makes an entry of every table in the folder:
    ``bound_px`` and ``certified`` are ours. An identity's probability is that of the link to the previous row.
    """
    tracks, interval = run.tracks, frame_interval_s(run.tracks)
    out = writable_folder(folder / FOLDER)
    present = tracks.present
    probabilities = np.where(present, link_probability(tracks), 0.0)  # 0 where absent, as idtracker.ai has it
    arrays = {
        "trajectories": (centred(tracks).reshape(len(tracks), -1), [f"{axis}{{}}" for axis in "xy"]),
        "id_probabilities": (probabilities, ["id_probabilities{}"]),
        "bound_px": (bounds(tracks), ["bound_px{}"]),
        "certified": (np.where(present, tracks.certified, np.nan), ["certified{}"]),
    }
    times = np.arange(tracks.frames[-1] + 1) * (1.0 if interval is None else interval)
    for name, (values, columns) in arrays.items():
        header = ["time", *(column.format(number + 1) for number in range(tracks.objects) for column in columns)]
        write_csv(out / f"{name}.csv", header, _lines(times, tracks.frames, values))
    sizes = tracks.sizes[present].max(axis=-1)
    attributes = {
        "version": f"{SOFTWARE} {__version__}",
        "width": tracks.width,
        "height": tracks.height,
        "frames_per_second": None if interval is None else 1 / interval,
        "video_paths": [] if run.clip is None else [str(run.clip)],
        "body_length": float(np.median(sizes)) if len(sizes) else None,
        "setup_points": {},
        "identities_labels": [run.name_of(index) for index in range(tracks.objects)],
        "identities_groups": {},
        "length_unit": None,
    }
    write_json(out / "attributes.json", attributes)


def _lines(times: Array, frames: NDArray[np.int64], values: Array) -> list[list[str]]:
    """A line per frame of the recording: its time, and the values of the frames that are tracked."""
    complete = np.full((len(times), values.shape[1]), np.nan)
    complete[frames] = values
    return [[f"{time:.6f}", *np.char.mod("%.4f", row)] for time, row in zip(times, complete, strict=True)]
