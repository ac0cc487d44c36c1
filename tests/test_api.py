"""The Python API: every form that the README shows."""

import inspect as python_inspect
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import withinpx
from tests.tracked_clip import FRAMES, HEIGHT, WIDTH, TrackedClip, brief_training, small_training
from withinpx.tracking.tracks import columns_with

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(scope="module")
def result(tracked: TrackedClip) -> Iterator[withinpx.Result]:
    """An array, tracked in memory."""
    with small_training():
        yield withinpx.track(tracked.made.clip.frames, objects=3, channels=12, budget=1, device="cpu", progress=False)


def test_an_array_is_tracked_and_nothing_is_written(
    tracked: TrackedClip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    events: list[withinpx.Event] = []
    with brief_training():
        result = withinpx.track(
            tracked.made.clip.frames, objects=3, channels=12, budget=1, device="cpu", seed=0, progress=events.append
        )
    assert list(tmp_path.iterdir()) == []
    assert result.folder is None
    assert {event.stage for event in events} >= {"reading", "inspecting", "warm start", "training", "detecting"}
    assert events[-1] == withinpx.Event("detecting", FRAMES)
    assert any("3 moving objects" in event.message for event in events)


def test_tracks_are_arrays_of_frames_and_objects(result: withinpx.Result) -> None:
    tracks = result.tracks
    assert tracks.positions.shape == (FRAMES, 3, 2)
    assert tracks.bounds.shape == tracks.certified.shape == tracks.present.shape == (FRAMES, 3)
    assert tracks.certified.dtype == tracks.present.dtype == np.bool_
    assert np.isnan(tracks.bounds[~tracks.certified]).all()
    assert np.isfinite(tracks.bounds[tracks.certified]).all()
    assert np.isnan(tracks.times_s).all()  # an array has no clock
    assert repr(tracks).startswith(f"Tracks({FRAMES} frames, 3 objects, ")


def test_a_result_is_saved_when_asked_and_reads_its_tracks_lazily(result: withinpx.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "saved")
    names = {path.name for path in folder.iterdir()}
    assert names >= {"tracks.csv", "tracks.json", "detector.json", "certificate.html", "summary.png", "overlay.mp4"}
    again = withinpx.load_result(folder)
    assert "tracks" not in vars(again)
    np.testing.assert_allclose(again.tracks.positions, result.tracks.positions, atol=1e-4)
    assert again.tracks.reasons.tolist() == result.tracks.reasons.tolist()
    with pytest.raises(withinpx.InputError, match="exists already"):
        result.save(folder)


def test_the_table_is_a_dataframe_with_the_columns_of_the_file(result: withinpx.Result) -> None:
    table = result.tracks.to_dataframe()
    assert tuple(table.columns) == columns_with(0)
    assert len(table) == 3 * FRAMES
    first = table[table["frame"] == 0]
    assert first["motion_px"].isna().all()
    assert first["identity_certified"].isna().all()
    certified = table[table["certified"]]
    from_z = np.maximum(*(np.abs(certified[axis] - certified[f"z_{axis}"]) for axis in ("x", "y")))
    assert (certified["bound_px"] <= certified["theorem_px"] + from_z + 3e-4).all()  # each is rounded up
    assert (certified["reason"] == "").all()


def test_a_bound_in_the_table_is_never_tighter_than_the_one_computed(result: withinpx.Result) -> None:
    table, tracks = result.tracks.to_dataframe(), result.tracks
    sure = tracks.certified.ravel()
    assert (table["bound_px"].to_numpy()[sure] >= tracks.bounds.ravel()[sure] - 1e-9).all()


def test_xarray_has_the_dimensions_of_movement(result: withinpx.Result) -> None:
    dataset = result.tracks.to_xarray()
    assert dataset["position"].dims == ("time", "space", "keypoints", "individuals")
    assert dataset["position"].shape == (FRAMES, 2, 1, 3)
    assert np.isnan(dataset["confidence"]).all()  # unknown, never 1
    assert dataset.attrs["ds_type"] == "poses"
    np.testing.assert_array_equal(dataset["bound_px"][:, 0], result.tracks.bounds)


def test_movement_accepts_the_dataset(result: withinpx.Result, tmp_path: Path) -> None:
    """Its savers validate what they are given."""
    pytest.importorskip("movement", reason="movement is not installed: pip install 'withinpx[movement]'")
    dataset = result.tracks.to_xarray()
    velocity = import_module("movement.kinematics").compute_velocity(dataset["position"])
    assert velocity.shape == (FRAMES, 2, 1, 3)
    import_module("movement.io.save_poses").to_dlc_file(dataset, tmp_path / "poses.csv", split_individuals=False)


def test_supervision_gets_the_objects_of_a_frame_with_their_numbers(result: withinpx.Result) -> None:
    detections = result.tracks.to_supervision(5)
    here = np.flatnonzero(result.tracks.present[5])
    assert detections.tracker_id.tolist() == here.tolist()
    np.testing.assert_allclose(detections.get_anchors_coordinates(_centre()), result.tracks.positions[5, here])
    with pytest.raises(withinpx.InputError, match=f"Frame {FRAMES} is not tracked"):
        result.tracks.to_supervision(FRAMES)


def _centre() -> Any:
    return import_module("supervision").Position.CENTER


def test_a_certificate_prints_as_text_and_becomes_json(result: withinpx.Result) -> None:
    text = str(result.certificate)
    assert text.startswith("Certificate for array\n")
    assert len(repr(result.certificate)) < 100
    content = json.loads(json.dumps(result.certificate.to_json()))
    assert withinpx.Certificate.from_json(content) == result.certificate
    assert content["certified"] == result.certificate.certified


def test_a_refused_object_shows_no_bound(tracked: TrackedClip) -> None:
    certificate = tracked.detector.certificate
    first, *others = certificate.objects
    check = replace(first.checks[0], met=False)
    refused = replace(first, checks=(check, *first.checks[1:]))
    line = next(
        line for line in str(replace(certificate, objects=(refused, *others))).splitlines() if "object 0" in line
    )
    assert "refused: distinct" in line
    assert f"{first.theorem_px:.2f}" not in line


def test_results_and_inspections_are_plotted(result: withinpx.Result, tracked: TrackedClip) -> None:
    assert isinstance(result.plot(), Figure)
    inspection = withinpx.inspect(str(tracked.images))
    assert "3 moving objects" in repr(inspection)
    assert isinstance(inspection.plot(), Figure)


def test_a_detector_takes_paths_and_arrays(tracked: TrackedClip) -> None:
    detector = withinpx.Detector.load(str(tracked.folder))
    from_folder, from_array = detector.detect(str(tracked.images)), detector.detect(tracked.made.clip.frames)
    np.testing.assert_allclose(from_folder.positions, from_array.positions)
    assert len(from_array.to_dataframe()) == 3 * FRAMES


def test_every_frame_of_a_long_recording_comes_back(tracked: TrackedClip) -> None:
    """More than 2,048 frames, of which the first version returned a sample."""
    frames = np.concatenate([tracked.made.clip.frames[:6]] * 350)
    tracks = tracked.detector.detect(frames)
    assert tracks.frames.tolist() == list(range(2100))


def test_tracks_are_read_with_the_size_of_their_frames(tracked: TrackedClip, tmp_path: Path) -> None:
    tracks = withinpx.read_tracks(str(tracked.folder / "tracks.csv"))
    assert (tracks.width, tracks.height) == (WIDTH, HEIGHT)
    alone = shutil.copy(tracked.folder / "tracks.csv", tmp_path)
    with pytest.raises(withinpx.InputError, match=r"tracks\.json is missing .* give width and height"):
        withinpx.read_tracks(alone)
    assert len(withinpx.read_tracks(alone, WIDTH, HEIGHT)) == FRAMES


def test_every_public_name_is_listed_and_documented() -> None:
    assert set(withinpx.__all__) <= set(dir(withinpx))
    for name in withinpx.__all__:
        value = getattr(withinpx, name)
        if name not in ("PAPER", "WARM"):
            assert python_inspect.getdoc(value), name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        withinpx.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("nowhere.mp4", "There is no file or folder nowhere.mp4"),
        (np.zeros((3, 8, 8)), "An array of float64 with the shape"),
        (np.zeros((8, 8), np.uint8), "is no clip"),
        (np.zeros((3, 32, 32, 3), np.uint8), "Nothing moves"),
    ],
)
def test_bad_input_raises_the_sentence_of_the_command_line(source: Any, sentence: str) -> None:
    with pytest.raises(withinpx.InputError, match=sentence):
        withinpx.track(source, progress=False)


def test_an_unknown_option_is_refused_by_name(tracked: TrackedClip) -> None:
    with pytest.raises(withinpx.InputError, match="object_count"):
        withinpx.track(tracked.made.clip.frames, object_count=3)
