"""The verdict on each position: its frame's, and its object's."""

from typing import Any

import numpy as np
import pytest

from tests.certificate.observed import seen_at
from withinpx.certificate.certificate import (
    Certificate,
    Check,
    Limits,
    ObjectCertificate,
    frame_reasons,
    refusal_reasons,
)
from withinpx.inference.observation import Observations

FRAMES, BAD = 6, 2  # frames, and the one that differs
LIMITS = Limits(residual=1.0, drift=1.0, rendered=(0.0, 0.0))
PLACES = np.linspace((10.0, 12.0), (40.0, 30.0), FRAMES)[:, None]


APART = np.array([0.0, 20.0])  # from one object to the next


def with_bad_frame(objects: int = 1, **changes: Any) -> Observations:
    """A perfect network's observations, but for these values of every object in one frame."""
    seen = seen_at(np.repeat(PLACES, objects, axis=1) + APART * np.arange(objects)[:, None])
    for name, value in changes.items():
        values = getattr(seen, name).copy()
        values[BAD] = values[BAD] + value if values.dtype == np.float64 else value
        object.__setattr__(seen, name, values)
    return seen


def only_in_the_bad_frame(reason: str) -> list[str]:
    return [reason if frame == BAD else "" for frame in range(FRAMES)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"at_border": True}, "border"),
        ({"leakage": 1.1}, "heatmap"),
        ({"leakage": 0.9}, ""),
        ({"outside_mass": 0.11}, "heatmap"),
        ({"outside_mass": 0.09}, ""),
        ({"centre": (0.0, 1.1)}, "drift"),
        ({"centre": (-1.1, 0.0)}, "drift"),
        ({"z": (1.1, 0.0)}, "drift"),
        ({"centre": (0.9, -0.9)}, ""),
        ({"offset": (1.1, 0.0)}, "reconstruction"),
        ({"offset": (0.0, -1.1)}, "reconstruction"),
        ({"offset": (0.9, 0.9)}, ""),
        ({"explained": -0.51}, "reconstruction"),
        ({"explained": -0.49}, ""),
        ({"present": False}, "absent"),
        ({"z": np.nan}, "drift"),
        ({"explained": np.nan}, "reconstruction"),
    ],
)
def test_a_frame_is_refused_by_name_for_what_it_violates(changes: dict[str, Any], reason: str) -> None:
    assert frame_reasons(with_bad_frame(**changes), 0, LIMITS).tolist() == only_in_the_bad_frame(reason)


def test_a_frame_whose_rendering_is_2_px_from_the_usual_displacement_is_refused_for_drift() -> None:
    """Also where its displacement is zero: what counts is how it differs from the usual one."""
    seen = with_bad_frame(centre=(2.0, 0.0))
    assert frame_reasons(seen, 0, LIMITS).tolist() == only_in_the_bad_frame("drift")
    usual = Limits(residual=1.0, drift=1.0, rendered=(2.0, 0.0))
    assert (frame_reasons(seen, 0, usual) == "drift").tolist() == [frame != BAD for frame in range(FRAMES)]


def test_of_several_violations_the_frame_is_refused_for_the_gravest() -> None:
    changes: dict[str, Any] = {}
    for name, value, reason in (
        ("at_border", True, "border"),
        ("leakage", 2.0, "heatmap"),
        ("centre", 2.0, "drift"),
        ("offset", 2.0, "reconstruction"),
        ("present", False, "absent"),
    ):
        changes[name] = value
        assert frame_reasons(with_bad_frame(**changes), 0, LIMITS)[BAD] == reason


def an_object(index: int, *met: bool) -> ObjectCertificate:
    checks = tuple(Check(name, 0.0, 0.0, "px", fine, "") for name, fine in zip(("drift", "heatmap"), met, strict=True))
    return ObjectCertificate(index, (3.0, 3.0), 4.0, (0.0, 0.0), LIMITS, checks)


def a_certificate(*objects: ObjectCertificate, unused: tuple[int, ...] = ()) -> Certificate:
    return Certificate("clip", FRAMES, 1, 7, 11, 0.8, 3.2, 1.0, objects, unused)


@pytest.mark.parametrize(
    ("met", "failed"),
    [((True, True), ""), ((True, False), "heatmap"), ((False, True), "drift"), ((False,) * 2, "drift")],
)
def test_an_object_is_certified_if_every_check_is_met(met: tuple[bool, bool], failed: str) -> None:
    obj = an_object(0, *met)
    assert obj.certified == all(met)
    assert obj.failed == failed


def test_a_clip_is_certified_if_every_object_is() -> None:
    good, bad = an_object(0, True, True), an_object(1, True, False)
    assert a_certificate(good).certified
    assert not a_certificate(good, bad).certified
    assert not a_certificate().certified  # without objects nothing is certified
    assert a_certificate(good, bad).verdict == "1 of 2 objects certified; object 1 refused: heatmap"


def test_a_refused_object_is_refused_in_every_frame_that_shows_it() -> None:
    seen = with_bad_frame(objects=3, present=False)
    certificate = a_certificate(an_object(0, True, True), an_object(1, False, True), unused=(2,))
    reasons = refusal_reasons(seen, certificate)
    assert reasons[:, 0].tolist() == only_in_the_bad_frame("absent")
    assert reasons[:, 1].tolist() == ["absent" if frame == BAD else "drift" for frame in range(FRAMES)]
    assert set(reasons[:, 2]) == {"unused"}


def test_a_certificate_that_is_read_again_refuses_the_same() -> None:
    certificate = a_certificate(an_object(0, True, True), an_object(1, False, True))
    assert Certificate.from_json(certificate.to_json()) == certificate


@pytest.mark.parametrize(("apart", "reason"), [(3.9, "touching"), (4.1, "")])
def test_an_object_that_is_mostly_inside_another_one_s_box_is_refused(apart: float, reason: str) -> None:
    """What is seen there may be the other: evidence must come from the object's own pixels."""
    seen = seen_at(np.repeat(PLACES, 2, axis=1) + np.array([[0.0, 0.0], [apart, 0.0]]))  # boxes of 8 px
    certificate = a_certificate(an_object(0, True, True), an_object(1, True, True))
    assert (refusal_reasons(seen, certificate) == reason).all()


def test_an_absent_object_covers_nothing() -> None:
    present = np.ones((FRAMES, 2), np.bool_)
    present[:, 1] = False
    seen = seen_at(np.repeat(PLACES, 2, axis=1), present=present)
    reasons = refusal_reasons(seen, a_certificate(an_object(0, True, True), an_object(1, True, True)))
    assert (reasons[:, 0] == "").all()


def test_a_small_object_does_not_hide_a_large_one() -> None:
    box = np.full((FRAMES, 2, 2), 8.0)
    box[:, 1] = 20.0
    seen = seen_at(np.repeat(PLACES, 2, axis=1), box=box)
    reasons = refusal_reasons(seen, a_certificate(an_object(0, True, True), an_object(1, True, True)))
    assert (reasons[:, 0] == "touching").all()
    assert (reasons[:, 1] == "").all()
