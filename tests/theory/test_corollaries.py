"""The corollaries are the theorem, read along one variable."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from withinpx.errors import InputError
from withinpx.theory.bound import CompactSupport, Gaussian, SizeRange, decoder_term, encoder_term, error_bound
from withinpx.theory.corollaries import (
    bound_vs_decoder_rf,
    bound_vs_encoder_rf,
    bound_vs_object_size,
    bound_vs_sigma,
    printed_bound_vs_decoder_rf,
    printed_bound_vs_encoder_rf,
)

receptive_fields = st.integers(0, 15).map(lambda half: 2 * half + 1)
reaches = st.floats(0, 12)


@st.composite
def settings_with_sizes(draw: st.DrawFn) -> tuple[int, int, SizeRange, float]:
    encoder_rf, decoder_rf, reach = draw(receptive_fields), draw(receptive_fields), draw(reaches)
    ends = sorted([draw(st.floats(1, decoder_rf)), draw(st.floats(1, decoder_rf))])
    return encoder_rf, decoder_rf, SizeRange(*ends), reach


@settings(max_examples=1000)
@given(settings_with_sizes())
def test_every_corollary_equals_the_theorem(case: tuple[int, int, SizeRange, float]) -> None:
    encoder_rf, decoder_rf, sizes, reach = case
    over_range = error_bound(encoder_rf, decoder_rf, sizes, CompactSupport(reach)).bound
    assert bound_vs_encoder_rf(decoder_rf, sizes, reach)(encoder_rf) == pytest.approx(over_range, abs=1e-9)
    assert bound_vs_decoder_rf(encoder_rf, sizes, reach)(decoder_rf) == pytest.approx(over_range, abs=1e-9)

    size = sizes.smallest
    one_size, one = SizeRange(size, size), error_bound(encoder_rf, decoder_rf, size, CompactSupport(reach)).bound
    assert bound_vs_encoder_rf(decoder_rf, one_size, reach)(encoder_rf) == pytest.approx(one, abs=1e-9)
    assert bound_vs_decoder_rf(encoder_rf, one_size, reach)(decoder_rf) == pytest.approx(one, abs=1e-9)
    assert bound_vs_object_size(encoder_rf, decoder_rf, reach)(size) == pytest.approx(one, abs=1e-9)


@settings(max_examples=1000)
@given(receptive_fields, receptive_fields, st.floats(0, 1), st.floats(0, 5), st.floats(0, 4))
def test_the_sigma_corollary_equals_the_theorem(
    encoder_rf: int, decoder_rf: int, share: float, sigma: float, n_sigma: float
) -> None:
    size = 1 + share * (decoder_rf - 1)
    curve = bound_vs_sigma(encoder_rf, decoder_rf, size, n_sigma)
    expected = error_bound(encoder_rf, decoder_rf, size, Gaussian(sigma, n_sigma)).bound
    assert curve(sigma) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=500)
@given(settings_with_sizes())
def test_the_printed_size_range_corollaries_hold_but_are_looser(case: tuple[int, int, SizeRange, float]) -> None:
    encoder_rf, decoder_rf, sizes, reach = case
    exact = error_bound(encoder_rf, decoder_rf, sizes, CompactSupport(reach)).bound
    assert printed_bound_vs_encoder_rf(decoder_rf, sizes, reach)(encoder_rf) >= exact - 1e-9
    assert printed_bound_vs_decoder_rf(encoder_rf, sizes, reach)(decoder_rf) >= exact - 1e-9


def test_without_a_gaussian_the_printed_corollaries_are_exact() -> None:
    sizes = SizeRange(6, 10)
    for rf in range(1, 32, 2):
        assert printed_bound_vs_encoder_rf(25, sizes, 0)(rf) == bound_vs_encoder_rf(25, sizes, 0)(rf)
        if rf >= sizes.largest:
            assert printed_bound_vs_decoder_rf(9, sizes, 0)(rf) == bound_vs_decoder_rf(9, sizes, 0)(rf)


def test_in_the_middle_the_printed_form_has_twice_the_gaussian_that_the_crossing_has() -> None:
    sizes = SizeRange(6, 10)
    exact, printed = bound_vs_encoder_rf(25, sizes, 1.0), printed_bound_vs_encoder_rf(25, sizes, 1.0)
    assert exact.region_at(11).limiting == printed.region_at(11).limiting == "both"
    assert printed(11) - exact(11) == pytest.approx(0.5)


def test_the_crossings_are_where_both_terms_are_equal() -> None:
    """The values the paper gives in its text, for Delta_G = 0."""
    nine = SizeRange(9, 9)
    assert bound_vs_encoder_rf(25, nine, 0).crossings == (25 - 2 * 9 + 2,)
    assert bound_vs_decoder_rf(9, nine, 0).crossings == (9 + 2 * 9 - 2,)
    assert bound_vs_object_size(9, 25, 0).crossings == (25 / 2 - 9 / 2 + 1,)
    assert bound_vs_object_size(9, 25, 0)(9) == 9 / 4 + 25 / 4 - 1 / 2
    assert bound_vs_sigma(9, 11, 7, 1).crossings == (9 / 2 - 11 / 2 + 7 - 1,)
    for curve in (bound_vs_encoder_rf(25, nine, 1.6), bound_vs_decoder_rf(9, nine, 1.6)):
        (crossing,) = curve.crossings
        encoder_rf, decoder_rf = (crossing, 25.0) if "encoder" in curve.variable else (9.0, crossing)
        assert encoder_term(encoder_rf, 9) == pytest.approx(decoder_term(decoder_rf, 9, 1.6))


def test_a_value_below_the_start_of_a_curve_is_refused() -> None:
    with pytest.raises(InputError, match="starts at 9"):
        bound_vs_decoder_rf(9, SizeRange(9, 9), 0)(7)
    assert math.isinf(bound_vs_decoder_rf(9, SizeRange(9, 9), 0).regions[-1].end)
