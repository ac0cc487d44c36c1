"""From observations to the certificate: which frames judge an object, in whose pixels, and beside which others."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from torch import nn

from tests.certificate.observed import seen_at
from tests.certificate.planted import HEIGHT, WIDTH, Planted
from withinpx.certificate.calibration import fit_shifts
from withinpx.certificate.certificate import Certificate
from withinpx.certificate.certify import Subject, certify, receptive_fields, unexplained_frames
from withinpx.inference.observation import Observations
from withinpx.model.autoencoder import Autoencoder, NetworkConfig, new_network
from withinpx.model.background import BackgroundMode

FRAMES = 20
KEPT_OUT = np.arange(2, FRAMES, 5)
PLACES = np.stack([15.5 + 2 * np.arange(FRAMES), 15.5 + np.arange(FRAMES)], axis=1)[:, None]  # (f, 1, 2)
ONE = Subject("clip", 1.0, 1)
pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(scope="module")
def network() -> Autoencoder:
    return Planted(5, 11, (-3, -3)).build()


def certified(network: Autoencoder, seen: Observations, subject: Subject = ONE) -> Certificate:
    shifts = fit_shifts(seen, seen.body, varies=False)
    fields = receptive_fields(network)
    return certify(subject, network, seen, fields=fields, kept_out=KEPT_OUT, shifts=shifts)


@pytest.mark.parametrize(("name", "value"), [("offset", 3.0), ("leakage", 20.0)])
def test_an_object_is_judged_by_the_frames_that_training_never_saw(
    network: Autoencoder, name: str, value: float
) -> None:
    good = seen_at(PLACES, 3.0)
    kept_out = np.isin(np.arange(FRAMES), KEPT_OUT)
    for frames, whole in ((~kept_out, True), (kept_out, False)):
        values = getattr(good, name).copy()
        values[frames] = value
        changes: dict[str, Any] = {name: values}
        certificate = certified(network, replace(good, **changes))
        assert certificate.certified == whole
        assert certificate.of(0).failed == ("" if whole else {"offset": "reconstruction", "leakage": "heatmap"}[name])
    assert (certificate.frames, certificate.kept_out) == (FRAMES, len(KEPT_OUT))


def test_sizes_bounds_and_limits_are_in_pixels_of_the_recording(network: Autoencoder) -> None:
    seen = seen_at(PLACES, 3.0, z=PLACES - np.array([1.0, 2.0]))
    full, half = (certified(network, seen, replace(ONE, scale=scale)) for scale in (1.0, 0.5))
    assert half.of(0).theorem_px == 2 * full.of(0).theorem_px
    assert half.of(0).size == (6.0, 6.0)
    assert half.of(0).shift == (2.0, 4.0)
    assert half.of(0).limits == full.of(0).limits  # but for the limits of single frames
    for one, other in zip(full.of(0).checks, half.of(0).checks, strict=True):
        factor = 2 if one.unit == "px" else 1
        assert other.limit == pytest.approx(factor * one.limit)
        assert other.met == one.met


def test_a_filter_that_is_blank_at_its_rim_does_not_widen_the_receptive_field() -> None:
    config = NetworkConfig(HEIGHT, WIDTH, 9, 11, 0.8, support=3.2, channels=4, background=BackgroundMode.LAYERED)
    whole = new_network(config, 0).eval()
    fields = receptive_fields(whole)
    assert (fields.encoder, fields.decoder) == (9 + 2, 11)  # the gate adds one pixel on either side
    for cnn in (whole.encoder, whole.decoder):
        first = next(layer for layer in cnn if isinstance(layer, nn.Conv2d))
        rim = first.kernel_size[0] // 2
        first.weight.data[..., :rim] = first.weight.data[..., -rim:] = 0
        first.weight.data[..., :rim, :] = first.weight.data[..., -rim:, :] = 0
    narrower = receptive_fields(whole)
    assert (narrower.encoder, narrower.decoder) == (7 + 2, 9)


def test_both_of_two_look_alikes_are_refused() -> None:
    config = NetworkConfig(HEIGHT, WIDTH, 5, 9, 0.8, support=3.2, objects=4, channels=2)
    network = new_network(replace(config, background=BackgroundMode.LAYERED), 0).eval()
    seen = seen_at(np.concatenate([PLACES + 3 * index for index in range(4)], axis=1), 3.0)
    certificate = certified(network, seen, Subject("clip", 1.0, 3, look_alikes=((0, 2),)))
    messages = [certificate.of(index).checks[0].message for index in range(3)]
    assert [("its appearance is that of object" in message) for message in messages] == [True, False, True]
    assert "object 2" in messages[0]
    assert "object 0" in messages[2]
    assert certificate.unused == (3,)


@pytest.mark.parametrize(("area", "frames", "warned"), [(5.0, 3, True), (4.0, 3, False), (5.0, 2, False)])
def test_what_no_object_explains_is_warned_of(network: Autoencoder, area: float, frames: int, warned: bool) -> None:
    """If it is larger than half of the smallest object, in more than a tenth of the frames."""
    seen = seen_at(PLACES, 3.0)
    seen.unexplained[:frames] = area
    assert unexplained_frames(seen, 1).sum() == (frames if warned else 0)
    assert bool(certified(network, seen).warnings) == warned
