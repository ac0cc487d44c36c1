"""Generated clips agree with their ground truth."""

import csv
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.data import scenes
from withinpx.data.motion import bouncing, passing, smooth_paths, still
from withinpx.data.scenes import demo_clip_path, demo_scene, make_demo, random_scene, write_clip_video, write_truth
from withinpx.data.stage import Camera, GeneratedClip, Ground, SceneObject, Shape, Stage
from withinpx.data.video import read_video
from withinpx.errors import InputError

Case = Callable[..., GeneratedClip]
CASES: list[Case] = [
    scenes.three_objects,
    scenes.twins,
    scenes.with_static,
    scenes.leaving,
    scenes.occluding,
    scenes.perspective,
    scenes.shaking,
    scenes.drifting_light,
    scenes.panning,
    scenes.slow_object,
]
WHITE = (1.0, 1.0, 1.0)


def coverage(stage: Stage) -> NDArray[np.float64]:
    """The covered fraction of each pixel (frames, height, width), from two grounds of different brightness."""
    dark, bright = (
        images(replace(stage, ground=Ground((level, level, level), contrast=0), camera=Camera(noise=0)).render())
        for level in (0.2, 0.8)
    )
    return np.asarray(1 - (bright - dark)[..., 0] / 0.6)


def images(generated: GeneratedClip) -> NDArray[np.float64]:
    return generated.clip.frames / 255


def centroid(cover: NDArray[np.float64]) -> NDArray[np.float64]:
    rows, columns = np.indices(cover.shape) + 0.5
    return np.array([(columns * cover).sum(), (rows * cover).sum()]) / float(cover.sum())


@pytest.mark.parametrize("shape", ["disc", "square", "ring", "cross"])
def test_an_object_is_at_its_true_position(shape: Shape) -> None:
    path = np.array([[20, 20], [20.5, 20.5], [17.3, 22.8], [24.91, 18.04]])
    stage = Stage((SceneObject(shape, WHITE, 11, path),), 40, 40)
    for cover, truth in zip(coverage(stage), stage.render().truth[:, 0], strict=True):
        assert centroid(cover) == pytest.approx(truth, abs=0.03)


@pytest.mark.parametrize("shape", ["disc", "square", "triangle", "ring", "cross"])
def test_an_object_fills_its_true_box(shape: Shape) -> None:
    stage = Stage((SceneObject(shape, WHITE, 12.6, np.array([[20.35, 19.8], [18.1, 21.45]])),), 40, 40)
    generated = stage.render()
    for cover, centre, sides in zip(coverage(stage), generated.truth[:, 0], generated.sizes[:, 0], strict=True):
        rows, columns = np.nonzero(cover > 0.02)
        first, last = np.array([columns.min(), rows.min()]), np.array([columns.max(), rows.max()]) + 1
        assert (abs(first - (centre - sides / 2)) <= 1.1).all()
        assert (abs(last - (centre + sides / 2)) <= 1.1).all()


def test_a_square_s_sides_are_its_size() -> None:
    cover = coverage(Stage((SceneObject("square", WHITE, 11.4, still(1, (20.3, 19.9))),), 40, 40))[0]
    assert cover[20].sum() == pytest.approx(11.4, abs=0.1)
    assert cover[:, 20].sum() == pytest.approx(11.4, abs=0.1)


def test_objects_are_lit_from_the_upper_left() -> None:
    disc = SceneObject("disc", (0.8, 0.2, 0.2), 17, still(1, (20, 20)))
    frame = Stage((disc,), 40, 40).render().clip.frames[0].astype(int)
    assert frame[16, 16].sum() > frame[20, 20].sum() > frame[24, 24].sum() + 30


@pytest.mark.parametrize("case", CASES)
def test_the_seed_determines_every_pixel(case: Case) -> None:
    first, again, other = (case(frames=3, seed=seed) for seed in (5, 5, 6))
    assert (first.clip.frames == again.clip.frames).all()
    assert (first.truth == again.truth).all()
    assert (first.clip.frames != other.clip.frames).mean() > 0.5
    assert first.clip.frames.shape == (3, 96, 128, 3)
    assert first.clip.times_s.tolist() == [0, 0.04, 0.08]
    assert first.truth.shape == first.sizes.shape == (*first.visible.shape, 2)


def test_an_object_out_of_view_is_not_visible() -> None:
    path = np.array([[20.0, 20], [0, 20], [-5.9, 20], [-6, 20], [45, 20], [46, 20], [20, -300]])
    visible = Stage((SceneObject("square", WHITE, 12, path),), 40, 40).render().visible[:, 0]
    assert visible.tolist()[:2] == [1, 0.5]
    assert 0 < visible[2] < 0.02
    assert visible.tolist()[3::2] == [0, 0]
    assert visible[4] == pytest.approx(1 / 12, abs=0.01)
    assert visible[6] == 0


def test_an_occluded_object_is_not_visible() -> None:
    small, large = (SceneObject("disc", WHITE, size, still(1, (20, 20))) for size in (7, 15))
    assert Stage((small, large), 40, 40).render().visible.tolist() == [[0, 1]]
    assert Stage((large, small), 40, 40).render().visible[0, 1] == 1


@pytest.mark.parametrize("seed", range(2))
def test_the_leaving_object_leaves_and_the_others_stay(seed: int) -> None:
    generated = scenes.leaving(seed=seed)
    assert (generated.visible[:, :2] == 1).all()
    assert generated.visible[5, 2] == 1
    assert (generated.visible[-15:, 2] == 0).all()


@pytest.mark.parametrize("seed", range(2))
def test_the_square_passes_in_front_of_the_disc_twice(seed: int) -> None:
    generated = scenes.occluding(seed=seed)
    hidden = generated.visible[:, 0] < 0.7
    assert (np.diff(hidden.astype(int)) == 1).sum() == 2
    assert (generated.visible[:, 1:] == 1).all()
    distance = np.linalg.norm(generated.truth[:, 0] - generated.truth[:, 1], axis=1)
    assert (generated.visible[distance > 18, 0] == 1).all()


def test_twins_differ_only_in_position() -> None:
    generated = scenes.twins(frames=4)
    first, second, square = generated.stage.objects
    swapped = (replace(first, path=second.path), replace(second, path=first.path), square)
    assert (replace(generated.stage, objects=swapped).render().clip.frames == generated.clip.frames).all()


def test_the_static_object_is_static() -> None:
    generated = scenes.with_static(frames=30, noise=0)
    assert np.ptp(generated.truth[:, 3], axis=0).tolist() == [0, 0]
    x, y = generated.truth[0, 3].astype(int)
    assert np.ptp(generated.clip.frames[:, y - 6 : y + 6, x - 6 : x + 6], axis=0).max() == 0
    assert (np.ptp(generated.truth[:, :3], axis=0) > 30).all()


def test_the_slow_object_moves_late_and_little() -> None:
    path = scenes.slow_object(frames=30).truth[:, 2]
    assert np.ptp(path[:20], axis=0).tolist() == [0, 0]
    assert np.linalg.norm(path[-1] - path[0]) == pytest.approx(1.2 * 14)


def test_objects_grow_towards_the_lower_border() -> None:
    generated = scenes.perspective(frames=20)
    lower = generated.truth[:, 0, 1]
    assert generated.sizes[:, 0, 0] == pytest.approx(13 * (1 + 0.4 * (2 * lower / 96 - 1)))
    assert (generated.visible == 1).all()


def test_a_shaken_camera_moves_ground_and_objects_alike() -> None:
    disc = SceneObject("disc", WHITE, 13, still(8, (40, 30)))
    shaken = Stage((disc,), 80, 60, camera=Camera(noise=0, shake=2, whole_pixels=True)).render()
    frames, positions = shaken.clip.frames.astype(int), shaken.truth[:, 0].astype(int)
    assert len({(x, y) for x, y in positions.tolist()}) > 3
    around = [frame[y - 20 : y + 20, x - 30 : x + 30] for frame, (x, y) in zip(frames, positions, strict=True)]
    assert np.ptp(np.stack(around), axis=0).max() <= 1


def test_shake_is_subpixel_by_default() -> None:
    fixed, shaken = scenes.three_objects(frames=9).truth, scenes.shaking(frames=9, shake=1).truth
    jitter = shaken - fixed
    assert (jitter == pytest.approx(jitter[:, :1].repeat(3, axis=1))) and 0.5 < jitter.std() < 1.5
    assert abs(jitter).max() <= 2
    whole = scenes.shaking(frames=9, whole_pixels=True).truth - fixed
    assert whole == pytest.approx(np.round(whole))


def test_a_panning_camera_keeps_the_objects_and_moves_the_ground() -> None:
    still_camera, panned = scenes.three_objects(frames=20, noise=0), scenes.panning(frames=20, noise=0)
    assert panned.truth == pytest.approx(still_camera.truth)
    corner = panned.clip.frames[:, :4, :4].astype(int)
    assert (np.ptp(corner, axis=0) > 10).all()
    assert np.ptp(still_camera.clip.frames[:, :4, :4].astype(int), axis=0).max() == 0


def test_drifting_light_changes_the_brightness_slowly() -> None:
    brightness = images(scenes.drifting_light(frames=40)).mean(axis=(1, 2, 3))
    assert brightness.max() / brightness.min() > 1.15
    assert abs(np.diff(brightness)).max() < 0.01


def test_noise_has_the_given_standard_deviation() -> None:
    clean, noisy = scenes.three_objects(frames=3, noise=0), scenes.three_objects(frames=3, noise=0.03)
    assert (images(noisy) - images(clean)).std() == pytest.approx(0.03, abs=0.001)


@pytest.mark.parametrize(("count", "frames"), [(3, 60), (4, 60), (3, 150)])
@pytest.mark.parametrize("seed", range(3))
def test_smooth_paths_cover_the_image_and_keep_apart(count: int, frames: int, seed: int) -> None:
    paths = smooth_paths(count, frames, (160, 120), 11, seed)
    assert paths.shape == (count, frames, 2)
    assert (paths >= 11).all() and (paths <= (149, 109)).all()
    assert (np.ptp(paths, axis=1) > (0.6 * 138, 0.45 * 98)).all()
    assert min(np.linalg.norm(a - b, axis=1).min() for a, b in combinations(paths, 2)) > 20
    assert np.linalg.norm(np.diff(paths, n=2, axis=1), axis=2).max() < 3  # px per frame²: no jumps


def test_paths_cross_when_no_distance_is_kept() -> None:
    paths = smooth_paths(4, 60, (64, 48), 11, 0, apart=0)
    assert min(np.linalg.norm(a - b, axis=1).min() for a, b in combinations(paths, 2)) < 5


def test_a_bouncing_object_keeps_its_speed_and_its_margin() -> None:
    path = bouncing(200, (128, 96), 10, seed=1, speed=2.5)
    assert (path >= 10).all() and (path <= (118, 86)).all()
    speeds = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert np.median(speeds) == pytest.approx(2.5)
    assert speeds.max() == pytest.approx(2.5)


def test_a_passing_object_enters_and_leaves() -> None:
    x = passing(60, (128, 96), outside=12, seed=0)[:, 0]
    assert sorted((x[0], x[-1])) == [-12, 140]
    assert ((x > 0) & (x < 128)).mean() == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_random_scenes_have_one_to_four_objects_of_different_colours(seed: int) -> None:
    objects = random_scene(seed, frames=2).stage.objects
    assert 1 <= len(objects) <= 4
    assert all(7 <= obj.size <= 17 for obj in objects)
    assert all(np.linalg.norm(np.subtract(a.colour, b.colour)) > 0.3 for a, b in combinations(objects, 2))


def test_random_twins_are_alike() -> None:
    first, second, third = random_scene(3, frames=2, count=3, alike=True).stage.objects
    assert (first.shape, first.colour, first.size) == (second.shape, second.colour, second.size)
    assert first.colour != third.colour


def test_impossible_scenes_are_refused() -> None:
    with pytest.raises(InputError, match="no room"):
        scenes.three_objects(height=20)
    with pytest.raises(InputError, match="0 frames"):
        scenes.three_objects(frames=0)
    with pytest.raises(InputError, match="at least 2"):
        random_scene(0, count=1, alike=True)
    with pytest.raises(InputError, match="at least one object"):
        Stage((), 40, 40)
    with pytest.raises(InputError, match="less than 1"):
        scenes.perspective(perspective=1)
    with pytest.raises(InputError, match=r"\.mp4"):
        write_clip_video(Path("clip.gif"), scenes.three_objects(frames=1).clip)


@pytest.mark.parametrize(("width", "height"), [(128, 96), (97, 75)])
@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv"])
def test_a_clip_survives_its_video(tmp_path: Path, name: str, width: int, height: int) -> None:
    clip = scenes.three_objects(frames=12, width=width, height=height).clip
    write_clip_video(tmp_path / name, clip)
    back = read_video(tmp_path / name)
    assert back.frames.shape == clip.frames.shape
    assert abs(back.frames.astype(int) - clip.frames).mean() < 3
    assert back.times_s == pytest.approx(clip.times_s, abs=1e-3)


def test_the_truth_file_has_a_row_for_every_visible_object(tmp_path: Path) -> None:
    generated = scenes.leaving(frames=20)
    write_truth(tmp_path / "truth.csv", generated)
    with (tmp_path / "truth.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["frame", "object", "x", "y", "w", "h", "full"]
    assert len(rows) == (generated.visible > 0).sum() < generated.visible.size
    for row in rows:
        key = int(row["frame"]), int(row["object"])
        assert [float(row[key]) for key in "xywh"] == pytest.approx(
            [*generated.truth[key], *generated.sizes[key]], abs=5e-4
        )
        assert (row["full"] == "1") == (generated.visible[key] == 1)


def test_the_shipped_demo_clip_is_what_the_code_renders(tmp_path: Path) -> None:
    generated, shipped = demo_scene(), demo_clip_path()
    clip = read_video(shipped)
    assert shipped.stat().st_size < 300_000
    assert clip.frames.shape == (60, 120, 160, 3)
    assert abs(clip.frames.astype(int) - generated.clip.frames).mean() < 6
    make_demo(tmp_path)
    again, before = (
        np.loadtxt(folder / "demo_truth.csv", delimiter=",", skiprows=1) for folder in (tmp_path, shipped.parent)
    )
    assert again == pytest.approx(before, abs=0.01)
    assert (read_video(tmp_path / "demo.mp4").times_s == clip.times_s).all()
