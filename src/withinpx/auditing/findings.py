"""What an audit found, in frames to check and in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from withinpx.auditing.evidence import Evidence, Offset
from withinpx.auditing.foreign import PLAIN
from withinpx.auditing.identity import Following, Swap
from withinpx.auditing.verdicts import WRONG, Verdicts
from withinpx.tracking.tracks import bound_text

ALIKE_PX = 0.2  # an offset this near to half a pixel looks like another origin
SYSTEMATIC = 0.5  # of an object's positions are wrong: perhaps another point is reported


@dataclass
class FrameToCheck:
    """A frame in which something is proved wrong, or missing."""

    frame: int
    at_least_px: float = 0.0  # the largest error that is proved in it
    wrong: list[str] = field(default_factory=list)  # identities
    swapped: list[str] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)  # objects

    @property
    def why(self) -> str:
        parts = []
        if self.swapped:
            parts.append(f"{' and '.join(self.swapped)} at another object")
        if self.wrong:
            parts.append(f"{', '.join(self.wrong)} off by {self.at_least_px:.1f} px or more")
        if self.missing:
            parts.append(f"no position for object {', '.join(map(str, self.missing))}")
        return "; ".join(parts)


def frames_to_check(
    evidence: Evidence, verdicts: Verdicts, swaps: Sequence[Swap], missing: np.ndarray, followed: Sequence[int]
) -> list[FrameToCheck]:
    """Worst first: by the largest proved error, then by what is missing."""
    frames: dict[int, FrameToCheck] = {}
    names = evidence.foreign.names

    def at(frame: int) -> FrameToCheck:
        return frames.setdefault(frame, FrameToCheck(frame))

    for row in np.flatnonzero(verdicts.verdicts == WRONG).tolist():
        found = at(int(evidence.foreign.frames[row]))
        found.wrong.append(names[evidence.foreign.ids[row]])
        found.at_least_px = max(found.at_least_px, float(verdicts.at_least_px[row]))
    for swap in swaps:
        found = at(swap.frame)
        found.swapped.append(names[swap.identity])
        found.at_least_px = max(found.at_least_px, swap.at_least_px)
    for row, index in np.argwhere(missing).tolist():
        if index in followed:
            at(int(evidence.tracks.frames[row])).missing.append(index)
    return sorted(frames.values(), key=lambda found: (-found.at_least_px, -len(found.missing), found.frame))


def notes(
    evidence: Evidence, following: Following, verdicts: Verdicts, measured: Sequence[Offset], applied: bool
) -> list[str]:
    """What a reader should know before believing the counts."""
    foreign, tracks = evidence.foreign, evidence.tracks
    found = []
    if not tracks.certified.any():
        found.append("Nothing in this clip could be certified, so no position can be judged.")
    if foreign.program == PLAIN.program:
        found.append(
            f"A plain table does not say what is at (0, 0): it was read as --origin {foreign.origin}, which is half a "
            f"pixel from --origin {'centre' if foreign.origin == 'corner' else 'corner'}."
        )
    if not applied:
        found += _systematic(evidence, verdicts, measured)
    last = int(foreign.frames.max())
    if last < tracks.frames[-1] // 2:
        found.append(
            f"The tracks end at frame {last} of {int(tracks.frames[-1])}: were they made at another frame rate, "
            f"or of a part of the clip?"
        )
    unmatched = [foreign.names[index] for index in np.flatnonzero(following.homes < 0).tolist()]
    if unmatched:
        found.append(f"No object was found where {', '.join(unmatched)} should be: these positions cannot be judged.")
    lost = sorted(set(range(tracks.objects)) - set(verdicts.objects.tolist()))
    if lost:
        found.append(f"Object {', '.join(map(str, lost))} of this clip is followed by no identity of the tracks.")
    return found


def _systematic(evidence: Evidence, verdicts: Verdicts, measured: Sequence[Offset]) -> list[str]:
    """Objects most of whose positions are wrong, with the offset that most of them share."""
    shifted = [
        (index, measured[index].middle)
        for index in sorted(set(verdicts.objects.tolist()) - {-1})
        if (verdicts.verdicts[verdicts.objects == index] == WRONG).mean() >= SYSTEMATIC
    ]
    if not shifted:
        return []
    origin = evidence.foreign.origin
    half = {"corner": -0.5, "centre": 0.5}.get(origin, np.inf)
    advice = "another point than the centre of its box seems to be reported; --offset measured judges its motion"
    if all(max(abs(x - half), abs(y - half)) <= ALIKE_PX for _, (x, y) in shifted):
        advice = f"--origin {'centre' if origin == 'corner' else 'corner'} would explain it"
    which = ", ".join(f"({x:+.1f}, {y:+.1f}) px from object {index}" for index, (x, y) in shifted)
    return [f"Most positions are wrong in the same direction, {which}: {advice}."]


def usual_bound(proved: np.ndarray) -> str:
    """What half of the right positions are within."""
    return bound_text(float(np.median(proved))) if len(proved) else ""
