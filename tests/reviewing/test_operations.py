"""What a person does to tracks: what each operation changes, what it leaves, and what is refused."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tracking.scenes import alike, made_up
from withinpx.errors import InputError
from withinpx.reviewing.log import REVIEW, ReviewLog, read_log, timed
from withinpx.reviewing.operations import KINDS, parse_operation
from withinpx.reviewing.reviewed import EXTRA, Reviewed, apply, read_reviewed
from withinpx.tracking.tracks import PERSON, Tracks, write_tracks

CORRECT = {"op": "correct", "frame": 14, "object": 0, "x": 20.125, "y": 11.5}
SWAP = {"op": "swap", "object": 0, "other": 1, "first": 16, "last": None}
SPLIT = {"op": "split", "object": 2, "first": 18}
RENAME = {"op": "rename", "object": 1, "name": "the red one"}
DELETE = {"op": "delete", "object": 1, "first": 12, "last": 14}
DELETE_ALL = {"op": "delete", "object": 1}
MERGE = {"op": "merge", "object": 2, "other": 3}
ACCEPT = {"op": "accept", "object": 1, "first": 16, "last": 18}
ALL = (CORRECT, SWAP, SPLIT, RENAME, DELETE, MERGE, ACCEPT)
SETS = [(CORRECT,), (SWAP,), (SPLIT,), (DELETE,), (DELETE_ALL,), (ACCEPT,), (SPLIT, MERGE), ALL]
Json = dict[str, Any]


def reviewed(tracks: Tracks, *entries: Json) -> Reviewed:
    return apply(tracks, [parse_operation(entry) for entry in entries])


def row(frame: int) -> int:
    return (frame - 10) // 2


def same_bits(one: Tracks, other: Tracks) -> bool:
    """Every array to the bit, and every other field."""
    for item in fields(Tracks):
        found, expected = getattr(one, item.name), getattr(other, item.name)
        if isinstance(expected, np.ndarray):
            if found.dtype != expected.dtype or found.tobytes() != expected.tobytes():
                return False
        elif found != expected:
            return False
    return True


@pytest.mark.parametrize("make", [made_up, alike])
@pytest.mark.parametrize("entries", SETS, ids=lambda entries: "+".join(entry["op"] for entry in entries))
def test_undo_gives_back_the_same_bits(make: Any, entries: Sequence[Json]) -> None:
    tracks, before = make(), make()
    log = ReviewLog("")
    tables = [apply(tracks, log.operations).to_csv()]
    for entry in entries:
        log = log.after(entry)
        tables.append(apply(tracks, log.operations).to_csv())
    assert len(set(tables)) == len(tables)  # each changes something
    for table in reversed(tables[:-1]):
        log = log.after({"op": "undo"})
        assert apply(tracks, log.operations).to_csv() == table
    assert same_bits(apply(tracks, log.operations).tracks, before)
    for table in tables[1:]:
        log = log.after({"op": "redo"})
        assert apply(tracks, log.operations).to_csv() == table
    assert log.revision == 3 * len(entries)  # nothing is taken out
    assert same_bits(tracks, before)


def test_a_persons_position_has_no_bound_and_is_not_certified() -> None:
    result = reviewed(made_up(), CORRECT)
    tracks, at = result.tracks, (row(14), 0)
    assert tracks.positions[at].tolist() == [20.125, 11.5]
    assert (tracks.certified[at], tracks.reasons[at], tracks.present[at]) == (False, PERSON, True)
    for name in ("bounds", "theorem_px", "set_px", "sigma_px", "residual_px"):
        assert np.isnan(getattr(tracks, name)[at])
    assert tracks.identity_certified[row(14), 0] == 0
    assert tracks.identity_certified[row(16), 0] == 0  # the link from it is not proved either
    table = result.to_dataframe().set_index(["frame", "object"])
    person = table.loc[14, 0]
    assert (person.source, person.certified, person.identity_source) == ("person", False, "person")
    assert person[["bound_px", "z_x", "z_y", "theorem_px", "motion_px"]].isna().all()
    assert np.isnan(table.loc[16, 0].motion_px)
    assert (table.source == "person").sum() == 1


@pytest.mark.parametrize("entries", SETS, ids=lambda entries: "+".join(entry["op"] for entry in entries))
def test_no_position_of_a_person_is_ever_certified(entries: Sequence[Json]) -> None:
    result = reviewed(made_up(), {"op": "correct", "frame": 20, "object": 2, "x": 1, "y": 2}, *entries)
    assert result.person.any()
    assert not (result.person & result.tracks.certified).any()
    assert np.isnan(result.tracks.bounds[result.person]).all()
    table = result.to_dataframe()
    assert table[table.source == "person"].bound_px.isna().all()
    assert table[table.certified].source.eq("network").all()


def test_an_absent_object_gets_its_usual_box_where_a_person_sets_it() -> None:
    result = reviewed(made_up(), {"op": "correct", "frame": 10, "object": 2, "x": 5, "y": 6})
    assert result.tracks.present[0, 2]
    assert result.tracks.sizes[0, 2].tolist() == [6.0, 4.0]


def test_a_swap_keeps_position_bound_and_verdict_and_proves_no_identity() -> None:
    before = made_up()
    result = reviewed(before, SWAP)
    after, start = result.tracks, row(16)
    for name in ("positions", "bounds", "reasons", "z", "sizes", "theorem_px", "residual_px", "certified"):
        old, new = getattr(before, name), getattr(after, name)
        assert np.array_equal(new[:start], old[:start], equal_nan=old.dtype.kind == "f")
        assert np.array_equal(new[start:, 0], old[start:, 1], equal_nan=old.dtype.kind == "f")
        assert np.array_equal(new[start:, 1], old[start:, 0], equal_nan=old.dtype.kind == "f")
    assert after.identity_certified[start, :2].tolist() == [0, 0]
    assert np.array_equal(after.identity_certified[start + 1 :, 0], before.identity_certified[start + 1 :, 1])
    table = result.to_dataframe()
    changed = (table.frame >= 16) & (table.object < 2)
    assert (table.identity_source == np.where(changed, "person", np.where(table.present, "network", ""))).all()
    assert (table.source[table.present] == "network").all()
    assert table[(table.frame == 16) & (table.object < 2)].motion_px.isna().all()


def test_a_swap_in_a_range_ends_after_it() -> None:
    before = made_up()
    after = reviewed(before, {**SWAP, "first": 12, "last": 16}).tracks
    swapped = (after.positions[:, 0] == before.positions[:, 1]).all(axis=1)
    assert swapped.tolist() == [False, True, True, True, False, False, False, False]
    assert after.identity_certified[row(18), 0] == 0


def test_two_swaps_are_none() -> None:
    before, result = made_up(), reviewed(made_up(), SWAP, SWAP)
    assert result.to_dataframe()[list(before.to_dataframe())].equals(before.to_dataframe())
    assert not result.identity_person.any()


def test_a_deleted_position_is_absent_and_says_so() -> None:
    result = reviewed(made_up(), DELETE)
    assert result.tracks.present[:, 1].tolist() == [True, False, False, True, True, True, True, True]
    assert result.tracks.reasons[1:3, 1].tolist() == ["deleted", "deleted"]
    assert np.isnan(result.tracks.bounds[1:3, 1]).all()
    assert result.gone == ()
    assert reviewed(made_up(), DELETE_ALL).gone == (1,)


def test_a_split_and_a_merge_give_the_positions_back() -> None:
    before = made_up()
    split = reviewed(before, SPLIT)
    assert (split.tracks.objects, split.names[3]) == (4, "object 3")
    assert split.tracks.present[:, 2].tolist() == [False, False, True, True, False, False, False, False]
    assert split.tracks.present[:, 3].tolist() == [False] * 4 + [True] * 4
    assert np.array_equal(split.tracks.bounds[4:, 3], before.bounds[4:, 2])
    merged = reviewed(before, SPLIT, MERGE)
    assert np.array_equal(merged.tracks.positions[:, 2], before.positions[:, 2])
    assert not merged.tracks.present[:, 3].any()
    assert merged.gone == (3,)


def test_an_accepted_position_keeps_its_verdict() -> None:
    before, result = made_up(), reviewed(made_up(), ACCEPT)
    assert np.array_equal(result.tracks.reasons, before.reasons)
    assert np.array_equal(np.argwhere(result.checked), [[3, 1], [4, 1]])


def test_names_are_in_the_table() -> None:
    table = reviewed(made_up(), RENAME).to_dataframe()
    assert table.groupby("object").name.first().tolist() == ["object 0", "the red one", "object 2"]


def test_the_table_has_the_columns_of_tracks_csv_and_a_few_more() -> None:
    assert tuple(reviewed(made_up(), *ALL).to_dataframe()) == (*made_up().to_dataframe(), *EXTRA)
    assert made_up().to_dataframe().equals(reviewed(made_up()).to_dataframe()[list(made_up().to_dataframe())])


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([{**CORRECT, "object": 3}], "There is no object 3: the objects are 0 to 2."),
        ([{**CORRECT, "frame": 13}], "Frame 13 is not tracked"),
        ([{**CORRECT, "frame": 26}], "one of the tracked frames from 10 to 24"),
        ([{**CORRECT, "x": 48.1}], "outside the frame of 48x36 px"),
        ([{**CORRECT, "y": -1}], "outside the frame of 48x36 px"),
        ([{**DELETE, "first": 14, "last": 12}], "The range of frames 14 to 12 is backwards"),
        ([{**DELETE, "object": 2, "first": 10, "last": 12}], "Object 2 has no position in frames 10 to 12"),
        ([DELETE_ALL, DELETE], "There is no object 1 any more, it was deleted"),
        ([{**SWAP, "other": 0}], "Object 0 was named twice"),
        ([{**SWAP, "first": 20, "last": 18}], "backwards"),
        ([SWAP, {**MERGE, "object": 0, "other": 1}], "both present in frame 10"),
        ([SPLIT, MERGE, {**CORRECT, "object": 3}], "it was merged into object 2"),
        ([{**SPLIT, "first": 14}], "no position on one side of frame 14"),
        ([{**SPLIT, "first": 10, "object": 0}], "no position on one side of frame 10"),
        ([{**RENAME, "name": "Object0"}], "Object 0 is named object 0 already"),
        ([{**RENAME, "name": ""}], "A name has 1 to 40 letters"),
        ([{**RENAME, "name": " a"}], "A name has 1 to 40 letters"),
        ([{**RENAME, "name": "a\nb"}], "A name has 1 to 40 letters"),
        ([{**RENAME, "name": "Verdicts"}], "another part of NWB files"),
        ([{**RENAME, "name": "a/b"}], "The name a/b has a /"),
        ([{**ACCEPT, "object": 2, "first": 10, "last": 10}], "nothing to accept"),
        ([{"op": "teleport"}], "is one of correct, delete, swap"),
        ([{"op": "split", "object": 1}], "The operation split has no first"),
        ([{**CORRECT, "z": 3}], "The operation correct has no z"),
        ([{**CORRECT, "x": "3"}], "has '3' for x: a number is needed"),
        ([{**CORRECT, "x": float("nan")}], "has nan for x"),
        ([{**CORRECT, "object": 1.5}], "has 1.5 for object: a whole number"),
        ([{**CORRECT, "object": True}], "has True for object"),
        ([{**CORRECT, "frame": -2}], "has -2 for frame"),
        ([{**CORRECT, "frame": 10**400}], "for frame"),
        ([{**SWAP, "last": "end"}], "or null"),
        ([{**RENAME, "name": 4}], "has 4 for name: text is needed"),
        (["swap"], "is one of correct, delete, swap"),
    ],
)
def test_a_bad_operation_is_refused_with_a_sentence(entries: list[Any], sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        reviewed(made_up(), *entries)
    assert sentence in str(refusal.value)
    assert str(refusal.value).endswith(".")


def test_operations_are_kept_in_their_file(tmp_path: Path) -> None:
    write_tracks(tmp_path / "tracks.csv", made_up())
    path, table = tmp_path / REVIEW, (tmp_path / "tracks.csv").read_bytes()
    log = read_log(path, tmp_path / "tracks.csv")
    assert read_reviewed(tmp_path) is None
    for entry in (*ALL, {"op": "undo"}):
        log = log.after(timed(entry))
    log.save(path)
    read = read_log(path, tmp_path / "tracks.csv")
    assert read == log
    assert [operation.op for operation in read.operations] == [entry["op"] for entry in ALL[:-1]]
    assert [operation.to_json() for operation in read.operations] == list(ALL[:-1])
    result = read_reviewed(tmp_path)
    assert result is not None
    assert result.names[1] == "the red one"
    assert (tmp_path / "tracks.csv").read_bytes() == table  # never changed


def test_a_review_of_other_tracks_is_refused(tmp_path: Path) -> None:
    write_tracks(tmp_path / "tracks.csv", made_up())
    read_log(tmp_path / REVIEW, tmp_path / "tracks.csv").after(RENAME).save(tmp_path / REVIEW)
    write_tracks(tmp_path / "tracks.csv", made_up(9))
    with pytest.raises(InputError, match="is the review of other tracks"):
        read_reviewed(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"entries": [3]}', '{"entries": [{"op": "undo"}]}'])
def test_a_broken_review_is_refused(tmp_path: Path, content: str) -> None:
    write_tracks(tmp_path / "tracks.csv", made_up())
    (tmp_path / REVIEW).write_text(content)
    with pytest.raises(InputError, match=REVIEW):
        read_reviewed(tmp_path)


def test_nothing_is_undone_where_there_is_nothing() -> None:
    for kind in ("undo", "redo"):
        with pytest.raises(InputError, match=f"There is nothing to {kind}"):
            ReviewLog("").after({"op": kind})
    log = ReviewLog("").after(RENAME).after({"op": "undo"}).after(SWAP)
    with pytest.raises(InputError, match="nothing to redo"):  # a new operation ends what was undone
        log.after({"op": "redo"})


def test_each_operation_says_what_it_does() -> None:
    texts = {entry["op"]: parse_operation(entry).text for entry in ALL}
    assert texts.keys() == KINDS.keys()
    assert texts["swap"] == "swap objects 0 and 1 in frame 16 and all after it"
    assert texts["delete"] == "delete object 1 in frames 12 to 14"
    assert parse_operation(DELETE_ALL).text == "delete object 1 in all frames"
