"""Theorem 4.1 against geometry, corollaries against the theorem, ranges against brute force."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from withinpx.errors import InputError
from withinpx.theory.bound import CompactSupport, Gaussian, SizeRange, error_bound

receptive_fields = st.integers(0, 15).map(lambda half: 2 * half + 1)
reaches = st.floats(0, 20, allow_nan=False)


def furthest_touching(window: int, size: int) -> float:
    """Largest distance between the centres of two runs of pixels that share at least one, by trying every placement."""
    placements = range(-window - size, window + size)
    shared = [at for at in placements if set(range(at, at + window)) & set(range(size))]
    return max(abs(at + window / 2 - size / 2) for at in shared)


def furthest_inside(window: int, size: int) -> float:
    """Largest distance between the centres when the object lies wholly inside the window, by trying every placement."""
    placements = range(-window - size, window + size)
    inside = [at for at in placements if set(range(at, at + size)) <= set(range(window))]
    return max(abs(at + size / 2 - window / 2) for at in inside)


@settings(max_examples=2000)
@given(receptive_fields, receptive_fields, st.integers(1, 31), reaches)
def test_the_bound_is_what_a_search_over_all_placements_finds(
    encoder_rf: int, decoder_rf: int, size: int, reach: float
) -> None:
    if size > decoder_rf:
        with pytest.raises(InputError, match="no decoder can draw"):
            error_bound(encoder_rf, decoder_rf, size, CompactSupport(reach))
        return
    found = error_bound(encoder_rf, decoder_rf, size, CompactSupport(reach))
    by_encoder, by_decoder = furthest_touching(encoder_rf, size), furthest_inside(decoder_rf, size) + reach
    assert found.encoder_term == pytest.approx(by_encoder, abs=1e-9)
    assert found.decoder_term == pytest.approx(by_decoder, abs=1e-9)
    assert found.bound == pytest.approx(min(by_encoder, by_decoder), abs=1e-9)


@settings(max_examples=1000)
@given(receptive_fields, receptive_fields, st.floats(1, 31), st.floats(0, 30), reaches)
def test_a_range_of_sizes_has_the_largest_bound_of_any_size_in_it(
    encoder_rf: int, decoder_rf: int, smallest: float, extent: float, reach: float
) -> None:
    largest = min(smallest + extent, float(decoder_rf))
    if smallest > largest:
        return
    whole = error_bound(encoder_rf, decoder_rf, SizeRange(smallest, largest), CompactSupport(reach))
    steps = 400
    tried = [min(smallest + (largest - smallest) * step / steps, largest) for step in range(steps + 1)]
    bounds = [error_bound(encoder_rf, decoder_rf, size, CompactSupport(reach)).bound for size in tried]
    assert whole.bound >= max(bounds) - 1e-9
    assert whole.bound <= max(bounds) + (largest - smallest) / steps  # both terms have slope 1/2
    at_worst = error_bound(encoder_rf, decoder_rf, whole.worst_size, CompactSupport(reach))
    assert at_worst.bound == pytest.approx(whole.bound, abs=1e-9)


def test_the_central_setting_of_the_paper() -> None:
    found = error_bound(9, 25, 9, Gaussian(0.8, n_sigma=2))
    assert (found.encoder_term, found.decoder_term, found.bound) == (8.0, 9.6, 8.0)
    assert (found.limiting, found.deterministic, found.probability) == ("encoder", True, 1.0)


def test_where_the_decoder_limits_the_infinite_gaussian_leaves_a_probability() -> None:
    found = error_bound(9, 11, 7, Gaussian(0.8, n_sigma=4))
    assert found.bound == pytest.approx(2 + 3.2)
    assert (found.limiting, found.deterministic) == ("decoder", False)
    assert found.probability == pytest.approx(0.99993666, abs=1e-8)


def test_compact_support_makes_the_same_bound_deterministic() -> None:
    found = error_bound(9, 11, 7, CompactSupport(3.2))
    assert found.bound == pytest.approx(5.2)
    assert found.deterministic


@pytest.mark.parametrize(("n_sigma", "probability"), [(1, 0.682689), (2, 0.954500), (3, 0.997300)])
def test_the_probability_is_the_normal_one(n_sigma: int, probability: float) -> None:
    assert Gaussian(0.8, n_sigma).probability == pytest.approx(probability, abs=1e-6)


@pytest.mark.parametrize("broken", [0, -3, 8, 141, 4])
def test_impossible_receptive_fields_are_refused(broken: int) -> None:
    with pytest.raises(InputError, match=f"encoder receptive field is {broken}"):
        error_bound(broken, 25, 9, Gaussian(0.8))
    with pytest.raises(InputError, match=f"decoder receptive field is {broken}"):
        error_bound(9, broken, 9, Gaussian(0.8))


@pytest.mark.parametrize("broken", [math.nan, math.inf, -1.0])
def test_nan_infinite_and_negative_values_are_refused(broken: float) -> None:
    with pytest.raises(InputError, match="sigma"):
        Gaussian(broken)
    with pytest.raises(InputError, match="support"):
        CompactSupport(broken)
    with pytest.raises(InputError, match="object size"):
        SizeRange(broken, 10)


def test_reversed_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="reversed"):
        SizeRange(10, 6)
