"""Other tools read the exported files, and find the same positions in them."""

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from tests.tracking.scenes import HEIGHT, WIDTH, made_up
from withinpx.errors import InputError
from withinpx.tracking import masks
from withinpx.tracking.exports import export
from withinpx.tracking.formats.coco import run_lengths
from withinpx.tracking.tracks import Tracks


@dataclass(frozen=True)
class SizeOnly:
    """Stands for a detector where only its size matters."""

    recording: tuple[int, int]


def box_mask(detector: Any, tracks: Tracks, row: int, index: int) -> NDArray[np.bool_]:
    left, top, width, height = tracks.boxes[row, index]
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    return np.asarray((x >= left) & (x < left + width) & (y >= top) & (y < top + height))


# pycocotools' arrays do not know numpy 2's copy keyword
old_arrays = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@old_arrays
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (200, 300)])
def test_run_lengths_decode_to_the_mask(share: float, size: tuple[int, int]) -> None:
    decode: Any = import_module("pycocotools.mask").decode
    mask = np.random.default_rng(0).uniform(size=size) < share
    assert np.array_equal(decode(run_lengths(mask)).astype(np.bool_), mask)


@old_arrays
@pytest.mark.parametrize("detector", [None, SizeOnly((WIDTH, HEIGHT))], ids=["boxes", "masks"])
def test_coco_tools_load_boxes_scores_and_masks(detector: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks, "object_mask", box_mask)
    coco: Any = import_module("pycocotools.coco").COCO
    tracks = made_up()
    results, images = export(tracks, tmp_path, ["coco"], detector)
    dataset = coco(str(images))
    loaded = dataset.loadRes(str(results))
    assert sorted(dataset.getImgIds()) == tracks.frames.tolist()
    assert len(loaded.anns) == tracks.present.sum()
    for row, index in np.argwhere(tracks.present).tolist():
        (found,) = loaded.loadAnns(loaded.getAnnIds(imgIds=int(tracks.frames[row]), catIds=index + 1))
        x, y = tracks.positions[row, index]
        assert found["bbox"] == pytest.approx([x - 3, y - 2, 6, 4])
        assert found["score"] == (1.0 if tracks.certified[row, index] else 0.5)
        assert found["certified"] == tracks.certified[row, index]
        assert found["reason"] == tracks.reasons[row, index]
        bound = tracks.bounds[row, index]
        assert found["bound_px"] == (pytest.approx(bound) if np.isfinite(bound) else None)
        if detector is not None:
            expected = box_mask(detector, tracks, row, index)
            assert np.array_equal(loaded.annToMask(found).astype(np.bool_), expected)


def test_the_detector_of_another_recording_renders_no_masks(tmp_path: Path) -> None:
    other: Any = SizeOnly((4, 3))
    with pytest.raises(InputError, match="made for 4x3 px, the tracks are of 48x36 px"):
        export(made_up(), tmp_path, ["coco"], other)


def test_mot_counts_frames_objects_and_pixels_from_one(tmp_path: Path) -> None:
    tracks = made_up()
    path, _ = export(tracks, tmp_path, ["mot"])
    lines = path.read_text().splitlines()
    assert lines[0] == "11,1,6.2500,8.5000,6.0000,4.0000,1,-1,-1,-1"
    table = np.loadtxt(path, delimiter=",")
    rows, numbers = np.nonzero(tracks.present)
    assert table.shape == (len(rows), 10)
    assert np.array_equal(table[:, 0], tracks.frames[rows] + 1)
    assert np.array_equal(table[:, 1], numbers + 1)
    np.testing.assert_allclose(table[:, 2:4] + table[:, 4:6] / 2 - 1, tracks.positions[rows, numbers], atol=1e-4)
    assert set(table[:, 6]) == {0.5, 1.0}


@pytest.mark.parametrize("name", ["mot", "dlc"])
def test_formats_without_a_place_for_bounds_have_them_beside(name: Any, tmp_path: Path) -> None:
    tracks = made_up()
    _, path = export(tracks, tmp_path, [name])
    table = pd.read_csv(path, keep_default_na=False)
    assert table.frame.tolist() == tracks.frames.repeat(3).tolist()
    assert table.object.tolist() == [0, 1, 2] * len(tracks)
    assert table.present.tolist() == tracks.present.ravel().astype(int).tolist()
    assert table.certified.tolist() == tracks.certified.ravel().astype(int).tolist()
    assert table.reason.tolist() == tracks.reasons.ravel().tolist()
    bounds = ["" if np.isnan(bound) else f"{bound:g}" for bound in tracks.bounds.ravel()]
    assert [bound and f"{float(bound):g}" for bound in table.bound_px] == bounds


def test_deeplabcut_counts_from_the_centre_of_the_first_pixel(tmp_path: Path) -> None:
    path, _ = export(made_up(2), tmp_path, ["dlc"])
    assert path.read_text().splitlines() == [
        "scorer" + ",withinpx" * 9,
        "individuals" + ",object0" * 3 + ",object1" * 3 + ",object2" * 3,
        "bodyparts" + ",centre" * 9,
        "coords" + ",x,y,likelihood" * 3,
        "10,7.7500,9.0000,1,40.0000,17.5000,1,,,0",
        "12,10.7500,9.0000,1,38.0000,18.5000,1,,,0",
    ]


@pytest.mark.filterwarnings("ignore")  # movement brings some eighty packages, each with its own
def test_movement_reads_the_deeplabcut_table(tmp_path: Path) -> None:
    load_poses: Any = pytest.importorskip("movement.io.load_poses", reason="movement is 1 GB: not in the test extra")
    tracks = made_up()
    path, _ = export(tracks, tmp_path, ["dlc"])
    poses = load_poses.from_dlc_file(path)
    assert poses.position.sizes == {"time": 8, "space": 2, "keypoints": 1, "individuals": 3}
    positions = poses.position.transpose("time", "individuals", "keypoints", "space").values[:, :, 0]
    expected = np.where(tracks.present[..., None], tracks.positions - 0.5, np.nan)
    np.testing.assert_allclose(positions, expected, rtol=0, atol=1e-4)
    likelihood = np.where(tracks.present, np.where(tracks.certified, 1.0, 0.5), 0.0)
    assert np.array_equal(poses.confidence.values[:, 0], likelihood)


@pytest.mark.filterwarnings("ignore:OpenCV:UserWarning")  # supervision warns where it does without it
def test_supervision_gets_the_objects_that_are_present() -> None:
    tracks = made_up()
    found = tracks.to_supervision(10)
    assert found.tracker_id.tolist() == [0, 1]
    np.testing.assert_allclose(found.xyxy[0], [5.25, 7.5, 11.25, 11.5])
    assert found.data["bound_px"].tolist() == [5.75, 4.5]
    assert found.data["theorem_px"].tolist() == [5.25, 4.0]
    refused = tracks.to_supervision(16)
    assert refused.confidence.tolist() == [1.0, 0.5, 1.0]
    assert len(refused[refused.data["certified"]]) == 2
    assert np.isnan(refused.data["bound_px"]).tolist() == [False, True, False]
    assert len(import_module("supervision").Detections.merge([found, refused])) == 5
    with pytest.raises(InputError, match="Frame 11 is not tracked"):
        tracks.to_supervision(11)


def test_without_supervision_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(InputError, match=r"pip install 'withinpx\[supervision\]'"):
        made_up().to_supervision(10)


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one of coco, mot, dlc"):
        export(made_up(), tmp_path, ["yolo"])  # type: ignore[list-item]
