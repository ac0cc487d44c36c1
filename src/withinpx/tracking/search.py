"""Which hypothesis to fit next: the one that answers a refusal of those fitted so far.

Hypotheses are compared by the detections that they group into objects: numbers of objects mean nothing across them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from withinpx.certificate.assumptions import whole_frames
from withinpx.certificate.calibration import reported_centres
from withinpx.certificate.certificate import Certificate, ObjectCertificate, explained_frames
from withinpx.certificate.certify import unexplained_frames
from withinpx.discovery.hypotheses import Hypothesis
from withinpx.discovery.objects import MovingObject
from withinpx.inference.observation import Observations
from withinpx.tracking.attempt import Attempt, Setup, blob_centres

ALL = 0.9  # of an object's detections: an object that holds as many holds the object,
MOST = 0.5  # and one of which as many are held is a part of it
LOST = 0.5  # of the frames in which an object is detected alone: a network further off in more does not follow it
SEEDS = 2  # per hypothesis, if the first does not follow the detections
BROKEN_SEEDS = 3  # per hypothesis, if trainings break
ROUNDS = 3  # of training per network; each after the first is as long as all before it
# checks that a network fails which has not learned enough
MENDED_BY_TRAINING = ("reconstruction", "heatmap", "drift", "mismatch")
CODE = 4  # entries of the appearance code that is tried; other numbers were not compared yet
CHANGES = "appearance"  # a refusal: many frames show a certified object otherwise than it is rendered
UNEXPLAINED = "unexplained"  # a refusal of the whole certificate: something moves that no object explains


@dataclass(frozen=True)
class Refusal:
    """Why a fitted hypothesis is not good enough."""

    reason: str  # the name of a check, or UNEXPLAINED
    objects: tuple[int, ...] = ()  # of the hypothesis; the two that look alike for ``distinct``
    frames: tuple[int, ...] = ()  # in which something moves that no object explains

    def __str__(self) -> str:
        if self.reason == UNEXPLAINED:
            return "something that no object explains moves"
        if self.reason == CHANGES:
            return f"object {self.objects[0]} changes its appearance"
        return f"object{'s' * (len(self.objects) > 1)} {' and '.join(map(str, self.objects))} refused: {self.reason}"


@dataclass(frozen=True)
class Trial:
    """A hypothesis to fit."""

    hypothesis: int  # its rank
    seed: int
    perspective: bool = False  # with a network whose renderings depend on where they are
    appearance: int = 0  # entries of the appearance code
    rounds: int = 1  # of training
    because: str = "it has the best score"

    @property
    def network(self) -> tuple[int, bool, int]:
        """What its seed initialises."""
        return self.hypothesis, self.perspective, self.appearance

    @property
    def length(self) -> int:
        """How long its last round is, in first rounds."""
        return 1 << max(0, self.rounds - 2)

    @property
    def folders(self) -> list[str]:
        """The names of the folders for the log and the checkpoints of each round."""
        kind = f"{'-perspective' * self.perspective}{f'-code-{self.appearance}' if self.appearance else ''}"
        name = f"hypothesis-{self.hypothesis}-seed-{self.seed}{kind}"
        return [name, *(f"{name}-round-{number}" for number in range(2, self.rounds + 1))]


@dataclass(frozen=True)
class Tried:
    """What became of a trial."""

    trial: Trial
    refusals: tuple[Refusal, ...] = ()
    lost: tuple[int, ...] = ()  # objects that the network does not follow: the optimiser failed
    broken: bool = False  # did the loss become NaN or infinite?
    grows: bool = False  # do objects change their size with their position, and may the network be told that?
    may_change: bool = False  # may the network have an appearance code?


def next_trial(tried: Sequence[Tried], best: Tried | None, hypotheses: Sequence[Hypothesis]) -> Trial | None:
    """What to fit next, None if nothing is needed or nothing can help. The best trial's refusals are answered first.

    Another seed is tried only where the last optimisation failed. A network is trained on as long as that helps.
    """
    if best is not None and not best.refusals:
        return None
    again = _other_seed(tried) or _with_code(tried, best) or _longer(tried, best)
    if again is not None:
        return again
    order = sorted((one for one in tried if one is not best), key=lambda one: one.trial.hypothesis)
    for one in (*([best] if best else []), *order):
        answer = _answer(one, tried, hypotheses)
        if answer is not None:
            return answer
    return None


def _other_seed(tried: Sequence[Tried]) -> Trial | None:
    last = tried[-1]
    if not (last.broken or last.lost):
        return None
    trial = last.trial
    fits = [one for one in tried if one.trial.network == trial.network]
    seeds = {one.trial.seed for one in fits}
    if len(seeds) >= (BROKEN_SEEDS if last.broken else SEEDS):
        return None
    numbers = " and ".join(map(str, last.lost))
    because = "the training broke" if last.broken else f"the network does not follow object {numbers}"
    return Trial(trial.hypothesis, 1 + max(seeds), trial.perspective, trial.appearance, because=because)


def _with_code(tried: Sequence[Tried], best: Tried | None) -> Trial | None:
    """An appearance code for the best network's objects, if one of them is not rendered as it is shown."""
    unlike = None if best is None else _unlike(best)
    if best is None or unlike is None or best.lost or not best.may_change:
        return None
    trial = Trial(best.trial.hypothesis, tried[0].trial.seed, appearance=CODE, because=str(unlike))
    return None if any(one.trial.network == trial.network for one in tried) else trial


def _unlike(fitted: Tried) -> Refusal | None:
    return next((refusal for refusal in fitted.refusals if refusal.reason in ("reconstruction", CHANGES)), None)


def _longer(tried: Sequence[Tried], best: Tried | None) -> Trial | None:
    """Another round for the best network, if the round before has helped."""
    if best is None or best.lost or best.trial.rounds == ROUNDS:
        return None
    refusal = next((refusal for refusal in best.refusals if refusal.reason in MENDED_BY_TRAINING), None)
    longer = replace(best.trial, rounds=best.trial.rounds + 1, because=f"{refusal}, which longer training may mend")
    return None if refusal is None or any(one.trial.folders == longer.folders for one in tried) else longer


def _answer(fitted: Tried, tried: Sequence[Tried], hypotheses: Sequence[Hypothesis]) -> Trial | None:
    seed = tried[0].trial.seed
    known = {one.trial.hypothesis for one in tried}
    for index, other in enumerate(hypotheses):
        for refusal in fitted.refusals if index not in known else ():
            if answers(refusal, hypotheses[fitted.trial.hypothesis], other):
                return Trial(index, seed, because=str(refusal))
    unlike = _unlike(fitted)
    told = Trial(fitted.trial.hypothesis, seed, perspective=True, because=str(unlike))
    if unlike is None or not fitted.grows or any(one.trial.network == told.network for one in tried):
        return None
    return told


def answers(refusal: Refusal, fitted: Hypothesis, other: Hypothesis) -> bool:
    """Does another hypothesis read the clip in a way that may mend this refusal?"""
    rule = _RULES.get(refusal.reason)
    return rule is not None and rule(refusal, fitted, other)


def _merges(refusal: Refusal, fitted: Hypothesis, other: Hypothesis) -> bool:
    """Two objects that look alike are one. Where both are often seen together, no object can hold both."""
    one, two = (fitted.objects[index] for index in refusal.objects)
    return any(held(one, obj) >= ALL and held(two, obj) >= ALL for obj in other.objects)


def _leaves_out(refusal: Refusal, fitted: Hypothesis, other: Hypothesis) -> bool:
    """What never moves far enough is no object, or a part of one that does."""
    (refused,) = (fitted.objects[index] for index in refusal.objects)
    return not any(held(obj, refused) > MOST for obj in other.objects)


def _rereads(refusal: Refusal, fitted: Hypothesis, other: Hypothesis) -> bool:
    """The detections of an object that is not reconstructed are grouped in another way, or seen in another way."""
    (refused,) = (fitted.objects[index] for index in refusal.objects)
    kept = any(_same(refused, obj) for obj in other.objects)
    still_seen = sum(held(refused, obj) for obj in other.objects) > MOST
    return (not kept and still_seen) or bool(added(fitted, other)) or _sees_otherwise(fitted, other)


def _covers(refusal: Refusal, fitted: Hypothesis, other: Hypothesis) -> bool:
    """What is added is seen where something was not explained; or an object is split, or the clip seen otherwise."""
    frames = {frame for obj in added(fitted, other) for frame in obj.frames}
    if len(frames.intersection(refusal.frames)) > MOST * len(refusal.frames):
        return True
    return any(_is_split(obj, other) for obj in fitted.objects) or _sees_otherwise(fitted, other)


def _adds(refusal: Refusal, fitted: Hypothesis, other: Hypothesis) -> bool:
    """What moves another object's position gets a heatmap of its own."""
    return bool(added(fitted, other))


_RULES: dict[str, Callable[[Refusal, Hypothesis, Hypothesis], bool]] = {  # none for drift and equivariance
    "distinct": _merges,
    "displacement": _leaves_out,
    "reconstruction": _rereads,
    "heatmap": _adds,
    UNEXPLAINED: _covers,
}


def held(obj: MovingObject, by: MovingObject) -> float:
    """The share of an object's detections whose centre is in another object's box of the same frame."""
    boxes = {blob.frame: blob.box for blob in by.blobs}
    inside = 0
    for blob in obj.blobs:
        left, top, right, bottom = boxes.get(blob.frame, (0, 0, 0, 0))
        inside += left <= blob.centre[0] < right and top <= blob.centre[1] < bottom
    return inside / len(obj.blobs)


def added(fitted: Hypothesis, other: Hypothesis) -> list[MovingObject]:
    """The objects of another hypothesis that the fitted one's do not hold, one by one or together."""
    return [obj for obj in other.objects if sum(held(obj, own) for own in fitted.objects) <= MOST]


def _same(one: MovingObject, other: MovingObject) -> bool:
    return held(one, other) >= ALL and held(other, one) >= ALL


def _is_split(obj: MovingObject, other: Hypothesis) -> bool:
    return sum(held(part, obj) > MOST for part in other.objects) > 1


def _sees_otherwise(fitted: Hypothesis, other: Hypothesis) -> bool:
    return fitted.background is not other.background or fitted.unordered != other.unordered


def refusals(certificate: Certificate, seen: Observations) -> tuple[Refusal, ...]:
    """Why each object is refused, which change their appearance, and frames with motion that no object explains.

    Only the first check that an object fails counts: a network that cannot tell two objects from each other also fails
    to reconstruct them, and to leave one of them out would hide the cause.
    """
    found = [Refusal(obj.failed, (obj.object,)) for obj in certificate.objects if obj.failed not in ("", "distinct")]
    found += [Refusal(CHANGES, (obj.object,)) for obj in certificate.objects if obj.certified and _changes(obj, seen)]
    unexplained = np.flatnonzero(unexplained_frames(seen, len(certificate.objects))).tolist()
    if unexplained:
        found.append(Refusal(UNEXPLAINED, frames=tuple(unexplained)))
    return (*(Refusal("distinct", pair) for pair in _alike(certificate)), *found)


def _changes(obj: ObjectCertificate, seen: Observations) -> bool:
    """Is the object rendered otherwise than shown, in more frames than one in ten of those that show all of it?"""
    whole = whole_frames(seen, obj.object)
    return bool(whole.any() and explained_frames(seen, obj.object, obj.limits)[whole].mean() < ALL)


def _alike(certificate: Certificate) -> list[tuple[int, int]]:
    """Pairs of objects that are refused because one looks like the other."""
    alike = [obj.object for obj in certificate.objects if obj.failed == "distinct"]
    others = [obj.object for obj in certificate.objects if obj.object not in alike]
    return list(combinations(alike, 2)) if len(alike) > 1 else [(one, other) for one in alike for other in others]


def lost_objects(setup: Setup, fitted: Attempt) -> tuple[int, ...]:
    """Objects that the network does not follow, though the detections that it was trained with show them.

    A network that is worse than its own warm start, in more than half of the frames, is a failure of the optimiser.
    Objects that look alike are left out: no seed can tell one from the other.
    """
    seen, followed = fitted.seen, setup.inspection.objects[: setup.plan.followed]
    positions = reported_centres(seen, fitted.detector.shifts)
    detected = blob_centres(followed, len(seen), seen.z.shape[1])
    away = np.abs(positions - detected).max(axis=-1)  # NaN where an object is not detected alone
    alike = {index for pair in setup.inspection.alike for index in pair}
    lost = []
    for index, obj in enumerate(followed):
        off = away[np.isfinite(away[:, index]), index] > obj.sizes[1] / 2
        if index not in alike and len(off) and off.mean() > LOST:
            lost.append(index)
    return tuple(lost)
