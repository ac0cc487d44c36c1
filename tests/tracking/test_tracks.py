"""The tracks table: what is written is what is read, whole or not at all."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from tests.tracking.scenes import HEIGHT, WIDTH, made_up
from withinpx.data.selection import Selection
from withinpx.errors import InputError
from withinpx.tracking.tracks import Tracks, TracksWriter, bound_text, in_picture, read_tracks, write_tracks


def part_of(tracks: Tracks, rows: slice) -> Tracks:
    arrays = [field.name for field in fields(tracks) if field.name not in ("width", "height")]
    return replace(tracks, **{name: getattr(tracks, name)[rows] for name in arrays})


def test_the_table_has_the_columns_that_were_decided(tmp_path: Path) -> None:
    write_tracks(tmp_path / "tracks.csv", made_up(2))
    lines = (tmp_path / "tracks.csv").read_text().splitlines()
    assert lines[0] == "frame,time_s,object,x,y,z_x,z_y,width,height,bound_px,residual_px,present,certified"
    assert len(lines) == 1 + 2 * 3
    frame, time_s, number, *places = lines[1].split(",")
    assert (frame, time_s, number) == ("10", f"{made_up(2).times_s[0]:.6f}", "0")
    assert places[:7] == ["8.2500", "9.5000", "8.7500", "9.2500", "6.0000", "4.0000", "5.2500"]
    assert lines[3].split(",")[2:] == ["2", "", "", "", "", "", "", "6.5000", "", "0", "0"]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    tracks = made_up()
    write_tracks(tmp_path / "tracks.csv", tracks)
    read = read_tracks(tmp_path / "tracks.csv", WIDTH, HEIGHT)
    for name in ("frames", "times_s", "bound_px", "residual_px", "present", "certified"):
        np.testing.assert_allclose(getattr(read, name), getattr(tracks, name), rtol=0, atol=5e-5, err_msg=name)
    for name in ("positions", "z", "sizes"):
        found, expected = getattr(read, name), getattr(tracks, name)
        np.testing.assert_allclose(found[tracks.present], expected[tracks.present], rtol=0, atol=5e-5)
        assert np.isnan(found[~tracks.present]).all()
    write_tracks(tmp_path / "again.csv", read)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "tracks.csv").read_bytes()


def test_chunk_by_chunk_is_the_same_file(tmp_path: Path) -> None:
    tracks = made_up()
    write_tracks(tmp_path / "whole.csv", tracks)
    with TracksWriter(tmp_path / "chunks.csv") as writer:
        for start in range(0, len(tracks), 3):
            writer.add(part_of(tracks, slice(start, start + 3)))
    assert (tmp_path / "chunks.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["chunks.csv", "whole.csv"]


def test_a_killed_writer_leaves_no_half_table(tmp_path: Path) -> None:
    write_tracks(tmp_path / "tracks.csv", made_up(2))
    before = (tmp_path / "tracks.csv").read_bytes()
    with pytest.raises(KeyboardInterrupt), TracksWriter(tmp_path / "tracks.csv") as writer:
        writer.add(made_up(8))
        raise KeyboardInterrupt
    assert (tmp_path / "tracks.csv").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["tracks.csv"]


def test_chunks_that_do_not_follow_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="comes after frame"), TracksWriter(tmp_path / "tracks.csv") as writer:
        writer.add(made_up(4))
        writer.add(made_up(4))


def broken(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: "", "first line is not frame,time_s"),
        (lambda text: broken(text, "frame,", "image,"), "first line is not frame,time_s"),
        (lambda text: text.split("\n")[0], "has no rows"),
        (lambda text: broken(text, "8.2500", "left"), "'left' for x in line 2: a number belongs"),
        (lambda text: broken(text, "8.2500,", ""), "12 values in line 2 where 13 belong"),
        (lambda text: broken(text, ",1,1\n", ",1,yes\n"), "'yes' for certified in line 2: 0 or 1 belongs"),
        (lambda text: broken(text, "\n10,", "\nnan,"), "'nan' for frame in line 2"),
        (lambda text: broken(text, ",8.2500", ","), "Object 0 is present in frame 10 but has no position"),
        (lambda text: "\n".join(text.splitlines()[:-1]), "breaks off in the middle of frame 16"),
        (lambda text: "\n".join(text.splitlines()[:5] + text.splitlines()[6:]), "too few or too many at line 6"),
        (lambda text: broken(text, "\n12,", "\n11,"), "too few or too many at line 6"),
    ],
)
def test_a_broken_table_has_its_sentence(tmp_path: Path, change: object, words: str) -> None:
    path = tmp_path / "tracks.csv"
    write_tracks(path, made_up(4))
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    with pytest.raises(InputError, match=words):
        read_tracks(path, WIDTH, HEIGHT)


def test_what_is_no_table_at_all_has_its_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_tracks(tmp_path / "nowhere.csv", WIDTH, HEIGHT)
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\xff\xfe\x00")
    with pytest.raises(InputError, match="it is not text"):
        read_tracks(tmp_path / "picture.csv", WIDTH, HEIGHT)


def test_tracks_that_do_not_fit_together_are_refused() -> None:
    tracks = made_up()
    with pytest.raises(InputError, match=r"positions have the shape \(8, 2, 2\) where \(8, 3, 2\) belongs"):
        replace(tracks, positions=tracks.positions[:, :2])
    with pytest.raises(InputError, match="not in the order"):
        replace(tracks, frames=tracks.frames[::-1])
    with pytest.raises(InputError, match="present in frame 14 but has no position"):
        replace(tracks, positions=np.where(np.arange(8)[:, None, None] == 2, np.nan, tracks.positions))


@pytest.mark.parametrize(("bound", "text"), [(5.25, "±5.3 px"), (5.2, "±5.2 px"), (4.0, "±4.0 px"), (4.001, "±4.1 px")])
def test_a_bound_is_never_shown_tighter_than_it_is(bound: float, text: str) -> None:
    assert bound_text(bound) == text


def test_a_place_in_the_recording_is_found_again_in_the_part_that_was_kept() -> None:
    selection = Selection(crop=(10, 20, 16, 12), scale=0.5)
    kept = np.array([[1.5, 2.5], [7.0, 0.25]])
    np.testing.assert_allclose(in_picture(selection.to_recording(kept), selection), kept)
