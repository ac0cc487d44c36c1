"""Set membership in the certificate: refusals, bounds around positions, and what is stored."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.certificate.observed import seen_at
from withinpx.certificate.calibration import Shift
from withinpx.certificate.certificate import (
    Certificate,
    Check,
    Limits,
    ObjectCertificate,
    SetMembership,
    refusal_reasons,
)
from withinpx.data.selection import Selection
from withinpx.inference.observation import Feasible, Observations
from withinpx.theory.set_membership import half_width
from withinpx.tracking.detector import ROUNDING_PX, Detector
from withinpx.tracking.tracks import Tracks

MEMBERSHIP = SetMembership(
    eps=0.5,
    tolerance=(0.3, 0.2),
    middle=(0.1, -0.1),
    reach=9.0,
    floor=0.01,
)
MET = Check("mismatch", 1.0, 1.0, "share", True, "")


def certificate(membership: SetMembership | None = MEMBERSHIP, *checks: Check) -> Certificate:
    obj = ObjectCertificate(0, (8.0, 8.0), 6.0, (0.0, 0.0), Limits(residual=1.0), checks or (MET,), membership)
    return Certificate("clip", 3, 1, 9, 15, 0.8, 3.2, 1.0, (obj,))


def with_sets(seen: Observations, half: float, size: float = 1.0) -> Observations:
    """Sets that reach this far around where each template is drawn, at this size."""
    drawn = seen.centre - size * np.array(MEMBERSHIP.middle)
    residual, sizes = np.full(seen.present.shape, 0.4), np.full(seen.present.shape, size)
    return replace(
        seen,
        feasible=Feasible(residual, drawn, drawn - half, drawn + half, sizes, np.full_like(drawn, np.nan), residual),
    )


def tracks_of(seen: Observations, known: Certificate) -> Tracks:
    unused: Any = None  # a network is not needed to place observations in the recording
    shifts = (Shift.constant(np.zeros(2)),)
    detector = Detector(unused, unused, Selection(), (64, 48), shifts, known)
    return detector.tracks(seen, np.arange(len(seen)), np.arange(len(seen)) / 25)


@pytest.fixture
def seen() -> Observations:
    return seen_at(np.array([[[20.0, 24.0]], [[22.5, 24.0]], [[25.0, 24.5]]]))


def test_a_certified_position_is_within_its_set_and_the_centre_s_tolerance(seen: Observations) -> None:
    tracks = tracks_of(with_sets(seen, 0.4), certificate())
    np.testing.assert_allclose(tracks.set_px, 0.4 + ROUNDING_PX)
    np.testing.assert_allclose(tracks.bounds, 0.4 + 0.3 + ROUNDING_PX)
    np.testing.assert_allclose(tracks.theorem_px, 6.0 + ROUNDING_PX)
    np.testing.assert_allclose(tracks.sigma_px, 0.01)


def test_the_bound_is_never_worse_than_the_theorem_s(seen: Observations) -> None:
    wide = tracks_of(with_sets(seen, 7.0), certificate())
    np.testing.assert_allclose(wide.bounds, 6.0 + ROUNDING_PX)
    without = tracks_of(seen, certificate(None))
    np.testing.assert_allclose(without.bounds, 6.0 + ROUNDING_PX)
    assert np.isnan(without.set_px).all()
    assert np.isnan(without.sigma_px).all()


def test_a_set_that_was_not_searched_as_far_as_the_theorem_allows_proves_nothing(seen: Observations) -> None:
    leaky = replace(with_sets(seen, 0.4), leakage=np.full((3, 1), 0.9))
    assert np.isfinite(tracks_of(leaky, certificate()).set_px).all()
    short = certificate(replace(MEMBERSHIP, reach=7.25))  # less than 6 + 0.9 + 0.3 + 0.1
    np.testing.assert_allclose(tracks_of(leaky, short).bounds, 6.9 + ROUNDING_PX)


def test_displacements_of_a_rigid_object_do_not_depend_on_where_its_centre_is(seen: Observations) -> None:
    tracks = tracks_of(with_sets(seen, 0.4), certificate())
    assert np.isnan(tracks.motion_bounds[0]).all()
    np.testing.assert_allclose(tracks.motion_bounds[1:], 0.8 + 2 * ROUNDING_PX)
    loose = tracks_of(seen, certificate(None))
    np.testing.assert_allclose(loose.motion_bounds[1:], 2 * loose.bounds[1:])


@pytest.mark.parametrize("size", [0.7, 1.4])
def test_the_tolerance_grows_with_an_object_that_is_seen_in_perspective(seen: Observations, size: float) -> None:
    """Its centre is off by a part of its size, so displacements depend on it too."""
    tracks = tracks_of(with_sets(seen, 0.4, size), certificate())
    np.testing.assert_allclose(tracks.positions, seen.centre)
    np.testing.assert_allclose(tracks.bounds, 0.4 + 0.3 * (1 + abs(size - 1)) + ROUNDING_PX)
    np.testing.assert_allclose(tracks.motion_bounds[1:], 2 * (0.4 + 0.3 * abs(size - 1) + ROUNDING_PX))
    short = certificate(replace(MEMBERSHIP, reach=6.41))  # enough for the usual size only
    assert np.isnan(tracks_of(with_sets(seen, 0.4, size), short).set_px).all()


def test_a_frame_in_which_no_rendering_fits_is_refused_by_name(seen: Observations) -> None:
    sets = with_sets(seen, 0.4)
    feasible = sets.sets
    feasible.low[1], feasible.high[1], feasible.residual[1] = np.nan, np.nan, 0.9
    assert refusal_reasons(sets, certificate())[:, 0].tolist() == ["", "mismatch", ""]
    tracks = tracks_of(sets, certificate())
    assert np.isnan(tracks.bounds[1, 0])
    assert np.isnan(tracks.motion_bounds[1:]).all()


def test_without_a_set_a_frame_with_something_as_large_left_over_is_refused(seen: Observations) -> None:
    """What is not reconstructed may be the object, and what was found another. A set says that it is this one."""
    area = float(seen.box[1, 0].prod())
    left_over = replace(seen, unexplained=np.array([[0.0], [0.6 * area], [0.4 * area]]))
    assert refusal_reasons(left_over, certificate(None))[:, 0].tolist() == ["", "reconstruction", ""]
    assert refusal_reasons(with_sets(left_over, 0.4), certificate())[:, 0].tolist() == ["", "", ""]


def test_other_refusals_come_before_a_mismatch(seen: Observations) -> None:
    sets = with_sets(replace(seen, at_border=np.array([[False], [True], [False]])), 0.4)
    sets.sets.low[:] = np.nan
    assert refusal_reasons(sets, certificate())[:, 0].tolist() == ["mismatch", "border", "mismatch"]


OUTLINED = replace(MEMBERSHIP, tolerance=(0.0, 0.0), middle=(0.0, 0.0), strength=0.4)


def test_an_object_at_the_border_is_certified_where_its_outline_shows_all_of_it(seen: Observations) -> None:
    """A template does not show it, and neither does an outline that is not there."""
    sets = with_sets(replace(seen, at_border=np.array([[True], [True], [False]])), 0.4)
    sets.sets.residual[:] = np.nan
    sets.sets.low[1] = np.nan
    assert refusal_reasons(sets, certificate(OUTLINED))[:, 0].tolist() == ["", "border", ""]
    assert refusal_reasons(sets, certificate())[:, 0].tolist() == ["border", "border", ""]
    assert refusal_reasons(replace(sets, feasible=None), certificate(OUTLINED))[:, 0].tolist() == ["border"] * 2 + [""]


def test_at_the_border_the_bound_of_z_covers_the_whole_set(seen: Observations) -> None:
    """There a part of the rendering is cut off, and its centre says less."""
    sets = with_sets(replace(seen, at_border=np.array([[True], [False], [True]])), 7.5)
    furthest = half_width(sets.sets.low, sets.sets.high, sets.z).max(axis=-1)
    tracks = tracks_of(sets, certificate(OUTLINED))
    np.testing.assert_allclose(tracks.theorem_px[[0, 2]], furthest[[0, 2]] + ROUNDING_PX)
    np.testing.assert_allclose(tracks.theorem_px[1], 6.0 + ROUNDING_PX)


def test_an_object_whose_planted_positions_lie_outside_is_refused(seen: Observations) -> None:
    known = certificate(MEMBERSHIP, replace(MET, met=False))
    assert not known.certified
    assert refusal_reasons(with_sets(seen, 0.4), known)[:, 0].tolist() == ["mismatch"] * 3
    assert known.objects[0].advice


def test_set_membership_is_stored_with_the_certificate() -> None:
    known = certificate()
    assert Certificate.from_json(known.to_json()) == known
    assert Certificate.from_json(certificate(None).to_json()) == certificate(None)


def test_the_certificate_tells_the_bound_around_positions_and_the_theorem_s() -> None:
    known = certificate()
    text = str(replace(known, objects=(replace(known.objects[0], bound_px=0.71),)))
    assert (
        "certified, half of the positions to within 0.71 px (centre known to 0.30 px, statistical floor 0.010 px)"
        in text
    )
    assert "theorem 4.1 for z: 6.00 px" in text
    assert known.objects[0].membership is not None
    by_outline = replace(known.objects[0].membership, strength=0.4)
    assert "within 0.71 px by its outline" in replace(known.objects[0], bound_px=0.71, membership=by_outline).result(
        scale=1.0
    )
