"""Which hypothesis answers which refusal, by the detections that hypotheses group into objects. Nothing is trained."""

from dataclasses import replace

import numpy as np
import pytest

from tests.certificate.observed import seen_at
from withinpx.certificate.certificate import Certificate, Check, Limits, ObjectCertificate
from withinpx.discovery.background import BackgroundModel
from withinpx.discovery.hypotheses import Hypothesis
from withinpx.discovery.objects import Blob, MovingObject
from withinpx.tracking.page import CHECKS
from withinpx.tracking.search import (
    ROUNDS,
    UNEXPLAINED,
    Refusal,
    Trial,
    Tried,
    added,
    answers,
    held,
    next_trial,
    refusals,
)

STILL = BackgroundModel(np.zeros((1, 40, 200, 1), np.float32), np.zeros((40, 200), np.float32))
OTHER = BackgroundModel(np.ones((1, 40, 200, 1), np.float32), np.zeros((40, 200), np.float32))
FRAMES = range(20)


def obj(frames: range, y: float = 10.0, size: int = 8) -> MovingObject:
    """A square that moves 8 px to the right in every frame."""
    half = size // 2
    return MovingObject(
        tuple(
            Blob(frame, (x, y), (round(x) - half, round(y) - half, round(x) + half, round(y) + half), 64, GREY, size)
            for frame in frames
            for x in [8.0 * frame + 10]
        )
    )


GREY = np.array([0.5])
WHOLE, EARLY, LATE = obj(FRAMES), obj(range(10)), obj(range(10, 20))
BELOW, SHORT = obj(FRAMES, y=30), obj(range(4), y=30)


def hypothesis(*objects: MovingObject, background: BackgroundModel = STILL, unordered: bool = False) -> Hypothesis:
    return Hypothesis(background, objects, unordered, 1.0, 0.0, "made up")


def test_a_detection_is_held_where_it_lies_in_the_others_box_of_its_frame() -> None:
    assert held(EARLY, WHOLE) == 1
    assert held(WHOLE, EARLY) == 0.5
    assert held(WHOLE, BELOW) == held(EARLY, LATE) == 0
    assert held(WHOLE, obj(FRAMES, y=12.5)) == 1  # segmented in another way
    assert added(hypothesis(WHOLE), hypothesis(EARLY, BELOW)) == [BELOW]
    assert added(hypothesis(EARLY, LATE), hypothesis(WHOLE)) == []


def test_look_alikes_that_are_never_together_are_answered_by_their_union() -> None:
    split = hypothesis(EARLY, LATE, BELOW)
    refusal = Refusal("distinct", (0, 1))
    assert answers(refusal, split, hypothesis(WHOLE, BELOW))
    assert answers(refusal, split, hypothesis(BELOW, WHOLE))  # numbers mean nothing
    assert not answers(refusal, split, hypothesis(EARLY, BELOW))  # to leave one out proves nothing
    assert not answers(refusal, split, hypothesis(LATE, EARLY))
    assert not answers(Refusal("distinct", (0, 2)), split, hypothesis(WHOLE, BELOW))


def test_look_alikes_that_are_seen_together_are_answered_by_nothing() -> None:
    twins, others = hypothesis(WHOLE, BELOW), (hypothesis(WHOLE), hypothesis(BELOW), hypothesis(EARLY, LATE, BELOW))
    assert not any(answers(Refusal("distinct", (0, 1)), twins, other) for other in others)
    tried = Tried(Trial(0, 0), (Refusal("distinct", (0, 1)),))
    assert next_trial([tried], tried, [twins, *others]) is None


def test_an_object_that_hardly_moves_is_answered_by_leaving_it_out() -> None:
    refusal, fitted = Refusal("displacement", (1,)), hypothesis(BELOW, EARLY)
    assert answers(refusal, fitted, hypothesis(BELOW))
    assert answers(refusal, fitted, hypothesis(BELOW, obj(range(5, 20))))  # half of it, in an object that moves further
    assert not answers(refusal, fitted, hypothesis(EARLY))
    assert not answers(refusal, fitted, hypothesis(BELOW, obj(range(5)), obj(range(5, 10))))  # parts move even less


@pytest.mark.parametrize(
    ("other", "helps"),
    [
        (hypothesis(WHOLE), False),
        (hypothesis(WHOLE, BELOW), True),  # another object
        (hypothesis(EARLY, LATE), True),  # a split
        (hypothesis(WHOLE, background=OTHER), True),
        (hypothesis(WHOLE, unordered=True), True),
        (hypothesis(), False),  # left out
    ],
)
def test_an_object_that_is_not_reconstructed_is_answered_by_another_reading_of_it(
    other: Hypothesis, helps: bool
) -> None:
    assert answers(Refusal("reconstruction", (0,)), hypothesis(WHOLE), other) == helps


def test_unexplained_motion_is_answered_by_an_object_that_is_seen_there() -> None:
    fitted = hypothesis(WHOLE)
    everywhere, first = Refusal(UNEXPLAINED, frames=tuple(FRAMES)), Refusal(UNEXPLAINED, frames=(0, 1, 2, 3))
    assert answers(everywhere, fitted, hypothesis(WHOLE, BELOW))
    assert not answers(everywhere, fitted, hypothesis(WHOLE, SHORT))
    assert answers(first, fitted, hypothesis(WHOLE, SHORT))
    assert answers(everywhere, fitted, hypothesis(EARLY, LATE))
    assert answers(everywhere, fitted, hypothesis(WHOLE, background=OTHER))
    assert not answers(everywhere, fitted, hypothesis(WHOLE))


def test_a_position_that_something_else_moves_is_answered_by_another_object() -> None:
    refusal = Refusal("heatmap", (0,))
    assert answers(refusal, hypothesis(WHOLE), hypothesis(WHOLE, BELOW))
    assert not answers(refusal, hypothesis(WHOLE), hypothesis(EARLY, LATE))


@pytest.mark.parametrize("reason", ["equivariance", "drift"])
def test_some_refusals_no_hypothesis_answers(reason: str) -> None:
    others = (hypothesis(WHOLE, BELOW), hypothesis(EARLY, LATE), hypothesis(WHOLE, background=OTHER))
    assert not any(answers(Refusal(reason, (0,)), hypothesis(WHOLE), other) for other in others)


def test_a_growing_object_is_rendered_by_position_once_if_it_is_not_reconstructed() -> None:
    hypotheses, refused = [hypothesis(WHOLE)], (Refusal("reconstruction", (0,)),)
    tried = Tried(Trial(0, 3, rounds=ROUNDS), refused, grows=True)
    again = next_trial([tried], tried, hypotheses)
    assert again is not None
    assert (again.hypothesis, again.seed, again.perspective) == (0, 3, True)
    by_position = Tried(replace(again, rounds=ROUNDS), refused, grows=True)
    assert next_trial([tried, by_position], tried, hypotheses) is None
    rigid = replace(tried, grows=False)
    assert next_trial([rigid], rigid, hypotheses) is None


def test_the_first_hypothesis_in_rank_that_answers_is_tried_and_each_only_once() -> None:
    hypotheses = [hypothesis(EARLY, LATE), hypothesis(EARLY), hypothesis(WHOLE), hypothesis(WHOLE, BELOW)]
    refusals = Refusal("distinct", (0, 1)), Refusal(UNEXPLAINED, frames=tuple(FRAMES))
    first = Tried(Trial(0, 7), refusals)
    second = next_trial([first], first, hypotheses)
    assert second == Trial(2, 7, because="objects 0 and 1 refused: distinct")
    third = next_trial([first, Tried(second, (Refusal("equivariance", (0,)),))], first, hypotheses)
    assert third is not None
    assert third.hypothesis == 3
    assert next_trial([first, Tried(second), Tried(third)], first, hypotheses) is None


def test_the_refusals_of_the_best_trial_are_answered_first() -> None:
    hypotheses = [hypothesis(EARLY, LATE), hypothesis(WHOLE), hypothesis(WHOLE, BELOW), hypothesis(obj(FRAMES, y=12))]
    worse = Tried(Trial(0, 0), (Refusal("distinct", (0, 1)),))
    best = Tried(Trial(1, 0), (Refusal(UNEXPLAINED, frames=tuple(FRAMES)),))
    trial = next_trial([worse, best], best, hypotheses)
    assert trial is not None
    assert (trial.hypothesis, trial.because) == (2, "something that no object explains moves")


def test_nothing_is_tried_after_a_trial_without_refusals() -> None:
    hypotheses = [hypothesis(EARLY, LATE), hypothesis(WHOLE), hypothesis(WHOLE, BELOW)]
    refused, good = Tried(Trial(0, 0), (Refusal("reconstruction", (0,)),)), Tried(Trial(1, 0))
    assert next_trial([refused, good], good, hypotheses) is None


def test_another_seed_is_tried_only_if_the_optimiser_failed() -> None:
    hypotheses = [hypothesis(WHOLE), hypothesis(WHOLE, BELOW)]
    refusal = (Refusal("reconstruction", (0,)),)
    lost = Tried(Trial(0, 5), refusal, lost=(0,))
    again = next_trial([lost], lost, hypotheses)
    assert again == Trial(0, 6, because="the network does not follow object 0")
    twice = next_trial([lost, replace(lost, trial=again)], lost, hypotheses)
    assert twice is not None  # two seeds agree: it is the hypothesis
    assert (twice.hypothesis, twice.seed) == (1, 5)
    followed = Tried(Trial(0, 5), refusal)
    trial = next_trial([followed], followed, hypotheses)
    assert trial is not None
    assert trial.seed == 5


@pytest.mark.parametrize("reason", ["reconstruction", "heatmap", "drift"])
def test_a_network_that_has_not_learned_enough_is_trained_on_as_long_as_that_helps(reason: str) -> None:
    hypotheses, refusal = [hypothesis(WHOLE), hypothesis(WHOLE, BELOW)], (Refusal(reason, (0,)),)
    first = Tried(Trial(0, 5), refusal)
    longer = next_trial([first], first, hypotheses)
    assert longer is not None
    assert (longer.hypothesis, longer.seed, longer.rounds) == (0, 5, 2)
    second = Tried(longer, refusal)
    in_vain = next_trial([first, second], first, hypotheses)
    assert in_vain is None or in_vain.hypothesis == 1
    longest = next_trial([first, second], second, hypotheses)
    assert longest is not None
    assert (longest.rounds, longest.length) == (3, 2)
    third = Tried(longest, refusal)
    after = next_trial([first, second, third], third, hypotheses)
    assert after is None or after.hypothesis == 1


def test_each_round_is_as_long_as_all_before_it() -> None:
    lengths = [Trial(0, 0, rounds=rounds).length for rounds in range(1, 5)]
    assert lengths == [1, *(sum(lengths[:count]) for count in range(1, 4))]
    assert len(set(Trial(0, 0, rounds=3).folders)) == 3


@pytest.mark.parametrize("refusal", [Refusal("distinct", (0, 1)), Refusal("displacement", (0,))])
def test_a_refusal_of_the_hypothesis_is_not_answered_with_another_seed(refusal: Refusal) -> None:
    """Look-alikes and an object that rests are facts about the clip, whatever the network starts from."""
    tried = Tried(Trial(0, 5), (refusal,))
    assert next_trial([tried], tried, [hypothesis(WHOLE, BELOW)]) is None
    assert next_trial([tried], tried, [hypothesis(WHOLE, BELOW), hypothesis(WHOLE, BELOW, background=OTHER)]) is None


def test_a_training_that_breaks_is_repeated_with_two_more_seeds() -> None:
    tried = [Tried(Trial(0, 5), broken=True)]
    for seed in (6, 7):
        trial = next_trial(tried, None, [hypothesis(WHOLE), hypothesis(EARLY)])
        assert trial == Trial(0, seed, because="the training broke")
        tried.append(Tried(trial, broken=True))
    assert next_trial(tried, None, [hypothesis(WHOLE), hypothesis(EARLY)]) is None


def checked(number: int, *failed: str) -> ObjectCertificate:
    checks = tuple(Check(name, 0.0, 1.0, "px", name not in failed, "") for name in CHECKS)
    return ObjectCertificate(number, (8.0, 8.0), 4.0, (0.0, 0.0), Limits(1.0), checks)


def test_only_the_first_check_that_an_object_fails_is_answered() -> None:
    objects = (checked(0, "distinct", "displacement"), checked(1), checked(2, "distinct"), checked(3, "drift"))
    certificate = Certificate("a clip", 20, 4, 9, 11, 0.8, 3.2, 1.0, objects)
    seen = seen_at(np.zeros((20, 4, 2)))
    assert refusals(certificate, seen) == (Refusal("distinct", (0, 2)), Refusal("drift", (3,)))
    one_sided = replace(certificate, objects=(checked(0, "distinct"), checked(1)))
    assert refusals(one_sided, seen) == (Refusal("distinct", (0, 1)),)
    moves = replace(seen, unexplained=np.full((20, 1), 50.0))
    assert refusals(replace(certificate, objects=(checked(0),)), moves) == (
        Refusal(UNEXPLAINED, frames=tuple(range(20))),
    )
