"""A detector over several recordings: a folder each, whole or not there."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.tracked_clip import HEIGHT, WIDTH, TrackedClip
from withinpx.cli import main
from withinpx.errors import InputError
from withinpx.tracking.collection import folders_for
from withinpx.tracking.tracks import read_tracks

pytestmark = pytest.mark.usefixtures("alone")


def test_each_recording_has_its_folder_and_a_finished_one_is_left_alone(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clips = [tmp_path / "clips" / name for name in ("first", "second", "broken")]
    clips[0].parent.mkdir()
    for clip in clips[:2]:
        clip.symlink_to(tracked.images)
    clips[2].mkdir()
    Image.new("RGB", (WIDTH + 1, HEIGHT)).save(clips[2] / "a.png")
    Image.new("RGB", (WIDTH + 1, HEIGHT)).save(clips[2] / "b.png")
    out = tmp_path / "out"
    options = ["--out", str(out), "--every", "4", "--no-overlay", "--export", "mot", "--device", "cpu"]
    options += ["--mm-per-px", "0.5"]
    command = ["detect", str(tracked.folder), *map(str, clips), *options]
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 2
    said = capsys.readouterr()
    assert "1 of 3 clips could not be used" in said.err.splitlines()[-1]
    assert "broken is 65x54 px" in said.out
    assert "2 clips done, 0 existed already" in said.out
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*")) == [
        "first",
        "first/mot.txt",
        "first/tracks.csv",
        "first/tracks.json",
        "first/verdicts.csv",
        "second",
        "second/mot.txt",
        "second/tracks.csv",
        "second/tracks.json",
        "second/verdicts.csv",
    ]
    before = read_tracks(tracked.folder / "tracks.csv").positions[::4]
    after = read_tracks(out / "second" / "tracks.csv")
    np.testing.assert_allclose(after.positions, before, atol=2e-4)
    assert after.mm_per_px == 0.5

    (out / "first" / "tracks.csv").write_text("kept")
    shutil.rmtree(out / "second")
    main(["detect", str(tracked.folder), *map(str, clips[:2]), *options])
    assert "1 clips done, 1 existed already" in capsys.readouterr().out
    assert (out / "first" / "tracks.csv").read_text() == "kept"
    assert (out / "second" / "tracks.csv").exists()


def test_recordings_are_named_below_the_folder_they_share(tmp_path: Path) -> None:
    clips = [tmp_path / "monday" / "clip.1.mp4", tmp_path / "tuesday" / "clip.1.mp4"]
    assert list(folders_for(clips, Path("out")).values()) == [Path("out/monday/clip.1"), Path("out/tuesday/clip.1")]
    with pytest.raises(InputError, match="would go to the same folder"):
        folders_for([tmp_path / "clip.mp4", tmp_path / "clip.avi"], Path("out"))


def test_a_collection_needs_a_detector_and_clips(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (["a.mp4", "b.mp4"], "There is no detector folder"),
        ([], "There is no clip"),
        (["a.mp4", "--address", "host:6379"], "give --engine ray as well"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["detect", str(tmp_path / "none"), *arguments, "--out", str(tmp_path / "out")])
        assert stop.value.code == 2
        assert words in capsys.readouterr().err
        assert not (tmp_path / "out").exists()
