"""Which track is which thing, and how far off it is, is told by the frames that show the whole thing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tracking.scenes import made_up
from withinpx.errors import InputError
from withinpx.experiments.truth import TrueObject, at_frames, compare, is_outside, matched, read_objects
from withinpx.tracking.tracks import Tracks

TABLE = """frame,object,x,y,w,h,full
0,white,3,4,9,11,1
1,white,5,4,9,13,1
2,white,7,4,5,13,0
0,red,30,20,0,0,1
"""


@pytest.fixture
def tracks() -> Tracks:
    """Three, in every other frame from the tenth on; the last is absent at first."""
    return made_up()


def true_objects(tracks: Tracks, *order: int) -> list[TrueObject]:
    """Things that are where these tracks say."""
    return [
        TrueObject(str(each), tracks.frames[there], tracks.positions[there, each])
        for each in order
        for there in [tracks.present[:, each]]
    ]


def test_each_thing_has_its_frames_its_places_and_its_size(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text(TABLE)
    red, white = read_objects(path, offset=0.5)
    assert (red.name, white.name) == ("red", "white")
    assert white.frames.tolist() == [0, 1]  # cut off in the third
    assert white.positions.tolist() == [[3.5, 4.5], [5.5, 4.5]]
    assert (white.size, white.reach) == (12, 6)
    assert (red.size, red.reach) == (0, 5)


def test_a_table_need_not_know_sizes(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("frame,object,x,y,full\n0,ball,3,4,1\n")
    (ball,) = read_objects(path)
    assert (ball.positions.tolist(), ball.size) == ([[3, 4]], 0)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no table of true positions .*nowhere\.csv"):
        read_objects(tmp_path / "nowhere.csv")


def test_tracks_and_things_are_matched_whatever_their_order(tracks: Tracks) -> None:
    assert matched(true_objects(tracks, 2, 0, 1), tracks) == {0: 2, 1: 0, 2: 1}


def test_a_track_belongs_to_one_thing_only(tracks: Tracks) -> None:
    near, far = true_objects(tracks, 1, 1)
    two = [replace(far, positions=far.positions + 3), near]
    assert matched(two, tracks)[1] == 1
    assert len(set(matched(two, tracks).values())) == 2
    assert len(matched([*two, near, near], tracks)) == 3


def test_a_track_of_one_lucky_frame_does_not_win(tracks: Tracks) -> None:
    (thing,) = true_objects(tracks, 0)
    lucky = tracks.positions.copy()
    lucky[0, 1], lucky[1:, 0] = lucky[0, 0], lucky[1:, 0] + 4
    rarely = tracks.present.copy()
    rarely[1:, 1] = False
    spoiled = replace(tracks, positions=lucky, present=rarely, certified=tracks.certified & rarely)
    assert matched([thing], spoiled) == {0: 0}


def test_frames_are_the_recording_s_not_the_table_s(tracks: Tracks) -> None:
    found = at_frames(np.array([0, 10, 12, 13, 24]), tracks, tracks.positions)
    np.testing.assert_array_equal(found[1, :2], tracks.positions[0, :2])
    np.testing.assert_array_equal(found[4], tracks.positions[7])
    assert np.isnan(found[[0, 3]]).all()  # before the first, and between two
    assert np.isnan(found[1:3, 2]).all()  # absent
    truth = np.full((tracks.frames[-1] + 1, 3, 2), np.nan)
    truth[tracks.frames] = np.where(tracks.present[..., None], tracks.positions, np.nan)
    against = compare(tracks, truth)
    assert (against.found, against.largest) == (3, 0)


def test_a_place_is_outside_if_it_is_farther_off_than_its_bound_along_either_axis() -> None:
    truth, bound = np.zeros((5, 2)), np.full(5, 2.0)
    places = np.array([[2.0, -2.0], [2.1, 0.0], [0.0, -2.1], [1.9, 1.9], [np.nan, np.nan]])
    assert is_outside(places, truth, bound).tolist() == [False, True, True, False, True]
