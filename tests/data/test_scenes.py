"""Generated clips show what their truth says."""

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
    scenes.three_things,
    scenes.twins,
    scenes.with_static,
    scenes.leaving,
    scenes.occluding,
    scenes.perspective,
    scenes.shaking,
    scenes.drifting_light,
    scenes.panning,
    scenes.slow_mover,
]
WHITE = (1.0, 1.0, 1.0)


def coverage(stage: Stage) -> NDArray[np.float64]:
    """How much of each pixel is covered, (frames, height, width): what two grounds show of themselves tells."""
    dark, bright = (
        replace(stage, ground=Ground((level, level, level), contrast=0), camera=Camera(noise=0))
        .render()
        .clip.images[:, 0]
        for level in (0.2, 0.8)
    )
    return 1 - (bright - dark).astype(np.float64) / 0.6


def centroid(cover: NDArray[np.float64]) -> NDArray[np.float64]:
    rows, columns = np.indices(cover.shape) + 0.5
    return np.array([(columns * cover).sum(), (rows * cover).sum()]) / float(cover.sum())


@pytest.mark.parametrize("shape", ["disc", "square", "ring", "cross"])
def test_a_thing_is_where_the_truth_says(shape: Shape) -> None:
    path = np.array([[20, 20], [20.5, 20.5], [17.3, 22.8], [24.91, 18.04]])
    stage = Stage((SceneObject(shape, WHITE, 11, path),), 40, 40)
    for cover, truth in zip(coverage(stage), stage.render().truth[:, 0], strict=True):
        assert centroid(cover) == pytest.approx(truth, abs=0.03)


@pytest.mark.parametrize("shape", ["disc", "square", "triangle", "ring", "cross"])
def test_a_thing_fills_the_box_that_the_truth_gives(shape: Shape) -> None:
    stage = Stage((SceneObject(shape, WHITE, 12.6, np.array([[20.35, 19.8], [18.1, 21.45]])),), 40, 40)
    filmed = stage.render()
    for cover, centre, sides in zip(coverage(stage), filmed.truth[:, 0], filmed.sizes[:, 0], strict=True):
        rows, columns = np.nonzero(cover > 0.02)
        first, last = np.array([columns.min(), rows.min()]), np.array([columns.max(), rows.max()]) + 1
        assert (abs(first - (centre - sides / 2)) <= 1.1).all()
        assert (abs(last - (centre + sides / 2)) <= 1.1).all()


def test_a_square_s_sides_are_its_size() -> None:
    cover = coverage(Stage((SceneObject("square", WHITE, 11.4, still(1, (20.3, 19.9))),), 40, 40))[0]
    assert cover[20].sum() == pytest.approx(11.4, abs=0.1)
    assert cover[:, 20].sum() == pytest.approx(11.4, abs=0.1)


def test_things_look_solid_lit_from_the_upper_left() -> None:
    frame = (
        Stage((SceneObject("disc", (0.8, 0.2, 0.2), 17, still(1, (20, 20))),), 40, 40)
        .render()
        .clip.frames[0]
        .astype(int)
    )
    assert frame[16, 16].sum() > frame[20, 20].sum() > frame[24, 24].sum() + 30


@pytest.mark.parametrize("case", CASES)
def test_the_seed_decides_every_pixel(case: Case) -> None:
    first, again, other = (case(frames=3, seed=seed) for seed in (5, 5, 6))
    assert (first.clip.frames == again.clip.frames).all()
    assert (first.truth == again.truth).all()
    assert (first.clip.frames != other.clip.frames).mean() > 0.5
    assert first.clip.frames.shape == (3, 96, 128, 3)
    assert first.clip.times_s.tolist() == [0, 0.04, 0.08]
    assert first.truth.shape == first.sizes.shape == (*first.visible.shape, 2)


def test_a_thing_out_of_view_is_not_visible() -> None:
    path = np.array([[20.0, 20], [0, 20], [-5.9, 20], [-6, 20], [45, 20], [46, 20], [20, -300]])
    visible = Stage((SceneObject("square", WHITE, 12, path),), 40, 40).render().visible[:, 0]
    assert visible.tolist()[:2] == [1, 0.5]
    assert 0 < visible[2] < 0.02
    assert visible.tolist()[3::2] == [0, 0]
    assert visible[4] == pytest.approx(1 / 12, abs=0.01)
    assert visible[6] == 0


def test_a_covered_thing_is_not_visible() -> None:
    small, large = (SceneObject("disc", WHITE, size, still(1, (20, 20))) for size in (7, 15))
    assert Stage((small, large), 40, 40).render().visible.tolist() == [[0, 1]]
    assert Stage((large, small), 40, 40).render().visible[0, 1] == 1


@pytest.mark.parametrize("seed", range(2))
def test_the_leaving_one_leaves_and_the_others_stay(seed: int) -> None:
    filmed = scenes.leaving(seed=seed)
    assert (filmed.visible[:, :2] == 1).all()
    assert filmed.visible[5, 2] == 1
    assert (filmed.visible[-15:, 2] == 0).all()


@pytest.mark.parametrize("seed", range(2))
def test_the_square_passes_twice_before_the_disc(seed: int) -> None:
    filmed = scenes.occluding(seed=seed)
    hidden = filmed.visible[:, 0] < 0.7
    assert (np.diff(hidden.astype(int)) == 1).sum() == 2
    assert (filmed.visible[:, 1:] == 1).all()
    distance = np.linalg.norm(filmed.truth[:, 0] - filmed.truth[:, 1], axis=1)
    assert (filmed.visible[distance > 18, 0] == 1).all()


def test_twins_differ_only_in_their_places() -> None:
    filmed = scenes.twins(frames=4)
    first, second, square = filmed.stage.things
    swapped = (replace(first, path=second.path), replace(second, path=first.path), square)
    assert (replace(filmed.stage, things=swapped).render().clip.frames == filmed.clip.frames).all()


def test_the_static_one_is_static() -> None:
    filmed = scenes.with_static(frames=30, noise=0)
    assert np.ptp(filmed.truth[:, 3], axis=0).tolist() == [0, 0]
    x, y = filmed.truth[0, 3].astype(int)
    assert np.ptp(filmed.clip.frames[:, y - 6 : y + 6, x - 6 : x + 6], axis=0).max() == 0
    assert (np.ptp(filmed.truth[:, :3], axis=0) > 30).all()


def test_the_slow_one_moves_late_and_little() -> None:
    path = scenes.slow_mover(frames=30).truth[:, 2]
    assert np.ptp(path[:20], axis=0).tolist() == [0, 0]
    assert np.linalg.norm(path[-1] - path[0]) == pytest.approx(1.2 * 14)


def test_things_grow_towards_the_lower_border() -> None:
    filmed = scenes.perspective(frames=20, growth=0.4)
    lower = filmed.truth[:, 0, 1]
    assert filmed.sizes[:, 0, 0] == pytest.approx(13 * (1 + 0.4 * (2 * lower / 96 - 1)))
    assert (filmed.visible == 1).all()


def test_a_shaken_camera_moves_ground_and_things_alike() -> None:
    things = (SceneObject("disc", WHITE, 13, still(8, (40, 30))),)
    shaken = Stage(things, 80, 60, camera=Camera(noise=0, shake=2, whole_pixels=True)).render()
    frames, places = shaken.clip.frames.astype(int), shaken.truth[:, 0].astype(int)
    assert len({(x, y) for x, y in places.tolist()}) > 3
    around = [frame[y - 20 : y + 20, x - 30 : x + 30] for frame, (x, y) in zip(frames, places, strict=True)]
    assert np.ptp(np.stack(around), axis=0).max() <= 1


def test_shaking_is_between_pixels_unless_asked() -> None:
    steady, shaken = scenes.three_things(frames=9).truth, scenes.shaking(frames=9, shake=1).truth
    jitter = shaken - steady
    assert (jitter == pytest.approx(jitter[:, :1].repeat(3, axis=1))) and 0.5 < jitter.std() < 1.5
    assert abs(jitter).max() <= 2
    whole = scenes.shaking(frames=9, whole_pixels=True).truth - steady
    assert whole == pytest.approx(np.round(whole))


def test_a_panning_camera_keeps_the_things_and_slides_the_ground() -> None:
    still_camera, panned = scenes.three_things(frames=20, noise=0), scenes.panning(frames=20, noise=0)
    assert panned.truth == pytest.approx(still_camera.truth)
    corner = panned.clip.frames[:, :4, :4].astype(int)
    assert (np.ptp(corner, axis=0) > 10).all()
    assert np.ptp(still_camera.clip.frames[:, :4, :4].astype(int), axis=0).max() == 0


def test_drifting_light_changes_the_brightness_slowly() -> None:
    brightness = scenes.drifting_light(frames=40, drift=0.15).clip.images.mean(axis=(1, 2, 3))
    assert brightness.max() / brightness.min() > 1.15
    assert abs(np.diff(brightness)).max() < 0.01


def test_noise_is_as_strong_as_asked() -> None:
    clean, noisy = scenes.three_things(frames=3, noise=0), scenes.three_things(frames=3, noise=0.03)
    assert (noisy.clip.images - clean.clip.images).std() == pytest.approx(0.03, abs=0.001)


@pytest.mark.parametrize(("count", "frames"), [(3, 60), (4, 60), (3, 150)])
@pytest.mark.parametrize("seed", range(3))
def test_smooth_paths_cover_the_picture_and_keep_apart(count: int, frames: int, seed: int) -> None:
    paths = smooth_paths(count, frames, (160, 120), 11, seed)
    assert paths.shape == (count, frames, 2)
    assert (paths >= 11).all() and (paths <= (149, 109)).all()
    assert (np.ptp(paths, axis=1) > (0.6 * 138, 0.45 * 98)).all()
    assert min(np.linalg.norm(a - b, axis=1).min() for a, b in combinations(paths, 2)) > 20
    assert np.linalg.norm(np.diff(paths, n=2, axis=1), axis=2).max() < 3  # px per frame²: no jumps


def test_paths_cross_when_they_may() -> None:
    paths = smooth_paths(4, 60, (64, 48), 11, 0, apart=0)
    assert min(np.linalg.norm(a - b, axis=1).min() for a, b in combinations(paths, 2)) < 5


def test_a_bouncing_thing_keeps_its_speed_and_its_margin() -> None:
    path = bouncing(200, (128, 96), 10, seed=1, speed=2.5)
    assert (path >= 10).all() and (path <= (118, 86)).all()
    speeds = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert np.median(speeds) == pytest.approx(2.5)
    assert speeds.max() == pytest.approx(2.5)


def test_a_passing_thing_comes_and_goes() -> None:
    x = passing(60, (128, 96), outside=12, seed=0)[:, 0]
    assert sorted((x[0], x[-1])) == [-12, 140]
    assert ((x > 0) & (x < 128)).mean() == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_random_scenes_are_of_one_to_four_things_that_can_be_told_apart(seed: int) -> None:
    things = random_scene(seed, frames=2).stage.things
    assert 1 <= len(things) <= 4
    assert all(7 <= thing.size <= 17 for thing in things)
    assert all(np.linalg.norm(np.subtract(a.colour, b.colour)) > 0.3 for a, b in combinations(things, 2))


def test_random_twins_are_alike() -> None:
    first, second, third = random_scene(3, frames=2, count=3, alike=True).stage.things
    assert (first.shape, first.colour, first.size) == (second.shape, second.colour, second.size)
    assert first.colour != third.colour


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(InputError, match="no room"):
        scenes.three_things(height=20)
    with pytest.raises(InputError, match="0 frames"):
        scenes.three_things(frames=0)
    with pytest.raises(InputError, match="at least 2"):
        random_scene(0, count=1, alike=True)
    with pytest.raises(InputError, match="at least one thing"):
        Stage((), 40, 40)
    with pytest.raises(InputError, match="less than 1"):
        scenes.perspective(growth=1)
    with pytest.raises(InputError, match=r"\.mp4"):
        write_clip_video(Path("clip.gif"), scenes.three_things(frames=1).clip)


@pytest.mark.parametrize(("width", "height"), [(128, 96), (97, 75)])
@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv"])
def test_a_clip_comes_back_from_its_video(tmp_path: Path, name: str, width: int, height: int) -> None:
    clip = scenes.three_things(frames=12, width=width, height=height).clip
    write_clip_video(tmp_path / name, clip)
    back = read_video(tmp_path / name)
    assert back.frames.shape == clip.frames.shape
    assert abs(back.frames.astype(int) - clip.frames).mean() < 3
    assert back.times_s == pytest.approx(clip.times_s, abs=1e-3)


def test_the_truth_file_has_a_row_for_every_thing_in_view(tmp_path: Path) -> None:
    filmed = scenes.leaving(frames=20)
    write_truth(tmp_path / "truth.csv", filmed)
    with (tmp_path / "truth.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["frame", "object", "x", "y", "w", "h", "full"]
    assert len(rows) == (filmed.visible > 0).sum() < filmed.visible.size
    for row in rows:
        place = int(row["frame"]), int(row["object"])
        assert [float(row[key]) for key in "xywh"] == pytest.approx(
            [*filmed.truth[place], *filmed.sizes[place]], abs=5e-4
        )
        assert (row["full"] == "1") == (filmed.visible[place] == 1)


def test_the_demo_clip_is_what_the_code_makes(tmp_path: Path) -> None:
    made, kept = demo_scene(), demo_clip_path()
    clip = read_video(kept)
    assert kept.stat().st_size < 300_000
    assert clip.frames.shape == (60, 120, 160, 3)
    assert abs(clip.frames.astype(int) - made.clip.frames).mean() < 6
    make_demo(tmp_path)
    again, before = (np.loadtxt(at / "demo_truth.csv", delimiter=",", skiprows=1) for at in (tmp_path, kept.parent))
    assert again == pytest.approx(before, abs=0.01)
    assert (read_video(tmp_path / "demo.mp4").times_s == clip.times_s).all()
