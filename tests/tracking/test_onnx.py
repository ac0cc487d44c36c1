"""A detector exported to ONNX says about every frame what it says in PyTorch."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray

from tests.discovery.drawings import lit
from tests.tracked_clip import FRAMES, WIDTH, TrackedClip, small_stage
from withinpx.certificate.calibration import Shift
from withinpx.certificate.certificate import Check, refusal_reasons
from withinpx.cli import main
from withinpx.data.selection import Selection
from withinpx.discovery.background import to_float
from withinpx.errors import InputError
from withinpx.inference.observation import Observations
from withinpx.model.autoencoder import Autoencoder, new_network
from withinpx.model.background import BackgroundMode
from withinpx.tracking.detector import Detector
from withinpx.tracking.onnx_file import NAME, onnx_bytes, write_onnx
from withinpx.tracking.onnx_graph import FRAME_REASONS, DetectorGraph, Verdicts, reason_names
from withinpx.tracking.onnx_input import resampling
from withinpx.tracking.tracks import Tracks, read_tracks

pytestmark = pytest.mark.usefixtures("alone")

Frames = NDArray[np.uint8]
Outputs = dict[str, NDArray[np.float32]]


@pytest.fixture(scope="module")
def detector(tracked: TrackedClip) -> Detector:
    return tracked.detector


@pytest.fixture(scope="module")
def eventful(tracked: TrackedClip) -> Frames:
    """The clip, and the same scene with an object that comes into view and two that pass one over the other."""
    share = np.linspace(0, 1, FRAMES)
    disc, square, triangle = small_stage().objects
    across = 9 + (WIDTH - 18) * share
    paths = (
        np.stack([30 * share - 12, np.full(FRAMES, 9.3)], axis=1),
        np.stack([across, np.full(FRAMES, 30.2)], axis=1),
        np.stack([WIDTH - across, 28 + 8 * share], axis=1),
    )
    objects = tuple(replace(obj, path=path) for obj, path in zip((disc, square, triangle), paths, strict=True))
    return np.concatenate([tracked.made.clip.frames, replace(small_stage(), objects=objects).render().clip.frames])


def run(file: bytes, frames: Frames) -> Outputs:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"frames": frames}), strict=True))


def run_in_torch(detector: Detector, frames: Frames) -> Outputs:
    """The graph before it is exported."""
    with torch.no_grad():
        found: Verdicts = DetectorGraph(detector).eval()(torch.from_numpy(frames))
    return {name: values.numpy() for name, values in found._asdict().items()}


def observed(detector: Detector, frames: Frames) -> Observations:
    return detector.observe(np.stack([detector.watched.apply(frame) for frame in frames]), sets=False)


@pytest.fixture(scope="module")
def seen(detector: Detector, eventful: Frames) -> Observations:
    return observed(detector, eventful)


def assert_agree(found: Outputs, detector: Detector, seen: Observations) -> Tracks:
    """The graph's outputs are those of ``detect --certificate theorem``, which are returned."""
    expected = detector.tracks(seen, np.arange(len(seen)), np.full(len(seen), np.nan))
    used = [obj.object for obj in detector.certificate.objects]
    np.testing.assert_array_equal(found["present"][:, used], expected.present)
    np.testing.assert_array_equal(found["certified"][:, used], expected.certified)
    np.testing.assert_allclose(found["z"][:, used], expected.z, atol=1e-3)
    np.testing.assert_allclose(found["positions"][:, used], expected.positions, atol=1e-3)
    for name, values in (("bound_px", expected.bounds), ("theorem_px", expected.theorem_px)):
        np.testing.assert_allclose(found[name][:, used], values, atol=1e-3)
    np.testing.assert_allclose(found["residual_px"][:, used], expected.residual_px, atol=1e-3)
    np.testing.assert_allclose(found["sizes"][:, used], expected.sizes, atol=1e-3)
    names = np.array(reason_names(detector.certificate))
    np.testing.assert_array_equal(names[found["reasons"]][:, used], expected.reasons)
    return expected


def test_positions_and_verdicts_are_those_of_detect(detector: Detector, eventful: Frames, seen: Observations) -> None:
    file = onnx_bytes(detector)
    found = run(file, eventful)
    expected = assert_agree(found, detector, seen)
    assert {"", "absent", "border", "reconstruction"} <= set(expected.reasons.ravel())
    assert 0.4 < expected.certified.mean() < 0.95
    changed = detector.background.changed(to_float(eventful)).mean(axis=(1, 2))
    np.testing.assert_allclose(found["changed"], changed, atol=1e-6)
    props = {item.key: item.value for item in onnx.load_from_string(file).metadata_props}
    assert json.loads(props["reasons"]) == list(reason_names(detector.certificate))
    for name, values in run(file, eventful[7:8]).items():
        np.testing.assert_allclose(values, found[name][7:8], atol=1e-4, err_msg=name)


def test_an_object_without_feasible_sets_is_not_certified(detector: Detector, eventful: Frames) -> None:
    """``detect`` refuses it where something else is not reconstructed, which the graph does not know."""
    objects = tuple(replace(obj, membership=None) for obj in detector.certificate.objects)
    without = replace(detector, certificate=replace(detector.certificate, objects=objects))
    found = run_in_torch(without, eventful)
    assert found["present"].any()
    assert not found["certified"].any()
    assert set(np.array(FRAME_REASONS)[found["reasons"]][found["present"]]) <= {
        "border",
        "drift",
        "touching",
        "reconstruction",
    }


def test_an_unused_heatmap_shows_nothing(detector: Detector, eventful: Frames) -> None:
    found, unused = run_in_torch(detector, eventful), list(detector.certificate.unused)
    assert unused
    assert not found["present"][:, unused].any()
    assert not found["certified"][:, unused].any()
    assert np.isnan(found["bound_px"][:, unused]).all()


@pytest.mark.parametrize("name", ["residual", "explained", "leakage", "outside_mass", "drift"])
def test_every_limit_of_the_certificate_is_in_the_graph(
    detector: Detector, eventful: Frames, seen: Observations, name: str
) -> None:
    """Each is set to what some of the certified positions exceed and others do not."""
    objects = []
    certified = refusal_reasons(seen, detector.certificate) == ""
    for obj in detector.certificate.objects:
        if name == "drift":
            values = np.abs((seen.centre - seen.z)[:, obj.object] - obj.limits.rendered).max(axis=-1)
        else:
            values = getattr(seen, name)[:, obj.object]
        ordered = np.sort(values[certified[:, obj.object]])
        middle = ordered[len(ordered) // 4 : -(len(ordered) // 4)]
        widest = np.diff(middle).argmax()  # of the gaps between two: rounding decides nothing
        limit: dict[str, Any] = {name: float(middle[widest : widest + 2].mean())}
        objects.append(replace(obj, limits=replace(obj.limits, **limit)))
    stricter = replace(detector, certificate=replace(detector.certificate, objects=tuple(objects)))
    found = run_in_torch(stricter, eventful)
    assert_agree(found, stricter, seen)
    assert 0.2 < found["certified"].sum() / certified.sum() < 0.8


def test_nothing_is_certified_of_an_object_that_is_refused(
    detector: Detector, eventful: Frames, seen: Observations
) -> None:
    first, *others = detector.certificate.objects
    refused = replace(first, checks=(Check("distinct", 0.1, 0.2, "", False, "is another's"),))
    refusing = replace(detector, certificate=replace(detector.certificate, objects=(refused, *others)))
    found = run_in_torch(refusing, eventful)
    assert_agree(found, refusing, seen)
    assert not found["certified"][:, first.object].any()
    assert found["present"][:, first.object].any()


def test_a_shift_that_varies_is_the_same(detector: Detector, eventful: Frames, seen: Observations) -> None:
    random = np.random.default_rng(0)
    varying = Shift(random.uniform(0, 60, (15, 2)), random.uniform(-2, 2, (15, 2)), 6.0)
    shifted = replace(detector, shifts=(varying,) * 4)
    assert_agree(run_in_torch(shifted, eventful), shifted, seen)


def test_the_light_is_divided_out(detector: Detector, eventful: Frames) -> None:
    darker = lit(eventful, np.linspace(0.75, 1.1, len(eventful)))
    aware = replace(detector, background=replace(detector.background, light_varies=True))
    expected = assert_agree(run_in_torch(aware, darker), aware, observed(aware, darker))
    assert expected.certified.mean() > 0.3


def in_large_frames(frames: Frames) -> Frames:
    """Twice as large, with something around them."""
    height, width = 2 * frames.shape[1], 2 * frames.shape[2]
    large = np.zeros((len(frames), height + 9, width + 11, 3), np.uint8)
    large[:, 3 : 3 + height, 7 : 7 + width] = frames.repeat(2, axis=1).repeat(2, axis=2)
    return large


@pytest.mark.parametrize("sharp_scale", [0.5, 0.75, 1.0])
def test_the_recording_is_cropped_and_scaled_inside(detector: Detector, eventful: Frames, sharp_scale: float) -> None:
    """Objects are found at half of the recording's resolution, the light is measured at ``sharp_scale`` of it."""
    frames = in_large_frames(lit(eventful, np.linspace(0.9, 1.1, len(eventful))))
    _, height, width, _ = frames.shape
    part = Selection(crop=(7, 3, width - 11, height - 9), scale=0.5)
    background = in_large_frames((detector.background.images * 255).round().astype(np.uint8))
    sharp = to_float(replace(part, scale=sharp_scale).apply(background[0])[None])
    recorded = replace(
        detector,
        background=replace(detector.background, light_varies=True),
        selection=part,
        recording=(width, height),
        sharp=None if sharp_scale == 0.5 else sharp,
        sharp_scale=sharp_scale,
    )
    expected = assert_agree(run(onnx_bytes(recorded), frames), recorded, observed(recorded, frames))
    assert expected.certified.mean() > 0.3


@torch.no_grad()
def test_a_decoder_that_sees_where_it_is_renders_the_same(detector: Detector, eventful: Frames) -> None:
    """A network of mode `perspective`, whose two ramps change what is rendered a little."""
    own = detector.model
    model = Autoencoder(replace(own.config, background=BackgroundMode.PERSPECTIVE))
    model.encoder.load_state_dict(own.encoder.state_dict())
    weights = own.decoder.state_dict()
    first = weights["0.weight"]
    ramps = 0.01 * torch.randn(len(first), 2, *first.shape[2:], generator=torch.Generator().manual_seed(0))
    model.decoder.load_state_dict({**weights, "0.weight": torch.cat([first, ramps], dim=1)})
    model.background.load_state_dict(own.background.state_dict())
    perspective = replace(detector, model=model.eval())
    found = run(onnx_bytes(perspective), eventful)
    expected = assert_agree(found, perspective, observed(perspective, eventful))
    assert expected.certified.mean() > 0.1
    assert np.nanmax(np.abs(found["bound_px"] - run_in_torch(detector, eventful)["bound_px"])) > 0.01


def test_dilated_filters_are_in_the_graph(detector: Detector, eventful: Frames) -> None:
    """An untrained network shows enough: z and where its renderings are found in the frames."""
    own = detector.model
    model = new_network(replace(own.config, encoder_rf=33, decoder_rf=37), seed=1).eval()
    model.background.load_state_dict(own.background.state_dict())
    last = model.decoder[-1]
    assert isinstance(last, torch.nn.Conv2d)
    last.weight.data *= 30  # what is rendered can be seen
    wide = replace(detector, model=model)
    found = run(onnx_bytes(wide), eventful[::6])
    seen = observed(wide, eventful[::6])
    assert_agree(found, wide, seen)
    assert seen.present.any()


@pytest.mark.parametrize(("length", "scale"), [(300, 0.37), (90, 0.23), (41, 0.5), (20, 1.5)])
def test_scaling_is_that_of_the_clip_to_the_last_level(length: int, scale: float) -> None:
    image = np.random.default_rng(0).integers(0, 256, (length, length, 1), dtype=np.uint8)
    weights = resampling(length, scale)
    across = np.floor(image[..., 0].astype(np.float32) @ weights.T + 0.5001)
    if scale < 1:
        np.testing.assert_array_equal(np.floor(weights @ across + 0.5001), Selection(scale=scale).apply(image)[..., 0])
    assert weights.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_the_command_line_writes_one_that_agrees_with_its_own_detection(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "one.onnx", tmp_path / "theorem"
    main(["export", str(tracked.folder), "--onnx", "--out", str(file)])
    assert "`bound_px`" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["export", str(tracked.folder), "--onnx", "--out", str(file)])
    assert "nothing was overwritten" in capsys.readouterr().err
    arguments = ["detect", str(tracked.folder), str(tracked.images), "--out", str(out), "--no-overlay"]
    main([*arguments, "--certificate", "theorem"])
    found, table = run(file.read_bytes(), tracked.made.clip.frames), read_tracks(out / "tracks.csv")
    used, seen = [obj.object for obj in tracked.detector.certificate.objects], table.present
    np.testing.assert_array_equal(found["certified"][:, used], table.certified)
    np.testing.assert_allclose(found["positions"][:, used][seen], table.positions[seen], atol=1e-3)
    np.testing.assert_allclose(found["bound_px"][:, used], table.bounds, atol=1e-3)


def test_detection_can_run_the_encoder_by_onnxruntime(tracked: TrackedClip, tmp_path: Path) -> None:
    tables = []
    for backend in ("torch", "onnx"):
        out = tmp_path / backend
        arguments = ["detect", str(tracked.folder), str(tracked.images), "--out", str(out), "--no-overlay"]
        main([*arguments, "--backend", backend])
        tables.append(read_tracks(out / "tracks.csv"))
    torch_table, onnx_table = tables
    present = torch_table.present & onnx_table.present
    assert present.mean() > 0.5
    np.testing.assert_array_equal(torch_table.certified, onnx_table.certified)
    np.testing.assert_allclose(torch_table.positions[present], onnx_table.positions[present], atol=2e-3)


def test_a_moving_camera_is_refused(detector: Detector, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="camera moves"):
        write_onnx(tmp_path / NAME, replace(detector, moving_camera=True))
