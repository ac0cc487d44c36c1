"""A finished run as JSON: where everything is in every frame, and the certificate."""

import csv
import math
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.files import read_json
from withinpx.studio.refusal import Refusal
from withinpx.studio.runs import OUT, REASONS, Run
from withinpx.tracking.tracks import Tracks, read_tracks

CERTIFICATE = "certificate.json"
REFUSED = "refused"  # where nobody noted why


def tracks_json(run: Run, folder: Path) -> dict[str, Any]:
    """Columns, each a list per object."""
    check_finished(run)
    tracks = read_tracks(folder / OUT / "tracks.csv", run.clip.width, run.clip.height)
    numbers = [each["object"] for each in certificate_json(run, folder)["objects"]]
    return {
        "frames": tracks.frames.tolist(),
        "times_s": tracks.times_s.round(4).tolist(),
        "width": tracks.width,
        "height": tracks.height,
        "objects": tracks.objects,
        "numbers": numbers,
        "x": _columns(tracks.positions[..., 0]),
        "y": _columns(tracks.positions[..., 1]),
        "z_x": _columns(tracks.z[..., 0]),
        "z_y": _columns(tracks.z[..., 1]),
        "bound_px": _columns(tracks.bound_px),
        "residual_px": _columns(tracks.residual_px),
        "present": tracks.present.T.tolist(),
        "certified": tracks.certified.T.tolist(),
        "reason": reasons_of(tracks, folder / REASONS),
    }


def certificate_json(run: Run, folder: Path) -> dict[str, Any]:
    """As ``track`` wrote it."""
    check_finished(run)
    known: dict[str, Any] = read_json(folder / OUT / CERTIFICATE)
    return known


def check_finished(run: Run) -> None:
    """Only a finished run has something to show."""
    if run.state != "finished":
        raise Refusal(HTTPStatus.CONFLICT, "This run is not finished yet.")


def reasons_of(tracks: Tracks, noted: Path) -> list[list[str]]:
    """Why each position is refused, a list per object; empty where it is certified."""
    why = np.where(tracks.certified, "", np.where(tracks.present, REFUSED, "absent")).astype("<U16")
    rows = {frame: row for row, frame in enumerate(tracks.frames.tolist())}
    with suppress(FileNotFoundError), noted.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            row, each = rows.get(int(line["frame"])), int(line["object"])
            if row is not None and not tracks.certified[row, each]:
                why[row, each] = line["reason"]
    columns: list[list[str]] = why.T.tolist()
    return columns


def _columns(values: NDArray[np.float64]) -> list[list[float | None]]:
    """(f, n) as a list per object, to four digits; JSON has no word for what is not a number."""
    return [[None if math.isnan(value) else value for value in column] for column in values.T.round(4).tolist()]
