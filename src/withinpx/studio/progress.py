"""How far a training is: a line of JSON for every step worth telling, in ``progress.jsonl``."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Stage = Literal["looking", "warm start", "training", "certifying", "detecting", "writing"]
TAIL = 4096  # bytes: a line is much shorter


@dataclass(frozen=True)
class Progress:
    """One line."""

    stage: Stage
    done: int
    of: int
    loss: float | None = None
    accuracy: float | None = None
    seconds_left: float | None = None
    seed: int = 0


def add_progress(path: Path, progress: Progress) -> None:
    """Write one line."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(progress)) + "\n")


def read_progress(path: Path, start: int = 0) -> tuple[list[dict[str, Any]], int]:
    """The whole lines from a byte on, and the byte after them; one that is being written is left for the next time."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            text = file.read()
    except FileNotFoundError:
        return [], 0
    whole = text[: text.rfind(b"\n") + 1]
    return [line for line in map(_parsed, whole.splitlines()) if line is not None], start + len(whole)


def last_progress(path: Path) -> dict[str, Any] | None:
    """The newest line."""
    size = path.stat().st_size if path.exists() else 0
    lines, _ = read_progress(path, max(0, size - TAIL))
    return lines[-1] if lines else None


def _parsed(line: bytes) -> dict[str, Any] | None:
    """None for what a crash cut short."""
    try:
        known = json.loads(line)
    except ValueError:
        return None
    return known if isinstance(known, dict) else None
