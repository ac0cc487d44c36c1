"""The certificate holds where the assumptions do, and names the one that is violated."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.tracked_clip import FRAMES, WIDTH, TrackedClip
from withinpx.certificate.assumptions import check_object, object_bound, rendered_sizes
from withinpx.certificate.certificate import Certificate, ObjectCertificate, refusal_reasons
from withinpx.certificate.certify import receptive_fields
from withinpx.data.motion import Path2D, still
from withinpx.data.stage import GeneratedClip
from withinpx.inference import observation
from withinpx.inference.observation import Observations
from withinpx.inference.rendering import templates
from withinpx.model.autoencoder import Latents
from withinpx.model.sparse import sparse_latents
from withinpx.theory.bound import GATE_PX
from withinpx.tracking.detector import Detector
from withinpx.tracking.tracks import Tracks

OBJECTS = 3
pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(scope="module")
def good(tracked: TrackedClip) -> Observations:
    return observations(tracked.detector, tracked.made)


def observations(detector: Detector, made: GeneratedClip) -> Observations:
    return detector.observe(made.clip.frames)


def judged(detector: Detector, seen: Observations) -> Certificate:
    """The certificate that these observations get."""
    rendered = templates(detector.model, seen.z, seen.present)[:OBJECTS]
    fields = receptive_fields(detector.model)
    objects = []
    for index in range(OBJECTS):
        found = check_object(detector.model, fields, seen, seen, [*rendered.unsqueeze(1)], index=index, scale=1.0)
        size = (found.size.smallest, found.size.largest)
        objects.append(ObjectCertificate(index, size, found.theorem_px, (0, 0), found.limits, found.checks))
    return replace(detector.certificate, objects=tuple(objects))


def tracks_of(detector: Detector, seen: Observations) -> Tracks:
    return detector.tracks(seen, np.arange(len(seen)), np.arange(len(seen)) / 25)


def failed(certificate: Certificate, each: int) -> set[str]:
    return {check.name for check in certificate.of(each).checks if not check.met}


def truth_of(seen: Observations, made: GeneratedClip, each: int) -> int:
    """Which of the generated objects a heatmap follows."""
    away = np.abs(seen.centre[:, each, None] - made.truth).max(axis=-1)
    return int(np.median(away, axis=0).argmin())


def sent(made: GeneratedClip, thing: int, path: Path2D) -> GeneratedClip:
    """The same scene with another trajectory of one object."""
    things = list(made.stage.objects)
    things[thing] = replace(things[thing], path=path)
    return replace(made.stage, objects=tuple(things)).render()


def with_column(values: NDArray[np.float64], each: int, value: Any) -> NDArray[np.float64]:
    changed = values.copy()
    changed[:, each] = value
    return changed


def test_a_good_clip_is_certified_and_every_position_is_within_its_bound(
    tracked: TrackedClip, good: Observations
) -> None:
    detector = tracked.detector
    assert detector.certificate.certified
    assert len(detector.certificate.objects) == OBJECTS
    assert sorted(truth_of(good, tracked.made, each) for each in range(OBJECTS)) == [0, 1, 2]
    tracks = tracks_of(detector, good)
    assert tracks.certified.mean() > 0.9
    for each in range(OBJECTS):
        truth = tracked.made.truth[:, truth_of(good, tracked.made, each)]
        sure = tracks.certified[:, each]
        for position, bound in ((tracks.positions, tracks.bounds), (tracks.z, tracks.theorem_px)):
            assert (np.abs(position[:, each] - truth).max(axis=-1) <= bound[:, each])[sure].all()
        assert np.median(np.abs(tracks.positions[:, each] - truth)[sure]) < 0.5


def test_the_same_frames_get_the_same_verdict_again(tracked: TrackedClip, good: Observations) -> None:
    certificate = judged(tracked.detector, good)
    assert certificate.certified
    for each in range(OBJECTS):
        assert certificate.of(each).theorem_px == pytest.approx(tracked.detector.certificate.of(each).theorem_px)


def test_a_decoder_with_a_bias_is_refused_for_its_reconstruction(
    tracked: TrackedClip, monkeypatch: pytest.MonkeyPatch
) -> None:
    def biased(model: Any, maps: Any) -> tuple[Latents, torch.Tensor]:
        (positions, codes), mass = sparse_latents(model, maps)
        return Latents(positions + positions.new_tensor([4.0, 0.0]), codes), mass

    monkeypatch.setattr(observation, "sparse_latents", biased)
    detector = tracked.detector
    seen = observations(detector, tracked.made)
    np.testing.assert_allclose(np.median(seen.residual[:, :OBJECTS], axis=0), 4, atol=0.7)
    certificate = judged(detector, seen)
    for each in range(OBJECTS):
        assert "reconstruction" in failed(certificate, each)
        assert not certificate.of(each).certified
    assert not tracks_of(detector, seen).certified.any()  # nor by the certificate that was given before
    assert set(refusal_reasons(seen, detector.certificate)[:, :OBJECTS].ravel()) <= {"reconstruction", "absent"}


@pytest.mark.parametrize("gain", [0.0, 3.0])
def test_a_decoder_that_renders_something_else_is_refused(tracked: TrackedClip, gain: float) -> None:
    detector = tracked.detector
    last: Any = detector.model.decoder[-1]
    generator = torch.Generator().manual_seed(0)
    last.weight.data = gain * last.weight.data.std() * torch.randn(last.weight.shape, generator=generator)
    seen = observations(detector, tracked.made)
    certificate = judged(detector, seen)
    assert not tracks_of(detector, seen).certified.any()
    for each in range(OBJECTS):
        assert "reconstruction" in failed(certificate, each)


def test_an_object_that_never_moves_is_refused_for_its_displacement(tracked: TrackedClip, good: Observations) -> None:
    resting = replace(
        good, centre=with_column(good.centre, 1, good.centre[0, 1]), z=with_column(good.z, 1, good.z[0, 1])
    )
    certificate = judged(tracked.detector, resting)
    assert failed(certificate, 1) == {"displacement"}
    assert certificate.of(1).failed == "displacement"
    assert certificate.of(0).certified
    assert certificate.of(2).certified
    assert set(refusal_reasons(resting, certificate)[:, 1]) == {"displacement"}


def test_a_position_where_it_was_not_reconstructed_does_not_count_as_displacement(
    tracked: TrackedClip, good: Observations
) -> None:
    """One frame in which something else is mistaken for it, far away."""
    centre, raw = (with_column(values, 1, values[0, 1]) for values in (good.centre, good.z))
    centre[5, 1] += 30
    raw[5, 1] += 30
    elsewhere = replace(good, centre=centre, z=raw)
    assert "displacement" not in failed(judged(tracked.detector, elsewhere), 1)
    offset = good.offset.copy()
    offset[5, 1] = 6.0
    assert "displacement" in failed(judged(tracked.detector, replace(elsewhere, offset=offset)), 1)


def test_twins_are_refused_as_not_distinct(tracked: TrackedClip, good: Observations) -> None:
    detector = tracked.detector
    rendered = templates(detector.model, good.z, good.present)[:OBJECTS]
    fields = receptive_fields(detector.model)
    twins = torch.stack([rendered[0], rendered[0], rendered[2]])
    for index, names in ((0, {"distinct"}), (1, {"distinct"}), (2, set[str]())):
        found = check_object(detector.model, fields, good, good, [*twins.unsqueeze(1)], index=index, scale=1.0)
        assert {check.name for check in found.checks if not check.met} == names


def test_an_object_out_of_the_view_is_absent_and_no_position_is_claimed(
    tracked: TrackedClip, good: Observations
) -> None:
    detector = tracked.detector
    for each in range(OBJECTS):
        gone = sent(tracked.made, truth_of(good, tracked.made, each), still(FRAMES, (-40, -40)))
        seen = observations(detector, gone)
        assert not seen.present[:, each].any()
        others = [other for other in range(OBJECTS) if other != each]
        assert seen.present[:, others].mean() > 0.9
        assert set(refusal_reasons(seen, detector.certificate)[:, each]) == {"absent"}
        tracks = tracks_of(detector, seen)
        assert not tracks.certified[:, each].any()
        table = tracks.to_dataframe().query("object == @each")
        assert table[["x", "y", "z_x", "z_y", "width", "height", "bound_px", "theorem_px"]].isna().all(axis=None)
        assert not table[["present", "certified"]].any(axis=None)
        assert set(table["reason"]) == {"absent"}


def test_an_object_cut_by_the_border_is_refused_there(tracked: TrackedClip, good: Observations) -> None:
    detector = tracked.detector
    each = next(each for each in range(OBJECTS) if truth_of(good, tracked.made, each) == 0)
    y = tracked.made.truth[:, 0, 1]
    for beyond in (-1.5, -3.0):  # px from the right border to the disc's centre
        cut = sent(tracked.made, 0, np.stack([np.full(FRAMES, WIDTH + beyond), y], axis=1))
        seen = observations(detector, cut)
        assert seen.at_border[:, each].mean() > 0.8
        why = refusal_reasons(seen, detector.certificate)[:, each]
        assert {"border", "reconstruction"} >= set(why)
        assert not (why == "").any()


@pytest.mark.parametrize(("name", "value"), [("leakage", 2.0), ("outside_mass", 0.4)])
def test_a_second_peak_in_the_heatmap_is_refused_frame_by_frame(
    tracked: TrackedClip, good: Observations, name: str, value: float
) -> None:
    values = getattr(good, name).copy()
    values[5:8, 0] = value
    changes: dict[str, Any] = {name: values}
    why = refusal_reasons(replace(good, **changes), tracked.detector.certificate)
    assert set(why[5:8, 0]) == {"heatmap"}
    assert "heatmap" not in np.delete(why[:, 0], range(5, 8))
    assert "heatmap" not in why[:, 1:]


def test_a_heatmap_that_is_always_pulled_away_is_refused(tracked: TrackedClip, good: Observations) -> None:
    certificate = judged(tracked.detector, replace(good, leakage=with_column(good.leakage, 2, 30.0)))
    assert failed(certificate, 2) == {"heatmap"}
    assert certificate.of(0).certified


def test_frames_in_which_the_rendered_centre_drifts_from_z_are_refused(
    tracked: TrackedClip, good: Observations
) -> None:
    limit = tracked.detector.certificate.of(0).limits.drift
    centre = good.centre.copy()
    centre[5:8, 0, 1] += limit + 0.5
    centre[10, 0, 1] += 0.1
    why = refusal_reasons(replace(good, centre=centre), tracked.detector.certificate)
    assert set(why[5:8, 0]) == {"drift"}
    assert "drift" not in np.delete(why, range(5, 8), axis=0)
    assert "drift" not in why[:, 1:]


def test_an_object_whose_rendered_centre_drifts_over_the_frame_is_refused(
    tracked: TrackedClip, good: Observations
) -> None:
    """As a decoder that knows where it renders could do."""
    drifting = good.centre.copy()
    drifting[:, 1, 0] += np.linspace(-4, 4, len(good))
    certificate = judged(tracked.detector, replace(good, centre=drifting))
    assert failed(certificate, 1) == {"drift"}
    assert certificate.of(0).certified


def test_a_smaller_pull_is_added_to_the_bound(tracked: TrackedClip, good: Observations) -> None:
    pulled = tracks_of(tracked.detector, replace(good, leakage=good.leakage + 0.25, feasible=None))
    plain = tracks_of(tracked.detector, replace(good, feasible=None))
    np.testing.assert_allclose(pulled.theorem_px - plain.theorem_px, 0.25)
    np.testing.assert_allclose(pulled.bounds - plain.bounds, 0.25)


def test_a_second_object_of_the_same_appearance_is_not_certified_silently(
    tracked: TrackedClip, good: Observations
) -> None:
    """Half of the heatmap's mass lies on the twin: z is between the two, where nothing is."""
    made = tracked.made
    each = next(each for each in range(OBJECTS) if truth_of(good, made, each) == 0)
    disc = made.stage.objects[0]
    twin = replace(disc, path=np.stack([WIDTH - disc.path[:, 0], disc.path[:, 1]], axis=1))
    both = replace(made.stage, objects=(*made.stage.objects, twin)).render()
    detector = tracked.detector
    seen = observations(detector, both)
    apart = np.abs(disc.path - twin.path).max(axis=1) > 2 * disc.size
    tracks = tracks_of(detector, seen)
    near = np.minimum(*(np.abs(tracks.z[:, each] - path).max(axis=1) for path in (disc.path, twin.path)))
    wrong = tracks.certified[:, each] & (near > tracks.theorem_px[:, each]) & apart
    assert not wrong.any()


def test_the_bound_uses_the_measured_receptive_fields(tracked: TrackedClip, good: Observations) -> None:
    """A decoder whose first filters are blanked but for their centre sees less: its bound is tighter."""
    detector = tracked.detector
    fields = receptive_fields(detector.model)
    config = detector.model.config
    assert (fields.encoder, fields.decoder) == (config.encoder_rf + GATE_PX, config.decoder_rf)
    first: Any = detector.model.decoder[0]
    side = first.kernel_size[0]
    mask = torch.zeros(side, side)
    mask[side // 2, side // 2] = 1
    first.weight.data *= mask
    narrower = receptive_fields(detector.model)
    assert narrower.decoder == fields.decoder - (side - 1)
    size = rendered_sizes(good, 0)
    assert object_bound(detector.model, narrower, size) < object_bound(detector.model, fields, size)
    certificate = judged(detector, good)
    assert certificate.of(0).theorem_px == pytest.approx(object_bound(detector.model, narrower, size))
