"""Set membership by its rules: where eps and the reach of the search come from, and what planted truth decides."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.certificate.observed import seen_at
from tests.certificate.test_membership import certificate
from tests.inference.rendered import blob
from withinpx.certificate import membership
from withinpx.certificate.calibration import Shift
from withinpx.certificate.case import Case
from withinpx.certificate.centre import Centre
from withinpx.certificate.membership import KAPPA, _Candidate
from withinpx.inference.feasible import Search
from withinpx.inference.observation import Feasible

POSITIONS = np.full((5, 1, 2), 20.0)
NO_AXES = np.full_like(POSITIONS, np.nan)
# trained on, kept out twice, refused, beside another object
RESIDUAL = np.array([[9.0], [0.4], [0.5], [7.0], [8.0]])
GOOD, ALONE = np.array([True, True, True, False, True]), np.array([[True], [True], [True], [True], [False]])
CASE: Any = SimpleNamespace(
    kept_out=np.array([1, 2, 3, 4]),
    alone=ALONE,
    positions=POSITIONS,
    seen=seen_at(POSITIONS),
    certificate=certificate(),
)
CASE.theorem_px = partial(Case.theorem_px, CASE)


def measured(monkeypatch: pytest.MonkeyPatch, sizes: float = 1.0) -> _Candidate:
    monkeypatch.setattr(membership, "_centre", lambda *_: Centre((0.1, 0.0), (0.3, 0.2)))
    first = Feasible(RESIDUAL, POSITIONS, POSITIONS, POSITIONS, np.full_like(RESIDUAL, sizes), NO_AXES, RESIDUAL)
    shift = Shift.constant(np.zeros(2))
    one = _Candidate(certificate().objects[0], GOOD, Search(blob(), 7.0), blob(), shift, membership.NOWHERE)
    known = membership._measured(CASE, one, first, membership._usual_frames(one, first))
    assert known is not None
    return known


def test_eps_comes_from_kept_out_frames_that_show_the_object_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(monkeypatch).search.eps == pytest.approx(KAPPA * 0.5)
    assert KAPPA > 1


def test_a_frame_in_which_the_network_found_another_object_does_not_widen_eps() -> None:
    """Its residual is unusual; with it in eps, the other object would be accepted in that very frame."""
    count = 20
    residual = np.linspace(0.3, 0.4, count)[:, None]
    residual[7] = 0.9
    places = np.full((count, 1, 2), 20.0)
    first = Feasible(residual, places, places, places, np.ones_like(residual), np.full_like(places, np.nan), residual)
    one = _Candidate(
        certificate().objects[0],
        np.ones(count, bool),
        Search(blob(), 7.0),
        blob(),
        Shift.constant(np.zeros(2)),
        membership.NOWHERE,
    )
    case: Any = SimpleNamespace(
        kept_out=np.array([2, 7, 12]),
        alone=np.ones((count, 1), bool),
        positions=places,
        seen=seen_at(places),
        certificate=certificate(),
    )
    case.theorem_px = partial(Case.theorem_px, case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership, "_centre", lambda *_: Centre((0.1, 0.0), (0.3, 0.2)))
        known = membership._measured(case, one, first, membership._usual_frames(one, first))
    assert known is not None
    assert known.search.eps == pytest.approx(KAPPA * residual[12, 0])
    assert known.search.eps < residual[7, 0]


@pytest.mark.parametrize("size", [0.8, 1.0, 1.2])
def test_the_search_reaches_as_far_as_the_theorem_and_the_centre_allow(
    monkeypatch: pytest.MonkeyPatch, size: float
) -> None:
    known = measured(monkeypatch, size)
    theorem = CASE.theorem_px(known.certificate, GOOD, known.shift)
    assert theorem >= 6.0
    assert known.search.reach == pytest.approx(theorem + (0.1 + 0.3) * (1 + abs(size - 1)))


@pytest.mark.parametrize(
    ("accepted", "within", "met"),
    [
        ([True, True, False], [True, True, False], True),  # a refused frame may be anywhere
        ([True, True, True], [True, True, False], False),
        ([False, False, False], [True, True, True], False),
    ],
)
def test_one_planted_position_outside_its_set_refuses_the_object(
    monkeypatch: pytest.MonkeyPatch, accepted: list[bool], within: list[bool], met: bool
) -> None:
    known = measured(monkeypatch)
    for name in ("plant_template", "paste_pixels"):
        monkeypatch.setattr(membership, name, lambda *_: object())
    case: Any = SimpleNamespace(**vars(CASE), footage=SimpleNamespace(zoom=1.0), stage=None)
    case.accepted_and_within = lambda *_: (np.array(accepted), np.array(within))
    found = Feasible(RESIDUAL, POSITIONS, POSITIONS, POSITIONS, np.ones_like(RESIDUAL), NO_AXES, RESIDUAL)
    assert membership._planted(case, known, found).met is met


def test_a_template_must_fit_nearly_all_frames_that_show_the_object_by_itself() -> None:
    """One that turns is as its template in some frames only: in the others no position is feasible."""
    places = POSITIONS.copy()
    one = _Candidate(
        certificate().objects[0], GOOD, Search(blob(), 7.0), blob(), Shift.constant(np.zeros(2)), membership.NOWHERE
    )

    def share(low: np.ndarray) -> float:
        found = Feasible(RESIDUAL, POSITIONS, low, POSITIONS, np.ones_like(RESIDUAL), NO_AXES, RESIDUAL)
        return membership._fits(CASE, one, found)

    assert share(places) == 1.0
    places[3:] = np.nan  # refused, and beside another object: these do not count
    assert share(places) == 1.0
    places[0] = np.nan
    assert share(places) == pytest.approx(2 / 3)
    assert membership.FITS > 2 / 3
