"""The tracks table: written and read without loss, complete or not at all."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tracking.scenes import HEIGHT, WIDTH, made_up
from withinpx.data.selection import Selection
from withinpx.errors import InputError
from withinpx.tracking.tracks import COLUMNS, TracksWriter, bound_text, columns_with, read_tracks, write_tracks


def test_the_table_has_the_documented_columns(tmp_path: Path) -> None:
    write_tracks(tmp_path / "tracks.csv", made_up(2))
    lines = (tmp_path / "tracks.csv").read_text().splitlines()
    assert lines[0] == (
        "frame,time_s,object,x,y,width,height,bound_px,motion_px,sigma_px,z_x,z_y,theorem_px,residual_px,"
        "present,certified,reason,identity_certified,identity_p,set_px,angle_deg"
    )
    assert len(lines) == 1 + 2 * 3
    first, absent, second = (dict(zip(columns_with(0), lines[row].split(","), strict=True)) for row in (1, 3, 4))
    assert (first["frame"], float(first["time_s"]), first["object"]) == ("10", made_up(2).times_s[0], "0")
    numbers = {
        name: float(first[name]) for name in ("x", "y", "width", "height", "bound_px", "z_x", "z_y", "theorem_px")
    }
    assert list(numbers.values()) == [8.25, 9.5, 6.0, 4.0, 5.75, 8.75, 9.25, 5.25]
    assert (first["present"], first["certified"], first["reason"]) == ("1", "1", "")
    assert (first["motion_px"], first["identity_certified"]) == ("", "")  # there is no previous frame
    assert (float(second["motion_px"]), second["identity_certified"]) == (11.5, "1")
    assert (absent["present"], absent["certified"], absent["reason"]) == ("0", "0", "absent")
    empty = [name for name, cell in absent.items() if cell == ""]
    assert empty == [*COLUMNS[3:14], "identity_certified", "identity_p", "set_px", "angle_deg"]


def test_a_written_table_is_read_back(tmp_path: Path) -> None:
    tracks = made_up()
    write_tracks(tmp_path / "tracks.csv", tracks)
    read = read_tracks(tmp_path / "tracks.csv")
    assert (read.width, read.height, read.unordered) == (WIDTH, HEIGHT, False)
    assert read.reasons.tolist() == tracks.reasons.tolist()
    for name in ("frames", "times_s", "bounds", "theorem_px", "residual_px", "present", "certified"):
        np.testing.assert_allclose(getattr(read, name), getattr(tracks, name), rtol=0, atol=5e-5, err_msg=name)
    for name in ("positions", "z", "sizes"):
        found, expected = getattr(read, name), getattr(tracks, name)
        np.testing.assert_allclose(found[tracks.present], expected[tracks.present], rtol=0, atol=5e-5)
        assert np.isnan(found[~tracks.present]).all()
    write_tracks(tmp_path / "again.csv", read)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "tracks.csv").read_bytes()


def test_a_table_of_before_angles_were_added_is_read(tmp_path: Path) -> None:
    write_tracks(tmp_path / "tracks.csv", made_up())
    lines = (tmp_path / "tracks.csv").read_text().splitlines()
    (tmp_path / "tracks.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines))
    read = read_tracks(tmp_path / "tracks.csv")
    np.testing.assert_allclose(read.bounds, made_up().bounds, rtol=0, atol=5e-5)
    assert np.isnan(read.angles_deg).all()


def test_chunk_by_chunk_is_the_same_file(tmp_path: Path) -> None:
    tracks = made_up()
    write_tracks(tmp_path / "whole.csv", tracks)
    with TracksWriter(tmp_path / "chunks.csv") as writer:
        for start in range(0, len(tracks), 3):
            writer.add(tracks[start : start + 3])
    assert (tmp_path / "chunks.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["chunks.csv", "chunks.json", "whole.csv", "whole.json"]


def test_a_killed_writer_leaves_no_half_table(tmp_path: Path) -> None:
    write_tracks(tmp_path / "tracks.csv", made_up(2))
    before = (tmp_path / "tracks.csv").read_bytes()
    with pytest.raises(KeyboardInterrupt), TracksWriter(tmp_path / "tracks.csv") as writer:
        writer.add(made_up(8))
        raise KeyboardInterrupt
    assert (tmp_path / "tracks.csv").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["tracks.csv", "tracks.json"]


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
        (lambda text: broken(text, ",8.25,", ",left,"), "'left' for x in line 2: a number is needed"),
        (lambda text: broken(text, ",8.25,", ","), "20 values in line 2 where 21 are needed"),
        (lambda text: broken(text, ",1,1,,", ",1,yes,,"), "'yes' for certified in line 2: 0 or 1 is needed"),
        (lambda text: broken(text, "\n10,", "\nnan,"), "'nan' for frame in line 2"),
        (lambda text: broken(text, ",8.25,", ",,"), "Object 0 is present in frame 10 but has no position"),
        (lambda text: "\n".join(text.splitlines()[:-1]), "breaks off in the middle of frame 16"),
        (lambda text: "\n".join(text.splitlines()[:5] + text.splitlines()[6:]), "too few or too many at line 6"),
        (lambda text: broken(text, "\n12,", "\n11,"), "too few or too many at line 6"),
    ],
)
def test_a_broken_table_is_reported_with_its_line(tmp_path: Path, change: object, words: str) -> None:
    path = tmp_path / "tracks.csv"
    write_tracks(path, made_up(4))
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    with pytest.raises(InputError, match=words):
        read_tracks(path, WIDTH, HEIGHT)


def test_a_file_that_is_no_table_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_tracks(tmp_path / "nowhere.csv", WIDTH, HEIGHT)
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\xff\xfe\x00")
    with pytest.raises(InputError, match="it is not text"):
        read_tracks(tmp_path / "picture.csv", WIDTH, HEIGHT)


def test_inconsistent_tracks_are_refused() -> None:
    tracks = made_up()
    with pytest.raises(InputError, match=r"positions have the shape \(8, 2, 2\) where \(8, 3, 2\) is needed"):
        replace(tracks, positions=tracks.positions[:, :2])
    with pytest.raises(InputError, match="not in the order"):
        replace(tracks, frames=tracks.frames[::-1])
    with pytest.raises(InputError, match="present in frame 14 but has no position"):
        replace(tracks, positions=np.where(np.arange(8)[:, None, None] == 2, np.nan, tracks.positions))


@pytest.mark.parametrize(("bound", "text"), [(5.25, "±5.3 px"), (5.2, "±5.2 px"), (4.0, "±4.0 px"), (4.001, "±4.1 px")])
def test_a_bound_is_never_shown_tighter_than_it_is(bound: float, text: str) -> None:
    assert bound_text(bound) == text


def test_positions_are_converted_to_the_recording_and_back() -> None:
    selection = Selection(crop=(10, 20, 16, 12), scale=0.5)
    selected = np.array([[1.5, 2.5], [7.0, 0.25]])
    np.testing.assert_allclose(selection.from_recording(selection.to_recording(selected)), selected)


def test_displacements_and_identities_need_two_certified_frames_in_order() -> None:
    tracks = made_up()
    both = tracks.certified[1:] & tracks.certified[:-1]
    assert np.isnan(tracks.motion_bounds[0]).all()
    np.testing.assert_array_equal(np.isfinite(tracks.motion_bounds[1:]), both)
    np.testing.assert_allclose(tracks.motion_bounds[1:][both], (tracks.bounds[1:] + tracks.bounds[:-1])[both])
    identity = tracks.identity_certified
    assert np.isnan(identity[0]).all()
    assert np.isnan(identity[1:][~tracks.present[1:]]).all()
    np.testing.assert_array_equal(identity[1:][tracks.present[1:]] == 1, both[tracks.present[1:]])
    unordered = replace(tracks, unordered=True)
    assert np.isnan(unordered.motion_bounds).all()
    assert np.isnan(unordered.identity_certified).all()
