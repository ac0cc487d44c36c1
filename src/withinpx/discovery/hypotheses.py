"""Hypotheses about what moves in a clip: how many objects, and which detections are which object."""

from dataclasses import dataclass

from withinpx.discovery.background import BackgroundModel
from withinpx.discovery.objects import MovingObject


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One reading of a clip. The certificate decides between readings; the score says which to try first."""

    background: BackgroundModel
    objects: tuple[MovingObject, ...]  # the most prominent first
    unordered: bool  # are objects matched by appearance alone, not followed from frame to frame?
    explained: float  # share of all change that its objects explain, from 0 to 1
    score: float  # what it explains less what it costs: the higher, the earlier it is tried
    why: str  # how it reads the clip, for people
