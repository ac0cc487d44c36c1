"""Stand-ins for the training process; they do not load torch."""

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from withinpx.files import write_atomically, write_json
from withinpx.studio.queue import Flag
from withinpx.studio.runs import (
    OUT,
    OUTCOME,
    PREVIEW,
    PREVIEW_POSITIONS,
    PROGRESS,
    Progress,
    Run,
    Stage,
    add_progress,
    read_progress,
)

EPOCHS, EXAMPLE_EPOCHS = 20, 40


def count_epochs(folder: Path, run: Run, stop: Flag) -> None:
    """Reports epochs, and resumes counting where it was stopped."""
    path = folder / PROGRESS
    lines, _ = read_progress(path)
    for epoch in range(len(lines) + 1, EPOCHS + 1):
        if stop.is_set():
            return
        add_progress(path, Progress("training", epoch, EPOCHS, 1 / epoch, 1 - 1 / epoch, 0.0, run.options.seed))
        time.sleep(0.1)
    (folder / OUTCOME).write_text(json.dumps({"result": {"certified": True, "message": "counted"}}))


def fail(folder: Path, run: Run, stop: Flag) -> None:
    (folder / OUTCOME).write_text(json.dumps({"error": f"Nothing moves in {run.name}."}))


def crash(folder: Path, run: Run, stop: Flag) -> None:
    raise SystemExit(7)


def train_example(folder: Path, run: Run, stop: Flag) -> None:
    """Goes through all stages, with previews, and writes the results of the example."""
    from tests.studio.example import RESULT, png, write_results  # noqa: PLC0415  (slow to import)

    def report(stage: Stage, done: int, total: int, **numbers: Any) -> bool:
        add_progress(folder / PROGRESS, Progress(stage, done, total, **numbers, seconds_left=1.0))
        time.sleep(0.05)
        return stop.is_set()

    lines, _ = read_progress(folder / PROGRESS)
    first = max((line["done"] for line in lines if line["stage"] == "training"), default=0) + 1
    before: tuple[Stage, ...] = ("reading", "inspecting", "warm start")
    after: tuple[Stage, ...] = ("certifying", "detecting", "writing")
    for stage in before:
        if report(stage, 1, 1):
            return
    for epoch in range(first, EXAMPLE_EPOCHS + 1):
        loss, accuracy = 0.06 * math.exp(-epoch / 9) + 0.0012, 1 - 0.7 * math.exp(-epoch / 6)
        write_json(folder / PREVIEW_POSITIONS, {"positions": [[40.0 + epoch, 30.0], [90.0, 50.0], None]})
        write_atomically(folder / PREVIEW, png(np.full((40, 160, 3), 5 * epoch, np.uint8)))
        if report("training", epoch, EXAMPLE_EPOCHS, loss=loss, accuracy=accuracy):
            return
    for stage in after:
        report(stage, 1, 1)
    write_results(folder / OUT)
    (folder / OUTCOME).write_text(json.dumps({"result": RESULT}))
