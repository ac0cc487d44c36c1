"""What a person can do to tracks. Frames are numbers of the recording, objects those of tracks.csv.

An operation that cannot be applied raises an InputError and has changed nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from withinpx.errors import InputError
from withinpx.reviewing.cells import DELETED, EMPTY, Cells, plain

MAX_NAME = 40  # characters
NWB_NAMES = {"skeletons", "verdicts"}  # beside the objects in the files of that format
TOO_LARGE = 2**31  # for a frame, an object or a coordinate
NOT_IN_NAMES = set('/:\\,"')  # NWB has no such names, tables would quote them


@dataclass(frozen=True)
class Operation:
    """One change by a person."""

    op: ClassVar[str]  # its name in review.json

    def apply(self, cells: Cells) -> None:
        raise NotImplementedError

    @property
    def text(self) -> str:
        """What it does, in a few words without a full stop."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        return {"op": self.op, **asdict(self)}


@dataclass(frozen=True)
class Correct(Operation):
    """The object's centre is at (x, y) in this frame, in px of the recording."""

    frame: int
    object: int
    x: float
    y: float
    op: ClassVar[str] = "correct"

    def apply(self, cells: Cells) -> None:
        cells.check_object(self.object)
        row, tracks = cells.row(self.frame), cells.tracks
        if not (0 <= self.x <= tracks.width and 0 <= self.y <= tracks.height):
            size = f"{tracks.width}x{tracks.height} px"
            raise InputError(f"The position {self.x:g}, {self.y:g} is outside the frame of {size}: name one in it.")
        cells.person[row, self.object] = self.x, self.y
        cells.checked[row, self.object] = False

    @property
    def text(self) -> str:
        return f"correct object {self.object} in frame {self.frame}"


@dataclass(frozen=True)
class Delete(Operation):
    """The object is not in these frames; without frames, there is no such object."""

    object: int
    first: int | None = None
    last: int | None = None
    op: ClassVar[str] = "delete"

    def apply(self, cells: Cells) -> None:
        cells.check_object(self.object)
        rows = cells.rows(self.first, self.last)
        if not cells.present(self.object, rows).any():
            raise InputError(f"Object {self.object} has no position in {_frames(self)}: there is nothing to delete.")
        cells.clear(self.object, rows, DELETED)
        if self.first is None and self.last is None:
            cells.gone[self.object] = "deleted"

    @property
    def text(self) -> str:
        return f"delete object {self.object} in {_frames(self)}"


@dataclass(frozen=True)
class Swap(Operation):
    """In these frames each of two objects is the other one."""

    object: int
    other: int
    first: int | None = None
    last: int | None = None
    op: ClassVar[str] = "swap"

    def apply(self, cells: Cells) -> None:
        cells.check_two(self.object, self.other)
        rows = cells.rows(self.first, self.last)
        if not (cells.present(self.object, rows) | cells.present(self.other, rows)).any():
            names = f"objects {self.object} and {self.other}"
            raise InputError(f"Neither of {names} has a position in {_frames(self)}: there is nothing to swap.")
        cells.exchange(self.object, self.other, rows)

    @property
    def text(self) -> str:
        return f"swap objects {self.object} and {self.other} in {_frames(self)}"


@dataclass(frozen=True)
class Merge(Operation):
    """The positions of ``other`` are those of ``object`` too; ``other`` is no more."""

    object: int
    other: int
    op: ClassVar[str] = "merge"

    def apply(self, cells: Cells) -> None:
        cells.check_two(self.object, self.other)
        moved = cells.present(self.other)
        both = np.flatnonzero(moved & cells.present(self.object))
        if len(both):
            where = f"objects {self.object} and {self.other} are both present in frame {cells.tracks.frames[both[0]]}"
            raise InputError(f"They cannot be one, {where}: delete one of them there, or swap them, first.")
        for layer in (cells.origin, cells.person, cells.checked):
            layer[moved, self.object] = layer[moved, self.other]
        cells.clear(self.other, slice(None), EMPTY)
        cells.gone[self.other] = f"merged into object {self.object}"

    @property
    def text(self) -> str:
        return f"merge object {self.other} into object {self.object}"


@dataclass(frozen=True)
class Split(Operation):
    """From this frame on the object is a new one."""

    object: int
    first: int
    op: ClassVar[str] = "split"

    def apply(self, cells: Cells) -> None:
        cells.check_object(self.object)
        row = cells.row(self.first)
        before, after = slice(row), slice(row, None)
        if not (cells.present(self.object, before).any() and cells.present(self.object, after).any()):
            raise InputError(
                f"Object {self.object} has no position on one side of frame {self.first}: split it between two of its "
                "positions."
            )
        cells.exchange(self.object, cells.add_object(), after)

    @property
    def text(self) -> str:
        return f"split object {self.object} from frame {self.first} on"


@dataclass(frozen=True)
class Rename(Operation):
    """The object's name."""

    object: int
    name: str
    op: ClassVar[str] = "rename"

    def apply(self, cells: Cells) -> None:
        cells.check_object(self.object)
        if not self.name or self.name != self.name.strip() or len(self.name) > MAX_NAME or not self.name.isprintable():
            raise InputError(f"A name has 1 to {MAX_NAME} letters, digits and signs, and no blank at its ends.")
        if forbidden := sorted(NOT_IN_NAMES & set(self.name)):
            raise InputError(
                f"The name {self.name} has a {forbidden[0]}, which some formats do not allow: leave it out."
            )
        if plain(self.name) in NWB_NAMES:
            raise InputError(f"The name {self.name} is that of another part of NWB files: choose another name.")
        for number, name in enumerate(cells.names):
            if plain(name) == plain(self.name) and number != self.object:
                raise InputError(f"Object {number} is named {name} already: choose another name.")
        cells.names[self.object] = self.name

    @property
    def text(self) -> str:
        return f"rename object {self.object} to {self.name}"


@dataclass(frozen=True)
class Accept(Operation):
    """A person inspected the object in these frames and leaves it as it is; its verdict stays."""

    object: int
    first: int | None = None
    last: int | None = None
    op: ClassVar[str] = "accept"

    def apply(self, cells: Cells) -> None:
        cells.check_object(self.object)
        rows = cells.rows(self.first, self.last)
        present = cells.present(self.object, rows)
        if not present.any():
            raise InputError(f"Object {self.object} has no position in {_frames(self)}: there is nothing to accept.")
        cells.checked[rows, self.object] |= present

    @property
    def text(self) -> str:
        return f"accept object {self.object} in {_frames(self)}"


KINDS: dict[str, type[Operation]] = {kind.op: kind for kind in (Correct, Delete, Swap, Merge, Split, Rename, Accept)}


def parse_operation(entry: Any) -> Operation:
    """An operation from JSON.

    >>> parse_operation({"op": "split", "object": 1, "first": 12}).text
    'split object 1 from frame 12 on'
    """
    kind = KINDS.get(str(entry.get("op"))) if isinstance(entry, Mapping) else None
    if kind is None:
        raise InputError(f"An operation of a review is one of {', '.join(KINDS)}: name one as op.")
    known = {item.name: item for item in fields(kind)}
    given = {name: value for name, value in entry.items() if name not in ("op", "at")}
    if unknown := sorted(map(str, given.keys() - known.keys())):
        raise InputError(f"The operation {kind.op} has no {unknown[0]}: it has {', '.join(known)}.")
    for name, item in known.items():
        if name not in given and item.default is not None:
            raise InputError(f"The operation {kind.op} has no {name}: give one.")
        if name in given and not _fits(given[name], item.type):
            raise InputError(f"The operation {kind.op} has {given[name]!r} for {name}: {_NEEDED[item.type]}.")
    return kind(**given)


def _fits(value: Any, needed: Any) -> bool:
    if needed is str or value is None:
        return isinstance(value, str) if needed is str else needed == int | None
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < TOO_LARGE:
        return False
    return needed is float or (isinstance(value, int) and value >= 0)


_NEEDED: dict[Any, str] = {
    int: "a whole number from 0 up is needed",
    int | None: "a whole number from 0 up is needed, or null",
    float: "a number is needed",
    str: "text is needed",
}


def _frames(operation: Accept | Delete | Swap) -> str:
    first, last = operation.first, operation.last
    if first == last:
        return "all frames" if first is None else f"frame {first}"
    if last is None:
        return f"frame {first} and all after it"
    return f"frame {last} and all before it" if first is None else f"frames {first} to {last}"
