"""withinpx export RUN --to ...: what is written where, and what is refused."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.test_cli import refusal
from tests.tracked_clip import TrackedClip
from tests.tracking.scenes import made_up
from withinpx.cli import main
from withinpx.tracking.exports import FORMATS, export
from withinpx.tracking.tracks import write_tracks

TEXT = "mot dlc trackpy idtracker napari trackmate"  # need no library


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run, as detect leaves it: without a detector."""
    write_tracks(tmp_path / "run" / "tracks.csv", made_up())
    return tmp_path / "run"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_finished_run_is_exported_as_its_tracks_are(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["export", str(run), "--to", "coco", *TEXT.split(), "--out", str(tmp_path / "out")])
    expected = export(made_up(), tmp_path / "expected", ["coco", *TEXT.split()])  # type: ignore[list-item]
    assert contents(tmp_path / "out") == contents(tmp_path / "expected")
    *written, masks = capsys.readouterr().out.splitlines()
    files = [path.relative_to(tmp_path / "expected") for path in expected]
    assert written == [f"Wrote {tmp_path / 'out' / file}" for file in files]
    assert "without masks" in masks


def test_the_run_itself_takes_the_files(run: Path) -> None:
    main(["export", str(run), "--to", "mot"])
    main(["export", str(run), "--to", "dlc"])  # its verdicts are those that are there
    assert set(contents(run)) == {"tracks.csv", "tracks.json", "mot.txt", "dlc.csv", "verdicts.csv"}


def test_nothing_is_overwritten(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", str(run), "--to", "trackpy"])
    (run / "verdicts.csv").write_text("another's")
    before = contents(run)
    capsys.readouterr()
    for formats in ("napari trackpy", "napari mot"):
        found = refusal(capsys, f"export {run} --to {formats}")
        assert found.endswith("exists already: name another folder with --out, nothing was overwritten.")
    assert contents(run) == before


def test_what_is_no_run_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (tmp_path, tmp_path / "nowhere", run / "tracks.csv"):
        assert "is no run, it has no tracks.csv" in refusal(capsys, f"export {folder} --to mot")
    (run / "tracks.csv").write_text("not,a,table\n1,2,3\n")
    assert "is no tracks table" in refusal(capsys, f"export {run} --to mot")
    (tmp_path / "file").write_text("in the way")
    write_tracks(run / "tracks.csv", made_up())
    assert "cannot be made" in refusal(capsys, f"export {run} --to mot --out {tmp_path / 'file' / 'out'}")


def test_either_the_tracks_or_the_detector_is_written(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ("", "--onnx --to mot"):
        assert "--onnx or --html, or the tracks with --to" in refusal(capsys, f"export {run} {options}")


def test_an_unknown_format_is_refused_with_those_that_exist(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["export", str(run), "--to", "yolo"])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert all(f"'{name}'" in said for name in FORMATS)


@pytest.mark.parametrize("name", ["sleap", "nwb", "movement"])
def test_a_missing_library_is_named_before_anything_is_written(
    name: Any, run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = FORMATS[name].needs[0]
    monkeypatch.setitem(sys.modules, package, None)
    found = refusal(capsys, f"export {run} --to mot {name}")
    assert found.endswith(f"The format {name} needs {package.replace('_', '-')}: pip install 'withinpx[formats]'.")
    assert not (run / "mot.txt").exists()
    assert "pip install 'withinpx[formats]'" in refusal(capsys, f"detect {run} {run} --export {name}")


def test_unordered_images_have_no_identities(tmp_path: Path) -> None:
    tracks = replace(made_up(), unordered=True, times_s=np.full(8, np.nan))
    export(tracks, tmp_path, ["trackpy", "trackmate"])
    header, *lines = (tmp_path / "trackpy.csv").read_text().splitlines()
    assert header.endswith("identity_certified,identity_p")
    assert all(line.endswith(",,") for line in lines)
    assert "IDENTITY_CERTIFIED=" not in (tmp_path / "trackmate.xml").read_text()


def test_a_run_with_its_detector_gets_the_masks_that_track_wrote(tracked: TrackedClip, tmp_path: Path) -> None:
    main(["export", str(tracked.folder), "--to", "coco", "--out", str(tmp_path)])
    written = contents(tmp_path)
    assert set(written) == {"coco_results.json", "coco_images.json"}
    assert all(content == (tracked.folder / name).read_bytes() for name, content in written.items())
    assert b'"segmentation"' in written["coco_results.json"]
