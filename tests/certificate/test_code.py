"""Certificates of networks with an appearance code."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.certificate.observed import seen_at
from tests.certificate.planted import BRIGHT, DARK, Planted, square_at, tracked
from tests.training.turning import Turning, bar_engine, new_bar_network, telling_bar
from withinpx.certificate.assumptions import (
    DISTINCT,
    ReceptiveFields,
    check_object,
    equivariance_errors,
    frame_limits,
    rendered_sizes,
)
from withinpx.certificate.calibration import Shift, fit_shifts, reported_centres
from withinpx.certificate.certificate import Certificate, frame_reasons
from withinpx.certificate.certify import Subject, certify, receptive_fields
from withinpx.data.selection import Selection
from withinpx.errors import InputError
from withinpx.inference.codes import appearances, shown_codes, spread_codes
from withinpx.inference.observation import Observations
from withinpx.inference.run import run
from withinpx.model.autoencoder import Autoencoder, new_network, with_appearance
from withinpx.studio.worker import render_preview
from withinpx.theory import SizeRange
from withinpx.theory.bound import GATE_PX
from withinpx.tracking.appearance_figure import STEPS, plot_appearance, render_entries
from withinpx.tracking.detector import Detector
from withinpx.tracking.edit import codes_in, edited_frames, empty_frame
from withinpx.tracking.masks import object_mask
from withinpx.tracking.onnx_file import onnx_bytes
from withinpx.tracking.result import Result
from withinpx.tracking.tracks import read_tracks, write_tracks
from withinpx.training.device import denormals_as_zero
from withinpx.training.fit import recompute_batch_norm

STEPS_OF_ADVERSARY = 120
PLACES = np.stack([15.5 + 2 * np.arange(20), 15.5 + np.arange(20)], axis=1)[:, None]  # (f, 1, 2)


def squares(count: int = 30) -> NDArray[np.uint8]:
    share = np.linspace(0, 1, count)
    return square_at(np.stack([12 + 40 * share, 24 + 10 * np.sin(6 * share)], axis=1).astype(np.intp))


@torch.no_grad()
def coded(entries: int = 2) -> Autoencoder:
    """A network that renders the square with a code that says something, and hardly changes it."""
    model = with_appearance(Planted(5, 11, (-1, -1)).build(), entries, seed=3)
    last = cast(torch.nn.Conv2d, model.encoder[-1])
    assert last.bias is not None
    last.bias[1:] = torch.linspace(-0.5, 0.7, entries)
    cast(torch.nn.Conv2d, model.decoder[0]).weight[:, 1:] += 1e-3
    return model


@pytest.fixture(scope="module")
def detector() -> Detector:
    made, _ = tracked(coded(), squares())
    return replace(made, appearances=shown_codes(made.observe(squares())))


def varied(codes: NDArray[np.float64], **changes: NDArray[np.float64]) -> Observations:
    return seen_at(PLACES, 3.0, codes=codes, **changes)


def test_a_network_with_a_code_is_certified_and_bounded(detector: Detector) -> None:
    seen = detector.observe(squares())
    assert seen.codes.shape == (30, 1, 2)
    assert detector.certificate.certified, str(detector.certificate)
    tracks = detector.tracks(seen, np.arange(30), np.full(30, np.nan))
    share = np.linspace(0, 1, 30)
    truth = np.stack([12 + 40 * share, 24 + 10 * np.sin(6 * share)], axis=1).astype(np.intp) + 0.5
    error = np.abs(tracks.positions[:, 0] - truth).max(axis=-1)
    assert tracks.certified.any()
    assert (error <= tracks.bounds[:, 0])[tracks.certified[:, 0]].all()
    assert (np.abs(tracks.z[:, 0] - truth).max(axis=-1) <= tracks.theorem_px[:, 0])[tracks.certified[:, 0]].all()


def test_a_detector_with_a_code_is_saved_and_loaded(detector: Detector, tmp_path: Path) -> None:
    detector.save(tmp_path)
    again = Detector.load(tmp_path)
    assert again.model.config == detector.model.config
    assert again.certificate == detector.certificate
    np.testing.assert_allclose(again.usual_codes, detector.usual_codes)
    np.testing.assert_allclose(again.observe(squares()).codes, detector.observe(squares()).codes)
    assert "Infinity" not in detector.certificate.dumps()
    assert Certificate.from_json(detector.certificate.to_json()) == detector.certificate


def test_tracks_keep_the_codes(detector: Detector, tmp_path: Path) -> None:
    tracks = detector.tracks(detector.observe(squares()), np.arange(30), np.full(30, np.nan))
    write_tracks(tmp_path / "tracks.csv", tracks)
    again = read_tracks(tmp_path / "tracks.csv")
    np.testing.assert_allclose(again.codes, tracks.codes, atol=1e-4)
    assert again[3:5].codes.shape == (2, 1, 2)
    mask = object_mask(detector, again, 4, 0)
    x, y = again.positions[4, 0].astype(int)
    assert mask[y, x]
    assert mask.sum() == 9


def test_an_edited_object_is_rendered_with_its_code_where_its_path_is(detector: Detector) -> None:
    (frame,) = edited_frames(detector, {0: np.array([[30.5, 20.5]])}, 1)
    changed = np.abs(frame.astype(int) - empty_frame(detector)).max(axis=-1) > (BRIGHT - DARK) // 2
    rows, columns = np.nonzero(changed)
    assert (rows.mean(), columns.mean()) == pytest.approx((20, 30), abs=0.5)


def test_an_edited_object_appears_as_in_a_frame_of_its_clip(detector: Detector) -> None:
    tracks = detector.tracks(detector.observe(squares()), np.arange(100, 130), np.full(30, np.nan))
    codes = codes_in(detector, tracks, {0: 107})
    np.testing.assert_array_equal(codes[0], tracks.codes[7, 0])
    np.testing.assert_array_equal(codes_in(detector, tracks, {}), detector.usual_codes)


def test_an_appearance_that_no_frame_shows_is_refused(detector: Detector) -> None:
    tracks = detector.tracks(detector.observe(squares()), np.arange(30), np.full(30, np.nan))
    with pytest.raises(InputError, match="Frame 30 is not tracked: the tracks have frames 0 to 29"):
        codes_in(detector, tracks, {0: 30})
    with pytest.raises(InputError, match="There is no object 1: the detector follows 0"):
        codes_in(detector, tracks, {1: 3})
    absent = tracks.present.copy()
    absent[:5] = False
    with pytest.raises(InputError, match="Frame 2 does not show object 0: 5 is the nearest that does"):
        codes_in(detector, replace(tracks, present=absent), {0: 2})
    with pytest.raises(InputError, match="do not hold the detector's appearance codes"):
        codes_in(detector, replace(tracks, codes=tracks.codes[..., :1]), {0: 2})


def test_every_entry_of_the_code_has_a_row_of_renderings(detector: Detector) -> None:
    codes = np.array([[-0.5, 0.1], [0.5, 0.3], [0.0, 0.2]])
    images, steps = render_entries(detector, 0, codes)
    assert images.shape[:2] == steps.shape == (2, STEPS)
    np.testing.assert_allclose(steps[:, [0, -1]], [[-0.5, 0.5], [0.1, 0.3]])
    assert len(plot_appearance(detector, [codes]).axes) == 2 * STEPS


def test_a_saved_result_shows_what_the_code_does(detector: Detector, tmp_path: Path) -> None:
    tracks = detector.tracks(detector.observe(squares()), np.arange(30), np.full(30, np.nan))
    Result(detector, in_memory=tracks).save(tmp_path / "out")
    assert (tmp_path / "out" / "appearance.png").stat().st_size > 0
    assert "<h2>Appearance</h2>" in (tmp_path / "out" / "certificate.html").read_text(encoding="utf-8")


def test_a_preview_while_training_renders_the_codes() -> None:
    image, positions = render_preview(bar_engine(new_bar_network(appearance=2), telling_bar(4)), 1)
    assert image.startswith(b"\x89PNG")
    assert len(positions) == 1


def test_an_onnx_file_of_a_network_with_a_code_is_refused(detector: Detector) -> None:
    with pytest.raises(InputError, match="appearance code"):
        onnx_bytes(detector)


def test_codes_are_sampled_as_far_apart_as_they_were_seen() -> None:
    codes = np.random.default_rng(0).uniform(-0.1, 0.1, (50, 2))
    codes[7], codes[31] = (1, 1), (-1, 1)
    sample = spread_codes(codes)
    assert len(sample) == 8
    assert {tuple(code) for code in sample} >= {(1, 1), (-1, 1)}
    assert np.abs(sample[0]).max() <= 0.1  # the usual one first
    assert spread_codes(np.zeros((0, 2))).shape == (1, 2)
    assert spread_codes(np.zeros((9, 0))).shape == (1, 0)


def test_an_object_that_can_look_like_another_is_not_distinct() -> None:
    """Their usual renderings differ: one of the second's codes renders the first."""
    square, disc = torch.zeros(1, 20, 20), torch.zeros(1, 20, 20)
    square[:, 5:9, 5:9], disc[:, 5:12, 5:12] = 0.6, -0.4
    network, fields = Planted(5, 11, (-3, -3)).build(), receptive_fields(Planted(5, 11, (-3, -3)).build())
    seen = seen_at(PLACES, 3.0)
    rendered = [square[None], disc[None]]
    for shown, met in ((rendered, True), ([square[None], torch.stack([disc, square.roll(2, -1)])], False)):
        for index in range(2):
            other = [*reversed(shown)] if index else shown
            check = check_object(network, fields, seen, seen, other, index=0, scale=1.0).checks[0]
            assert (check.name, check.met) == ("distinct", met)
            assert (check.value >= DISTINCT) == met


def test_the_appearances_of_an_object_are_those_of_the_codes_that_it_showed(detector: Detector) -> None:
    seen = detector.observe(squares())
    seen = replace(seen, codes=np.linspace(-1, 1, 60).reshape(30, 1, 2))
    (rendered,) = appearances(detector.model, seen)
    assert len(rendered) == 8
    (only,) = appearances(Planted(5, 11, (-1, -1)).build(), replace(seen, codes=np.zeros((30, 1, 0))))
    assert len(only) == 1


def test_with_a_code_the_centre_is_that_of_each_frame_s_rendering() -> None:
    body = PLACES + np.random.default_rng(0).uniform(-2, 2, PLACES.shape)
    shift = (Shift.constant(np.array([1.0, 2.0])),)
    rigid, turning = varied(np.zeros((20, 1, 0)), body=body), varied(np.zeros((20, 1, 2)), body=body)
    np.testing.assert_allclose(reported_centres(rigid, shift), rigid.z + np.array([1.0, 2.0]))
    np.testing.assert_allclose(reported_centres(turning, shift), body)


def test_with_a_code_no_frame_is_refused_for_drift_and_those_of_unknown_sizes_are() -> None:
    centre = PLACES + np.random.default_rng(0).uniform(-4, 4, PLACES.shape)
    seen = replace(varied(np.zeros((20, 1, 2))), centre=centre)
    limits = frame_limits(seen, 0, SizeRange(2.7, 3.3), reach=11 / 2 + 3.2)
    assert (frame_reasons(seen, 0, limits) == "").all()
    box = seen.box.copy()
    box[4], box[5] = 2.0, 4.0
    assert np.flatnonzero(frame_reasons(replace(seen, box=box), 0, limits) == "reconstruction").tolist() == [4, 5]
    sizes = rendered_sizes(seen, 0)
    assert (sizes.smallest, sizes.largest) == pytest.approx((2.7, 3.3))
    rigid = replace(varied(np.zeros((20, 1, 0))), centre=centre)
    assert (frame_reasons(rigid, 0, frame_limits(rigid, 0, SizeRange(3, 3))) == "drift").any()


def test_a_code_that_depends_on_the_position_is_not_equivariant() -> None:
    model = coded()
    at, code = torch.tensor([30.5, 24.5]), torch.tensor([0.2, 0.4])
    error, code_error = equivariance_errors(model, at, 0, code)
    assert error < 0.1
    assert code_error < 1e-3
    with torch.no_grad():  # a flat softargmax reads the code everywhere, and so where the frame's border is
        cast(torch.nn.Conv2d, model.encoder[-1]).weight[:1] *= 1e-3
    assert equivariance_errors(model, at, 0, code)[0] > 0.1


def test_receptive_fields_cover_the_code_s_maps_too() -> None:
    model = new_network(replace(coded().config, channels=4), 0).eval()
    assert receptive_fields(model) == ReceptiveFields(5 + GATE_PX, 11)
    with torch.no_grad():  # heatmaps that see nothing
        cast(torch.nn.Conv2d, model.encoder[-1]).weight[:1] = 0
    assert receptive_fields(model) == ReceptiveFields(5 + GATE_PX, 11)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("away", "in_reach"), [(3.0, True), (9.0, False)])
def test_the_bound_holds_for_a_code_that_carries_the_position(away: float, in_reach: bool) -> None:
    """Brightness and angle follow the position, so that the code can; z is pushed away from the object.

    Where the encoder cannot see the object, the code has nothing to read.
    """
    clip = telling_bar()
    model = adversary(clip, away)
    codes = bar_engine(model, clip).latents(torch.arange(len(clip.frames))).codes.detach().numpy()[:, 0]
    if in_reach:
        assert min(np.corrcoef(codes[:, axis], clip.centres[:, axis])[0, 1] for axis in range(2)) > 0.8
    fields = receptive_fields(model)
    seen = run(model, clip.frames, clip.background, encoder_rf=fields.encoder)
    shifts = fit_shifts(seen, seen.body, varies=False)
    certificate = certify(
        Subject("adversary", 1.0, 1), model, seen, fields=fields, kept_out=np.arange(2, len(seen), 5), shifts=shifts
    )
    # also if one of the object's checks refuses it: those of the frame must do
    objects = tuple(replace(obj, checks=()) for obj in certificate.objects)
    size = (clip.frames.shape[2], clip.frames.shape[1])
    certificate = replace(certificate, objects=objects)
    detector = Detector(model, clip.background, Selection(), size, shifts, certificate)
    tracks = detector.tracks(seen, np.arange(len(seen)), np.full(len(seen), np.nan))
    good = tracks.certified[:, 0]
    assert good.any() or not in_reach
    for points, bounds in ((tracks.z, tracks.theorem_px), (tracks.positions, tracks.bounds)):
        assert (np.abs(points[:, 0] - clip.centres).max(axis=-1) <= bounds[:, 0])[good].all()


@denormals_as_zero()
def adversary(clip: Turning, away: float) -> Autoencoder:
    """A network whose code is trained to be the position, and z to be ``away`` px to the right of the object."""
    model = new_bar_network(appearance=2).train()
    model.encoder.start_empty(0.02, outputs=1)
    engine = bar_engine(model, clip)
    centres = torch.from_numpy(clip.centres).float().unsqueeze(1)
    where = (centres - centres.mean(dim=0)) / 16
    engine.loss_weight = 20.0
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(STEPS_OF_ADVERSARY):
        chosen = torch.randperm(len(centres), generator=torch.Generator().manual_seed(step))[:10]
        loss = engine.reconstruct(chosen, chosen)[0]
        loss = loss + ((engine.latents(chosen).codes - where[chosen]) ** 2).mean()
        loss = loss + 0.1 * engine.heatmap_loss(chosen, centres[chosen] + torch.tensor([away, 0.0]), 0.5)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    recompute_batch_norm([engine], len(centres), 10)
    return model.eval()
