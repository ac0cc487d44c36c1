"""What moves is found, and what cannot be followed is said."""

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
from withinpx.tracking.plan import Wishes, make_plan


def clip_of(frames: NDArray[np.uint8], source: str = "a clip") -> Clip:
    return Clip(frames, np.arange(len(frames)) / 25, source)


def away_from(mover: MovingObject, path: NDArray[np.float64]) -> float:
    """Median distance of the middle of its box along the worse axis, px."""
    boxes = np.array([blob.box for blob in mover.blobs], np.float64)
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    return float(np.median(np.abs(middles - path[mover.frames]).max(axis=1)))


def a_ground(frames: int, seed: int = 0, ground: Ground | None = None, noise: float = 0.0) -> NDArray[np.uint8]:
    """So many pictures of a ground that nothing moves on."""
    pixels = 255 * (ground or Ground()).seen(64, 48, (0, 0), seed)
    grain = 255 * noise * np.random.default_rng(seed).normal(size=(frames, *pixels.shape))
    return np.clip((pixels + grain).round(), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_three_things_are_three_movers_at_their_places(seed: int) -> None:
    made = scenes.three_things(seed=seed)
    seen = inspect(made.clip)
    assert len(seen.objects) == 3
    assert not seen.stationary
    assert not seen.alike
    assert not seen.camera_moves
    nearest = [[away_from(mover, made.truth[:, thing]) for thing in range(3)] for mover in seen.objects]
    assert sorted(int(np.argmin(row)) for row in nearest) == [0, 1, 2]
    assert max(min(row) for row in nearest) < 1.5


def test_twins_are_reported_alike() -> None:
    seen = inspect(scenes.twins().clip)
    assert len(seen.objects) == 3
    assert len(seen.alike) == 1
    (one, other), (odd,) = seen.alike[0], {0, 1, 2} - set(seen.alike[0])
    assert seen.objects[one].appearance[0] > 0.5 > seen.objects[odd].appearance[0]  # red and red, not blue
    assert seen.objects[other].appearance[0] > 0.5
    assert any("look alike" in warning for warning in make_plan(seen, Wishes(), 1.0).warnings)


def test_what_never_moves_is_no_mover() -> None:
    made = scenes.with_static()
    seen = inspect(made.clip)
    assert len(seen.objects) == 3
    assert not seen.stationary
    assert min(away_from(mover, made.truth[:, 3]) for mover in seen.objects) > 10


def test_more_movers_than_asked_for_are_left_out_with_a_warning() -> None:
    plan = make_plan(inspect(scenes.three_things(frames=30).clip), Wishes(objects=2), 1.0)
    assert plan.network.objects == plan.followed == 2
    assert "3 things move and 2 are followed (--objects): the others are left out" in plan.warnings


def test_more_heatmaps_than_movers_are_spare() -> None:
    plan = make_plan(inspect(scenes.three_things(frames=30).clip), Wishes(objects=5), 1.0)
    assert (plan.network.objects, plan.followed) == (5, 3)
    with pytest.raises(InputError, match="number of objects is 0"):
        make_plan(inspect(scenes.three_things(frames=30).clip), Wishes(objects=0), 1.0)


def blinking(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    frames = frames.copy()
    frames[::3, 20:30, 30:40] = 250
    return frames


def test_what_blinks_but_never_leaves_its_place_is_named() -> None:
    with pytest.raises(InputError, match=r"Nothing leaves its place in a lamp: what changes at \(35, 25\) stays there"):
        inspect(clip_of(blinking(a_ground(30)), "a lamp"))


def test_what_blinks_beside_something_that_moves_is_no_object() -> None:
    path = np.stack([np.linspace(6, 58, 30), np.full(30, 40.0)], axis=1)
    moving = Stage((SceneObject("disc", scenes.RED, 9, path),), 64, 48).render().clip.frames
    seen = inspect(clip_of(blinking(moving)))
    assert (len(seen.objects), len(seen.stationary)) == (1, 1)
    (warning,) = make_plan(seen, Wishes(), 1.0).warnings
    assert warning == "something changes at (35, 25) but never leaves its place: it is no object"


def test_a_single_picture_shows_no_motion() -> None:
    with pytest.raises(InputError, match="a photo is a single picture"):
        inspect(clip_of(a_ground(1), "a photo"))


def test_a_clip_in_which_nothing_moves_is_refused() -> None:
    with pytest.raises(InputError, match="all pictures of a wall are the same"):
        inspect(clip_of(a_ground(10), "a wall"))
    with pytest.raises(InputError, match="Nothing moves in a noisy wall"):
        inspect(clip_of(a_ground(20, noise=0.01), "a noisy wall"))


def test_a_cut_between_two_scenes_is_no_clip_of_one_camera() -> None:
    night, day = Ground((0.2, 0.2, 0.3)), Ground((0.7, 0.65, 0.5))
    both = np.concatenate([a_ground(12, 0, night, 0.01), a_ground(18, 1, day, 0.01)])
    with pytest.raises(InputError, match=r"Everything moves in two takes: in frame 0 .* If there is a cut"):
        inspect(clip_of(both, "two takes"))


def test_a_cut_in_the_middle_is_no_clip_of_one_camera() -> None:
    night, day = Ground((0.2, 0.2, 0.3)), Ground((0.7, 0.65, 0.5))
    both = np.concatenate([a_ground(15, 0, night, 0.01), a_ground(15, 1, day, 0.01)])
    with pytest.raises(InputError, match="two takes"):
        inspect(clip_of(both, "two takes"))


def test_pictures_that_have_nothing_to_do_with_each_other_are_no_clip() -> None:
    snow = np.random.default_rng(0).integers(0, 256, (12, 48, 64, 3)).astype(np.uint8)
    with pytest.raises(InputError, match="snow"):
        inspect(clip_of(snow, "snow"))
    strangers = np.concatenate([a_ground(1, seed, Ground((0.1 * seed, 0.5, 0.5), 0.2)) for seed in range(10)])
    with pytest.raises(InputError, match="strangers"):
        inspect(clip_of(strangers, "strangers"))


def test_a_thing_still_at_first_is_one_thing() -> None:
    rest, way = still(20, (12, 24)), np.stack([np.linspace(12, 52, 20), np.full(20, 24.0)], axis=1)
    made = Stage((SceneObject("disc", scenes.RED, 9, np.concatenate([rest, way])),), 64, 48).render()
    (mover,) = inspect(made.clip).objects
    assert away_from(mover, made.truth[:, 0]) < 1.5
