"""``track`` of many clips: one run and one row each, whatever happens to the others."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from tests.tracked_clip import small_stage, small_training, write_images
from tests.tracking.scenes import made_up, never_present, refused
from withinpx.cli import main
from withinpx.data.recording import Recording
from withinpx.errors import InputError
from withinpx.files import write_json
from withinpx.jobs.local import LocalEngine
from withinpx.tracking import many
from withinpx.tracking.many import COLUMNS, run_folders, track_many
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.sources import find_clips
from withinpx.tracking.track import run_config
from withinpx.tracking.tracks import Tracks, read_tracks, write_tracks
from withinpx.training.detector_folder import begin_run
from withinpx.training.log import LOG

OUT = Path("out")


def files(folder: Path, *names: str) -> list[Path]:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(name)
    return [folder / name for name in names]


def write_run(recording: Recording, options: TrackOptions, out: Path, tracks: Tracks, *, resume: bool = False) -> None:
    """What ``track`` leaves of a run, as far as it is read again; log.jsonl is written last."""
    begin_run(out, run_config(recording, options), resume)
    write_tracks(out / "tracks.csv", replace(tracks, mm_per_px=options.mm_per_px))
    (out / LOG).write_text("{}\n")


@pytest.fixture
def tracked_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A ``track`` that takes no time and refuses what is called broken; returns the names that it was called with."""
    called: list[str] = []

    def quick(recording: Recording, options: TrackOptions, *, out: Path, resume: bool, **_: object) -> SimpleNamespace:
        name = Path(recording.source).stem
        called.append(name)
        if name == "broken":
            raise InputError("broken.mp4 is no video.")
        if name == "bug":
            raise ZeroDivisionError("division by zero")
        if name == "interrupted" and not resume:
            begin_run(out, run_config(recording, options), resume)
            raise KeyboardInterrupt
        tracks = made_up()
        if name == "nothing":
            tracks = never_present(tracks)
        if name == "border":
            tracks = refused(tracks, np.ones_like(tracks.present), "border")
        write_run(recording, options, out, tracks, resume=resume)
        return SimpleNamespace(tracks=read_tracks(out / "tracks.csv"))

    monkeypatch.setattr(many, "track", quick)
    return called


def table(out: Path) -> list[dict[str, str]]:
    with (out / "clips.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def status_of(command: list[str]) -> int:
    try:
        main(command)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


# --- which clips ----------------------------------------------------------------------------------------------------


def test_a_folder_of_videos_is_several_clips_and_one_of_images_is_one(tmp_path: Path) -> None:
    videos = files(tmp_path / "videos", "b.mp4", "a.MOV", "notes.txt", ".hidden.mp4")
    found = find_clips([tmp_path / "videos"], OUT)
    assert found.clips == (videos[1], videos[0])
    assert not found.alone
    assert "2 videos, each a clip of its own" in found.notes[0]
    files(tmp_path / "images", "1.png", "2.png")
    found = find_clips([tmp_path / "images"], OUT)
    assert (found.clips, found.alone, found.notes) == ((tmp_path / "images",), True, ())


def test_a_folder_of_both_is_read_as_what_it_holds_more_of(tmp_path: Path) -> None:
    files(tmp_path / "images", "1.png", "2.png", "preview.mp4")
    found = find_clips([tmp_path / "images"], OUT)
    assert found.alone
    assert "2 images, read as one clip; 1 video left out" in found.notes[0]
    files(tmp_path / "videos", "a.mp4", "a.png", "b.mp4", "b.png")
    found = find_clips([tmp_path / "videos"], OUT)
    assert [clip.name for clip in found.clips] == ["a.mp4", "b.mp4"]
    assert "2 images left out" in found.notes[0]


def test_a_pattern_finds_videos_and_folders_but_not_what_is_in_the_output(tmp_path: Path) -> None:
    files(tmp_path, "a.mp4", "b[1].mp4", "truth.csv")
    files(tmp_path / "images", "1.png", "2.png")
    files(tmp_path / "other", "readme.txt")
    files(tmp_path / "out", "overlay.mp4")
    found = find_clips([tmp_path / "*"], tmp_path / "out")
    assert [clip.name for clip in found.clips] == ["a.mp4", "b[1].mp4", "images"]
    found = find_clips([tmp_path / "**" / "*.mp4"], tmp_path / "out")
    assert [clip.name for clip in found.clips] == ["a.mp4", "b[1].mp4"]
    assert find_clips([tmp_path / "b[1].mp4"], OUT).alone  # a file of that name is no pattern


def test_a_clip_that_is_named_twice_is_tracked_once(tmp_path: Path) -> None:
    (clip,) = files(tmp_path, "a.mp4")
    files(tmp_path / "sub")
    found = find_clips([clip, tmp_path / "sub" / ".." / "a.mp4", tmp_path / "*.mp4"], OUT)
    assert found.clips == (clip,)
    assert not found.alone


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ([], "A clip is required"),
        (["nowhere.mp4"], "There is no file or folder"),
        (["*.mp4"], "matches nothing"),
        (["*.csv"], "matches only 1 other file"),
        (["truth.csv", "nowhere.mp4"], "There is no file or folder"),
    ],
)
def test_a_mistyped_name_is_refused_before_anything_is_tracked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tracked_names: list[str], named: list[str], words: str
) -> None:
    files(tmp_path, "truth.csv")
    assert status_of(["track", *(str(tmp_path / name) for name in named), "--out", str(tmp_path / "out")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert tracked_names == []


def test_an_empty_folder_among_clips_is_a_failed_one(tmp_path: Path) -> None:
    (clip,) = files(tmp_path, "a.mp4")
    (tmp_path / "empty").mkdir()
    assert find_clips([clip, tmp_path / "empty"], OUT).clips == (clip, tmp_path / "empty")
    (row,) = many.track_one(tmp_path / "empty", tmp_path / "run", TrackOptions())
    assert row["status"] == "failed"
    assert "holds no images" in row["message"]


# --- where they go --------------------------------------------------------------------------------------------------


def test_runs_are_named_after_their_clips_and_never_share_a_folder(tmp_path: Path) -> None:
    def names(*clips: str) -> list[str]:
        return [str(folder) for folder in run_folders([tmp_path / clip for clip in clips], OUT).values()]

    (tmp_path / "images").mkdir()
    assert names("a.mp4", "b.1.mp4", "images") == ["out/a", "out/b.1", "out/images"]
    assert names("monday/a.mp4", "tuesday/a.mp4") == ["out/monday/a", "out/tuesday/a"]
    assert names("a.mp4", "a.avi", "b.mp4") == ["out/a.mp4", "out/a.avi", "out/b"]
    assert names("images.mp4", "images") == ["out/images.mp4", "out/images"]
    assert names("x.mp4", "x/a.mp4") == ["out/x.mp4", "out/x/a.mp4"]
    assert names("clips.csv.mp4") == ["out/clips.csv.mp4"]  # the table's name
    with pytest.raises(InputError, match="would lie in that of another clip"):
        names("images", "images/a.mp4", "b.mp4")


def test_a_folder_that_holds_one_run_is_not_mixed_with_many(tmp_path: Path, tracked_names: list[str]) -> None:
    clips = files(tmp_path, "a.mp4", "b.mp4")
    (tmp_path / "out").mkdir()
    write_json(tmp_path / "out" / "run.json", {})
    with pytest.raises(InputError, match="holds the run of one clip"):
        track_many(clips, tmp_path / "out", TrackOptions(), engine=LocalEngine())
    assert tracked_names == []


# --- what becomes of them -------------------------------------------------------------------------------------------


def test_a_failed_clip_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tracked_names: list[str]
) -> None:
    files(tmp_path / "clips", "broken.mp4", "bug.mp4", "good.mp4", "nothing.mp4")
    out = tmp_path / "out"
    assert status_of(["track", str(tmp_path / "clips"), "--out", str(out)]) == 0
    assert tracked_names == ["broken", "bug", "good", "nothing"]
    rows = table(out)
    assert tuple(rows[0]) == COLUMNS
    assert [row["status"] for row in rows] == ["failed", "failed", "certified", "refused"]
    assert rows[0]["message"] == "broken.mp4 is no video."
    assert rows[1]["message"] == "ZeroDivisionError: division by zero"
    good = rows[2]
    tracks = made_up()
    assert (good["objects"], good["folder"]) == ("3", "good")
    assert float(good["certified_share"]) == round(tracks.certified.sum() / tracks.present.sum(), 4)
    assert float(good["median_bound_px"]) == np.median(tracks.bounds[tracks.certified])
    assert "20 of 22 positions are certified; refused: absent 2, border 2" in good["message"]
    assert (rows[3]["certified_share"], rows[3]["median_bound_px"]) == ("0.0", "")
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert len(lines) == 1 + 4 + 1
    assert lines[0].split()[:3] == ["clip", "status", "objects"]
    assert "90.9%" in lines[3]
    assert "4 videos, each a clip of its own" in printed.err


@pytest.mark.parametrize(
    ("names", "status"),
    [(("good", "broken"), 0), (("nothing", "border"), 3), (("border", "broken"), 3), (("broken", "bug"), 2)],
)
def test_exit_status(tmp_path: Path, tracked_names: list[str], names: tuple[str, ...], status: int) -> None:
    clips = files(tmp_path, *(f"{name}.mp4" for name in names))
    assert status_of(["track", *map(str, clips), "--out", str(tmp_path / "out")]) == status
    assert tracked_names == list(names)


def test_the_table_is_json_if_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tracked_names: list[str]
) -> None:
    clips = files(tmp_path, "good.mp4", "broken.mp4")
    assert status_of(["track", *map(str, clips), "--out", str(tmp_path / "out"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["clip"], row["status"]) for row in rows] == [
        (str(clips[0]), "certified"),
        (str(clips[1]), "failed"),
    ]
    assert tracked_names


def test_a_finished_run_is_not_repeated_and_a_failed_one_is(tmp_path: Path, tracked_names: list[str]) -> None:
    clips, out = files(tmp_path, "a.mp4", "broken.mp4"), tmp_path / "out"
    (first, _) = track_many(clips, out, TrackOptions(), engine=LocalEngine())
    (again, failed) = track_many(clips, out, TrackOptions(), engine=LocalEngine())
    assert tracked_names == ["a", "broken", "broken"]
    assert again["message"].startswith("done before; ")
    assert float(again["seconds"]) == first["seconds"]  # how long the run took, not how long it took to read
    names = ("status", "objects", "certified_share", "median_bound_px", "folder")
    assert [again[name] for name in names] == [first[name] for name in names]
    assert failed["status"] == "failed"


def test_a_run_of_other_options_is_kept_and_the_clip_tracked_anew(tmp_path: Path, tracked_names: list[str]) -> None:
    clips, out = files(tmp_path, "a.mp4"), tmp_path / "out"
    track_many(clips, out, TrackOptions(), engine=LocalEngine())
    (row,) = track_many(clips, out, TrackOptions(seed=1), engine=LocalEngine())
    assert tracked_names == ["a", "a"]
    assert "is a.before1 now" in row["message"]
    assert json.loads((out / "a" / "run.json").read_text())["seed"] == 1
    assert json.loads((out / "a.before1" / "run.json").read_text())["seed"] == 0
    track_many(clips, out, TrackOptions(seed=2), engine=LocalEngine())
    assert json.loads((out / "a.before2" / "run.json").read_text())["seed"] == 1
    assert [row["folder"] for row in table(out)] == ["a"]


def test_another_scale_is_no_reason_to_train_again(tmp_path: Path, tracked_names: list[str]) -> None:
    clips, out = files(tmp_path, "a.mp4"), tmp_path / "out"
    track_many(clips, out, TrackOptions(mm_per_px=0.1), engine=LocalEngine())
    (row,) = track_many(clips, out, TrackOptions(mm_per_px=0.2), engine=LocalEngine())
    assert tracked_names == ["a"]
    assert "withinpx measure" in row["message"]
    assert read_tracks(out / "a" / "tracks.csv").mm_per_px == 0.1


def test_an_interrupted_run_is_continued(tmp_path: Path, tracked_names: list[str]) -> None:
    clips, out = files(tmp_path, "a.mp4", "interrupted.mp4", "z.mp4"), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        track_many(clips, out, TrackOptions(), engine=LocalEngine())
    assert [row["folder"] for row in table(out)] == ["a"]  # what has been done by then
    rows = track_many(clips, out, TrackOptions(), engine=LocalEngine())
    assert [row["status"] for row in rows] == ["certified"] * 3
    assert tracked_names == ["a", "interrupted", "interrupted", "z"]


def test_other_files_are_not_overwritten(tmp_path: Path, tracked_names: list[str]) -> None:
    clips, out = files(tmp_path, "a.mp4", "b.mp4"), tmp_path / "out"
    files(tmp_path / "out")
    files(out / "a", "mine.txt")
    rows = track_many(clips, out, TrackOptions(), engine=LocalEngine())
    assert [row["status"] for row in rows] == ["failed", "certified"]
    assert [path.name for path in (out / "a").iterdir()] == ["mine.txt"]
    assert tracked_names == ["b"]


def test_rows_of_other_clips_stay_in_the_table(tmp_path: Path, tracked_names: list[str]) -> None:
    clips, out = files(tmp_path, "a.mp4", "b.mp4"), tmp_path / "out"
    track_many(clips[1:], out, TrackOptions(), engine=LocalEngine())
    rows = track_many(clips[:1], out, TrackOptions(), engine=LocalEngine())
    assert [row["folder"] for row in rows] == ["a"]
    assert [row["folder"] for row in table(out)] == ["a", "b"]
    (out / "clips.csv").write_text("frame,x\n1,2\n")
    with pytest.raises(InputError, match="is no table of clips"):
        track_many(clips, out, TrackOptions(), engine=LocalEngine())
    assert tracked_names == ["b", "a"]


def test_two_workers_track_real_clips(tmp_path: Path) -> None:
    """In processes of their own, with the real ``track``: a finished run, a broken video, and a clip at rest."""
    (done, broken), out = files(tmp_path, "done.mp4", "broken.mp4"), tmp_path / "out"
    still = tmp_path / "still"
    still.mkdir()
    for name in ("a.png", "b.png"):
        Image.new("L", (24, 20), 90).save(still / name)
    options = TrackOptions(overlay=False)
    write_run(Recording(str(done)), options, out / "done", made_up())
    rows = track_many([done, broken, still], out, options, engine=LocalEngine(workers=2), device="cpu")
    assert [row["status"] for row in rows] == ["certified", "failed", "failed"]
    assert "broken.mp4" in rows[1]["message"]
    assert "Nothing moves" in rows[2]["message"]
    assert [row["folder"] for row in table(out)] == ["broken", "done", "still"]


def test_a_clip_is_tracked_beside_a_broken_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole command, with a training that is too short to certify anything for sure."""
    clips, out = tmp_path / "clips", tmp_path / "out"
    write_images(clips / "good", small_stage().render().clip)
    files(clips / "broken", "a.png", "b.png")
    options = "--every 2 --objects 3 --channels 4 --budget 0 --device cpu --export mot --no-overlay --mm-per-px 0.25"
    with small_training(4, 4):
        assert status_of(["track", str(clips / "*"), "--out", str(out), *options.split()]) in (0, 3)
    failed, good = table(out)
    assert (failed["folder"], failed["status"]) == ("broken", "failed")
    assert (good["folder"], good["objects"]) == ("good", "3")
    assert good["status"] in ("certified", "refused")
    assert read_tracks(out / "good" / "tracks.csv").mm_per_px == 0.25
    assert (out / "good" / "mot.txt").exists()
    assert f"See {out / 'clips.csv'}" in capsys.readouterr().out
