"""Output folders: every file opened and parsed by its type, compared byte by byte, and without what records time."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import onnx
from PIL import Image
from safetensors.numpy import load_file

TIME_COLUMNS = ("seconds", "date")  # of runs.csv: when a run was made, not its result


def _json(path: Path) -> None:
    json.loads(path.read_text(encoding="utf-8"))


def _json_lines(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:  # readers ignore an incomplete last line
        json.loads(line)


def _table(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    header, *rows = csv.reader(text.splitlines(), strict=True)
    assert header
    assert path.name == "dlc.csv" or all(len(row) == len(header) for row in rows)


def _image(path: Path) -> None:
    with Image.open(path) as image:
        np.asarray(image)


def _video(path: Path) -> None:
    with av.open(str(path)) as container:
        assert sum(1 for _ in container.decode(video=0)) == container.streams.video[0].frames > 0


def _network(path: Path) -> None:
    onnx.checker.check_model(onnx.load(str(path)), full_check=True)


def _text(path: Path) -> None:
    assert path.read_text(encoding="utf-8").endswith("\n")


PARSERS: dict[str, Callable[[Path], object]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".csv": _table,
    ".png": _image,
    ".mp4": _video,
    ".safetensors": load_file,
    ".onnx": _network,
    ".html": _text,
    ".md": _text,
    ".txt": _text,
}


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files_in(folder)}


def partial_files(folder: Path) -> list[Path]:
    """Hidden files and folders of a write that was not finished."""
    return [path for path in folder.rglob("*.part") if path.name.startswith(".")]


def read_everything(folder: Path) -> int:
    """Parse every file but partial ones; their number."""
    partials = set(partial_files(folder))
    files = [path for path in files_in(folder) if not partials.intersection((path, *path.parents))]
    for path in files:
        try:
            PARSERS[path.suffix](path)
        except Exception as error:
            raise AssertionError(f"{path} cannot be read: {error!r}") from error
    return len(files)


def timeless_log(content: bytes) -> list[dict[str, object]]:
    return [{**json.loads(line), "elapsed_s": 0} for line in content.splitlines()]


def timeless_run(content: bytes) -> dict[str, Any]:
    """A run.json without the seconds of its attempts."""
    run: dict[str, Any] = json.loads(content)
    for hypothesis in run.get("hypotheses", []):
        hypothesis["attempts"] = [{**attempt, "seconds": 0} for attempt in hypothesis["attempts"]]
    return run


def timeless_rows(folder: Path) -> list[dict[str, str]]:
    """The rows of runs.csv, if there is one, without the columns of time."""
    return [{name: value for name, value in row.items() if name not in TIME_COLUMNS} for row in table_rows(folder)]


def table_rows(folder: Path) -> list[dict[str, str]]:
    path = folder / "runs.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
