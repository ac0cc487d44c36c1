"""Baselines on folders of images."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.baselines.test_sam import Rectangles
from withinpx.baselines import run
from withinpx.baselines.detections import DETECTIONS, LOG, Detections, ImageFolders, Pixels
from withinpx.baselines.options import BaselineOptions
from withinpx.baselines.run import ERRORS, Detect, run_baseline
from withinpx.baselines.sam import MaskSettings, find_masks
from withinpx.cli import main
from withinpx.errors import InputError

SIDE, COUNT, OBJECTS = 48, 12, 3
COLOURS = ((210, 40, 40), (40, 200, 60), (50, 60, 220))


def corners() -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """(images, objects, 2): left and top of three squares, each in its own horizontal band."""
    free = np.random.default_rng(1).integers(2, SIDE - 10, (COUNT, OBJECTS))
    bands = np.broadcast_to([2, 18, 34], (COUNT, OBJECTS))
    return np.stack([free, bands + free % 5], axis=-1)


def render(folder: Path, size: int = 7) -> Path:
    """Images of squares of ``size`` px on a noisy background, and their truth."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    background = random.integers(90, 110, (SIDE, SIDE, 3))
    rows = []
    for frame, squares in enumerate(corners()):
        image = background + random.integers(-2, 3, background.shape)
        for obj, (left, top) in enumerate(squares):
            image[top : top + size, left : left + size] = COLOURS[obj]
            rows.append((frame, obj, left + size / 2, top + size / 2, size, size, 1))
        Image.fromarray(image.astype(np.uint8)).save(folder / f"{frame:06d}.png")
    with (folder / "truth.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("frame", "object", "x", "y", "w", "h", "full"))
        writer.writerows(rows)
    return folder


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return render(tmp_path / "images")


def error_rows(folder: Path) -> list[dict[str, str]]:
    with (folder / ERRORS).open(newline="") as file:
        return list(csv.DictReader(file))


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["baseline", *arguments])
    assert stop.value.code == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("withinpx: ")
    return line


def test_mog2_finds_squares(images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mog2"
    main(["baseline", "--method", "mog2", "--images", str(images), "--truth", f"{images}/truth.csv", "--out", str(out)])
    assert f"{COUNT} of {COUNT} images used (100.0%); 12 of 12 values within 35 px" in capsys.readouterr().out
    assert max(float(row["error_px"]) for row in error_rows(out)) <= 1
    assert len(json.loads((out / DETECTIONS).read_text())) >= COUNT * OBJECTS


def test_train_and_test_images_count_as_one_dataset(tmp_path: Path) -> None:
    folders = tuple(render(tmp_path / name) for name in ("train", "test"))
    results = tmp_path / "results.json"
    boxes = [
        {"image_id": f"{folder.name}/{frame:06d}.png", "bbox": [int(left), int(top), 7, 7], "score": 1}
        for folder in folders
        for frame, squares in enumerate(corners())
        for left, top in squares
    ]
    results.write_text(json.dumps(boxes[1:]))  # the first image has two boxes and is discarded
    truth = tuple(folder / "truth.csv" for folder in folders)
    options = BaselineOptions(method="coco", images=folders, truth=truth, results=results)
    result = run_baseline(options, tmp_path / "out")
    assert result.score is not None
    assert result.score.used.tolist() == [False] + [True] * (2 * COUNT - 1)
    assert result.score.kept == [0.0] * 12
    assert not result.too_few


def use_rectangles(monkeypatch: pytest.MonkeyPatch, lost: int = -1) -> list[int]:
    """Replace MobileSAM by a model that sees the squares and the whole image; returns the indices of its images.

    In image ``lost`` it misses a square.
    """
    indices: list[int] = []

    def detect(index: int, pixels: Pixels) -> Detections:
        indices.append(index)
        squares = tuple((*corner, 7, 7, 0.9 + 0.01 * n) for n, corner in enumerate(corners()[index].tolist()))
        model = Rectangles(((0, 0, SIDE, SIDE, 0.99), *(squares[1:] if index == lost else squares)))
        return find_masks(model, pixels, MaskSettings(grid=8))

    def stand_in(*_: object) -> Detect:
        return detect

    monkeypatch.setattr(run, "check_weights", lambda path: path)
    monkeypatch.setattr(run, "MobileSam", lambda *_: None)
    monkeypatch.setattr(run, "_sam", stand_in)
    return indices


def mobilesam(images: Path, grid: int = 32) -> BaselineOptions:
    return BaselineOptions(method="mobilesam", images=(images,), truth=(images / "truth.csv",), grid=grid)


def test_an_interrupted_run_resumes(images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    indices = use_rectangles(monkeypatch)
    options = mobilesam(images)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run_baseline(options, whole)
    assert indices == list(range(COUNT))
    cut.mkdir()
    (cut / "baseline.json").write_bytes((whole / "baseline.json").read_bytes())
    (cut / LOG).write_bytes((whole / LOG).read_bytes()[:-40])  # as a crash leaves it
    indices.clear()
    run_baseline(options, cut)
    assert indices == [COUNT - 1]
    for name in (DETECTIONS, ERRORS, LOG):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()
    indices.clear()
    run_baseline(options, cut)
    assert indices == []
    with pytest.raises(InputError, match="different: settings"):
        run_baseline(mobilesam(images, grid=16), cut)


def test_the_first_mask_is_not_an_object(images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_rectangles(monkeypatch)
    result = run_baseline(mobilesam(images), tmp_path / "out")
    assert result.score is not None
    assert result.score.kept == [0.0] * 12


def test_an_image_with_fewer_than_four_masks_is_reported_and_left_out(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_rectangles(monkeypatch, lost=5)
    out = tmp_path / "out"
    given = ("--method", "mobilesam", "--images", str(images), "--truth", f"{images}/truth.csv", "--out", str(out))
    assert "1 of 12 images have fewer masks than the protocol needs" in (line := refusal(capsys, *given))
    assert "000005.png" in line
    assert [row["images_used"] for row in error_rows(out)[::3]] == ["3", "2", "3", "3"]


def test_bad_options_are_refused_with_a_message(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    given = ("--images", str(images), "--out", str(out), "--method")
    assert "MobileSAM needs its weights: give --weights PATH" in refusal(capsys, *given, "mobilesam")
    wrong = tmp_path / "mobile_sam.pt"
    wrong.write_bytes(b"no weights")
    assert "sha256" in refusal(capsys, *given, "mobilesam", "--weights", str(wrong))
    assert "SAM needs a model" in refusal(capsys, *given, "sam")
    assert "The boxes are missing" in refusal(capsys, *given, "coco")
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{"image_id": 731, "bbox": [1, 2, 3, 4], "score": 1}]))
    assert "of other images: 731 is none of the 12 here" in refusal(capsys, *given, "coco", "--results", str(other))
    assert not out.exists()
    with pytest.raises(InputError, match="There are no images"):
        ImageFolders([])
    with pytest.raises(InputError, match="the same name"):
        ImageFolders([images, tmp_path / "elsewhere" / images.name])
    assert "There is no folder" in refusal(
        capsys, "--images", str(tmp_path / "no"), "--out", str(out), "--method", "mog2"
    )
