"""Trainings that only pretend; their process loads no torch."""

import json
import time
from pathlib import Path

from withinpx.studio.process import Flag
from withinpx.studio.progress import Progress, add_progress, read_progress
from withinpx.studio.runs import OUTCOME, PROGRESS, Run

EPOCHS = 20


def pretend(folder: Path, run: Run, stop: Flag) -> None:
    """A training that only counts, and goes on counting where it was stopped."""
    path = folder / PROGRESS
    lines, _ = read_progress(path)
    for epoch in range(len(lines) + 1, EPOCHS + 1):
        if stop.is_set():
            return
        add_progress(path, Progress("training", epoch, EPOCHS, 1 / epoch, 1 - 1 / epoch, 0.0, run.options.seed))
        time.sleep(0.1)
    (folder / OUTCOME).write_text(json.dumps({"result": {"certified": True, "sentence": "pretended"}}))


def fail(folder: Path, run: Run, stop: Flag) -> None:
    """A training that finds nothing."""
    (folder / OUTCOME).write_text(json.dumps({"error": f"Nothing moves in {run.name}."}))


def crash(folder: Path, run: Run, stop: Flag) -> None:
    """A training whose process ends without a word."""
    raise SystemExit(7)
