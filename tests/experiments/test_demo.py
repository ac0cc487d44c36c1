"""The demo's summary, of made-up tracks: the truth, and the truth with errors."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.data.scenes import demo_clip_path, demo_scene
from withinpx.errors import InputError
from withinpx.experiments.demo import run_demo, summary
from withinpx.experiments.truth import compare, read_truth
from withinpx.tracking.result import Result
from withinpx.tracking.tracks import Tracks

FRAMES = 60


@pytest.fixture(scope="module")
def truth() -> NDArray[np.float64]:
    return read_truth(demo_clip_path().with_name("demo_truth.csv"), FRAMES)


def tracks_at(positions: NDArray[np.float64], bound: float = 5.0, certified: bool = True) -> Tracks:
    """Tracks with these positions; z is 1 px to the right of them."""
    flat = positions.shape[:2]
    return Tracks(
        frames=np.arange(len(positions)),
        times_s=np.arange(len(positions)) / 25,
        positions=np.nan_to_num(positions),
        z=np.nan_to_num(positions) + np.array([1.0, 0.0]),
        sizes=np.full(positions.shape, 12.0),
        bounds=np.full(flat, bound),
        theorem_px=np.full(flat, bound),
        residual_px=np.zeros(flat),
        present=np.asarray(np.isfinite(positions).all(axis=-1)),
        reasons=np.where(certified & np.isfinite(positions).all(axis=-1), "", "absent"),
        sigma_px=np.full(flat, np.nan),
        set_px=np.full(flat, np.nan),
        width=160,
        height=120,
    )


def summary_of(tracks: Tracks) -> str:
    no_detector: Any = None  # the summary is about the tracks alone
    return summary(Result(no_detector, in_memory=tracks))


def test_the_shipped_truth_is_the_scene_s(truth: NDArray[np.float64]) -> None:
    assert truth.shape == (FRAMES, 3, 2)
    known = np.isfinite(truth).all(axis=-1)
    assert known.mean() > 0.9
    assert np.abs(truth - demo_scene().truth)[known].max() < 1e-3


def test_the_origin_of_a_truth_may_be_the_centre_of_the_first_pixel(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("frame,object,x,y,w,h,full\n0,ball,3,4,9,9,1\n1,ball,5,4,9,9,0\n7,ball,5,4,9,9,1\n")
    found = read_truth(path, 2, offset=0.5)
    assert found[0].tolist() == [[3.5, 4.5]]
    assert np.isnan(found[1]).all()  # cut off: its centre is unknown


def test_perfect_tracks_in_any_order_are_found_without_error(truth: NDArray[np.float64]) -> None:
    result = compare(tracks_at(truth[:, [2, 0, 1]]), truth)
    assert (result.found, result.outside) == (3, 0)
    assert result.median == result.largest == 0
    assert result.largest_raw == pytest.approx(1)


def test_certified_positions_outside_their_bound_are_counted(truth: NDArray[np.float64]) -> None:
    wrong = truth.copy()
    wrong[4:9, 1, 0] += 7  # px
    result = compare(tracks_at(wrong), truth)
    assert (result.found, result.outside) == (3, 5)
    assert result.largest == pytest.approx(7)
    assert result.median == 0
    reasons = tracks_at(wrong).reasons.copy()
    reasons[4:9, 1] = "border"
    assert compare(replace(tracks_at(wrong), reasons=reasons), truth).outside == 0
    assert compare(tracks_at(wrong, bound=8.5), truth).outside == 0


def test_a_track_far_from_every_object_finds_none(truth: NDArray[np.float64]) -> None:
    lost = truth.copy()
    lost[:, 2] = (5, 5)
    assert compare(tracks_at(lost), truth).found == 2
    absent = truth.copy()
    absent[10:, 0] = np.nan
    assert compare(tracks_at(absent), truth).found == 2


def test_the_summary_has_the_objects_found_the_bound_and_the_errors(truth: NDArray[np.float64]) -> None:
    share = np.isfinite(truth).all(axis=-1).mean()
    assert summary_of(tracks_at(truth + np.array([0.3, 0.4]), bound=5.25)) == (
        f"Found 3 of 3 objects; {share:.0%} of their positions are certified, each proved to within 5.2 px or less. "
        "Compared with the truth, their error is 0.50 px (median) and 0.50 px (largest)."
    )


def test_no_bound_is_printed_where_nothing_is_certified(truth: NDArray[np.float64]) -> None:
    text = summary_of(tracks_at(truth, certified=False))
    assert text == "Found 3 of 3 objects, but no position could be certified: see the certificate."


def test_a_folder_that_is_not_a_demo_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="exists and is not a demo"):
        run_demo(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_the_truth_is_cut_to_the_frames_that_were_tracked(truth: NDArray[np.float64]) -> None:
    fewer = read_truth(demo_clip_path().with_name("demo_truth.csv"), 20)
    np.testing.assert_array_equal(fewer, truth[:20])
    assert compare(tracks_at(fewer), fewer).found == 3
