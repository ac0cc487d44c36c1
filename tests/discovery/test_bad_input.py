"""Clips that break an assumption: the result is right, or a sentence says what was seen and what to do."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.discovery.drawings import HEIGHT, RED, WIDTH, Levels, clip_of, disc, drawn, inside, line, lit, wall
from withinpx.data.clip import Clip
from withinpx.discovery.inspection import Inspection, inspect
from withinpx.errors import InputError

FRAMES = 45
PATH = line(FRAMES, (12, 16), (84, 56))
ADVICE = "--start", "--end", "--background", "--crop", "more frames", "a longer"  # what a refusal proposes


def inspected(clip: Clip) -> Inspection | str:
    """The inspection, or the sentence of the refusal."""
    try:
        return inspect(clip)
    except InputError as error:
        return str(error)


def assert_right_or_refused(clip: Clip, size: float, seen: int) -> None:
    """Either one object of this size, seen in so many frames at least, or a refusal that says what to do."""
    result = inspected(clip)
    if isinstance(result, str):
        assert clip.source in result
        assert any(option in result for option in ADVICE), result
    else:
        assert len(result.objects) == 1, result
        assert result.objects[0].sizes == pytest.approx((size, size), abs=2)
        assert len(result.objects[0].blobs) >= seen


def one_disc(radius: float = 6) -> Clip:
    return drawn(FRAMES, disc(PATH, radius, RED))


def bumped(shift: int, frame: int) -> Clip:
    """The camera is shifted once by so many px."""
    texture = np.random.default_rng(0).normal(0, 66, (HEIGHT, WIDTH + 10, 1))
    for axis in (0, 1):
        texture = (np.roll(texture, 1, axis) + 2 * texture + np.roll(texture, -1, axis)) / 4
    images: list[Levels] = []
    for index, centre in enumerate(PATH):
        left = shift if index >= frame else 0
        image = np.repeat(118 + texture[:, left : left + WIDTH], 3, axis=-1)
        image[inside(centre, 6)] = RED
        images.append(image)
    return clip_of(images)


@pytest.mark.parametrize("shift", [1, 3, 8])
@pytest.mark.parametrize("frame", [10, 22])
def test_a_camera_that_is_bumped_once(shift: int, frame: int) -> None:
    assert_right_or_refused(bumped(shift, frame), 12, 40)


@pytest.mark.parametrize("before", [0.1, 0.3])
@pytest.mark.parametrize("frame", [10, 22])
def test_lights_that_are_switched_on(before: float, frame: int) -> None:
    clip = one_disc()
    gains = np.where(np.arange(FRAMES) < frame, before, 1)
    assert_right_or_refused(replace(clip, frames=lit(clip.frames, gains)), 12, FRAMES - frame)


def test_a_clip_that_is_black_for_most_of_the_time() -> None:
    clip = one_disc()
    gains = np.where(np.arange(FRAMES) < 30, 0, 1)
    assert_right_or_refused(replace(clip, frames=lit(clip.frames, gains)), 12, FRAMES - 30)


def test_a_clip_of_five_frames() -> None:
    assert_right_or_refused(drawn(5, disc(line(5, (20, 20), (70, 50)), 6, RED)), 12, 5)


@pytest.mark.parametrize("radius", [24, 30])
def test_an_object_that_fills_much_of_the_frame_as_it_passes(radius: float) -> None:
    clip = drawn(FRAMES, disc(line(FRAMES, (-radius, 36), (WIDTH + radius, 36)), radius, RED))
    (obj,) = inspect(clip).objects
    assert obj.sizes[1] == pytest.approx(2 * radius, abs=2)
    assert len(obj.blobs) > 0.8 * FRAMES


def sixty() -> tuple[Clip, NDArray[np.float64]]:
    """Discs of random colours that circle in sixty cells, and their centres (frames, discs, 2)."""
    random = np.random.default_rng(0)
    cells = np.stack(np.meshgrid(16 + 32 * np.arange(10), 20 + 40 * np.arange(6)), axis=-1).reshape(60, 2)
    angles = random.uniform(0, 2 * np.pi, 60) + 0.35 * np.arange(30)[:, None]
    centres = cells + 9 * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    colours = random.choice((30, 220), (60, 3))
    x, y = np.meshgrid(np.arange(320) + 0.5, np.arange(240) + 0.5)
    images = np.full((30, 240, 320, 3), 120.0)
    for image, points in zip(images, centres, strict=True):
        for (left, top), colour in zip(points, colours, strict=True):
            image[(x - left) ** 2 + (y - top) ** 2 < 16] = colour
    return clip_of(images), centres


def test_sixty_objects_are_sixty_objects() -> None:
    clip, centres = sixty()
    objects = inspect(clip).objects
    assert len(objects) == 60
    found = np.stack([obj.centres for obj in objects], axis=1)
    nearest = np.linalg.norm(found[:, :, None] - centres[:, None], axis=-1).min(axis=-1)
    assert nearest.max() < 1


def test_a_clip_that_is_all_but_black_is_refused() -> None:
    frames = np.zeros((20, HEIGHT, WIDTH, 3), np.uint8)
    frames[10] = 3
    with pytest.raises(InputError, match="Nothing moves in a cellar"):
        inspect(Clip(frames, source="a cellar"))


def scene(frames: int, colour: tuple[float, float, float], seed: int) -> Clip:
    return drawn(frames, disc(line(frames, (10, 20), (80, 40)), 6, RED), ground=wall(colour, 20, seed), seed=seed)


def joined(*clips: Clip) -> Clip:
    return Clip(np.concatenate([clip.frames for clip in clips]), source="takes")


NIGHT, DAY, MEADOW = (60, 60, 80), (180, 160, 130), (110, 150, 90)


@pytest.mark.parametrize("lengths", [(20, 20), (4, 36), (12, 30), (30, 12)])
def test_a_cut(lengths: tuple[int, int]) -> None:
    clip = joined(scene(lengths[0], NIGHT, 0), scene(lengths[1], DAY, 1))
    assert_right_or_refused(clip, 12, max(lengths) - 2)


def test_two_cuts() -> None:
    assert_right_or_refused(joined(scene(15, NIGHT, 0), scene(15, DAY, 1), scene(15, MEADOW, 2)), 12, 40)


@pytest.mark.parametrize("frame", [10, 22])
def test_lights_that_are_switched_on_after_darkness(frame: int) -> None:
    clip = one_disc()
    gains = np.where(np.arange(FRAMES) < frame, 0.02, 1)
    assert_right_or_refused(replace(clip, frames=lit(clip.frames, gains)), 12, FRAMES - frame)


@pytest.mark.parametrize("black", [1, 3, 12])
def test_a_clip_that_begins_black(black: int) -> None:
    clip = one_disc()
    gains = np.where(np.arange(FRAMES) < black, 0, 1)
    assert_right_or_refused(replace(clip, frames=lit(clip.frames, gains)), 12, FRAMES - black)


@pytest.mark.parametrize("frames", [2, 3, 5])
def test_a_clip_of_few_frames_is_refused_with_the_number_that_is_needed(frames: int) -> None:
    with pytest.raises(InputError, match=f"has {frames} frames: .* needs 6 or more"):
        inspect(drawn(frames, disc(line(frames, (20, 20), (70, 50)), 6, RED)))
