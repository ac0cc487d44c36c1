"""Discs that look alike, from the clip to tracks, page and exports: positions certified, identities where proved."""

import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import withinpx
from withinpx.data.recording import open_recording
from withinpx.data.swarm import swarm_clip
from withinpx.data.zoo import ZooClip
from withinpx.errors import InputError
from withinpx.tracking import attempt
from withinpx.tracking.detect import detect
from withinpx.tracking.exports import export
from withinpx.tracking.onnx_file import onnx_bytes
from withinpx.tracking.result import Result
from withinpx.tracking.tracks import read_tracks

DISCS, LAYOUT = 3, (96, 72)
STEPS = 180  # of training: enough for plain discs


@pytest.fixture(scope="module")
def made() -> ZooClip:
    return swarm_clip(11, DISCS, LAYOUT)


@pytest.fixture(scope="module")
def result(made: ZooClip, tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("alike") / "run"
    with patch.object(attempt, "STEPS", STEPS):
        return withinpx.track(made.clip, out=folder, channels=8, budget=1, progress=False)


def at_discs(made: ZooClip, result: Result) -> np.ndarray:
    """The disc that each track is at, (f, n); -1 for none."""
    tracks, half = result.tracks, made.sizes.max() / 2
    apart = np.abs(tracks.positions[:, :, None] - made.truth[:, None]).max(axis=-1)
    apart = np.where(np.isfinite(apart) & tracks.present[..., None], apart, np.inf)
    return np.where(apart.min(axis=-1) < half, apart.argmin(axis=-1), -1)


def test_all_discs_are_one_class_with_one_heatmap(result: Result) -> None:
    assert len(result.certificate.objects) == result.detector.model.config.objects == 1
    assert result.certificate.certified
    assert result.detector.classes is not None
    assert result.tracks.objects >= DISCS
    assert (result.tracks.certificate_of == 0).all()


def test_every_certified_position_is_right_and_most_are_certified(made: ZooClip, result: Result) -> None:
    tracks = result.tracks
    apart = np.abs(tracks.positions[:, :, None] - made.truth[:, None]).max(axis=-1)
    nearest = np.where(np.isfinite(apart), apart, np.inf).min(axis=-1)
    assert (nearest[tracks.certified] <= tracks.bounds[tracks.certified]).all()
    whole = int((made.visible >= 0.95).sum())
    assert tracks.certified.sum() >= 0.7 * whole


def test_no_certified_identity_is_wrong_and_many_are_certified(made: ZooClip, result: Result) -> None:
    discs, sure = at_discs(made, result), result.tracks.identity_certified == 1
    assert sure.sum() >= 0.4 * (made.visible >= 0.95).sum()
    frames, objects = np.nonzero(sure)
    assert (discs[frames, objects] == discs[frames - 1, objects]).all()
    guessed = result.tracks.identity_certified == 0
    assert (result.tracks.identity_p[guessed] <= 1).all()


def test_the_table_and_the_detector_are_read_back(made: ZooClip, result: Result) -> None:
    assert result.folder is not None
    loaded = withinpx.load_result(result.folder)
    tracks, again = result.tracks, loaded.tracks
    assert again.step_px == tracks.step_px
    np.testing.assert_array_equal(again.identity_certified, tracks.identity_certified)
    np.testing.assert_array_equal(again.certificate_of, tracks.certificate_of)
    found = loaded.detector.detect(made.clip.frames)
    np.testing.assert_array_equal(found.certified, tracks.certified)
    np.testing.assert_allclose(found.positions, tracks.positions, atol=2e-3)
    about = json.loads((result.folder / "tracks.json").read_text())
    assert set(about) == {"width", "height", "unordered", "step_px", "classes"}


@pytest.mark.parametrize("half", [6, 8, 10, 15, 20])
@pytest.mark.parametrize("grey", [45, 210])
def test_something_else_is_not_certified_as_discs(result: Result, half: int, grey: int) -> None:
    """A square, black or of the discs' own grey, of which discs at many places could be parts."""
    still = result.detector.background.images[0]
    image = np.round(255 * still).astype(np.uint8)
    image[36 - half : 36 + half, 48 - half : 48 + half] = grey
    found = result.detector.detect(image[None])
    assert found.present.any()
    assert not found.certified.any()


def test_a_step_that_is_given_decides_what_is_proved(made: ZooClip, result: Result, tmp_path: Path) -> None:
    proved = []
    for step in (1e-3, float(max(LAYOUT))):
        folder = tmp_path / f"{step:g}"
        detect(result.detector, open_recording(made.clip.frames), folder, overlay=False, step_px=step)
        tracks = read_tracks(folder / "tracks.csv")
        assert tracks.step_px == step
        proved.append(int((tracks.identity_certified == 1).sum()))
    assert proved[1] == 0  # everything is in reach of everything
    assert (result.tracks.identity_certified == 1).sum() > proved[1]


def test_the_page_says_what_is_proved_of_identities(result: Result) -> None:
    assert result.folder is not None
    page = (result.folder / "certificate.html").read_text()
    assert "links to the frame before" in page
    assert f"{result.tracks.step_px:.1f} px along an axis" in page
    assert "no two objects look the same" not in page
    assert (result.folder / "overlay.mp4").exists()
    assert (result.folder / "summary.png").exists()


def test_exports_hold_every_object(result: Result, tmp_path: Path) -> None:
    export(result.tracks, tmp_path, ("coco", "mot", "dlc"), result.detector)
    results = json.loads((tmp_path / "coco_results.json").read_text())
    assert len(results) == result.tracks.present.sum()
    verdicts = (tmp_path / "verdicts.csv").read_text().splitlines()
    assert verdicts[0].endswith("identity_certified,identity_p")


def test_onnx_is_refused_in_a_sentence(result: Result) -> None:
    with pytest.raises(InputError, match="look alike"):
        onnx_bytes(result.detector)
