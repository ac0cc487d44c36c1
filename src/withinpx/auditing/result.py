"""What an audit returns, and the folder it is saved to."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from withinpx.auditing.evidence import Evidence, Offset
from withinpx.auditing.findings import FrameToCheck, frames_to_check, notes
from withinpx.auditing.foreign import ForeignTracks
from withinpx.auditing.identity import Following, Swap
from withinpx.auditing.options import ORIGIN_PX, AuditOptions
from withinpx.auditing.verdicts import RIGHT, UNDECIDED, WRONG, Verdicts, missing
from withinpx.data.recording import Recording
from withinpx.files import atomic_folder, check_is_new, write_atomically, write_csv, write_json
from withinpx.tracking.result import Result
from withinpx.tracking.tracks import DECIMALS, Tracks

if TYPE_CHECKING:
    import pandas as pd

TABLE, SWAPS, CHECK, SUMMARY, PAGE, RUN = "audit.csv", "swaps.csv", "check.csv", "summary.json", "audit.html", "run"
SWAP_COLUMNS = ("frame", "id", "from_object", "to_object", "last_frame", "error_at_least_px", "exchanged_with")
CHECK_COLUMNS = ("frame", "error_at_least_px", "wrong", "swapped", "missing_objects", "why")


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Another program's positions, each with what is proved of it.

    >>> import withinpx
    >>> audit = withinpx.audit("clip", "tracked/mot.txt", run="tracked")
    >>> audit.counts["wrong"], audit.swaps, audit.anything_wrong
    (0, (), False)
    >>> audit.to_dataframe().columns.tolist()[:6]
    ['frame', 'id', 'x', 'y', 'object', 'verdict']
    """

    evidence: Evidence
    following: Following
    verdicts: Verdicts
    measured: tuple[Offset, ...]  # the constant offset of each object's positions, subtracted or not
    options: AuditOptions
    recording: Recording | None = None  # for images on the page
    learned: Result | None = None  # what was learned for this audit, saved with it

    def __repr__(self) -> str:
        counts = self.counts
        return (
            f"Audit({Path(self.foreign.source).name}: {counts[RIGHT]} of {len(self.foreign)} positions right, "
            f"{counts[WRONG]} wrong, {len(self.swaps)} swaps)"
        )

    @property
    def foreign(self) -> ForeignTracks:
        return self.evidence.foreign

    @property
    def tracks(self) -> Tracks:
        return self.evidence.tracks

    @property
    def swaps(self) -> tuple[Swap, ...]:
        """Proved changes of a foreign identity from one object to another."""
        return self.following.swaps

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many positions are proved right, proved wrong, and undecided."""
        found = Counter(self.verdicts.verdicts.tolist())
        return {verdict: found[verdict] for verdict in (RIGHT, WRONG, UNDECIDED)}

    @property
    def anything_wrong(self) -> bool:
        """Is any position proved wrong, or any swap proved?"""
        return bool(self.counts[WRONG] or self.swaps)

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """(f, n): certified positions of an object for which the other program has none."""
        return missing(self.evidence, self.verdicts)

    @cached_property
    def followed(self) -> list[int]:
        """Objects that some identity is compared with."""
        return sorted(set(self.verdicts.objects.tolist()) - {-1})

    @cached_property
    def check(self) -> list[FrameToCheck]:
        """Frames to check, worst first."""
        return frames_to_check(self.evidence, self.verdicts, self.swaps, self.missing, self.followed)

    @cached_property
    def notes(self) -> list[str]:
        """What a reader should know before believing the counts, as sentences."""
        applied = self.options.offset == "measured"
        return notes(self.evidence, self.following, self.verdicts, self.measured, applied)

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per foreign position, by frame: its verdict, and the object that it is compared with."""
        import pandas as pd  # noqa: PLC0415

        foreign, verdicts = self.foreign, self.verdicts
        order = np.lexsort((foreign.ids, foreign.frames))
        factor = 10**DECIMALS
        table = pd.DataFrame(
            {
                "frame": foreign.frames,
                "id": np.array(foreign.names)[foreign.ids],
                "x": foreign.positions[:, 0].round(DECIMALS),
                "y": foreign.positions[:, 1].round(DECIMALS),
                "object": pd.array(np.where(verdicts.objects < 0, np.nan, verdicts.objects), dtype="Int64"),
                "verdict": verdicts.verdicts,
                "proved_px": np.ceil(verdicts.proved_px * factor - 1e-6) / factor,  # what is proved is never
                "error_at_least_px": np.floor(verdicts.at_least_px * factor + 1e-6) / factor,  # more than was found
                "bound_px": np.ceil(verdicts.bound_px * factor - 1e-6) / factor,
                "reason": verdicts.reasons,
            }
        )
        return table.iloc[order].reset_index(drop=True)

    def summary(self) -> dict[str, Any]:
        """The counts, per identity and object, and the notes, as JSON values."""
        from withinpx import __version__  # noqa: PLC0415

        right = self.verdicts.proved_px[self.verdicts.verdicts == RIGHT]
        return {
            "tracks": Path(self.foreign.source).name,
            "program": self.foreign.program,
            "body_part": self.foreign.part,
            "origin": self.foreign.origin,
            "origin_px_added": ORIGIN_PX[self.foreign.origin],
            "offset": self.options.offset,
            "within_px": self.options.within,
            "positions": len(self.foreign),
            **self.counts,
            "right_within_px_median": round(float(np.median(right)), DECIMALS) if len(right) else None,
            "gaps": self.foreign.gaps,
            "swaps": len(self.swaps),
            "missing": int(self.missing[:, self.followed].sum()),
            "frames_to_check": len(self.check),
            "reasons": dict(Counter(self.verdicts.reasons[self.verdicts.verdicts == UNDECIDED].tolist())),
            "identities": [self.of_identity(index) for index in range(len(self.foreign.names))],
            "objects": [self._of_object(index) for index in range(self.tracks.objects)],
            "notes": self.notes,
            "version": __version__,
        }

    def of_identity(self, index: int) -> dict[str, Any]:
        own = self.foreign.ids == index
        counts = Counter(self.verdicts.verdicts[own].tolist())
        wrong = self.verdicts.at_least_px[own & (self.verdicts.verdicts == WRONG)]
        objects = self.verdicts.objects[own]
        return {
            "id": self.foreign.names[index],
            "objects": list(dict.fromkeys(objects[objects >= 0].tolist())),
            "positions": int(own.sum()),
            **{verdict: counts[verdict] for verdict in (RIGHT, WRONG, UNDECIDED)},
            "largest_error_at_least_px": round(float(wrong.max()), DECIMALS) if len(wrong) else None,
            "swaps": sum(swap.identity == index for swap in self.swaps),
        }

    def _of_object(self, index: int) -> dict[str, Any]:
        offset = self.measured[index]
        return {
            "object": index,
            "followed": index in self.followed,
            "certified": int(self.tracks.certified[:, index].sum()),
            "missing": int(self.missing[:, index].sum()),
            "offset_px": [round(value, DECIMALS) for value in offset.middle] if offset.positions else None,
            "offset_half_px": [round(value, DECIMALS) for value in offset.half] if offset.positions else None,
        }

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write audit.csv, swaps.csv, check.csv, summary.json and audit.html into a new folder.

        What was learned for this audit is saved in it as ``run``, for another audit of the clip.
        """
        from withinpx.auditing.page import page  # noqa: PLC0415  (OpenCV)

        folder = Path(folder)
        check_is_new(folder)
        with atomic_folder(folder) as part:
            table = self.to_dataframe()
            write_atomically(part / TABLE, table.to_csv(index=False, lineterminator="\n").encode())
            write_csv(part / SWAPS, SWAP_COLUMNS, self.swap_rows())
            write_csv(part / CHECK, CHECK_COLUMNS, [_check_row(found) for found in self.check])
            write_json(part / SUMMARY, self.summary())
            write_atomically(part / PAGE, page(self).encode())
            if self.learned is not None:
                self.learned.save(part / RUN, overlay=False)
        return folder

    def swap_rows(self) -> list[Sequence[Any]]:
        names = self.foreign.names
        return [
            (
                *(swap.frame, names[swap.identity], swap.before, swap.after, swap.last_frame),
                np.floor(swap.at_least_px * 10**DECIMALS) / 10**DECIMALS,
                names[swap.partner] if swap.partner >= 0 else "",
            )
            for swap in self.swaps
        ]


def _check_row(found: FrameToCheck) -> Sequence[Any]:
    lists = (" ".join(map(str, values)) for values in (found.wrong, found.swapped, found.missing))
    return (found.frame, round(found.at_least_px, DECIMALS), *lists, found.why)
