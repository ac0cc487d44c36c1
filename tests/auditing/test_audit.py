"""An audit finds what was planted into true tracks, and calls nothing wrong that is right."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.auditing.made import FRAMES, as_table, audited, made_tracks, refused, verdict_of
from withinpx import InputError

SEEDS = st.integers(0, 10_000)
some = settings(max_examples=25)  # each of 120 positions


@some
@given(SEEDS)
def test_a_true_position_is_never_called_wrong(seed: int) -> None:
    tracks, truth = made_tracks(seed)
    audit = audited(as_table(truth), tracks)
    assert audit.counts == {"right": truth[..., 0].size, "wrong": 0, "undecided": 0}
    assert audit.swaps == ()
    assert not audit.check
    assert not audit.anything_wrong


@some
@given(SEEDS, st.floats(2.001, 6), st.booleans(), st.sampled_from([-1, 1]))
def test_a_shift_of_more_than_twice_the_bound_is_always_found(
    seed: int, times: float, along_x: bool, sign: int
) -> None:
    """The truth is within one bound of (x, y), so a shift of two is outside for certain."""
    tracks, truth = made_tracks(seed)
    random = np.random.default_rng(seed + 1)
    planted = random.random(truth.shape[:2]) < 0.2
    shift = sign * (times * tracks.bounds + 1e-3)[..., None] * ([1, 0] if along_x else [0, 1])
    audit = audited(as_table(np.where(planted[..., None], truth + shift, truth)), tracks)
    table = audit.to_dataframe()
    wrong = (table.verdict == "wrong").to_numpy().reshape(truth.shape[:2])
    np.testing.assert_array_equal(wrong, planted)
    assert {found.frame for found in audit.check} == set(np.flatnonzero(planted.any(axis=1)).tolist())


@some
@given(SEEDS)
def test_what_is_proved_of_an_error_holds_for_the_error(seed: int) -> None:
    tracks, truth = made_tracks(seed)
    random = np.random.default_rng(seed + 2)
    foreign = truth + random.normal(0, 2, truth.shape)
    audit = audited(as_table(foreign), tracks)
    table = audit.to_dataframe()
    error = np.abs(foreign - truth).max(axis=-1).ravel()
    assert (error <= table.proved_px + 1e-9).all()
    assert (error >= table.error_at_least_px - 1e-9).all()


@some
@given(SEEDS, st.floats(0.0, 3.0))
def test_an_allowed_error_is_neither_called_wrong_nor_missed(seed: int, within: float) -> None:
    tracks, truth = made_tracks(seed)
    foreign = truth + np.random.default_rng(seed).normal(0, 2, truth.shape)
    table = audited(as_table(foreign), tracks, within=within).to_dataframe()
    error = np.abs(foreign - truth).max(axis=-1).ravel()
    assert (error[table.verdict == "wrong"] > within).all()
    assert (error[table.verdict == "right"] <= within + 1e-9).all()
    assert set(table.reason[table.verdict == "undecided"]) <= {"bound"}


@some
@given(SEEDS, st.integers(1, FRAMES - 2), st.integers(1, 20))
def test_swapped_identities_are_found_and_their_positions_stay_right(seed: int, start: int, length: int) -> None:
    tracks, truth = made_tracks(seed)
    foreign, end = truth.copy(), min(start + length, FRAMES)
    foreign[start:end, [0, 2]] = truth[start:end, [2, 0]]
    audit = audited(as_table(foreign), tracks)
    there = {(start, 0, 0, 2), (start, 2, 2, 0)}
    back = {(end, 0, 2, 0), (end, 2, 0, 2)} if end < FRAMES else set()
    found = {(swap.frame, swap.identity, swap.before, swap.after) for swap in audit.swaps}
    assert audit.counts["wrong"] == 0
    # an identity that is at the other object more often belongs there: the same frames, seen from its other end
    assert {frame for frame, *_ in found} == {frame for frame, *_ in there | back}
    assert found == there | back
    assert all(swap.partner == 2 - swap.identity for swap in audit.swaps)


def test_an_identity_that_jumps_to_another_object_for_good_is_found_without_a_partner() -> None:
    tracks, truth = made_tracks()
    foreign = truth.copy()
    foreign[25:, 0] = truth[25:, 1]
    foreign[:, 1] = np.nan
    (swap,) = audited(as_table(foreign), tracks).swaps
    assert (swap.frame, swap.last_frame, swap.before, swap.after, swap.partner) == (25, 24, 0, 1, -1)
    assert swap.at_least_px > 30


def test_one_position_at_another_object_is_wrong_and_no_swap() -> None:
    tracks, truth = made_tracks()
    foreign = truth.copy()
    foreign[10, 0] = truth[10, 1]
    audit = audited(as_table(foreign), tracks)
    assert audit.swaps == ()
    row = verdict_of(audit, 10, "fly 0")
    assert (row.object, row.verdict, row.reason) == (0, "wrong", "another object")


def test_a_swap_in_refused_frames_is_proved_at_the_first_certified_one() -> None:
    tracks, truth = made_tracks()
    where = np.zeros(truth.shape[:2], np.bool_)
    where[18:24, :2] = True
    tracks = replace(tracks, **refused(tracks, where))
    foreign = truth.copy()
    foreign[20:, [0, 1]] = truth[20:, [1, 0]]
    audit = audited(as_table(foreign), tracks)
    assert {(swap.last_frame, swap.frame) for swap in audit.swaps} == {(17, 24)}
    assert audit.counts["wrong"] == 0
    assert audit.counts["undecided"] == 12
    assert verdict_of(audit, 20, "fly 0").reason == "touching"


def test_before_a_swap_that_hides_the_first_object_nothing_is_called_wrong() -> None:
    """Seen from its first certified frame on, the identity is at the other object."""
    tracks, truth = made_tracks()
    where = np.zeros(truth.shape[:2], np.bool_)
    where[:5, 0] = True
    foreign = truth.copy()
    foreign[5:30, [0, 1]] = truth[5:30, [1, 0]]
    for hidden in (refused(tracks, where), refused(tracks, where, "absent") | {"present": tracks.present & ~where}):
        audit = audited(as_table(foreign), replace(tracks, **hidden))
        assert audit.counts["wrong"] == 0
        assert audit.counts["undecided"] == 5
        assert {swap.frame for swap in audit.swaps} == {5, 30}


def test_a_shift_is_found_while_an_identity_changes() -> None:
    """Between two objects a position may be either's; one that is neither's is wrong."""
    tracks, truth = made_tracks()
    foreign = truth.copy()
    foreign[20:, [0, 1]] = truth[20:, [1, 0]]
    foreign[20, 0] += 15
    audit = audited(as_table(foreign), tracks)
    assert verdict_of(audit, 20, "fly 0").verdict == "wrong"
    assert audit.counts["wrong"] == 1
    assert {swap.identity for swap in audit.swaps} == {0, 1}


@pytest.mark.parametrize("proved", [0.0, 1.0])
def test_a_swap_of_objects_that_look_alike_needs_their_identity_proved(proved: float) -> None:
    tracks, truth = made_tracks()
    links = np.ones(truth.shape[:2])
    links[0], links[20, 0] = np.nan, proved
    alike = replace(tracks, classes=np.zeros(3, np.int64), proved=links, step_px=9.0)
    foreign = truth.copy()
    foreign[20:, [0, 1]] = truth[20:, [1, 0]]
    found = {swap.identity for swap in audited(as_table(foreign), alike).swaps}
    assert found == ({0, 1} if proved else {1})  # identity 1 leaves object 1, whose links are proved


@pytest.mark.parametrize(("proved", "verdict"), [(0.0, "right"), (1.0, "wrong")])
def test_where_our_own_identity_is_guessed_no_position_is_wrong_for_it(proved: float, verdict: str) -> None:
    """For two frames the position is in the set of an object that looks alike."""
    tracks, truth = made_tracks()
    links = np.ones(truth.shape[:2])
    links[0], links[[20, 22]] = np.nan, proved
    alike = replace(tracks, classes=np.zeros(3, np.int64), proved=links, step_px=9.0)
    foreign = truth[:, :1].copy()
    foreign[20:22, 0] = truth[20:22, 1]
    audit = audited(as_table(foreign), alike)
    assert {verdict_of(audit, frame, "fly 0").verdict for frame in (20, 21)} == {verdict}
    foreign[21, 0] += 17  # in no set; another of the class may be there
    audit = audited(as_table(foreign), alike)
    assert verdict_of(audit, 21, "fly 0").verdict == ("wrong" if proved else "undecided")


def test_dropped_positions_are_listed_and_are_not_wrong() -> None:
    tracks, truth = made_tracks()
    foreign = truth.copy()
    foreign[5:8, 1] = np.nan
    audit = audited(as_table(foreign), tracks)
    assert np.argwhere(audit.missing).tolist() == [[5, 1], [6, 1], [7, 1]]
    assert [(found.frame, found.missing) for found in audit.check] == [(5, [1]), (6, [1]), (7, [1])]
    assert audit.foreign.gaps == 3
    assert not audit.anything_wrong


def test_an_object_that_no_identity_follows_is_said_once() -> None:
    tracks, truth = made_tracks()
    audit = audited(as_table(truth[:, :2]), tracks)
    assert audit.check == []
    assert any("Object 2 of this clip is followed by no identity" in note for note in audit.notes)


def test_a_position_without_an_object_is_undecided() -> None:
    tracks, truth = made_tracks(objects=2)
    away = np.concatenate([truth, np.full((FRAMES, 1, 2), 140.0)], axis=1)
    audit = audited(as_table(away), tracks)
    assert set(audit.to_dataframe().query("id == 'fly 2'").reason) == {"no object"}
    assert audit.counts == {"right": 2 * FRAMES, "wrong": 0, "undecided": FRAMES}


def test_refused_and_untracked_frames_are_undecided_with_their_reason() -> None:
    tracks, truth = made_tracks()
    where = np.zeros(truth.shape[:2], np.bool_)
    where[3, 0] = True
    tracks = replace(tracks, **refused(tracks, where, "border"))
    audit = audited(as_table(truth[:-1]), tracks[::2])
    assert verdict_of(audit, 4, "fly 0").verdict == "right"
    assert verdict_of(audit, 5, "fly 0").reason == "not tracked"
    whole = audited(as_table(truth), tracks)
    assert verdict_of(whole, 3, "fly 0").reason == "border"
    assert whole.counts["undecided"] == 1


def test_two_pieces_of_one_track_may_follow_one_object() -> None:
    tracks, truth = made_tracks()
    table = as_table(truth)
    table.loc[(table.frame >= 20) & (table.id == "fly 1"), "id"] = "fly 7"
    audit = audited(table, tracks)
    assert audit.counts["right"] == len(table)
    assert audit.swaps == ()


THORAX = np.array([3.5, -2.5])


def test_another_point_than_the_centre_is_wrong_unless_its_offset_is_measured() -> None:
    tracks, truth = made_tracks()
    plain = audited(as_table(truth + THORAX), tracks)
    assert plain.counts["wrong"] > 0.9 * truth[..., 0].size
    (note,) = (note for note in plain.notes if "another point than the centre" in note)
    assert all(f"px from object {index}" in note for index in range(3))
    measured = audited(as_table(truth + THORAX), tracks, offset="measured")
    assert measured.counts["wrong"] == 0
    for offset in measured.measured:
        assert (np.abs(np.array(offset.middle) - THORAX) <= np.array(offset.half) + 1e-9).all()


@some
@given(SEEDS)
def test_with_a_measured_offset_no_right_position_is_called_wrong(seed: int) -> None:
    """As long as half of an object's positions are right, whatever the others are."""
    tracks, truth = made_tracks(seed)
    random = np.random.default_rng(seed)
    spoilt = np.zeros(truth.shape[:2], np.bool_)
    for index in range(truth.shape[1]):
        spoilt[random.choice(FRAMES, FRAMES // 2, replace=False), index] = True
    foreign = truth + THORAX + np.where(spoilt[..., None], random.uniform(-2, 2, truth.shape), 0)
    table = audited(as_table(foreign), tracks, offset="measured").to_dataframe()
    assert not ((table.verdict == "wrong") & ~spoilt.ravel()).any()


def test_with_a_measured_offset_large_shifts_and_swaps_are_found() -> None:
    tracks, truth = made_tracks()
    foreign = truth + THORAX
    foreign[12, 1, 0] += 9
    foreign[30:, [0, 2]] = foreign[30:, [2, 0]]
    audit = audited(as_table(foreign), tracks, offset="measured")
    assert verdict_of(audit, 12, "fly 1").verdict == "wrong"
    assert audit.counts["wrong"] == 1
    assert {swap.frame for swap in audit.swaps} == {30}


def test_half_a_pixel_off_everywhere_is_recognised_as_another_origin() -> None:
    tracks, truth = made_tracks()
    narrow = replace(tracks, bounds=np.full(truth.shape[:2], 0.2), positions=truth)
    audit = audited(as_table(truth - 0.5), narrow)
    assert any("--origin centre would explain it" in note for note in audit.notes)
    assert audited(as_table(truth - 0.5), narrow, origin="centre").counts["wrong"] == 0


def test_frames_to_check_begin_with_the_largest_error() -> None:
    tracks, truth = made_tracks()
    foreign = truth.copy()
    foreign[4, 0] += 8
    foreign[9, 1] -= 14
    foreign[2, 2] = np.nan
    audit = audited(as_table(foreign), tracks)
    assert [found.frame for found in audit.check] == [9, 4, 2]
    assert "fly 1 off by" in audit.check[0].why


def test_nothing_certified_decides_nothing() -> None:
    tracks, truth = made_tracks()
    tracks = replace(tracks, **refused(tracks, np.ones(truth.shape[:2], np.bool_), "distinct"))
    audit = audited(as_table(truth), tracks)
    assert audit.counts["undecided"] == len(audit.foreign)
    assert any("Nothing in this clip could be certified" in note for note in audit.notes)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda table: table.assign(x=199 - table.y / 9, y=149 - table.x / 9), "No identity of .* is near any"),
        (lambda table: table.assign(x=4 * table.x + 200), "outside the clip's frames of 200x150"),
        (lambda table: table.assign(frame=2 * table.frame), "frame 78, but the clip has 40, from 0.*frame rate"),
        (lambda table: table.assign(frame=table.frame + 1), "give --first-frame 1"),
    ],
)
def test_tracks_of_another_clip_are_refused(change: object, sentence: str) -> None:
    tracks, truth = made_tracks()
    with pytest.raises(InputError, match=sentence):
        audited(change(as_table(truth)), tracks)  # type: ignore[operator]


def test_frames_that_count_from_one_are_read_when_said() -> None:
    tracks, truth = made_tracks()
    table = as_table(truth)
    assert audited(table.assign(frame=table.frame + 1), tracks, first_frame=1).counts["right"] == len(table)


def test_tracks_that_end_early_are_noted() -> None:
    tracks, truth = made_tracks()
    audit = audited(as_table(truth[: FRAMES // 3]), tracks)
    assert any("another frame rate" in note for note in audit.notes)


def test_an_audit_is_saved_once(tmp_path: Path) -> None:
    tracks, truth = made_tracks()
    foreign = truth.copy()
    foreign[7, 0] += 9
    foreign[20:, [0, 1]] = foreign[20:, [1, 0]]
    audit = audited(as_table(foreign), tracks)
    folder = audit.save(tmp_path / "audited")
    assert {path.name for path in folder.iterdir()} == {
        *("audit.csv", "swaps.csv", "check.csv", "summary.json", "audit.html")
    }
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["wrong"], summary["swaps"], summary["right"]) == (1, 2, len(audit.foreign) - 1)
    with (folder / "swaps.csv").open() as file:
        assert [(row["id"], row["from_object"], row["to_object"]) for row in csv.DictReader(file)] == [
            ("fly 0", "0", "1"),
            ("fly 1", "1", "0"),
        ]
    with (folder / "check.csv").open() as file:
        assert [int(row["frame"]) for row in csv.DictReader(file)] == [20, 7]
    with pytest.raises(InputError, match="exists already"):
        audit.save(folder)


@pytest.mark.parametrize("within", [-1.0, float("nan")])
def test_an_error_that_cannot_be_allowed_is_refused(within: float) -> None:
    tracks, truth = made_tracks()
    with pytest.raises(InputError, match="give 0 or more with --within"):
        audited(as_table(truth), tracks, within=within)
