"""A training as its process does it, small: what it writes, how it stops, and that it goes on to the same end."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.tracked_clip import BATCH, one_thread, small_stage
from withinpx.data.scenes import write_clip_video
from withinpx.studio import settings
from withinpx.studio.frames import video_footage
from withinpx.studio.progress import read_progress
from withinpx.studio.runs import CLIP, OUT, OUTCOME, PREVIEW, PROGRESS, REASONS, Footage, Options, Run
from withinpx.studio.views import tracks_json
from withinpx.studio.worker import work
from withinpx.tracking import attempt
from withinpx.training.recipe import CLIP as RECIPE

STEPS, WARM_START_STEPS = 45, 20  # it need not learn much


class StopsAfter:
    """Says yes when it was asked so often."""

    def __init__(self, times: int) -> None:
        self._left = times

    def is_set(self) -> bool:
        self._left -= 1
        return self._left < 0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # the worker goes elsewhere
    monkeypatch.setattr(settings, "NARROW", 8)
    monkeypatch.setattr(attempt, "STEPS", STEPS)
    monkeypatch.setattr(attempt, "CLIP", replace(RECIPE, warm_start_steps=WARM_START_STEPS, batch_size=BATCH))


def new_run(folder: Path) -> Run:
    (folder / CLIP).mkdir(parents=True)
    write_clip_video(folder / CLIP / "small.mp4", small_stage().render().clip)
    footage = video_footage(folder / CLIP / "small.mp4")
    return Run("0123456789abcdef", "small.mp4", "2026-11-15T12:00:00Z", footage, Options(quick=True))


def test_a_training_is_written_down_stops_and_goes_on(quick: None, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = new_run(folder)
    with one_thread():
        work(folder, run, StopsAfter(WARM_START_STEPS + 6))
        assert not (folder / OUTCOME).exists()
        stopped, _ = read_progress(folder / PROGRESS)
        last = stopped[-1]
        assert last["stage"] == "training"
        work(folder, run, threading.Event())
    lines, _ = read_progress(folder / PROGRESS)
    assert lines[len(stopped)]["stage"] == "looking"
    again = [line for line in lines[len(stopped) :] if line["stage"] == "training"]
    assert again[0]["done"] == last["done"] + 1  # not from the beginning
    assert again[-1]["done"] == again[-1]["of"]
    assert [line["stage"] for line in lines][-1] == "writing"
    assert {"certifying", "detecting"} <= {line["stage"] for line in lines}
    outcome = json.loads((folder / OUTCOME).read_text())["result"]
    assert outcome["objects"] == 3
    with Image.open(folder / PREVIEW) as preview:
        assert preview.width > 5 * 64
    finished = replace(run, state="finished")
    tracks = tracks_json(finished, folder)
    assert np.sum(tracks["present"]) == outcome["positions"]
    refused = [why for column in tracks["reason"] for why in column if why]
    noted = (folder / REASONS).read_text().splitlines()[1:]
    assert len(noted) == len(refused)
    for name in ("certificate.html", "coco_results.json", "mot.txt", "dlc.csv", "overlay.mp4", "detector.json"):
        assert str(tmp_path).encode() not in (folder / OUT / name).read_bytes()


def test_what_cannot_be_trained_says_why_without_a_path(quick: None, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / CLIP / "still").mkdir(parents=True)
    for number in range(4):
        Image.fromarray(np.full((32, 32, 3), 90, np.uint8)).save(folder / CLIP / "still" / f"{number}.png")
    run = Run("0123456789abcdef", "still", "2026-11-15T12:00:00Z", Footage(32, 32, 4, 4.0, pictures=True))
    work(folder, run, threading.Event())
    assert json.loads((folder / OUTCOME).read_text()) == {"error": "Nothing moves: all pictures of still are the same."}
