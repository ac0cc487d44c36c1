"""Speed, acceleration and distance of a finished run for the page, as ``withinpx measure`` computes and writes them."""

from dataclasses import asdict, replace
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from fastapi.responses import Response
from numpy.typing import NDArray
from starlette.exceptions import HTTPException

from withinpx.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Unit = Literal["px", "mm"]
IN_MM = "tracks_mm.csv"
FILES = {  # name of the download: the name that the command gives the file, its type
    IN_MM: ("tracks.csv", "text/csv"),
    "motion.csv": ("motion.csv", "text/csv"),
    "motion.png": ("motion.png", "image/png"),
}
NO_SCALE = "The scale is unknown: click the two ends of a known length in the result, or type mm per px."
_ONE_AT_A_TIME = Lock()  # matplotlib's settings are those of the whole process


def motion_json(out: Path, unit: Unit, over: int, mm_per_px: float | None) -> dict[str, Any]:
    """Columns of ``motion.csv``, a list per object. The level of a row is painted from ``start`` to ``end``."""
    from withinpx.tracking.measure import summaries  # noqa: PLC0415  (slow to import; the server starts without it)
    from withinpx.tracking.tracks import TRACKS, read_tracks  # noqa: PLC0415

    tracks = read_tracks(out / TRACKS)
    scale = tracks.mm_per_px if mm_per_px is None else mm_per_px
    if unit == "mm" and scale is None:
        raise InputError(NO_SCALE)
    motion = replace(tracks, mm_per_px=scale if unit == "mm" else None).motion(over)
    per = "s" if motion.in_seconds else "frame"
    table = motion.to_dataframe()
    suffixes = {"speed": f"{unit}_{per}", "acceleration": f"{unit}_{per}2", "distance": unit}
    return {
        "unit": unit,
        "per": per,
        "over": over,
        "times": motion.times.round(6).tolist(),
        "start": motion.edges[:, 0].round(6).tolist(),
        "end": motion.edges[:, 1].round(6).tolist(),
        **{name: _with_limits(table, name, suffix, motion.objects) for name, suffix in suffixes.items()},
        "summary": [asdict(summary) for summary in summaries(motion)],
    }


def _with_limits(table: "pd.DataFrame", name: str, suffix: str, objects: int) -> dict[str, list[list[float | None]]]:
    columns = {"value": f"{name}_{suffix}", "low": f"{name}_low_{suffix}", "high": f"{name}_high_{suffix}"}
    return {key: _per_object(table[column].to_numpy(), objects) for key, column in columns.items()}


def _per_object(column: NDArray[np.float64], objects: int) -> list[list[float | None]]:
    """NaN becomes None, for which JSON has null."""
    values = column.reshape(-1, objects).T
    return [[None if np.isnan(value) else value for value in own] for own in values.tolist()]


def download(out: Path, name: str, over: int, mm_per_px: float | None) -> Response:
    """A file of the folder that ``withinpx measure --mm-per-px`` writes."""
    from withinpx.tracking.measure import measure  # noqa: PLC0415

    if name not in FILES:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no such file: choose one of {', '.join(FILES)}.")
    if name == IN_MM and mm_per_px is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, NO_SCALE)
    file, media_type = FILES[name]
    with _ONE_AT_A_TIME, TemporaryDirectory() as folder:
        measured = measure(out, Path(folder) / "motion", mm_per_px=mm_per_px, over=over)
        content = (measured.folder / file).read_bytes()
    attached = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers={**attached, "Cache-Control": "no-store"})
