"""A finished run for the page: its tracks and certificate as JSON, and its files."""

from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException

from withinpx.errors import InputError
from withinpx.files import read_json
from withinpx.studio.runs import Run

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("x", "y", "bound_px", "z_x", "z_y", "theorem_px", "residual_px")
FLAGS = ("present", "certified")
FILES = {  # name of the download: name in the run's folder
    "tracks.csv": "tracks.csv",
    "coco.json": "coco_results.json",
    "coco_images.json": "coco_images.json",
    "mot.txt": "mot.txt",
    "dlc.csv": "dlc.csv",
    "overlay.mp4": "overlay.mp4",
    "certificate.html": "certificate.html",
    "summary.png": "summary.png",
}
DETECTOR = "detector.zip"
DETECTOR_FILES = (  # all that ``withinpx detect`` and ``edit`` need
    *("model.safetensors", "detector.json", "background.safetensors", "background.png", "templates.safetensors"),
    *("certificate.json", "log.jsonl", "run.json", "tracks.csv", "tracks.json"),
)


def tracks_json(run: Run, out: Path) -> dict[str, Any]:
    """``tracks.csv`` by columns, each a list per object; ``times_s`` is null where the recording has no clock."""
    import pandas as pd  # noqa: PLC0415  (slow to import; the server starts without it)

    table = pd.read_csv(out / "tracks.csv", dtype={"reason": str}, keep_default_na=False, na_values=[""])
    missing = {"frame", "time_s", "object", "reason", *NUMBERS, *FLAGS} - set(table.columns)
    if missing:
        raise InputError(f"tracks.csv has no column {min(missing)}, it is of an older version: train the run again.")
    table = table.sort_values(["object", "frame"], kind="stable")
    first = table[table["object"] == table["object"].iloc[0]]
    times = first["time_s"]
    return {
        "frames": first["frame"].tolist(),
        "times_s": None if times.isna().any() else times.round(4).tolist(),
        "width": run.clip.width,
        "height": run.clip.height,
        "objects": table["object"].nunique(),
        "colours": (run.result or {}).get("colours", []),
        "numbers": _numbers(table, out),
        **{name: _per_object(table, name, table[name].astype(float).round(4)) for name in NUMBERS},
        **{name: _per_object(table, name, table[name] == 1) for name in FLAGS},
        "reason": _per_object(table, "reason", table["reason"].fillna("")),
        "has_appearances": any(name.startswith("code_") for name in table.columns),
        "identity": _identities(table, out),
    }


def _identities(table: "pd.DataFrame", out: Path) -> list[list[int | None]] | None:
    """Of objects that look alike, 1 where a link to the frame before is proved, 0 where it is a guess, else null."""
    about = read_json(out / "tracks.json") if (out / "tracks.json").exists() else {}
    if "classes" not in about:
        return None
    return _per_object(table, "identity_certified", table["identity_certified"])


def _numbers(table: "pd.DataFrame", out: Path) -> list[int]:
    """The number of each object: its heatmap's, or its own if it is one of a class."""
    objects = [obj["object"] for obj in certificate_json(out)["objects"]]
    return objects if len(objects) == table["object"].nunique() else sorted(table["object"].unique().tolist())


def certificate_json(out: Path) -> dict[str, Any]:
    certificate: dict[str, Any] = read_json(out / "certificate.json")
    return certificate


def download(out: Path, name: str) -> Response:
    if name == DETECTOR:
        attached = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(_zip_detector(out), media_type="application/zip", headers=attached)
    path = out / FILES.get(name, "")
    if not path.is_file():
        message = f"There is no such file: choose one of {', '.join([*FILES, DETECTOR])}."
        raise HTTPException(HTTPStatus.NOT_FOUND, message)
    return FileResponse(path, filename=name)


def _per_object(table: "pd.DataFrame", name: str, values: "pd.Series") -> list[list[Any]]:
    """One list per object; NaN becomes None, for which JSON has null."""
    clean = values.astype(object).where(values.notna(), None)
    return [column.tolist() for _, column in clean.groupby(table["object"])]


def _zip_detector(out: Path) -> bytes:
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for name in DETECTOR_FILES:
            if (out / name).exists():
                archive.write(out / name, f"detector/{name}")
    return content.getvalue()
