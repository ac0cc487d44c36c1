"""The commands track, detect, edit and inspect on a small clip."""

import csv
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from tests.faults.small import refused_command
from tests.tracked_clip import COMMAND, FRAMES, WIDTH, TrackedClip, brief_training, small_stage, write_images
from withinpx.certificate.certificate import Certificate
from withinpx.cli import main
from withinpx.data.clip import Clip
from withinpx.data.stage import Ground, Stage
from withinpx.errors import BrokenTrainingError, InputError
from withinpx.experiments.truth import compare
from withinpx.tracking.attempt import Attempt, Setup
from withinpx.tracking.detector import Detector
from withinpx.tracking.masks import object_mask
from withinpx.tracking.track import track
from withinpx.tracking.tracks import Tracks, read_tracks
from withinpx.training.fit import FitSettings

pytestmark = pytest.mark.usefixtures("alone")


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    return refused_command(capsys, *arguments)[-1]


def tracks_in(folder: Path) -> Tracks:
    return read_tracks(folder / "tracks.csv")


def frames_in(video: Path) -> int:
    with av.open(str(video)) as container:
        return sum(1 for _ in container.decode(video=0))


def test_everything_is_written(tracked: TrackedClip) -> None:
    there = {path.name for path in tracked.folder.iterdir()}
    assert there >= {"model.safetensors", "detector.json", "background.safetensors", "background.png"}
    assert there >= {"certificate.json", "certificate.txt", "certificate.html"}
    assert there >= {"tracks.csv", "tracks.json", "overlay.mp4", "summary.png", "log.jsonl", "run.json"}
    assert there >= {"coco_results.json", "coco_images.json", "mot.txt", "dlc.csv"}
    assert not [name for name in there if name.startswith(".") or name == "attempts"]
    assert frames_in(tracked.folder / "overlay.mp4") == FRAMES
    for name in ("background.png", "summary.png"):
        with Image.open(tracked.folder / name) as picture:
            picture.load()


def test_the_certificate_can_be_read_back(tracked: TrackedClip) -> None:
    whole = json.loads((tracked.folder / "certificate.json").read_text())
    assert whole["certified"] is True
    assert [each["object"] for each in whole["objects"]] == [0, 1, 2]
    assert whole["unused"] == [3]
    certificate = Certificate.from_json(whole)
    assert json.loads(json.dumps(certificate.to_json())) == whole
    text = (tracked.folder / "certificate.txt").read_text()
    assert text == f"{certificate}\n"
    assert "unused heatmaps: 3" in text
    assert "CERTIFIED: 3 objects, 24 frames inspected, 5 of them held out from training" in text
    assert whole["source"] == "clip"  # no path


def test_every_frame_has_a_row_for_every_object_and_none_for_a_spare_heatmap(tracked: TrackedClip) -> None:
    with (tracked.folder / "tracks.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(int(row["frame"]), int(row["object"])) for row in rows] == [
        (frame, each) for frame in range(FRAMES) for each in range(3)
    ]


def test_what_is_certified_is_within_its_bound_of_the_truth(tracked: TrackedClip) -> None:
    tracks = tracks_in(tracked.folder)
    against = compare(tracks, tracked.made.truth)
    assert against.found == 3
    assert against.outside == 0
    assert against.median < 0.5
    assert tracks.certified.mean() > 0.9


def test_other_tools_get_every_position(tracked: TrackedClip) -> None:
    present = int(tracks_in(tracked.folder).present.sum())
    results = json.loads((tracked.folder / "coco_results.json").read_text())
    assert len(results) == present == len((tracked.folder / "mot.txt").read_text().splitlines())
    assert len((tracked.folder / "dlc.csv").read_text().splitlines()) == 4 + FRAMES
    assert all("segmentation" in result for result in results)


def test_a_mask_lies_where_its_object_is(tracked: TrackedClip) -> None:
    tracks = tracks_in(tracked.folder)
    for row in (0, 11, 23):
        for each in range(3):
            mask = object_mask(tracked.detector, tracks, row, each)
            rows, columns = np.nonzero(mask)
            middle = (columns.min() + columns.max() + 1) / 2, (rows.min() + rows.max() + 1) / 2
            assert np.abs(np.array(middle) - tracks.positions[row, each]).max() < 1.5
            assert 15 < mask.sum() < 120


def test_detect_finds_the_same_in_the_same_pictures(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "detected"
    main(["detect", str(tracked.folder), str(tracked.images), "--out", str(out), "--device", "cpu"])
    assert "positions are certified" in capsys.readouterr().out
    assert {path.name for path in out.iterdir()} == {"tracks.csv", "tracks.json", "overlay.mp4"}
    before, after = tracks_in(tracked.folder), tracks_in(out)
    for name in ("frames", "times_s", "positions", "z", "sizes", "bounds", "theorem_px", "residual_px", "present"):
        np.testing.assert_allclose(getattr(after, name), getattr(before, name), atol=2e-4, err_msg=name)
    assert after.reasons.tolist() == before.reasons.tolist()
    assert "exists already" in refusal(capsys, "detect", tracked.folder, tracked.images, "--out", out)


def test_detect_takes_every_other_frame_and_no_video_if_asked(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "detected"
    options = ["--every", "2", "--no-overlay", "--export", "mot", "--device", "cpu"]
    main(["detect", str(tracked.folder), str(tracked.images), "--out", str(out), *options])
    assert {path.name for path in out.iterdir()} == {"tracks.csv", "tracks.json", "mot.txt", "verdicts.csv"}
    tracks = tracks_in(out)
    assert tracks.frames.tolist() == list(range(0, FRAMES, 2))
    np.testing.assert_allclose(tracks.positions, tracks_in(tracked.folder).positions[::2], atol=2e-4)


@pytest.mark.parametrize(
    ("stage", "sentence"),
    [
        (replace(small_stage(), width=72), "other is 72x54 px, and the detector was made for 64x54 px"),
        (
            replace(small_stage(seed=7), ground=Ground((0.2, 0.3, 0.6))),
            "does not show the detector's scene",
        ),
    ],
    ids=["size", "scene"],
)
def test_footage_of_another_camera_is_refused_and_nothing_is_written(
    stage: Stage, sentence: str, tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_images(tmp_path / "other", stage.render().clip)
    said = refusal(capsys, "detect", tracked.folder, other, "--out", tmp_path / "out", "--device", "cpu")
    assert sentence in said
    assert not (tmp_path / "out").exists()


def test_edit_writes_a_video_and_a_picture(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video, picture = tmp_path / "new.mp4", tmp_path / "new.png"
    options = ["--path", "object=0:12,12:50,40", "--frames", "5"]
    main(["edit", str(tracked.folder), *options, "--out", str(video), "--superimpose", str(picture)])
    assert frames_in(video) == 5
    with Image.open(picture) as drawn:
        assert drawn.width > WIDTH
    assert "Nothing to write" in refusal(capsys, "edit", tracked.folder, *options)
    assert "There is no object 3" in refusal(capsys, "edit", tracked.folder, "--path", "3:9,9", "--out", video)


def test_a_folder_that_is_there_is_not_written_to(tracked: TrackedClip, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in tracked.folder.iterdir()}
    said = refusal(capsys, "track", tracked.images, "--out", tracked.folder, *COMMAND.split())
    assert "exists already: name another, nothing was overwritten" in said
    assert {path: path.read_bytes() for path in tracked.folder.iterdir()} == before


def test_inspect_prints_and_draws(tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", str(tracked.images), "--out", str(tmp_path / "sheet.png")])
    said = capsys.readouterr().out
    assert "24 frames of 64x54 px" in said
    assert "no two objects look alike" in said
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width > 300
    main(["inspect", str(tracked.images), "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert len(found["objects"]) == 3
    assert all(each["met"] for each in found["assumptions"])


@pytest.mark.parametrize("name", ["background.safetensors", "model.safetensors"])
def test_a_detector_that_was_tampered_with_is_not_loaded(tracked: TrackedClip, tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(tracked.folder, tmp_path / "copy")
    stored = (copy / name).read_bytes()
    (copy / name).write_bytes(stored[:-1] + bytes([stored[-1] ^ 1]))
    with pytest.raises(InputError, match=f"{name} is not the file .*hash differs"):
        Detector.load(copy)


@pytest.mark.parametrize("name", ["background.safetensors", "model.safetensors", "certificate.json", "detector.json"])
def test_a_detector_that_lacks_a_file_is_not_loaded(tracked: TrackedClip, tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(tracked.folder, tmp_path / "copy")
    (copy / name).unlink()
    with pytest.raises(InputError):
        Detector.load(copy)


@pytest.mark.parametrize(("objects", "words"), [("many", "many"), ("0", "number of objects is 0")])
def test_a_wrong_number_of_objects_is_said(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str], objects: str, words: str
) -> None:
    out = tmp_path / "out"
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(["track", str(tracked.images), "--out", str(out), "--objects", objects])
    assert stop.value.code == 2
    assert words in capsys.readouterr().err
    assert not out.exists()


def test_broken_trainings_are_tried_again_and_then_given_up(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def breaks(setup: Setup, seed: int, settings: FitSettings, **round_of_training: object) -> Attempt:
        tried.append(seed)
        raise BrokenTrainingError("Training broke in epoch 3: the loss is nan.")

    monkeypatch.setattr("withinpx.tracking.fitting.attempt", breaks)
    said = refusal(capsys, "track", tracked.images, "--out", tmp_path / "out", "--seed", "5")
    assert "Training broke" in said
    assert tried == [5, 6, 7]


def test_track_asks_for_a_clip(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["track"])
    assert stop.value.code == 2
    assert "required" in capsys.readouterr().err.lower()


def test_nothing_certified_is_exit_status_3(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same scene without its objects."""
    empty = np.repeat((tracked.detector.background.images * 255).round().astype(np.uint8), 4, axis=0)
    clip = write_images(tmp_path / "empty", Clip(empty))
    with pytest.raises(SystemExit) as stop:
        main(["detect", str(tracked.folder), str(clip), "--out", str(tmp_path / "out"), "--device", "cpu"])
    assert stop.value.code == 3
    assert re.match(r"0 of \d+ positions are certified; refused: ", capsys.readouterr().out)


def test_a_clip_with_large_objects_is_decoded_and_inspected_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its objects are over 25 px, so the network works on smaller frames."""
    large = write_images(tmp_path / "large", Clip(np.repeat(np.repeat(small_stage().render().clip.frames, 4, 1), 4, 2)))
    calls: Counter[str] = Counter()

    def counted(module: str, name: str) -> None:
        original = getattr(import_module(module), name)

        def count(*arguments: Any, **options: Any) -> Any:
            calls[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(f"{module}.{name}", count)

    counted("withinpx.data.images", "read_image")
    counted("withinpx.tracking.track", "inspect_clip")
    with brief_training():
        result = track(large, channels=12, budget=1, device="cpu", progress=False)
    assert result.detector.scale < 1
    assert calls == {"read_image": FRAMES, "inspect_clip": 1}


def test_a_broken_pipe_ends_without_a_traceback(tmp_path: Path) -> None:
    command = f"{sys.executable} -m withinpx track --help | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
