"""Moving objects are found, and clips that cannot be used are refused."""

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.data import scenes
from withinpx.data.clip import Clip
from withinpx.data.motion import still
from withinpx.data.stage import Ground, SceneObject, Stage
from withinpx.discovery.inspection import inspect
from withinpx.discovery.objects import MovingObject
from withinpx.errors import InputError
from withinpx.tracking.options import TrackOptions
from withinpx.tracking.plan import make_plan

NIGHT, DAY = Ground((0.2, 0.2, 0.3)), Ground((0.7, 0.65, 0.5))


def clip_of(frames: NDArray[np.uint8], source: str = "a clip") -> Clip:
    return Clip(frames, np.arange(len(frames)) / 25, source)


def error_px(obj: MovingObject, path: NDArray[np.float64]) -> float:
    """Median distance of the centre of its box, along the worse axis."""
    boxes = np.array([blob.box for blob in obj.blobs], np.float64)
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    return float(np.median(np.abs(centres - path[obj.frames]).max(axis=1)))


def empty(frames: int, seed: int = 0, ground: Ground | None = None, noise: float = 0.0) -> NDArray[np.uint8]:
    """Frames of a ground on which nothing moves."""
    pixels = 255 * (ground or Ground()).render(64, 48, (0, 0), seed)
    grain = 255 * noise * np.random.default_rng(seed).normal(size=(frames, *pixels.shape))
    return np.clip((pixels + grain).round(), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_three_objects_are_found_at_their_positions(seed: int) -> None:
    made = scenes.three_objects(seed=seed)
    inspection = inspect(made.clip)
    assert len(inspection.objects) == 3
    assert not inspection.stationary
    assert not inspection.alike
    assert not inspection.camera_moves
    errors = np.array([[error_px(obj, made.truth[:, index]) for index in range(3)] for obj in inspection.objects])
    assert sorted(errors.argmin(axis=1)) == [0, 1, 2]
    assert errors.min(axis=1).max() < 1.5


def test_two_objects_of_the_same_appearance_are_reported_alike() -> None:
    inspection = inspect(scenes.twins().clip)
    assert len(inspection.objects) == 3
    assert len(inspection.alike) == 1
    (one, other), (odd,) = inspection.alike[0], {0, 1, 2} - set(inspection.alike[0])
    red = [obj.appearance[0] for obj in inspection.objects]
    assert red[one] > 0.5 > red[odd]
    assert red[other] > 0.5
    assert any("look alike" in warning for warning in make_plan(inspection, TrackOptions()).warnings)


def test_what_never_moves_is_no_object() -> None:
    made = scenes.with_static()
    inspection = inspect(made.clip)
    assert len(inspection.objects) == 3
    assert not inspection.stationary
    assert min(error_px(obj, made.truth[:, 3]) for obj in inspection.objects) > 10


def test_objects_beyond_the_wanted_number_are_left_out_with_a_warning() -> None:
    plan = make_plan(inspect(scenes.three_objects(frames=30).clip), TrackOptions(objects=2))
    assert plan.network.objects == plan.followed == 2
    assert "3 objects move and 2 are followed (--objects): the others are left out" in plan.warnings


def test_heatmaps_beyond_the_number_of_objects_are_spare() -> None:
    plan = make_plan(inspect(scenes.three_objects(frames=30).clip), TrackOptions(objects=5))
    assert (plan.network.objects, plan.followed) == (5, 3)
    with pytest.raises(InputError, match="number of objects is 0"):
        TrackOptions(objects=0)


def blinking(frames: NDArray[np.uint8], lit: int, period: int) -> NDArray[np.uint8]:
    """A lamp that is on in the first frames of every period."""
    frames = frames.copy()
    frames[np.arange(len(frames)) % period < lit, 20:30, 30:40] = 250
    return frames


@pytest.mark.parametrize(("lit", "period"), [(1, 3), (4, 8)])
def test_a_clip_in_which_something_only_blinks_is_refused(lit: int, period: int) -> None:
    with pytest.raises(InputError, match=r"Nothing leaves its position in a lamp: what changes at \(35, 25\) stays"):
        inspect(clip_of(blinking(empty(30), lit, period), "a lamp"))


@pytest.mark.parametrize(("lit", "period", "x"), [(1, 3, 35), (4, 8, 36)])  # of its first detection
def test_what_blinks_beside_a_moving_object_is_stationary(lit: int, period: int, x: int) -> None:
    path = np.stack([np.linspace(6, 58, 30), np.full(30, 40.0)], axis=1)
    moving = Stage((SceneObject("disc", scenes.RED, 9, path),), 64, 48).render().clip.frames
    inspection = inspect(clip_of(blinking(moving, lit, period)))
    assert (len(inspection.objects), len(inspection.stationary)) == (1, 1)
    (warning,) = make_plan(inspection, TrackOptions()).warnings
    assert warning == f"something changes at ({x}, 25) but never moves away: it is no object"


def test_a_single_image_is_refused() -> None:
    with pytest.raises(InputError, match="a photo is a single image"):
        inspect(clip_of(empty(1), "a photo"))


def test_a_clip_in_which_nothing_moves_is_refused() -> None:
    with pytest.raises(InputError, match="all frames of a wall are the same"):
        inspect(clip_of(empty(10), "a wall"))
    with pytest.raises(InputError, match="Nothing moves in a noisy wall"):
        inspect(clip_of(empty(20, noise=0.01), "a noisy wall"))


def test_a_cut_between_two_scenes_is_refused() -> None:
    both = np.concatenate([empty(12, 0, NIGHT, 0.01), empty(18, 1, DAY, 0.01)])
    with pytest.raises(InputError, match=r"Everything moves in two takes: in frame 0 .* If there is a cut"):
        inspect(clip_of(both, "two takes"))


def test_progress_counts_the_frames_and_a_cut_ends_it_early() -> None:
    done: list[tuple[int, int]] = []
    inspect(scenes.three_objects(frames=20).clip, on_progress=lambda *now: done.append(now))
    assert done == [(frame, 20) for frame in range(21)]
    done.clear()
    with pytest.raises(InputError, match="Everything moves"):
        inspect(
            clip_of(np.concatenate([empty(20, ground=NIGHT), empty(40, ground=DAY)])),
            on_progress=lambda *now: done.append(now),
        )
    assert done[-1] < (10, 60)


def test_a_cut_in_the_middle_is_refused() -> None:
    both = np.concatenate([empty(15, 0, NIGHT, 0.01), empty(15, 1, DAY, 0.01)])
    with pytest.raises(InputError, match="two takes"):
        inspect(clip_of(both, "two takes"))


def test_images_of_different_scenes_are_refused() -> None:
    snow = np.random.default_rng(0).integers(0, 256, (12, 48, 64, 3)).astype(np.uint8)
    with pytest.raises(InputError, match="snow"):
        inspect(clip_of(snow, "snow"))
    strangers = np.concatenate([empty(1, seed, Ground((0.1 * seed, 0.5, 0.5), 0.2)) for seed in range(10)])
    with pytest.raises(InputError, match="strangers"):
        inspect(clip_of(strangers, "strangers"))


def test_an_object_that_rests_at_first_is_one_object() -> None:
    path = np.stack([np.linspace(12, 52, 20), np.full(20, 24.0)], axis=1)
    made = Stage((SceneObject("disc", scenes.RED, 9, np.concatenate([still(20, (12, 24)), path])),), 64, 48).render()
    (obj,) = inspect(made.clip).objects
    assert error_px(obj, made.truth[:, 0]) < 1.5


def test_inspecting_adds_little_to_the_memory_of_the_frames() -> None:
    """The frames stay uint8: a float copy would be four times as large."""
    import tracemalloc  # noqa: PLC0415

    clip = scenes.three_objects(frames=60, width=320, height=240).clip
    tracemalloc.start()
    try:
        inspection = inspect(clip)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert inspection.clip is clip
    assert peak < 4 * clip.frames.nbytes
