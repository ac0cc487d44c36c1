"""The Discussion, inverted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from withinpx.errors import InputError
from withinpx.theory.bound import CompactSupport, SizeRange, error_bound
from withinpx.theory.design import design
from withinpx.theory.receptive_field import LARGEST_RECEPTIVE_FIELD, dilations_for, filters_for


@pytest.mark.parametrize("size", range(1, 32, 2))
def test_five_filters_add_up_to_any_odd_receptive_field(size: int) -> None:
    filters = filters_for(size)
    assert len(filters) == 5
    assert set(filters) <= {1, 3, 5, 7}
    assert 1 + sum(side - 1 for side in filters) == size
    assert dilations_for(size) == (1,) * 5


def test_the_filters_up_to_thirty_one_pixels_are_those_of_the_paper_s_networks() -> None:
    """Weights that were trained before fit, and a seed gives the weights that it gave."""
    assert {size: filters_for(size) for size in (1, 9, 11, 25, 29, 31)} == {
        1: (1, 1, 1, 1, 1),
        9: (3, 3, 3, 3, 1),
        11: (3, 3, 3, 3, 3),
        25: (7, 7, 5, 5, 5),
        29: (7, 7, 7, 7, 5),
        31: (7, 7, 7, 7, 7),
    }


@pytest.mark.parametrize("size", range(33, LARGEST_RECEPTIVE_FIELD + 1, 2))
def test_dilated_filters_add_up_to_any_larger_odd_receptive_field_without_gaps(size: int) -> None:
    filters, dilations = filters_for(size), dilations_for(size)
    assert len(filters) == len(dilations) == 5
    assert set(filters) <= {5, 7}
    assert dilations[0] == dilations[-1] == 1
    assert 1 + sum((side - 1) * dilation for side, dilation in zip(filters, dilations, strict=True)) == size
    assert max(dilations) < filters[0] + filters[-1]  # the filters that are not dilated fill the gaps


@pytest.mark.parametrize("size", [0, 2, 32, LARGEST_RECEPTIVE_FIELD + 2, 1.5])
def test_no_other_receptive_field_can_be_built(size: float) -> None:
    with pytest.raises(InputError, match=f"1 to {LARGEST_RECEPTIVE_FIELD}"):
        filters_for(size)  # type: ignore[arg-type]


@settings(max_examples=300)
@given(st.floats(1, 31), st.floats(0, 20), st.floats(0, 25))
def test_a_design_meets_its_target_or_names_the_smallest_reachable_bound(
    smallest: float, extent: float, target: float
) -> None:
    sizes = SizeRange(smallest, min(31, smallest + extent))
    try:
        network = design(sizes, target)
    except InputError as error:
        reachable = float(str(error).split("smallest reachable bound is ")[1].split(" px")[0])
        assert reachable >= target - 1e-4  # the message has six digits
        assert design(sizes, reachable + 1e-3).bound.bound <= reachable + 1e-3
        return
    guaranteed = error_bound(network.encoder_rf, network.decoder_rf, sizes, CompactSupport(network.support))
    assert guaranteed.deterministic
    assert network.bound.bound == guaranteed.bound <= target + 1e-9
    assert max(network.bound_per_size.values()) <= network.bound.bound + 1e-9


def test_six_to_ten_pixels_within_six() -> None:
    network = design(SizeRange(6, 10), target=6)
    assert network.decoder_rf == 11  # the smallest odd one that holds 10 px
    assert network.bound.bound <= 6
    assert network.encoder_filters == filters_for(network.encoder_rf)
    assert "11 px" in network.why


def test_without_a_target_the_encoder_sees_all_of_the_largest_object() -> None:
    network = design(SizeRange(3, 14), spare=2)
    assert (network.encoder_rf, network.decoder_rf) == (15, 17)
    assert "the encoder sees all of it (15 px)" in network.why


def test_the_gaussian_is_cut_off_where_the_papers_decoders_stopped_using_it() -> None:
    """At four standard deviations (sec. 5.1)."""
    network = design(SizeRange(6, 10))
    assert (network.sigma, network.support) == pytest.approx((0.8, 3.2))
    assert (
        network.bound.bound
        == error_bound(network.encoder_rf, network.decoder_rf, network.sizes, CompactSupport(3.2)).bound
    )


def test_a_tighter_target_never_needs_a_larger_encoder_or_a_wider_gaussian() -> None:
    loose, tight = design(SizeRange(6, 10), target=5.6), design(SizeRange(6, 10), target=4)
    assert tight.encoder_rf <= loose.encoder_rf
    assert tight.sigma <= loose.sigma


def test_objects_larger_than_any_decoder_are_refused_with_a_scale() -> None:
    with pytest.raises(InputError, match="scale the images down by 2"):
        design(SizeRange(10, 2 * LARGEST_RECEPTIVE_FIELD - 1))
