"""The training process on a small clip: what it writes, and that it can be stopped and resumed."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from tests.tracked_clip import BATCH, one_thread, small_stage
from withinpx.data.scenes import write_clip_video
from withinpx.data.selection import Selection
from withinpx.data.stage import FRAMES_PER_SECOND
from withinpx.studio import options
from withinpx.studio.frames import frame_times, video_footage
from withinpx.studio.options import Options
from withinpx.studio.results import tracks_json
from withinpx.studio.runs import CLIP, OUT, OUTCOME, PREVIEW, PROGRESS, Footage, Run, read_progress
from withinpx.studio.worker import work
from withinpx.tracking import attempt
from withinpx.tracking.detector import Detector
from withinpx.training.recipe import CLIP as RECIPE

STEPS, WARM_START_STEPS = 45, 20  # too few to learn much


class StopsAfter:
    """An event that is set after so many checks."""

    def __init__(self, times: int) -> None:
        self._left = times

    def is_set(self) -> bool:
        self._left -= 1
        return self._left < 0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # restored afterwards: the worker changes it
    monkeypatch.setattr(options, "QUICK_CHANNELS", 8)
    monkeypatch.setattr(attempt, "STEPS", STEPS)
    monkeypatch.setattr(attempt, "CLIP", replace(RECIPE, warm_start_steps=WARM_START_STEPS, batch_size=BATCH))


def new_run(folder: Path) -> Run:
    (folder / CLIP).mkdir(parents=True)
    write_clip_video(folder / CLIP / "small.mp4", small_stage().render().clip)
    footage = video_footage(folder / CLIP / "small.mp4")
    return Run("0123456789abcdef", "small.mp4", "2026-11-15T12:00:00Z", footage, Options(quick=True))


def test_a_training_reports_progress_stops_and_resumes(quick: None, tmp_path: Path) -> None:
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
    assert lines[len(stopped)]["stage"] == "reading"
    resumed = [line for line in lines[len(stopped) :] if line["stage"] == "training"]
    assert resumed[0]["done"] == last["done"] + 1  # not from the start
    assert resumed[-1]["done"] == resumed[-1]["total"]
    assert [line["stage"] for line in lines][-1] == "writing"
    assert {"certifying", "detecting"} <= {line["stage"] for line in lines}
    outcome = json.loads((folder / OUTCOME).read_text())["result"]
    assert outcome["objects"] == 3
    with Image.open(folder / PREVIEW) as preview:
        assert preview.width > 5 * 64
    tracks = tracks_json(run, folder / OUT)
    assert np.sum(tracks["present"]) == outcome["positions"]
    refused = [reason for column in tracks["reason"] for reason in column if reason]
    assert len(refused) == np.size(tracks["certified"]) - outcome["certified_positions"]
    for name in ("certificate.html", "coco_results.json", "mot.txt", "dlc.csv", "overlay.mp4", "detector.json"):
        assert str(tmp_path).encode() not in (folder / OUT / name).read_bytes()


def test_a_trimmed_clip_is_tracked_with_the_frames_and_times_of_the_recording(quick: None, tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    run = replace(run, options=replace(run.options, frames=(5, 20)))
    with one_thread():
        work(tmp_path / "run", run, threading.Event())
    tracks = tracks_json(run, tmp_path / "run" / OUT)
    assert tracks["frames"] == list(range(5, 21))
    assert tracks["times_s"] == [pytest.approx(number / FRAMES_PER_SECOND, abs=1e-3) for number in range(5, 21)]
    coco = json.loads((tmp_path / "run" / OUT / "coco_images.json").read_text())
    assert len(coco["images"]) == 16
    with av.open(str(tmp_path / "run" / OUT / "overlay.mp4")) as overlay:
        assert sum(1 for _ in overlay.decode(video=0)) == 16
    lines, _ = read_progress(tmp_path / "run" / PROGRESS)
    assert {line["total"] for line in lines if line["stage"] == "detecting"} == {16}
    assert any(line["seconds_left"] for line in lines if line["stage"] == "training")
    assert len(frame_times(tmp_path / "run" / CLIP / "small.mp4")) == 24  # every frame can still be shown
    detector = Detector.load(tmp_path / "run" / OUT)
    other = small_stage().render().clip.frames
    assert len(detector.detect(other)) == 24  # the span was of that recording
    assert detector.detect(other, selection=Selection(frames=(2, 4))).frames.tolist() == [2, 3, 4]


def test_the_error_of_an_impossible_training_holds_no_path(quick: None, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / CLIP / "still").mkdir(parents=True)
    for number in range(4):
        Image.fromarray(np.full((32, 32, 3), 90, np.uint8)).save(folder / CLIP / "still" / f"{number}.png")
    run = Run("0123456789abcdef", "still", "2026-11-15T12:00:00Z", Footage(32, 32, 4, 4.0, images=True))
    work(folder, run, threading.Event())
    assert json.loads((folder / OUTCOME).read_text()) == {"error": "Nothing moves: all frames of still are the same."}
