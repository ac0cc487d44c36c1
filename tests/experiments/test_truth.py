"""Tracks are matched to true objects, and compared with them, in the frames that show all of an object."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tracking.scenes import made_up
from withinpx.errors import InputError
from withinpx.experiments.truth import TrueObject, at_frames, compare, is_outside, match, read_objects
from withinpx.tracking.tracks import Tracks

TABLE = """frame,object,x,y,w,h,full
0,white,3,4,9,11,1
1,white,5,4,9,13,1
2,white,7,4,5,13,0
0,red,30,20,0,0,1
"""


@pytest.fixture
def tracks() -> Tracks:
    """Three tracks in every other frame from the tenth on; the last is absent at first."""
    return made_up()


def true_objects(tracks: Tracks, *order: int) -> list[TrueObject]:
    """Objects whose true positions are those of these tracks."""
    return [
        TrueObject(str(index), tracks.frames[present], tracks.positions[present, index])
        for index in order
        for present in [tracks.present[:, index]]
    ]


def test_every_object_has_frames_positions_and_a_size(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text(TABLE)
    red, white = read_objects(path, offset=0.5)
    assert (red.name, white.name) == ("red", "white")
    assert white.frames.tolist() == [0, 1]  # cut off in the third
    assert white.positions.tolist() == [[3.5, 4.5], [5.5, 4.5]]
    assert (white.size, white.tolerance) == (12, 6)
    assert (red.size, red.tolerance) == (0, 5)


def test_a_table_may_lack_sizes(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("frame,object,x,y,full\n0,ball,3,4,1\n")
    (ball,) = read_objects(path)
    assert (ball.positions.tolist(), ball.size) == ([[3, 4]], 0)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no table of true positions .*nowhere\.csv"):
        read_objects(tmp_path / "nowhere.csv")


def test_tracks_and_objects_are_matched_in_any_order(tracks: Tracks) -> None:
    assert match(true_objects(tracks, 2, 0, 1), tracks) == {0: 2, 1: 0, 2: 1}


def test_a_track_belongs_to_one_object_only(tracks: Tracks) -> None:
    near, far = true_objects(tracks, 1, 1)
    two = [replace(far, positions=far.positions + 3), near]
    assert match(two, tracks)[1] == 1
    assert len(set(match(two, tracks).values())) == 2
    assert len(match([*two, near, near], tracks)) == 3


def test_a_track_that_is_right_in_one_frame_only_is_not_matched(tracks: Tracks) -> None:
    (obj,) = true_objects(tracks, 0)
    positions, present = tracks.positions.copy(), tracks.present.copy()
    positions[0, 1], positions[1:, 0] = positions[0, 0], positions[1:, 0] + 4
    present[1:, 1] = False
    changed = replace(tracks, positions=positions, present=present, reasons=np.where(present, tracks.reasons, "absent"))
    assert match([obj], changed) == {0: 0}


def test_frame_numbers_are_those_of_the_recording(tracks: Tracks) -> None:
    found = at_frames(np.array([0, 10, 12, 13, 24]), tracks, tracks.positions)
    np.testing.assert_array_equal(found[1, :2], tracks.positions[0, :2])
    np.testing.assert_array_equal(found[4], tracks.positions[7])
    assert np.isnan(found[[0, 3]]).all()  # before the first, and between two
    assert np.isnan(found[1:3, 2]).all()  # absent
    truth = np.full((tracks.frames[-1] + 1, 3, 2), np.nan)
    truth[tracks.frames] = np.where(tracks.present[..., None], tracks.positions, np.nan)
    result = compare(tracks, truth)
    assert (result.found, result.largest) == (3, 0)


def test_a_position_is_outside_if_its_error_exceeds_the_bound_along_either_axis() -> None:
    truth, bound = np.zeros((5, 2)), np.full(5, 2.0)
    positions = np.array([[2.0, -2.0], [2.1, 0.0], [0.0, -2.1], [1.9, 1.9], [np.nan, np.nan]])
    assert is_outside(positions, truth, bound).tolist() == [False, True, True, False, True]
