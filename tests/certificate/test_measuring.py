"""Set membership measured on a tracked clip: it holds the truth, and it fails where its assumption does."""

from dataclasses import replace

import numpy as np
import pytest

from tests.tracked_clip import TrackedClip
from withinpx.certificate import membership
from withinpx.certificate.case import Case, Footage
from withinpx.certificate.membership import _Candidate, _planted
from withinpx.experiments.truth import compare
from withinpx.inference.template import NODES

KEPT_OUT = np.arange(2, 24, 5)


@pytest.fixture(scope="module")
def case(tracked: TrackedClip) -> Case:
    detector, frames = tracked.detector, tracked.made.clip.frames
    footage = Footage(frames, detector.background, frames, detector.background, 1.0)
    return Case(detector.certificate, detector.model, detector.observe(frames), detector.shifts, KEPT_OUT, footage)


@pytest.fixture(scope="module")
def measured(case: Case) -> _Candidate:
    """Object 0, with its template, eps and centre."""
    fitted = membership._candidate(case, case.certificate.objects[0])
    assert fitted is not None
    first = case.find({fitted.index: fitted.search})
    known = membership._measured(case, fitted, first, membership._usual_frames(fitted, first))
    assert known is not None
    return known


def test_every_object_of_a_good_clip_has_a_set_that_holds_the_truth(tracked: TrackedClip) -> None:
    detector = tracked.detector
    assert all(obj.membership is not None for obj in detector.certificate.objects)
    tracks = detector.detect(tracked.made.clip.frames)
    assert np.isfinite(tracks.set_px[tracks.certified]).mean() > 0.9
    against = compare(tracks, tracked.made.truth)
    assert against.outside == 0
    assert against.median < 0.3
    assert np.nanmedian(tracks.bounds) < 1.7 < np.nanmin(tracks.theorem_px)


def test_planted_positions_are_inside(case: Case, measured: _Candidate) -> None:
    check = _planted(case, measured, case.find({measured.index: measured.search}))
    assert check.met
    assert check.value == 1.0


def test_a_template_that_is_off_by_a_pixel_is_refused(case: Case, measured: _Candidate) -> None:
    """The planted object is where it is; its set is one pixel further."""
    template = measured.search.template
    moved = replace(
        template, opacity=np.roll(template.opacity, NODES, axis=1), colour=np.roll(template.colour, NODES, axis=1)
    )
    wrong = replace(measured, search=replace(measured.search, template=moved))
    assert not _planted(case, wrong, case.find({measured.index: measured.search})).met


def test_an_object_none_of_whose_planted_positions_is_accepted_is_refused(case: Case, measured: _Candidate) -> None:
    strict = replace(measured, search=replace(measured.search, eps=0.05 * measured.search.eps))
    assert not _planted(case, strict, case.find({measured.index: measured.search})).met


def test_an_object_whose_template_accepts_another_one_where_that_is_is_refused(
    case: Case, measured: _Candidate
) -> None:
    """Else a frame in which the network found the other object would be accepted. By its own eps it accepts none."""
    nothing = case.find({})
    assert not membership._mistaken(case, [measured], nothing)
    other = membership._candidate(case, case.certificate.objects[1])
    assert other is not None
    careless = replace(measured.search, template=other.search.template, eps=3 * measured.search.eps)
    check = membership._mistaken(case, [replace(measured, search=careless)], nothing)[measured.index]
    assert (check.name, check.met) == ("mismatch", False)
    assert check.value > 0
    refused = case.certificate.objects[0].with_check(check)
    assert refused.failed == "mismatch"
    assert len(refused.checks) == len(case.certificate.objects[0].checks)
