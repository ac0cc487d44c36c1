"""Tracks with what a person changed in them.

A position that a person set has no bound and is never certified. One that the network found keeps position, bound and
verdict, whichever object a person puts it into: the bound is about the centre of what is there, not about its name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from withinpx.reviewing.cells import DELETED, Cells, usual_name
from withinpx.reviewing.log import REVIEW, read_log
from withinpx.reviewing.operations import Operation
from withinpx.tracking.tracks import PERSON, TRACKS, Array, Tracks, read_tracks

if TYPE_CHECKING:
    import pandas as pd

REVIEWED = "reviewed.csv"
EXTRA = ("name", "source", "identity_source", "checked")  # its columns after those of tracks.csv
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Reviewed:
    """The tracks of f frames and m objects, and what of them is a person's."""

    tracks: Tracks  # the reason PERSON marks the positions that a person set
    person: Flags  # (f, m): a person set the position
    identity_person: Flags  # (f, m): a person said which object this is
    seams: Flags  # (f, m): the link to the row before was made by a person
    checked: Flags  # (f, m): a person accepted it as it is
    names: tuple[str, ...]
    gone: tuple[int, ...] = ()  # objects that were deleted or merged; their numbers stay, without positions

    @property
    def renamed(self) -> dict[int, str]:
        """The names that a person gave."""
        return {number: name for number, name in enumerate(self.names) if name != usual_name(number)}

    @property
    def summary(self) -> str:
        """What a person did, as part of a sentence."""
        set_by_person, put = int(self.person.sum()), int((self.identity_person & ~self.person).sum())
        return f"a person set {set_by_person} positions and put {put} others into another object"

    def to_dataframe(self) -> "pd.DataFrame":
        """The columns of tracks.csv, then EXTRA. What the network measures is empty where a person set the position."""
        table = self.tracks.to_dataframe()
        present, person = self.tracks.present.ravel(), self.person.ravel()
        table.loc[person, ["z_x", "z_y"]] = np.nan
        table.loc[self.seams.ravel(), "motion_px"] = np.nan  # not proved to be one object's displacement
        source = {False: "network", True: "person"}
        return table.assign(
            name=np.tile(np.array(self.names), len(self.tracks)),
            source=np.where(present, [source[flag] for flag in person.tolist()], ""),
            identity_source=np.where(present, [source[flag] for flag in self.identity_person.ravel().tolist()], ""),
            checked=self.checked.ravel() | person,
        )

    def to_csv(self) -> bytes:
        table = self.to_dataframe()
        flags = ("present", "certified", "identity_certified", "checked")
        text: str = table.assign(**{name: table[name].astype("Int8") for name in flags}).to_csv(
            index=False, lineterminator="\n"
        )
        return text.encode()


def read_reviewed(folder: Path) -> Reviewed | None:
    """The tracks of a run as a person left them; None if a person changed nothing."""
    log = read_log(folder / REVIEW, folder / TRACKS)
    return apply(read_tracks(folder / TRACKS), log.operations) if log.operations else None


def apply(tracks: Tracks, operations: Sequence[Operation]) -> Reviewed:
    """The network's tracks after these operations; without any, they are the very same tracks."""
    cells = Cells.of(tracks)
    for operation in operations:
        operation.apply(cells)
    if operations:
        return _reviewed(cells)
    none = np.zeros(tracks.present.shape, np.bool_)
    return Reviewed(tracks, none, none, none, none, tuple(cells.names))


def _reviewed(cells: Cells) -> Reviewed:
    origin, person = cells.origin, np.isfinite(cells.person[..., 0])
    tracks = _moved(cells, person)
    seams = _seams(origin, person) & tracks.present
    identity = np.where(seams, 0.0, _taken(cells.tracks.identity_certified, origin))
    if tracks.unordered:
        identity[:] = np.nan
    guessed = None if cells.tracks.guessed is None else _taken(cells.tracks.guessed, origin)
    return Reviewed(
        replace(
            tracks,
            proved=np.where(tracks.present, identity, np.nan),
            guessed=None if guessed is None else np.where(seams | person, np.nan, guessed),
        ),
        person,
        tracks.present & (person | (origin != np.arange(cells.objects))),
        seams,
        cells.checked,
        tuple(cells.names),
        tuple(sorted(cells.gone)),
    )


def _moved(cells: Cells, person: Flags) -> Tracks:
    """The network's numbers with the objects that a person put them into; a person's positions have none of them."""
    tracks, origin = cells.tracks, cells.origin
    here = _taken(tracks.present, origin, missing=False)
    empty = np.where(origin == DELETED, "deleted", "absent")
    reasons = np.where(here | (origin >= 0), _taken(tracks.reasons, origin, missing=""), empty)
    numbers: dict[str, Any] = {
        name: np.where(person, np.nan, _taken(getattr(tracks, name), origin))
        for name in ("bounds", "theorem_px", "residual_px", "sigma_px", "set_px", "angles_deg")
    }
    codes = _taken(tracks.codes, origin)
    codes[person] = np.nan
    return replace(
        tracks,
        positions=np.where(person[..., None], cells.person, _taken(tracks.positions, origin)),
        z=np.where(person[..., None], cells.person, _taken(tracks.z, origin)),  # which has to be somewhere
        sizes=_sizes(cells, here, person),
        present=here | person,
        reasons=np.where(person, PERSON, reasons),
        codes=codes,
        **numbers,
        step_px=None,
        classes=None,
    )


def _taken(values: NDArray[Any], origin: NDArray[np.int64], missing: Any = np.nan) -> NDArray[Any]:
    """Values (f, n, ...) of the network's objects in the order of ``origin`` (f, m)."""
    index = np.maximum(origin, 0).reshape(*origin.shape, *[1] * (values.ndim - 2))
    taken = np.take_along_axis(values, index, axis=1)
    return np.asarray(np.where((origin >= 0).reshape(index.shape), taken, missing))


def _seams(origin: NDArray[np.int64], person: Flags) -> Flags:
    """Where the link to the row before is a person's: one of the two positions is, or they are of two origins."""
    seams = np.zeros(origin.shape, np.bool_)
    seams[1:] = (origin[1:] != origin[:-1]) | person[1:] | person[:-1]
    return seams


def _sizes(cells: Cells, here: Flags, person: Flags) -> Array:
    """The boxes; where a person set the position of an object that the network did not see, its usual box."""
    sizes = _taken(cells.tracks.sizes, cells.origin)
    for number in np.flatnonzero((person & ~here).any(axis=0)).tolist():
        seen = sizes[here[:, number], number] if here[:, number].any() else cells.tracks.sizes[cells.tracks.present]
        usual = np.median(seen, axis=0) if len(seen) else np.zeros(2)
        sizes[person[:, number] & ~here[:, number], number] = usual
    return sizes
