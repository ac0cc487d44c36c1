"""Each check of an object is met by a perfect network and fails where its assumption does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from tests.certificate.observed import seen_at
from tests.certificate.planted import HEIGHT, WIDTH, Planted
from withinpx.certificate.assumptions import (
    Measured,
    ReceptiveFields,
    appearance_difference,
    check_object,
    frame_limits,
    object_bound,
    rendered_sizes,
)
from withinpx.inference.observation import Observations
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode
from withinpx.theory import CompactSupport, Gaussian, SizeRange
from withinpx.theory.bound import error_bound

FRAMES = 20
FIELDS = ReceptiveFields(encoder=7, decoder=11)
PLACES = np.stack([15.5 + 2 * np.arange(FRAMES), 15.5 + np.arange(FRAMES)], axis=1)[:, None]  # (f, 1, 2)
TEMPLATES = torch.zeros(2, 1, 20, 20)
TEMPLATES[0, :, 5:9, 5:9] = 0.6
TEMPLATES[1, :, 5:12, 5:12] = -0.4
pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(scope="module")
def network() -> Autoencoder:
    return Planted(5, 11, (-3, -3)).build()


def measured(
    network: Autoencoder,
    seen: Observations,
    kept_out: Observations | None = None,
    templates: Tensor = TEMPLATES,
    **options: Any,
) -> Measured:
    """Object 0, with the frames that training never saw, if they differ from the others."""
    kept_out = seen if kept_out is None else kept_out
    return check_object(network, FIELDS, kept_out, seen, [*templates.unsqueeze(1)], index=0, scale=1.0, **options)


def failed(found: Measured) -> set[str]:
    return {check.name for check in found.checks if not check.met}


def perfect(**changes: Any) -> Observations:
    return seen_at(PLACES, 3.0, **changes)


def in_frames(count: int, value: float, width: int = 1) -> NDArray[np.float64]:
    """A value in the first frames, zero in the others: (f, 1) or (f, 1, 2)."""
    values = np.zeros((FRAMES, 1, width))
    values[:count] = value
    return values if width > 1 else values[..., 0]


def test_a_perfect_network_meets_every_check(network: Autoencoder) -> None:
    found = measured(network, perfect())
    assert not failed(found)
    assert [check.name for check in found.checks] == [
        *("distinct", "displacement", "reconstruction", "heatmap", "drift", "equivariance")
    ]
    assert found.theorem_px == error_bound(7, 11, 3, CompactSupport(3.2)).bound


def test_a_rendering_that_drifts_in_more_than_a_fifth_of_the_frames_is_refused(network: Autoencoder) -> None:
    for count, names in ((4, set[str]()), (5, {"drift"})):
        seen = replace(perfect(), centre=PLACES + in_frames(count, 1.5, width=2))
        assert failed(measured(network, seen)) == names


def test_a_rendering_that_is_always_displaced_alike_does_not_drift(network: Autoencoder) -> None:
    found = measured(network, perfect(z=PLACES + np.array([3.0, -2.0])))
    assert not failed(found)
    assert found.limits.rendered == pytest.approx((-3.0, 2.0))


def test_the_usual_displacement_is_that_of_most_frames(network: Autoencoder) -> None:
    """A few frames in which something else is rendered, the first ones, do not define it."""
    limits = measured(network, replace(perfect(), centre=PLACES + in_frames(4, 5.0, width=2))).limits
    assert limits.rendered == pytest.approx((0.0, 0.0))


@pytest.mark.parametrize(("size", "residual", "drift"), [(3.0, 1.0, 1.0), (24.0, 2.4, 4.8)])
def test_a_larger_object_may_be_off_by_more(size: float, residual: float, drift: float) -> None:
    limits = frame_limits(seen_at(PLACES, size), 0, SizeRange(1.0, size))
    assert (limits.residual, limits.drift) == pytest.approx((residual, drift))


def blurred(error: float, background: BackgroundMode) -> Autoencoder:
    """A network whose z is pulled towards the middle of the frame by ``error`` px over the largest shift."""
    mass = error / 5  # of the softmax, spread over the frame
    logit = np.log(HEIGHT * WIDTH * (1 - mass) / mass)
    return Planted(5, 11, (-3, -3), temperature=20 * 1.8 / float(logit), background=background).build()


@pytest.mark.parametrize(
    ("background", "error", "met"),
    [
        (BackgroundMode.LAYERED, 0.05, True),
        (BackgroundMode.LAYERED, 0.2, False),
        (BackgroundMode.LAYERED, 2.0, False),
        (BackgroundMode.PERSPECTIVE, 0.5, True),
        (BackgroundMode.PERSPECTIVE, 2.0, False),
    ],
)
def test_a_z_that_does_not_follow_the_object_is_refused(background: BackgroundMode, error: float, met: bool) -> None:
    """By a layered network, which is equivariant by construction, to a tenth of a pixel; else by the limit of drift."""
    found = measured(blurred(error, background), perfect())
    check = found.checks[-1]
    assert check.value == pytest.approx(error, rel=0.1)
    assert (check.met, failed(found)) == (met, set() if met else {"equivariance"})


def test_an_object_that_is_seen_only_near_the_border_is_judged_away_from_it(network: Autoencoder) -> None:
    along_the_border = np.stack([np.linspace(8, 56, FRAMES), np.full(FRAMES, 4.0)], axis=1)[:, None]
    assert not failed(measured(network, seen_at(along_the_border, 3.0)))


def test_a_grey_object_is_as_visible_as_it_is_over_its_background() -> None:
    network = Planted(5, 11, (-3, -3)).build()
    last: Any = network.decoder[-1]
    last.weight.data[1] *= 0.5 / last.weight.data[1].max()
    assert not failed(measured(network, perfect()))


def test_an_object_must_move_further_than_its_bound(network: Autoencoder) -> None:
    bound = measured(network, perfect()).theorem_px
    for span, names in ((bound + 0.1, set[str]()), (bound - 0.1, {"displacement"})):
        places = np.linspace((30.0, 20.0), (30.0 + span, 20.0), FRAMES)[:, None]
        assert failed(measured(network, seen_at(places, 3.0))) == names


@pytest.mark.parametrize(
    "changes",
    [
        {"offset": in_frames(2, 3.0, width=2)},
        {"explained": 1 - in_frames(2, 1.0)},
        {"at_border": in_frames(2, 1) > 0},
        {"leakage": in_frames(2, 3.0)},
    ],
)
def test_a_position_in_a_refused_frame_is_no_displacement(network: Autoencoder, changes: dict[str, Any]) -> None:
    """Two frames in which it seems to be 20 px away."""
    places = np.full((FRAMES, 1, 2), 30.0)
    places[:2] += 20
    assert "displacement" not in failed(measured(network, seen_at(places, 3.0)))
    assert "displacement" in failed(measured(network, seen_at(places, 3.0, **changes)))


@pytest.mark.parametrize("changes", [{"offset": in_frames(5, 3.0, width=2)}, {"explained": 1 - in_frames(5, 0.6)}])
def test_an_object_must_be_reconstructed_in_four_of_five_kept_out_frames(
    network: Autoencoder, changes: dict[str, Any]
) -> None:
    bad, good = perfect(**changes), perfect()
    assert failed(measured(network, bad)) == {"reconstruction"}
    assert failed(measured(network, bad, kept_out=good)) == set()  # frames that training saw do not count,
    assert failed(measured(network, good, kept_out=bad)) == {"reconstruction"}  # and do not help
    assert failed(measured(network, bad.only(np.arange(1, FRAMES)))) == {"reconstruction"}  # 4 of 19
    assert failed(measured(network, bad.only(np.arange(2, FRAMES)))) == set()  # 3 of 18


def test_an_object_that_no_kept_out_frame_shows_is_refused(network: Autoencoder) -> None:
    hidden = perfect(present=np.zeros((FRAMES, 1), np.bool_))
    assert failed(measured(network, perfect(), kept_out=hidden)) == {"reconstruction"}


def test_a_heatmap_that_is_pulled_away_in_more_than_a_tenth_of_the_kept_out_frames_is_refused(
    network: Autoencoder,
) -> None:
    good = perfect()
    further = measured(network, good).theorem_px + 0.5
    pulled = perfect(leakage=in_frames(4, further))
    assert failed(measured(network, good, kept_out=pulled)) == {"heatmap"}
    assert failed(measured(network, pulled, kept_out=good)) == set()
    assert failed(measured(network, good, kept_out=perfect(leakage=in_frames(1, further)))) == set()


@pytest.mark.parametrize(("usual", "allowed"), [(0.2, 1.0), (1.5, 1.5)])
def test_frames_may_be_pulled_away_by_as_much_as_is_usual(network: Autoencoder, usual: float, allowed: float) -> None:
    """It is added to the theorem's bound in every frame, and may usually double it."""
    pulled = measured(network, perfect(leakage=np.full_like(perfect().leakage, usual)))
    assert failed(pulled) == set()
    assert pulled.limits.leakage == pytest.approx(allowed)
    bound = pulled.theorem_px
    most = measured(network, perfect(leakage=np.full_like(perfect().leakage, bound + 0.1)))
    assert most.limits.leakage == pytest.approx(bound)


def test_an_object_whose_rendering_is_that_of_another_is_refused(network: Autoencoder) -> None:
    twins = torch.stack([TEMPLATES[0], TEMPLATES[0].roll(3, -1)])
    assert failed(measured(network, perfect(), templates=twins)) == {"distinct"}
    assert failed(measured(network, perfect(), templates=twins[:1])) == set()  # there is no other


def test_renderings_that_differ_by_less_than_15_percent_are_those_of_look_alikes(network: Autoencoder) -> None:
    for factor, names in ((0.88, {"distinct"}), (0.82, set[str]())):
        pair = torch.stack([TEMPLATES[0], factor * TEMPLATES[0]])
        assert appearance_difference(pair[0], pair[1]) == pytest.approx(1 - factor, abs=1e-5)
        assert failed(measured(network, perfect(), templates=pair)) == names


def test_an_object_that_inspection_confuses_with_another_is_refused(network: Autoencoder) -> None:
    assert failed(measured(network, perfect(), look_alikes=(1,))) == {"distinct"}


def test_the_range_of_sizes_is_that_of_all_frames_which_show_the_whole_object() -> None:
    seen = perfect()
    seen.box[:, 0] = np.linspace((6, 4), (10, 5), FRAMES)
    assert rendered_sizes(seen, 0) == SizeRange(6, 10)
    seen.at_border[0], seen.present[-1] = True, False
    assert rendered_sizes(seen, 0) == SizeRange(float(seen.box[1, 0, 0]), float(seen.box[-2, 0, 0]))


def test_the_bound_is_that_of_the_worst_size_in_the_range(network: Autoencoder) -> None:
    """The largest one where the encoder limits, the smallest one where the decoder does."""
    support, sizes = CompactSupport(3.2), SizeRange(3, 5)
    for fields, worst in ((ReceptiveFields(5, 11), 5), (ReceptiveFields(15, 9), 3)):
        bound = error_bound(fields.encoder, fields.decoder, worst, support).bound
        assert object_bound(network, fields, sizes) == bound
        assert object_bound(network, fields, SizeRange(worst, worst)) == bound
        other = 8 - worst
        assert object_bound(network, fields, SizeRange(other, other)) < bound


def test_the_sizes_of_all_frames_enter_the_bound(network: Autoencoder) -> None:
    seen = perfect()
    seen.box[3, 0] = (5, 4)
    assert measured(network, seen).theorem_px == error_bound(7, 11, 5, CompactSupport(3.2)).bound
    assert measured(network, seen).theorem_px > measured(network, perfect()).theorem_px


def test_nothing_larger_than_the_decoder_sees_is_rendered(network: Autoencoder) -> None:
    fields = ReceptiveFields(31, 9)
    at_most = error_bound(31, 9, 9, CompactSupport(3.2)).bound
    assert object_bound(network, fields, SizeRange(12, 14)) == at_most


def test_a_gaussian_without_support_counts_to_four_standard_deviations() -> None:
    config = NetworkConfig(HEIGHT, WIDTH, 15, 11, 0.8, channels=1, background=BackgroundMode.LAYERED)
    wide = new_network(config, 0)
    found = object_bound(wide, ReceptiveFields(17, 11), SizeRange(3, 3))
    assert found == pytest.approx(error_bound(17, 11, 3, Gaussian(0.8, 4)).bound)
    cut_off = new_network(replace(config, support=2.0), 0)
    assert object_bound(cut_off, ReceptiveFields(17, 11), SizeRange(3, 3)) == pytest.approx(found - 3.2 + 2.0)
