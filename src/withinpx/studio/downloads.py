"""The files of a finished run, by the names that people ask for."""

from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from withinpx.studio.refusal import Refusal

DETECTOR = "detector.zip"
PARTS = (  # of a detector, for ``withinpx detect`` and ``edit``
    *("model.safetensors", "detector.json", "background.safetensors", "background.png"),
    *("certificate.json", "log.jsonl", "run.json"),
)


@dataclass(frozen=True)
class Download:
    """A file of the run, and its type."""

    file: str
    kind: str


WHAT = {
    "tracks.csv": Download("tracks.csv", "text/csv"),
    "coco.json": Download("coco_results.json", "application/json"),
    "coco_images.json": Download("coco_images.json", "application/json"),
    "mot.txt": Download("mot.txt", "text/plain"),
    "dlc.csv": Download("dlc.csv", "text/csv"),
    "overlay.mp4": Download("overlay.mp4", "video/mp4"),
    "certificate.html": Download("certificate.html", "text/html"),
    "summary.png": Download("summary.png", "image/png"),
}


def find(out: Path, what: str) -> tuple[Path, str]:
    """Where the file is, and of which type."""
    wanted = WHAT.get(what)
    if wanted is None or not (out / wanted.file).exists():
        raise Refusal(HTTPStatus.NOT_FOUND, f"There is no such download: choose of {', '.join([*WHAT, DETECTOR])}.")
    return out / wanted.file, wanted.kind


def zipped_detector(out: Path) -> bytes:
    """The detector's folder in one file."""
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for name in PARTS:
            if (out / name).exists():
                archive.write(out / name, f"detector/{name}")
    return content.getvalue()
