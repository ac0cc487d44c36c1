"""A detector exported to ONNX finds the positions that it finds in PyTorch."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from tests.tracked_clip import TrackedClip
from withinpx.certificate.calibration import Shift, shifts_at
from withinpx.cli import main
from withinpx.data.selection import EVERYTHING, Selection
from withinpx.errors import InputError
from withinpx.tracking.detector import Detector
from withinpx.tracking.onnx_file import NAME, onnx_bytes, resampling, write_onnx
from withinpx.tracking.tracks import read_tracks

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(scope="module")
def detector(tracked: TrackedClip) -> Detector:
    return tracked.detector


def run(file: bytes, frames: NDArray[np.uint8]) -> dict[str, NDArray[np.float32]]:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"frames": frames}), strict=True))


def test_positions_are_equal_to_a_thousandth_of_a_pixel(tracked: TrackedClip, detector: Detector) -> None:
    frames = tracked.made.clip.frames
    found = run(onnx_bytes(detector, EVERYTHING), frames)
    seen = detector.observe(frames)
    np.testing.assert_allclose(found["z"], seen.z, atol=1e-3)
    np.testing.assert_allclose(found["positions"], seen.z + shifts_at(detector.shifts, seen.z), atol=1e-3)


def test_a_shift_that_varies_is_the_same(tracked: TrackedClip, detector: Detector) -> None:
    random = np.random.default_rng(0)
    varying = Shift(random.uniform(0, 60, (15, 2)), random.uniform(-2, 2, (15, 2)), 6.0)
    found = run(onnx_bytes(replace(detector, shifts=(varying,) * 4), EVERYTHING), tracked.made.clip.frames)
    z = found["z"].astype(np.float64)
    np.testing.assert_allclose(found["positions"], z + shifts_at((varying,) * 4, z), atol=1e-3)


def test_the_recording_is_cropped_and_scaled_inside(tracked: TrackedClip, detector: Detector) -> None:
    small = tracked.made.clip.frames
    height, width = small.shape[1:3]
    part = Selection(crop=(7, 3, 2 * width, 2 * height), scale=0.5)
    frames = np.zeros((len(small), 2 * height + 9, 2 * width + 11, 3), np.uint8)
    frames[:, 3 : 3 + 2 * height, 7 : 7 + 2 * width] = small.repeat(2, axis=1).repeat(2, axis=2)
    recorded = replace(detector, selection=part, recording=(frames.shape[2], frames.shape[1]))
    expected, found = run(onnx_bytes(detector, EVERYTHING), small), run(onnx_bytes(recorded, part), frames)
    np.testing.assert_allclose(found["z"], 2 * expected["z"] + (7, 3), atol=2e-3)


@pytest.mark.parametrize(("length", "scale"), [(300, 0.37), (90, 0.23), (41, 0.5), (20, 1.5)])
def test_scaling_is_that_of_the_clip_to_the_last_level(length: int, scale: float) -> None:
    image = np.random.default_rng(0).integers(0, 256, (length, length, 1), dtype=np.uint8)
    weights = resampling(length, scale)
    across = np.floor(image[..., 0].astype(np.float32) @ weights.T + 0.5001)
    if scale < 1:
        np.testing.assert_array_equal(np.floor(weights @ across + 0.5001), Selection(scale=scale).apply(image)[..., 0])
    assert weights.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_the_command_line_writes_one_and_detects_with_it(
    tracked: TrackedClip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.onnx"
    main(["export", str(tracked.folder), "--onnx", "--out", str(file)])
    assert file.stat().st_size > 1000
    with pytest.raises(SystemExit):
        main(["export", str(tracked.folder), "--onnx", "--out", str(file)])
    assert "nothing was overwritten" in capsys.readouterr().err
    tables = []
    for backend in ("torch", "onnx"):
        out = tmp_path / backend
        arguments = ["detect", str(tracked.folder), str(tracked.images), "--out", str(out), "--no-overlay"]
        main([*arguments, "--backend", backend])
        tables.append(read_tracks(out / "tracks.csv"))
    torch, onnx = tables
    present = torch.present & onnx.present
    assert present.mean() > 0.5
    np.testing.assert_array_equal(torch.certified, onnx.certified)
    np.testing.assert_allclose(torch.positions[present], onnx.positions[present], atol=2e-3)


def test_a_moving_camera_is_refused(detector: Detector, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="camera moves"):
        write_onnx(tmp_path / NAME, replace(detector, moving_camera=True))
