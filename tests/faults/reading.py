"""Every file that is left behind, opened and read as what it says it is."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import onnx
from PIL import Image
from safetensors.numpy import load_file


def _json(path: Path) -> None:
    json.loads(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:  # whoever reads it leaves out what is cut short
        json.loads(line)


def _table(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    header, *rows = csv.reader(text.splitlines(), strict=True)
    assert header
    assert path.name == "dlc.csv" or all(len(row) == len(header) for row in rows)


def _picture(path: Path) -> None:
    with Image.open(path) as picture:
        np.asarray(picture)


def _video(path: Path) -> None:
    with av.open(str(path)) as container:
        assert sum(1 for _ in container.decode(video=0)) == container.streams.video[0].frames > 0


def _network(path: Path) -> None:
    onnx.checker.check_model(onnx.load(str(path)), full_check=True)


def _text(path: Path) -> None:
    assert path.read_text(encoding="utf-8").endswith("\n")


KINDS: dict[str, Callable[[Path], object]] = {
    ".json": _json,
    ".jsonl": _lines,
    ".csv": _table,
    ".png": _picture,
    ".mp4": _video,
    ".safetensors": load_file,
    ".onnx": _network,
    ".html": _text,
    ".md": _text,
    ".txt": _text,
}


def unfinished(folder: Path) -> list[Path]:
    """Hidden files and folders that somebody did not come to finish."""
    return [path for path in folder.rglob("*.part") if path.name.startswith(".")]


def read_everything(folder: Path) -> int:
    """Read every file, unfinished ones aside; how many there are."""
    left = unfinished(folder)
    files = [
        path for path in folder.rglob("*") if path.is_file() and not any(each in (path, *path.parents) for each in left)
    ]
    for path in files:
        try:
            KINDS[path.suffix](path)
        except Exception as error:
            raise AssertionError(f"{path} cannot be read: {error!r}") from error
    return len(files)
