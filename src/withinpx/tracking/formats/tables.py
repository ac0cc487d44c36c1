"""Tables as text: MOTChallenge, DeepLabCut, trackpy, napari; verdicts beside formats without a place for them."""

from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from withinpx.files import write_atomically
from withinpx.tracking.formats.run import BODY_PART, HALF_PIXEL, SOFTWARE, Run, centred
from withinpx.tracking.tracks import Tracks

MOT = "mot.txt"
DLC = "dlc.csv"
TRACKPY = "trackpy.csv"
NAPARI_POINTS = "napari_points.csv"
NAPARI_TRACKS = "napari_tracks.csv"
VERDICTS = "verdicts.csv"
VERDICT = ["certified", "bound_px", "reason", "identity_certified", "identity_p"]  # columns of tracks.csv


def write_mot(run: Run, folder: Path) -> None:
    """MOTChallenge's text: one line per object that is present.

    Frames, objects and pixels count from 1 there: the corner of the first pixel is at (1, 1).
    """
    tracks = run.tracks
    rows, objects = np.nonzero(tracks.present)
    boxes = tracks.boxes[rows, objects] + [1, 1, 0, 0]
    table = np.column_stack([tracks.frames[rows] + 1, objects + 1, boxes, tracks.scores[rows, objects]])
    text = StringIO()
    np.savetxt(text, table, fmt="%d,%d,%.4f,%.4f,%.4f,%.4f,%g,-1,-1,-1")
    write_atomically(folder / MOT, text.getvalue().encode())


def write_dlc(run: Run, folder: Path) -> None:
    """DeepLabCut's table for several animals: one body part, ``centre``, per object; the score is the likelihood.

    DeepLabCut puts (0, 0) at the *centre* of the first pixel: every position is half a pixel less than ours, and empty
    where the object is absent. There is one row per tracked frame, which begins with the frame's number.
    """
    tracks = run.tracks
    columns, scores = {}, tracks.scores
    for index in range(tracks.objects):
        present = tracks.present[:, index]
        x, y = (np.where(present, np.char.mod("%.4f", axis), "") for axis in centred(tracks)[:, index].T)
        likelihood = np.char.mod("%g", scores[:, index])
        for coordinate, values in (("x", x), ("y", y), ("likelihood", likelihood)):
            columns[SOFTWARE, run.name_of(index), BODY_PART, coordinate] = values
    table = pd.DataFrame(columns, index=tracks.frames)
    table.columns = table.columns.set_names(["scorer", "individuals", "bodyparts", "coords"])
    write_atomically(folder / DLC, table.to_csv(lineterminator="\n").encode())


def write_trackpy(run: Run, folder: Path) -> None:
    """The table that trackpy links and analyses: one line per object that is present, ordered by frame.

    trackpy puts (0, 0) at the centre of the first pixel.
    """
    table = _present(run.tracks).rename(columns={"object": "particle"})
    _write(table[["frame", "particle", "x", "y", *VERDICT]], folder / TRACKPY)


def write_napari(run: Run, folder: Path) -> None:
    """A points layer, which napari opens itself, and a tracks layer, whose first four columns are its data.

    napari puts (0, 0) at the centre of the first pixel and orders the axes time, y, x; time is the frame's number, as
    in an image layer. Its reader makes text of a column in which a number is missing: unknown numbers are ``nan``.
    """
    table = _present(run.tracks)
    axes = {"frame": "axis-0", "y": "axis-1", "x": "axis-2"}
    points = table[["frame", "y", "x", "object", *VERDICT]].rename(columns=axes)
    points.insert(0, "index", np.arange(len(points)))
    _write(points, folder / NAPARI_POINTS, unknown="nan")
    names = {"object": "track_id", "frame": "t"}
    by_track = table.sort_values(["object", "frame"], kind="stable").rename(columns=names)
    _write(by_track[["track_id", "t", "y", "x", *VERDICT]], folder / NAPARI_TRACKS, unknown="nan")


def verdicts(tracks: Tracks) -> bytes:
    """What is proved of every object in every frame; frames and objects count from 0, as in ``tracks.csv``."""
    names = ["frame", "object", "present", "certified", "bound_px", "reason", "identity_certified", "identity_p"]
    table = _flags_as_numbers(tracks.to_dataframe()[names])
    text: str = table.assign(bound_px=table.bound_px.round(4)).to_csv(index=False)
    return text.encode()


def _present(tracks: Tracks) -> pd.DataFrame:
    """The rows of tracks.csv in which an object is present, from the centre of the first pixel."""
    table = tracks.to_dataframe()
    table = _flags_as_numbers(table[table.present.to_numpy(np.bool_)])
    return table.assign(x=(table.x - HALF_PIXEL).round(4), y=(table.y - HALF_PIXEL).round(4))


def _flags_as_numbers(table: pd.DataFrame) -> pd.DataFrame:
    flags = [name for name in ("present", "certified", "identity_certified") if name in table]
    return table.assign(**{name: table[name].astype("Int8") for name in flags})


def _write(table: pd.DataFrame, path: Path, unknown: str = "") -> None:
    numbers = [name for name in table.columns if name != "reason"]
    text = table.assign(**{name: table[name].astype(object).where(table[name].notna(), unknown) for name in numbers})
    write_atomically(path, text.to_csv(index=False, lineterminator="\n").encode())
