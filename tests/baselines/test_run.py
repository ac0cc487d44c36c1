"""Baselines over folders of images, as a person runs them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.baselines.test_sam import Rectangles
from withinpx.baselines import run
from withinpx.baselines.detections import DETECTIONS, Found, Images, Pixels
from withinpx.baselines.diary import DIARY
from withinpx.baselines.run import ERRORS, Asked, Look, run_baseline
from withinpx.baselines.sam import MaskSettings, find_masks
from withinpx.cli import main
from withinpx.errors import InputError

SIDE, COUNT, OBJECTS = 48, 12, 3
COLOURS = ((210, 40, 40), (40, 200, 60), (50, 60, 220))


def places() -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """(images, objects, 2): the left and top of three squares in bands of their own."""
    free = np.random.default_rng(1).integers(2, SIDE - 10, (COUNT, OBJECTS))
    bands = np.broadcast_to([2, 18, 34], (COUNT, OBJECTS))
    return np.stack([free, bands + free % 5], axis=-1)


def draw(folder: Path, size: int = 7) -> Path:
    """Squares of so many px before noise, and their truth."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    background = random.integers(90, 110, (SIDE, SIDE, 3))
    rows = []
    for frame, squares in enumerate(places()):
        picture = background + random.integers(-2, 3, background.shape)
        for thing, (left, top) in enumerate(squares):
            picture[top : top + size, left : left + size] = COLOURS[thing]
            rows.append((frame, thing, left + size / 2, top + size / 2, size, size, 1))
        Image.fromarray(picture.astype(np.uint8)).save(folder / f"{frame:06d}.png")
    with (folder / "truth.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("frame", "object", "x", "y", "w", "h", "full"))
        writer.writerows(rows)
    return folder


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    return draw(tmp_path / "images")


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


def test_mog2_finds_squares_before_a_background_of_its_own(
    drawn: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cv2", reason="OpenCV is in the extra baselines")
    out = tmp_path / "mog2"
    main(["baseline", "--method", "mog2", "--images", str(drawn), "--truth", f"{drawn}/truth.csv", "--out", str(out)])
    assert f"{COUNT} of {COUNT} images used (100.0%); 12 of 12 values within 35 px" in capsys.readouterr().out
    assert max(float(row["error_px"]) for row in error_rows(out)) <= 1
    assert len(json.loads((out / DETECTIONS).read_text())) >= COUNT * OBJECTS


def test_train_and_test_images_count_as_one_dataset(tmp_path: Path) -> None:
    folders = tuple(draw(tmp_path / name) for name in ("train", "test"))
    results = tmp_path / "results.json"
    boxes = [
        {"image_id": f"{folder.name}/{frame:06d}.png", "bbox": [int(left), int(top), 7, 7], "score": 1}
        for folder in folders
        for frame, squares in enumerate(places())
        for left, top in squares
    ]
    results.write_text(json.dumps(boxes[1:]))  # of the first image two boxes are left: it is discarded
    truth = tuple(folder / "truth.csv" for folder in folders)
    outcome = run_baseline(Asked("coco", folders, truth, results=results), tmp_path / "out")
    assert outcome.score is not None
    assert outcome.score.used.tolist() == [False] + [True] * (2 * COUNT - 1)
    assert outcome.score.kept == [0.0] * 12
    assert not outcome.too_few


def rectangles(asked: list[int]) -> Callable[[Images, int], Callable[..., Look]]:
    """MobileSAM's place is taken by a model that sees the squares themselves, and the whole image."""

    def stand_in(folder: Images, lost: int) -> Callable[..., Look]:
        def prepared(*_: object) -> Look:
            def look(number: int, pixels: Pixels) -> Found:
                asked.append(number)
                squares = tuple((*place, 7, 7, 0.9 + 0.01 * n) for n, place in enumerate(places()[number].tolist()))
                model = Rectangles(((0, 0, SIDE, SIDE, 0.99), *(squares[1:] if number == lost else squares)))
                return find_masks(model, pixels, MaskSettings(grid=8))

            return look

        return prepared

    return stand_in


def with_rectangles(monkeypatch: pytest.MonkeyPatch, drawn: Path, lost: int = -1) -> list[int]:
    asked: list[int] = []
    monkeypatch.setattr(run, "check_weights", lambda path: path)
    monkeypatch.setattr(run, "_mobilesam", rectangles(asked)(Images.of([drawn]), lost))
    return asked


def test_a_run_goes_on_where_it_stopped(drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = with_rectangles(monkeypatch, drawn)
    wanted = Asked("mobilesam", (drawn,), (drawn / "truth.csv",))
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run_baseline(wanted, whole)
    assert asked == list(range(COUNT))
    cut.mkdir()
    (cut / "baseline.json").write_bytes((whole / "baseline.json").read_bytes())
    (cut / DIARY).write_bytes((whole / DIARY).read_bytes()[:-40])  # as a crash leaves it
    asked.clear()
    run_baseline(wanted, cut)
    assert asked == [COUNT - 1]
    for name in (DETECTIONS, ERRORS, DIARY):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()
    asked.clear()
    run_baseline(wanted, cut)
    assert asked == []
    with pytest.raises(InputError, match="it has another settings"):
        run_baseline(Asked("mobilesam", (drawn,), grid=16), cut)


def test_masks_are_measured_after_the_first(drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_rectangles(monkeypatch, drawn)
    outcome = run_baseline(Asked("mobilesam", (drawn,), (drawn / "truth.csv",)), tmp_path / "out")
    assert outcome.score is not None
    assert outcome.score.kept == [0.0] * 12


def test_an_image_of_fewer_than_four_masks_is_told_and_left_out(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_rectangles(monkeypatch, drawn, lost=5)
    out = tmp_path / "out"
    given = ("--method", "mobilesam", "--images", str(drawn), "--truth", f"{drawn}/truth.csv", "--out", str(out))
    assert "1 of 12 images show fewer masks than the protocol needs" in (line := refusal(capsys, *given))
    assert "000005.png" in line
    assert [row["images_used"] for row in error_rows(out)[::3]] == ["3", "2", "3", "3"]


def test_mistakes_get_a_sentence_and_exit_status_2(
    drawn: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    given = ("--images", str(drawn), "--out", str(out), "--method")
    assert "MobileSAM needs its weights: give --weights PATH" in refusal(capsys, *given, "mobilesam")
    wrong = tmp_path / "mobile_sam.pt"
    wrong.write_bytes(b"no weights")
    assert "sha256" in refusal(capsys, *given, "mobilesam", "--weights", str(wrong))
    assert "Which SAM" in refusal(capsys, *given, "sam")
    assert "Which boxes" in refusal(capsys, *given, "coco")
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{"image_id": 731, "bbox": [1, 2, 3, 4], "score": 1}]))
    assert "of other images: 731 is none of the 12 here" in refusal(capsys, *given, "coco", "--results", str(other))
    assert not out.exists()
    with pytest.raises(InputError, match="nothing to look at"):
        Images.of([])
    with pytest.raises(InputError, match="the same name"):
        Images.of([drawn, tmp_path / "elsewhere" / drawn.name])
    assert "There is no folder" in refusal(
        capsys, "--images", str(tmp_path / "no"), "--out", str(out), "--method", "mog2"
    )
