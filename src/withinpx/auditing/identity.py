"""Which object each foreign identity follows, and where it is proved to have changed to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from withinpx.auditing.evidence import Evidence
from withinpx.tracking.tracks import Tracks

Numbers = NDArray[np.int64]

PERSISTENT = 3  # positions in a row at another object: a change of identity; fewer are one only if it is an exchange
MATCHED = 0.25  # of an identity's positions are near some object, or it follows none


@dataclass(frozen=True)
class Swap:
    """A foreign identity was at one object, and is proved to be at another later.

    In ``frame`` its position is outside the box of ``before``, which is proved to be the same object as in
    ``last_frame``, and inside the box of ``after``.
    """

    identity: int  # index into the foreign names
    before: int  # objects
    after: int
    last_frame: int  # in which it is at ``before``
    frame: int  # the first in which it is proved to be elsewhere
    at_least_px: float  # how far from ``before`` it is there at least, larger axis
    partner: int = -1  # the identity that changed the other way; -1 if none did


@dataclass(frozen=True)
class _Stay:
    """Positions of one identity at one object, by row."""

    object: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Following:
    """Which objects each row is compared with."""

    objects: Numbers  # (r,), -1 where the identity follows none
    others: Numbers  # (r,), a second candidate while the identity changes; -1 elsewhere
    open: NDArray[np.bool_]  # (r,), no proof on both sides that the identity is at the object: another may be meant
    homes: Numbers  # (identities,), the object that each usually follows, -1 if none
    swaps: tuple[Swap, ...]


def follow(evidence: Evidence) -> Following:
    """The object of every row.

    An identity follows the object that it is usually at. It has changed to another where it is in that one's box, and
    in no other's, for several positions in a row, or where another identity has changed the other way meanwhile.
    """
    count, foreign = len(evidence.foreign.names), evidence.foreign
    single, nearest = evidence.single(), evidence.nearest
    rows = [np.flatnonzero((foreign.ids == identity) & evidence.tracked) for identity in range(count)]
    homes = np.array([_home(single[own], nearest[own], evidence.tracks.objects) for own in rows])
    stays = [_stays(own, single[own]) if home >= 0 else [] for own, home in zip(rows, homes.tolist(), strict=True)]
    exchanged = _exchanges(stays, foreign.frames)
    objects, others = (np.full(len(foreign), -1) for _ in range(2))
    unclosed = np.zeros(len(foreign), np.bool_)
    swaps: list[Swap] = []
    for identity, own in enumerate(rows):
        if homes[identity] < 0:
            continue
        kept = _kept(stays[identity], int(homes[identity]), exchanged, identity)
        unclosed[own] = _assign(objects, others, own, kept or [_Stay(int(homes[identity]), (int(own[0]),))])
        found = (_swap(evidence, identity, stay, after) for stay, after in pairwise(kept))
        swaps += [swap for swap in found if swap is not None]
    return Following(objects, others, unclosed, homes, _with_partners(swaps))


def _home(single: Numbers, nearest: Numbers, objects: int) -> int:
    """The object that an identity is most often in the box of, or near."""
    near = nearest[nearest >= 0]
    if len(nearest) == 0 or max(len(near), int((single >= 0).sum())) < MATCHED * len(nearest):
        return -1
    inside = np.bincount(single[single >= 0], minlength=objects)
    beside = np.bincount(near, minlength=objects)
    return int(np.lexsort((inside, beside))[-1])


def _stays(rows: Numbers, single: Numbers) -> list[_Stay]:
    """Consecutive positions in the box of one object; positions in no box, or in several, interrupt none."""
    decided = single >= 0
    rows, single = rows[decided], single[decided]
    if not len(rows):
        return []
    starts = np.flatnonzero(np.diff(single, prepend=-1))
    ends = [*starts[1:].tolist(), len(single)]
    return [
        _Stay(int(single[start]), tuple(rows[start:end].tolist()))
        for start, end in zip(starts.tolist(), ends, strict=True)
    ]


Change = tuple[int, int]  # identity, and the number of the stay that it begins


def _exchanges(stays: Sequence[Sequence[_Stay]], frames: Numbers) -> set[Change]:
    """Changes for which another identity changes the other way within the same frames."""
    changes: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    for identity, own in enumerate(stays):
        for number, (stay, after) in enumerate(pairwise(own), start=1):
            span = int(frames[stay.rows[-1]]), int(frames[after.rows[0]])
            changes.setdefault((stay.object, after.object), []).append((identity, number, *span))
    found = set()
    for (origin, goal), forth in changes.items():
        for identity, number, last, first in forth:
            for other, _, other_last, other_first in changes.get((goal, origin), []):
                if other != identity and max(last, other_last) < min(first, other_first):
                    found.add((identity, number))
    return found


def _kept(stays: Sequence[_Stay], home: int, exchanged: set[Change], identity: int) -> list[_Stay]:
    """Stays that count: at home, long ones, and exchanges; those at one object are joined."""
    kept: list[_Stay] = []
    for number, stay in enumerate(stays):
        # of an exchange for few frames, the change back is an exchange as well: both stays beside it count
        if not (stay.object == home or len(stay.rows) >= PERSISTENT or (identity, number) in exchanged):
            continue
        if kept and kept[-1].object == stay.object:
            kept[-1] = _Stay(stay.object, kept[-1].rows + stay.rows)
        else:
            kept.append(stay)
    return kept


def _assign(objects: Numbers, others: Numbers, rows: Numbers, kept: Sequence[_Stay]) -> NDArray[np.bool_]:
    """Every row to the stay that it is in; between two, to both. Returns which rows are in no stay."""
    starts = np.array([stay.rows[0] for stay in kept])
    ends = np.array([stay.rows[-1] for stay in kept])
    numbers = np.searchsorted(starts, rows, side="right").clip(min=1) - 1
    owners = np.array([stay.object for stay in kept])
    objects[rows] = owners[numbers]
    between = (rows > ends[numbers]) & (numbers < len(kept) - 1)
    others[rows[between]] = owners[numbers[between] + 1]
    return np.asarray((rows < starts[numbers]) | (rows > ends[numbers]))


def _swap(evidence: Evidence, identity: int, stay: _Stay, after: _Stay) -> Swap | None:
    """The proof of a change, if there is one: a position outside an object that is proved to be the same as before."""
    frames, last = evidence.foreign.frames, stay.rows[-1]
    for row in after.rows:
        same = is_same(evidence.tracks, stay.object, int(evidence.rows[last]), int(evidence.rows[row]))
        if same and evidence.outside[row, stay.object]:
            at_least = float(evidence.at_least[row, stay.object])
            return Swap(identity, stay.object, after.object, int(frames[last]), int(frames[row]), at_least)
    return None


def is_same(tracks: Tracks, index: int, first: int, last: int) -> bool:
    """Is an object proved to be the same in two certified rows of the tracks?

    Distinct objects are certified only if no two look alike. Of objects that look alike, every link must be proved.
    """
    if tracks.unordered or tracks.proved is None:
        return True
    return bool((tracks.proved[first + 1 : last + 1, index] == 1).all())


def _with_partners(swaps: Sequence[Swap]) -> tuple[Swap, ...]:
    """Changes the other way of another identity between the same frames, by frame."""
    paired = []
    for swap in swaps:
        partner = next(
            (
                other.identity
                for other in swaps
                if other.identity != swap.identity
                and (other.before, other.after) == (swap.after, swap.before)
                and max(swap.last_frame, other.last_frame) < min(swap.frame, other.frame)
            ),
            -1,
        )
        paired.append(Swap(**{**vars(swap), "partner": partner}))
    return tuple(sorted(paired, key=lambda swap: (swap.frame, swap.identity)))
