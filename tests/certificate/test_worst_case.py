"""Networks planted so that z is off by the whole bound: the certificate holds, and a smaller bound would be wrong."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.certificate.planted import CORNER, SIZE, TIP, Planted, square_at, tracked
from withinpx.certificate.certify import receptive_fields
from withinpx.theory.bound import GATE_PX, CompactSupport, error_bound
from withinpx.tracking.detector import ROUNDING_PX
from withinpx.tracking.tracks import Tracks

PLACES = np.stack([np.arange(14, 50, 2), np.arange(14, 32)], axis=1)  # (f, 2), the square's middle pixel
ALONG_A_ROW = np.stack([np.arange(14, 50, 2), np.full(18, 20)], axis=1)


def z_error(tracks: Tracks, places: NDArray[np.intp]) -> NDArray[np.float64]:
    """Per frame, along the worse axis, px."""
    return np.asarray(np.abs(tracks.z[:, 0] - (places + 0.5)).max(axis=-1))


def assert_within_the_bound(tracks: Tracks, places: NDArray[np.intp]) -> None:
    assert (z_error(tracks, places) <= tracks.theorem_px[:, 0]).all()
    assert (np.abs(tracks.positions[:, 0] - (places + 0.5)).max(axis=-1) <= tracks.bounds[:, 0]).all()


@pytest.mark.parametrize("encoder_rf", [3, 5, 9])
def test_an_encoder_that_sees_one_pixel_of_the_object_is_off_by_its_whole_term(encoder_rf: int) -> None:
    """Fig. 2a. The gate adds a pixel to the bound; here the object changes no pixel but its own."""
    off = encoder_rf // 2 + SIZE // 2
    network = Planted(encoder_rf, 15, (-off, -off)).build()
    assert receptive_fields(network).encoder == encoder_rf + GATE_PX
    detector, tracks = tracked(network, square_at(PLACES))
    assert detector.certificate.certified
    assert tracks.certified.all()
    assert_within_the_bound(tracks, PLACES)
    assert error_bound(encoder_rf, 15, SIZE, CompactSupport(3.2)).bound == off  # without the gate: exactly reached
    np.testing.assert_allclose(z_error(tracks, PLACES), off, atol=1e-4)
    np.testing.assert_allclose(tracks.theorem_px[:, 0], off + GATE_PX / 2 + ROUNDING_PX)


def test_a_pixel_that_passes_the_gate_because_of_the_object_widens_what_the_encoder_sees() -> None:
    """A line of single pixels is noise, but where it touches the object its pixels count as changed: GATE_PX."""
    network = Planted(5, 11, (-4, 0), reads=TIP, reads_at=(-2, 0)).build()
    detector, tracks = tracked(network, square_at(ALONG_A_ROW, line=20))
    assert detector.certificate.certified
    assert tracks.certified.all()
    assert_within_the_bound(tracks, ALONG_A_ROW)
    np.testing.assert_allclose(z_error(tracks, ALONG_A_ROW), 4, atol=1e-4)
    np.testing.assert_allclose(tracks.theorem_px[:, 0], 4 + ROUNDING_PX)


def test_a_decoder_that_renders_from_the_end_of_the_gaussian_is_off_by_its_whole_term() -> None:
    """Fig. 2b: the object and the last pixel of the Gaussian are at opposite ends of the receptive field."""
    network = Planted(15, 11, (-7, -7), support=3.05, sigma=2.0, from_tail=True).build()
    fields = receptive_fields(network)
    assert fields.decoder == 11
    bound = error_bound(fields.encoder, 11, SIZE, CompactSupport(3.05))
    assert bound.limiting == "decoder"
    detector, tracks = tracked(network, square_at(PLACES))
    assert detector.certificate.certified
    assert tracks.certified.all()
    assert_within_the_bound(tracks, PLACES)
    np.testing.assert_allclose(z_error(tracks, PLACES), 7, atol=1e-4)
    np.testing.assert_allclose(tracks.theorem_px[:, 0], 7.05 + ROUNDING_PX, atol=1e-4)


def test_the_bound_around_the_position_holds_although_z_is_off_by_all_of_it() -> None:
    network = Planted(5, 11, (-3, -3)).build()
    _, tracks = tracked(network, square_at(PLACES))
    np.testing.assert_allclose(tracks.positions[:, 0], PLACES + 0.5, atol=1e-4)
    np.testing.assert_allclose(tracks.bounds[:, 0], tracks.theorem_px[:, 0] + 3, atol=1e-4)


def test_an_encoder_that_responds_to_a_rim_outside_the_rendered_object_is_not_certified() -> None:
    """Its window touches neither the rendered square nor the gate's pixel around it, so the theorem says nothing."""
    network = Planted(5, 13, (-5, -5), reads=CORNER, reads_at=(-3, -3)).build()
    _, tracks = tracked(network, square_at(PLACES, rim=2))
    np.testing.assert_allclose(z_error(tracks, PLACES), 5, atol=1e-4)
    assert not tracks.certified.any()
    assert set(tracks.reasons[:, 0]) == {"heatmap"}
