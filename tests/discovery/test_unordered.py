"""Pictures in no order: things are told apart by colour, without their shadows, whatever their size."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from withinpx.data import scenes
from withinpx.data.clevr_folder import read_split
from withinpx.data.stage import GeneratedClip
from withinpx.discovery.background import fixed_background, to_float
from withinpx.discovery.inspection import inspect
from withinpx.discovery.objects import find_tracklets
from withinpx.discovery.unordered import (
    bodies_of,
    find_unordered_objects,
    is_unordered,
    most_alike,
    unordered_background,
)

SAMPLE = Path(__file__).parents[1] / "data" / "clevr_sample"


def shuffled(made: GeneratedClip) -> GeneratedClip:
    order = np.random.default_rng(0).permutation(len(made.clip))
    return replace(made, clip=replace(made.clip, frames=made.clip.frames[order]), truth=made.truth[order])


def test_a_shuffled_clip_shows_the_same_things_wherever_they_are_apart() -> None:
    made = shuffled(scenes.perspective())
    seen = inspect(made.clip)
    assert len(seen.objects) == 3
    things = set()
    for mover in seen.objects:
        assert len(mover.frames) >= 59  # of 60: in one picture two touch
        away = np.abs(np.array([blob.centre for blob in mover.blobs])[:, None] - made.truth[mover.frames]).max(axis=-1)
        assert (away.argmin(axis=1) == away.argmin(axis=1)[0]).all()  # never mistaken for another
        things.add(int(away.argmin(axis=1)[0]))
    assert things == {0, 1, 2}


def test_a_clip_in_order_is_followed() -> None:
    images = to_float(scenes.three_things().clip.frames)
    assert not is_unordered(find_tracklets(images, fixed_background(images)))


def test_rendered_solids_are_found_without_their_shadows() -> None:
    split = read_split(SAMPLE, "train")
    seen = inspect(split.clip)
    assert [len(mover.blobs) for mover in seen.objects] == [len(split.clip)] * 3
    for mover in seen.objects:
        blobs = mover.blobs
        away = np.abs(np.array([blob.centre for blob in blobs])[:, None] - split.positions).max(axis=-1)
        thing = int(away.sum(axis=0).argmin())
        assert away[:, thing].max() < 1.5
        sizes = split.boxes[:, thing, 2:].max(axis=-1)
        assert np.abs(np.array([blob.size for blob in blobs]) - sizes).max() < 3  # their shadows are 5 to 15 px longer


def test_what_lies_behind_is_seen_although_things_hide_it_in_most_pictures() -> None:
    rng = np.random.default_rng(1)
    behind = np.array([0.5, 0.5, 0.4], np.float32)
    colours = rng.uniform(0.5, 1, (100, 7, 3)).astype(np.float32)  # something else in seven of ten pictures
    colours[rng.permutation(100)[:30]] = behind + rng.normal(0, 0.005, (30, 7, 3))
    assert np.abs(most_alike(colours) - behind).max() < 0.01
    assert np.abs(np.median(colours, axis=0) - behind).max() > 0.01


@pytest.mark.parametrize("strength", [0.7, 0.9])
def test_a_thing_that_is_all_shadow_is_a_thing(strength: float) -> None:
    images = np.full((12, 40, 40, 3), 0.8, np.float32)
    for frame, image in enumerate(images):
        at = 3 * frame
        image[at : at + 6, 10:16] *= strength
    backdrop = unordered_background(images)
    assert [len(bodies_of(image, backdrop, 0)) for image in images] == [1] * 12
    assert len(find_unordered_objects(images, backdrop)) == 1


def test_nothing_is_found_where_nothing_is() -> None:
    images = np.full((5, 20, 20, 3), 0.5, np.float32)
    assert find_unordered_objects(images, unordered_background(images)) == []
