"""CLEVR-like data: poses, projection, rendering, and the folder of a dataset."""

import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from PIL import Image
from scipy.optimize import brentq
from scipy.spatial import ConvexHull

from tests.test_cli import refusal
from withinpx.data import blender
from withinpx.data.blender import MASK_SCALE, Pixels, Rendered
from withinpx.data.clevr import DATASETS, GAP, MARGIN, ClevrSet, Scene, gap, named_datasets
from withinpx.data.clevr_folder import read_split, silhouette_boxes
from withinpx.data.clevr_render import render_datasets
from withinpx.data.recording import read_clip
from withinpx.data.solids import BEVEL, CUBE_SIDE, Camera, Floats, Pose, Shape, centre, posed_vertices, solid_mesh
from withinpx.errors import InputError
from withinpx.experiments.truth import read_truth
from withinpx.jobs.job import Job, JobCallback

SAMPLE = Path(__file__).with_name("clevr_sample")
SMALL = ClevrSet("shapes", 9, 19, train=3, test=2)
SHAPES: tuple[Shape, ...] = get_args(Shape)


class SilhouetteRenderer:
    """Fills silhouettes instead of rendering with Blender, and is interrupted after ``most`` images."""

    def __init__(self, dataset: ClevrSet, most: int = 1000) -> None:
        self.dataset, self.most, self.rendered = dataset, most, 0
        self.camera = replace(dataset.camera, pixels=MASK_SCALE * dataset.camera.pixels)

    def background(self) -> Pixels:
        return np.full((self.dataset.camera.pixels, self.dataset.camera.pixels, 3), 128, np.uint8)

    def render(self, poses: Sequence[Pose]) -> Rendered:
        if self.rendered == self.most:
            raise KeyboardInterrupt
        self.rendered += 1
        silhouettes = np.zeros((self.camera.pixels, self.camera.pixels), np.uint8)
        for label, (solid, pose) in enumerate(zip(self.dataset.solids, poses, strict=True), 1):
            points = self.camera.project(posed_vertices(solid.shape, self.dataset.radius, pose))
            columns, rows = (
                slice(*edges) for edges in np.stack([points.min(0), points.max(0) + 1], axis=1).astype(int)
            )
            y, x = np.mgrid[rows, columns] + 0.5
            inside = np.all([a * x + b * y + c <= 0 for a, b, c in ConvexHull(points).equations], axis=0)
            silhouettes[rows, columns][inside] = label
        return Rendered(self.background() + silhouettes[::MASK_SCALE, ::MASK_SCALE, None], silhouettes)


class Counting(JobCallback):
    """Counts the rendered images."""

    def __init__(self) -> None:
        self.runs = 0

    def on_job(self, job: Job) -> None:
        self.runs += job.runs


def test_the_seven_datasets_are_the_paper_s() -> None:
    sizes = {name: (dataset.smallest, dataset.largest) for name, dataset in DATASETS.items()}
    assert sizes == {
        "spheres-06-10": (6, 10),
        "spheres-09-14": (9, 14),
        "spheres-11-17": (11, 17),
        "spheres-13-19": (13, 19),
        "spheres-15-24": (15, 24),
        "spheres-17-27": (17, 27),
        "shapes-09-19": (9, 19),
    }
    assert {(d.train, d.test, d.camera.pixels) for d in DATASETS.values()} == {(150, 50, 128)}
    names = [solid.name for solid in DATASETS["shapes-09-19"].solids]
    assert names == ["red metal sphere", "blue rubber cylinder", "green rubber cube"]


@pytest.mark.parametrize("name", ["spheres-06-10", "spheres-17-27", "shapes-09-19"])
def test_solids_keep_their_size_and_their_distance_from_each_other_and_the_border(name: str) -> None:
    dataset = replace(DATASETS[name], train=40, test=0)
    boxes = np.array([scene.boxes for scene in dataset.scenes("train")])
    larger = boxes[..., 2:].max(axis=-1)
    assert dataset.smallest <= larger.min() < larger.max() <= dataset.largest
    assert larger.max() - larger.min() > 0.75 * (dataset.largest - dataset.smallest)  # perspective covers the range
    low, high = boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2
    assert low.min() >= MARGIN
    assert high.max() <= 128 - MARGIN
    for first, second in ((0, 1), (0, 2), (1, 2)):
        apart = np.maximum(low[:, first] - high[:, second], low[:, second] - high[:, first]).max(axis=1)
        assert apart.min() >= GAP


def test_the_gap_of_boxes_is_along_the_axis_that_separates_them() -> None:
    assert gap(np.array([10.0, 10, 4, 4]), np.array([20.0, 11, 6, 6])) == 5
    assert gap(np.array([10.0, 10, 4, 4]), np.array([12.0, 11, 6, 6])) == -3


def test_an_image_depends_on_seed_split_and_index_alone() -> None:
    def same(one: Scene, other: Scene) -> bool:
        return one.poses == other.poses

    scene = SMALL.scene("train", 2)
    assert same(scene, replace(SMALL, train=100, test=0).scene("train", 2))
    assert not same(scene, replace(SMALL, seed=1).scene("train", 2))
    assert not same(scene, SMALL.scene("test", 2))
    assert not same(scene, SMALL.scene("train", 1))


def test_the_camera_is_a_pinhole() -> None:
    camera = Camera(position=(0, -10, 0), lens_mm=32, sensor_mm=32, pixels=100)
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 10, 0]])
    assert camera.project(points) == pytest.approx(np.array([[50, 50], [60, 50], [50, 40], [55, 50]]))


def test_a_sphere_s_box_is_that_of_its_tangent_cone() -> None:
    camera, radius, pose = Camera(), 0.6, Pose(1.7, 1.1, 0.4)
    x, y, depth = camera.axes @ (np.array(centre("sphere", radius, pose)) - camera.position)
    edges = np.array(
        [
            64 + 140 * np.tan(np.arctan2(across, depth) + side * np.arcsin(radius / np.hypot(across, depth)))
            for side in (-1, 1)
            for across in (x, y)
        ]
    ).reshape(2, 2)
    expected = [*edges.mean(axis=0), *(edges[1] - edges[0])]
    assert camera.box(posed_vertices("sphere", radius, pose)) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_solid_s_box_touches_it(shape: Shape) -> None:
    """A plane through the camera and an edge of the box touches the solid: the support function there is zero."""
    camera, radius, pose = Camera(), 0.6, Pose(-1.3, 0.8, 0.7)
    box = camera.box(posed_vertices(shape, radius, pose))
    for axis in (0, 1):
        for side in (-1, 1):

            def beyond(edge: float, axis: int = axis, side: int = side) -> float:
                slope = (edge - 64) / 140
                normal = side * (camera.axes[axis] - slope * camera.axes[2])
                reach = np.dot(normal, np.array(centre(shape, radius, pose)) - camera.position)
                return float(reach + radius * support(shape, turned_back(normal, pose.turn)))

            expected = brentq(beyond, 0, 128)
            assert box[axis] + side * box[2 + axis] / 2 == pytest.approx(expected, abs=0.02)


def turned_back(normal: Floats, turn: float) -> Floats:
    cosine, sine = np.cos(turn), np.sin(turn)
    return np.array([cosine * normal[0] + sine * normal[1], cosine * normal[1] - sine * normal[0], normal[2]])


def support(shape: Shape, normal: Floats) -> float:
    """Support function of a solid of radius 1: that of its core plus the bevel."""
    bevel = BEVEL[shape]
    core = {
        "sphere": 0.0,
        "cube": (CUBE_SIDE - bevel) * np.abs(normal).sum(),
        "cylinder": (1 - bevel) * (np.hypot(*normal[:2]) + abs(normal[2])),
    }
    return float(core[shape] + bevel * np.linalg.norm(normal))


@pytest.mark.parametrize("shape", SHAPES)
def test_solids_are_closed_and_face_outwards(shape: Shape) -> None:
    mesh = solid_mesh(shape)
    edges = [(face[i - 1], face[i]) for face in mesh.faces for i in range(len(face))]
    assert len(set(edges)) == len(edges)
    assert {(second, first) for first, second in edges} == set(edges)
    for face in mesh.faces[::97]:
        corners = mesh.vertices[list(face)]
        outwards = np.cross(corners[1] - corners[0], corners[2] - corners[1])
        assert np.dot(outwards, corners.mean(axis=0)) > 0


def test_an_interrupted_dataset_resumes_and_a_finished_one_is_unchanged(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        render_datasets({tmp_path: SMALL}, lambda dataset: SilhouetteRenderer(dataset, most=2))
    with pytest.raises(InputError, match="not completely rendered"):
        read_split(tmp_path, "train")
    early = (tmp_path / "train" / "000000.png").stat().st_mtime_ns
    callback = Counting()
    render_datasets({tmp_path: SMALL}, SilhouetteRenderer, callback)
    assert callback.runs == 3
    assert (tmp_path / "train" / "000000.png").stat().st_mtime_ns == early
    train, test = read_split(tmp_path, "train"), read_split(tmp_path, "test")
    assert (len(train.clip), len(test.clip)) == (3, 2)

    def no_renderer(dataset: ClevrSet) -> SilhouetteRenderer:
        raise AssertionError(f"{dataset.name} is finished")

    render_datasets({tmp_path: SMALL}, no_renderer)


def test_a_folder_holds_one_dataset(tmp_path: Path) -> None:
    render_datasets({tmp_path / "made": SMALL}, SilhouetteRenderer)
    with pytest.raises(InputError, match=r"holds another dataset \(seed 0, not 3; train 3, not 4\)"):
        render_datasets({tmp_path / "made": replace(SMALL, seed=3, train=4)}, SilhouetteRenderer)
    with pytest.raises(InputError, match="holds other files"):
        render_datasets({tmp_path: SMALL}, SilhouetteRenderer)


def test_a_mask_that_differs_from_the_truth_is_refused(tmp_path: Path) -> None:
    render_datasets({tmp_path: SMALL}, SilhouetteRenderer)
    mask = tmp_path / "masks" / "test" / "000001.png"
    mask.write_bytes((tmp_path / "masks" / "test" / "000000.png").read_bytes())
    with pytest.raises(InputError, match=r"test/000001.png does not match the truth"):
        render_datasets({tmp_path: SMALL}, SilhouetteRenderer)


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_sample_s_truth_is_what_blender_rendered(split: str) -> None:
    made = read_split(SAMPLE, "train" if split == "train" else "test")
    assert made.objects == ("red metal sphere", "blue rubber cylinder", "green rubber cube")
    assert made.coverage.shape == (len(made.clip), 3, 128, 128)
    assert made.coverage.sum(axis=1).max() == 1
    along = np.arange(128) + 0.5
    for index in range(3):
        across = made.coverage[:, index]
        columns, rows = across.max(axis=1) > 0.5, across.max(axis=2) > 0.5
        for axis, touched in enumerate((columns, rows)):
            centres = np.array([along[mask].min() + along[mask].max() for mask in touched]) / 2
            assert np.abs(centres - made.positions[:, index, axis]).max() < 0.8
    shown = np.array([made.clip.frames[i, int(y), int(x)] for i in range(len(made.clip)) for x, y in made.positions[i]])
    assert shown.reshape(-1, 3, 3).argmax(axis=-1).tolist() == [[0, 2, 1]] * len(made.clip)  # red, blue, green


def test_the_sample_has_the_poses_of_this_version() -> None:
    dataset = replace(DATASETS["shapes-09-19"], train=12, test=4)
    for split in ("train", "test"):
        boxes = np.array([scene.boxes for scene in dataset.scenes(split)])
        assert read_split(SAMPLE, split).boxes == pytest.approx(boxes, abs=1e-4)


def test_far_from_solids_an_image_is_the_background() -> None:
    made = read_split(SAMPLE, "train")
    changed = np.abs(made.clip.frames.astype(int) - made.background).max(axis=-1) > 4
    assert changed[made.coverage.max(axis=1) == 1].mean() > 0.97
    assert changed[:, 110:].mean() < 0.02
    assert changed.mean() < 0.15


def test_a_split_is_a_clip_with_a_truth_like_any_other() -> None:
    made = read_split(SAMPLE, "test")
    assert np.array_equal(read_clip(SAMPLE / "test").frames, made.clip.frames)
    assert np.array_equal(read_truth(SAMPLE / "test" / "truth.csv", 4), made.positions)


def test_an_object_without_silhouette_has_no_box() -> None:
    labels = np.zeros((8 * MASK_SCALE, 8 * MASK_SCALE), np.uint8)
    labels[MASK_SCALE : 3 * MASK_SCALE, 2 * MASK_SCALE : 5 * MASK_SCALE] = 2
    boxes = silhouette_boxes(labels, 2)
    assert np.isnan(boxes[0]).all()
    assert boxes[1].tolist() == [3.5, 2, 3, 2]


def test_bad_options_are_refused_with_a_message(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def message(options: str) -> str:
        return refusal(capsys, f"data clevr --out {tmp_path / 'made'} {options}")

    assert "There is no dataset cubes: there are spheres-06-10, spheres-09-14" in message("--name cubes")
    assert "The sizes 10 to 6 px are not possible" in message("--name spheres --sizes 10 6")
    assert "The sizes 1 to 6 px are not possible" in message("--name spheres --sizes 1 6")
    assert "give smaller sizes, or a wider range" in message("--name spheres --sizes 70 90")
    assert "The sizes of the shapes are missing" in message("--name shapes")
    assert "The sizes of spheres-06-10 are fixed" in message("--name spheres-06-10 --sizes 6 11")
    assert "The numbers of images are 0 and 0" in message("--name spheres-06-10 --train 0 --test 0")
    assert "The seed is -1" in message("--name spheres-06-10 --seed -1")
    assert not (tmp_path / "made").exists()
    with pytest.raises(InputError, match="is no rendered dataset"):
        read_split(tmp_path, "train")


def test_without_blender_the_message_says_what_to_install(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f"data clevr --name spheres-06-10 --train 1 --test 0 --out {tmp_path / 'made'}"
    monkeypatch.setitem(sys.modules, "bpy", None)
    monkeypatch.setattr(blender, "PYTHON", sys.version_info[:2])
    assert "pip install 'withinpx[clevr]'" in refusal(capsys, command)
    monkeypatch.setattr(blender, "PYTHON", (3, 10))
    assert "Blender is available for Python 3.10 only" in refusal(capsys, command)
    assert not (tmp_path / "made" / "dataset.json").exists()


def test_a_missing_library_of_blender_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bpy.py").write_text("raise ImportError('libXi.so.6: cannot open shared object file')")
    monkeypatch.delitem(sys.modules, "bpy", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"libXi\.so\.6.*apt-get install .*libxi6"):
        blender.import_bpy()


def test_an_interruption_waits_for_the_image() -> None:
    finished = False
    with pytest.raises(KeyboardInterrupt), blender.delayed_interrupt():
        signal.raise_signal(signal.SIGINT)
        finished = True
    assert finished


def test_datasets_by_name_and_by_sizes() -> None:
    assert [dataset.name for dataset in named_datasets("all")] == list(DATASETS)
    (made,) = named_datasets("spheres", (8, 12.5))
    assert (made.name, made.solids) == ("spheres-08-12.5", DATASETS["spheres-06-10"].solids)


@pytest.mark.skipif(importlib.util.find_spec("bpy") is None, reason="needs Blender: pip install 'withinpx[clevr]'")
def test_blender_renders_the_sample_again(tmp_path: Path) -> None:
    """In a separate process: Blender and PyTorch come with thread pools that do not mix."""
    command = f"data clevr --name shapes-09-19 --train 1 --test 1 --out {tmp_path / 'made'}"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "withinpx", *command.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("shapes-09-19: 1 + 1 images")  # and no output of Blender
    measured = json.loads((tmp_path / "made" / "dataset.json").read_text())["measured"]
    assert measured["silhouette_from_truth_px"]["largest"] < 0.3
    for name in ("background.png", "train/000000.png", "test/000000.png"):
        again, sample = (np.array(Image.open(folder / name), int) for folder in (tmp_path / "made", SAMPLE))
        assert np.abs(again - sample).mean() < 0.5  # equal on one kind of processor
