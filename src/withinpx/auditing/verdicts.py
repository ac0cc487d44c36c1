"""Each foreign position: proved right within b px, proved wrong, or not decidable, and why."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from withinpx.auditing.evidence import Evidence
from withinpx.auditing.identity import Following, is_same

RIGHT, WRONG, UNDECIDED = "right", "wrong", "undecided"

# why a position is not decided, beside the reasons of tracks.csv
NOT_TRACKED = "not tracked"  # the frame
NO_OBJECT = "no object"
IDENTITY = "identity"  # of objects that look alike: ours may have been mistaken for another since
BOUND = "bound"  # it may be off by more than --within, or by less
# and what is known beside that it is wrong
ANOTHER = "another object"


@dataclass(frozen=True, eq=False)
class Verdicts:
    """One per foreign position (r,)."""

    objects: NDArray[np.int64]  # that it is compared with, -1 if none
    verdicts: NDArray[np.str_]
    reasons: NDArray[np.str_]
    proved_px: NDArray[np.float64]  # its error is at most this; NaN where nothing is proved
    at_least_px: NDArray[np.float64]  # its error is at least this; NaN where nothing is proved
    bound_px: NDArray[np.float64]  # half of the box that it is compared with, larger axis


def judge(evidence: Evidence, following: Following, within: float | None) -> Verdicts:
    objects, mistakable = _of_the_class(evidence, _compared(evidence, following))
    matched = objects >= 0
    rows = np.arange(len(objects))

    def own(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(matched, values[rows, objects], np.nan)

    at_most, at_least, half = own(evidence.at_most), own(evidence.at_least), own(evidence.halves.max(axis=-1))
    decided = matched & evidence.certified[rows, objects] & ~mistakable
    right = decided & (at_least == 0 if within is None else at_most <= within)
    wrong = decided & (at_least > (0 if within is None else within))
    verdicts = np.select([right, wrong], [RIGHT, WRONG], UNDECIDED)
    return Verdicts(
        objects,
        verdicts,
        _reasons(evidence, objects, verdicts, decided),
        np.where(decided, at_most, np.nan),
        np.where(decided, at_least, np.nan),
        np.where(decided, half, np.nan),
    )


def _compared(evidence: Evidence, following: Following) -> NDArray[np.int64]:
    """The object of each row. While its identity changes, a position is wrong only if it is neither object's."""
    first, second = following.objects, following.others
    rows = np.arange(len(first))
    inside, certified, at_least = (
        np.stack([values[rows, side] for side in (first, second)])
        for values in (evidence.inside, evidence.certified, evidence.at_least)
    )
    unproved = np.logical_not(certified)
    prefers = np.select(
        [inside[0], inside[1], unproved[0], unproved[1]], [False, True, False, True], at_least[1] < at_least[0]
    )
    chosen = np.where((second >= 0) & prefers, second, first)
    return _not_excluded(evidence, following, chosen)


def _not_excluded(evidence: Evidence, following: Following, objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the identity is not settled, and a position is not its object's, another object of which nothing is proved.

    That is one it is near, or, if the identity changes in this clip, one that was not seen in the frame.
    """
    changes = np.isin(evidence.foreign.ids, [swap.identity for swap in following.swaps])
    chosen = objects.copy()
    for row in np.flatnonzero(following.open & (objects >= 0)).tolist():
        if not evidence.outside[row, objects[row]]:
            continue
        near = int(evidence.nearest[row])
        unseen = np.flatnonzero(~evidence.present[row]) if changes[row] else np.zeros(0, np.int64)
        if near >= 0 and not evidence.certified[row, near]:
            chosen[row] = near
        elif len(unseen):
            chosen[row] = unseen[0]
    return chosen


def _of_the_class(evidence: Evidence, objects: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For objects that look alike: the one whose set a position is in, where links of its own are only guessed.

    Also which positions are in no set, but may be those of an object that our tracks follow under another number.
    """
    chosen, mistakable = objects.copy(), np.zeros(len(objects), np.bool_)
    if evidence.tracks.proved is None:
        return chosen, mistakable
    single, ids = evidence.single(), evidence.foreign.ids
    for row in np.flatnonzero(objects >= 0).tolist():
        index = int(objects[row])
        if not evidence.outside[row, index]:
            continue
        anchors = np.flatnonzero((ids == ids[row]) & (single == index))
        beside = np.searchsorted(anchors, row)
        if not any(_is_linked(evidence, index, int(one), row) for one in anchors[max(beside - 1, 0) : beside + 1]):
            mistakable[row] = not evidence.inside[row].any()
            chosen[row] = index if mistakable[row] else int(evidence.inside[row].argmax())
    return chosen, mistakable


def _is_linked(evidence: Evidence, index: int, one: int, other: int) -> bool:
    first, last = sorted((int(evidence.rows[one]), int(evidence.rows[other])))
    return is_same(evidence.tracks, index, first, last)


def _reasons(
    evidence: Evidence, objects: NDArray[np.int64], verdicts: NDArray[np.str_], decided: NDArray[np.bool_]
) -> NDArray[np.str_]:
    rows = np.arange(len(objects))
    refused = evidence.tracks.reasons[evidence.rows, objects]
    elsewhere = (evidence.inside & (np.arange(evidence.tracks.objects) != objects[:, None])).any(axis=1)
    return np.select(
        [
            ~evidence.tracked,
            objects < 0,
            ~decided & evidence.certified[rows, objects],
            ~decided,
            (verdicts == WRONG) & elsewhere,
            (verdicts == UNDECIDED) & evidence.certified[rows, objects],
        ],
        [NOT_TRACKED, NO_OBJECT, IDENTITY, refused, ANOTHER, BOUND],
        "",
    )


def missing(evidence: Evidence, verdicts: Verdicts) -> NDArray[np.bool_]:
    """(f, n): certified positions of our own that no foreign one is compared with, or in the box of."""
    covered = np.zeros(evidence.tracks.present.shape, np.bool_)
    tracked = np.flatnonzero(evidence.tracked & (verdicts.objects >= 0))
    covered[evidence.rows[tracked], verdicts.objects[tracked]] = True
    rows, objects = np.nonzero(evidence.inside)
    covered[evidence.rows[rows], objects] = True
    return np.asarray(evidence.tracks.certified & ~covered)
