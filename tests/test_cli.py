"""The commands, as a person types them."""

import json
import os
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from withinpx.cli import main

TINY_FIT = (
    "fit squares --encoder-rf 3 --decoder-rf 5 --object-size 3 --sigma 0.8 --seed 0 "
    "--image-size 16 --epochs 2 --device cpu"
)


def answer(capsys: pytest.CaptureFixture[str], command: str) -> dict[str, object]:
    main(command.split())
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def refusal(capsys: pytest.CaptureFixture[str], command: str) -> str:
    """The one line that a mistake gets, with exit status 2 and nothing on standard output."""
    with pytest.raises(SystemExit) as stop:
        main(command.split())
    assert stop.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    (line,) = said.err.splitlines()
    return line


def test_bound(capsys: pytest.CaptureFixture[str]) -> None:
    command = "bound --encoder-rf 9 --decoder-rf 25 --object-size 9 --sigma 0.8 --n-sigma 2 --json"
    found = answer(capsys, command)
    expected = {
        "encoder_term": 8.0,
        "decoder_term": 9.6,
        "bound": 8.0,
        "limiting": "encoder",
        "deterministic": True,
        "n_sigma": 2,
    }
    assert {name: found[name] for name in expected} == expected


def test_bound_of_a_range_and_of_compact_support(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "bound --encoder-rf 9 --decoder-rf 11 --object-size 6 10 --support 3 --json")
    assert found["bound"] == 5.5
    assert found["deterministic"] is True
    assert found["n_sigma"] is None


def test_design(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "design --object-size 6 10 --target 6 --json")
    assert set(found) >= {"encoder_rf", "decoder_rf", "sigma", "encoder_filters", "decoder_filters", "bound"}
    assert isinstance(found["bound"], float)
    assert found["bound"] <= 6


def test_fit_resume_and_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs" / "a"
    main([*TINY_FIT.split(), "--out", str(out)])
    weights = (out / "model.safetensors").read_bytes()
    assert {path.name for path in out.iterdir()} >= {"model.safetensors", "detector.json", "run.json", "log.jsonl"}
    assert "exists already" in refusal(capsys_cleared(capsys), f"{TINY_FIT} --out {out}")
    main([*TINY_FIT.split(), "--resume", "--out", str(out)])
    assert (out / "model.safetensors").read_bytes() == weights
    capsys.readouterr()
    assert "other settings" in refusal(capsys, f"{TINY_FIT} --seed 1 --resume --out {out}".replace("--seed 0", ""))
    found = answer(capsys, f"evaluate {out} --json")
    assert set(found) >= {
        "position_error",
        "bound",
        "within_bound",
        "reconstruction_accuracy",
        "accepted",
        "shift",
    }
    (out / "model.safetensors").write_bytes(weights[:-1] + b"!")
    assert "hash differs" in refusal(capsys, f"evaluate {out}")


def capsys_cleared(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    capsys.readouterr()
    return capsys


def test_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("fig3", "fig7"):
        main(["reproduce", name, "--out", str(tmp_path)])
        with Image.open(tmp_path / f"{name}.png") as picture:
            assert picture.width > 1000


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr().out.startswith("withinpx ")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("bound --encoder-rf 8 --decoder-rf 25 --object-size 9", "encoder receptive field is 8"),
        ("bound --encoder-rf 0 --decoder-rf 25 --object-size 9", "encoder receptive field is 0"),
        ("bound --encoder-rf -3 --decoder-rf 25 --object-size 9", "encoder receptive field is -3"),
        ("bound --encoder-rf 9 --decoder-rf 141 --object-size 9", "decoder receptive field is 141"),
        ("bound --encoder-rf 9 --decoder-rf 7 --object-size 9", "no decoder can draw"),
        ("bound --encoder-rf 9 --decoder-rf 25 --object-size 10 6", "reversed"),
        ("bound --encoder-rf 9 --decoder-rf 25 --object-size 1 2 3", "two for a range"),
        ("bound --encoder-rf 9 --decoder-rf 25 --object-size nan", "object size is nan"),
        ("bound --encoder-rf 9 --decoder-rf 25 --object-size 9 --sigma nan", "sigma is nan"),
        ("bound --encoder-rf 9 --decoder-rf 25 --object-size 9 --support -1", "support is -1"),
        ("design --object-size 6 10 --target 1", "smallest reachable bound is 3.5 px"),
        ("design --object-size 150", "scale the images down"),
        ("design --object-size 6 10 --target nan", "target is nan"),
        ("fit squares --encoder-rf 9 --decoder-rf 7 --object-size 9 --out OUT", "no decoder can draw"),
        ("fit squares --image-size 20 --out OUT", "smaller than the receptive field"),
        ("fit squares --image-size 40 --out OUT", "no two positions"),
        ("fit squares --sigma nan --out OUT", "sigma is nan"),
        ("fit squares --epochs 0 --out OUT", "epochs is 0"),
        ("fit squares --resume --out OUT", "There is no folder"),
        ("evaluate OUT", "There is no detector folder"),
        ("detect OUT clip.mp4 --out OUT", "There is no detector folder"),
        ("edit OUT --path 0:1,1 --out OUT", "There is no detector folder"),
        ("edit OUT --path 0:1,1", "Nothing to write"),
        ("edit OUT --path 0:1,1 --appearance 3 --out OUT", "There is no detector folder"),
    ],
)
def test_a_mistake_gets_one_line_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, words: str
) -> None:
    out = tmp_path / "out"
    assert words in refusal(capsys, command.replace("OUT", str(out)))
    assert not out.exists()


def test_fit_takes_squares_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["fit", str(tmp_path), "--out", str(tmp_path / "out")])
    assert stop.value.code == 2
    assert not (tmp_path / "out").exists()


def write_video(path: Path, frames: int = 30) -> NDArray[np.float64]:
    """A bright square of 10 px that goes across a grey ground; its centres (frames, 2), px."""
    truth = []
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 90, 80, "gray"
        for index in range(frames):
            x, y = 14 + 2 * index, 16 + index
            picture = np.full((80, 90), 30, np.uint8)
            picture[y : y + 10, x : x + 10] = 220
            truth.append([x + 5, y + 5])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="gray")))
        container.mux(stream.encode())
    return np.array(truth, np.float64)


def test_a_part_of_a_video_is_told_in_the_video_s_own_pixels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = write_video(tmp_path / "clip.mkv")
    found: Any = answer(capsys, f"inspect {tmp_path / 'clip.mkv'} --crop 2 4 80 70 --scale 0.5 --every 2 --json")
    assert (found["frames"], found["width"], found["height"], found["scale"]) == (15, 40, 35, 0.5)
    (obj,) = found["objects"]
    assert obj["size_px"] == pytest.approx([10, 12], abs=2)
    assert obj["travel_px"] == pytest.approx(np.ptp(truth[::2], axis=0).max(), abs=2)
    assert obj["first_seen_at"] == pytest.approx(truth[0], abs=1.5)


def test_inspect_shows_progress_apart_from_its_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("withinpx.tracking.progress.FIRST_LINE_S", 0.001)
    monkeypatch.setattr("withinpx.tracking.progress.LINE_EVERY_S", 0.0)
    write_video(tmp_path / "clip.mkv")
    main(["inspect", str(tmp_path / "clip.mkv"), "--out", str(tmp_path / "sheet.png"), "--json"])
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["objects"]) == 1
    for words in ("reading frame 30", "inspecting 30 of 30", "writing"):
        assert f"withinpx: {words}, 0:00:0" in shown.err
    assert (tmp_path / "sheet.png").exists()


@pytest.mark.parametrize("verb", ["track", "inspect"])
def test_folders_that_are_no_clip_are_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    pictures, out = tmp_path / "pictures", tmp_path / "out"
    command = f"{verb} {pictures} --out {out}"
    assert "There is no file or folder" in refusal(capsys, command)
    pictures.mkdir()
    assert "holds no images" in refusal(capsys, command)
    Image.new("L", (20, 20)).save(pictures / "a.png")
    assert "is a single image" in refusal(capsys, command)
    Image.new("L", (20, 20)).save(pictures / "b.png")
    assert "Nothing moves" in refusal(capsys, command)
    Image.new("L", (20, 21)).save(pictures / "b.png")
    assert "must all be of one size" in refusal(capsys, command)
    (pictures / "a.png").write_text("not a picture")
    assert "cannot be read as an image" in refusal(capsys, command)
    assert not out.exists()


def test_a_file_that_is_no_video_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clip.mp4").write_text("not a video")
    assert "clip.mp4" in refusal(capsys, f"track {tmp_path / 'clip.mp4'} --out {tmp_path / 'out'}")
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_is_no_detector(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds no finished detector" in refusal(capsys, f"evaluate {tmp_path}")


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "cannot be made" in refusal(capsys, f"{TINY_FIT} --out {tmp_path / 'file' / 'run'}")
    assert "cannot be" in refusal(capsys, f"reproduce fig3 --out {tmp_path / 'file' / 'figures'}")
    assert "cannot be" in refusal(capsys, f"reproduce central --out {tmp_path / 'file' / 'table'}")
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--out", str(tmp_path / "file" / "demo")])
    assert stop.value.code == 2
    assert "cannot be made" in capsys.readouterr().err.splitlines()[-1]
    if os.geteuid():  # root may write everywhere
        tmp_path.chmod(0o500)
        assert "cannot be made" in refusal(capsys, f"{TINY_FIT} --out {tmp_path / 'run'}")
        tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory"), RuntimeError("CUDA out of memory")],
)
def test_too_little_memory_is_said(
    error: Exception, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise error

    monkeypatch.setattr("withinpx.experiments.run_folder.train_in_folder", full)
    assert "not enough memory" in refusal(capsys, f"{TINY_FIT} --out {tmp_path / 'run'}")
