"""Unordered images: objects are matched by colour, without their shadows, whatever their size."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from withinpx.data import scenes
from withinpx.data.clevr_folder import read_split
from withinpx.discovery.background import to_uint8
from withinpx.discovery.fixed_camera import fixed_background
from withinpx.discovery.inspection import inspect
from withinpx.discovery.objects import Blob, find_blobs, find_changes
from withinpx.discovery.unordered import (
    blobs_without_shadow,
    chance,
    find_unordered_objects,
    most_alike,
    order,
    unordered_background,
)

SAMPLE = Path(__file__).parents[1] / "data" / "clevr_sample"


def test_a_shuffled_clip_shows_the_same_objects_wherever_they_are_apart() -> None:
    made = scenes.perspective()
    shuffled = np.random.default_rng(0).permutation(len(made.clip))
    inspection = inspect(replace(made.clip, frames=made.clip.frames[shuffled]))
    assert inspection.unordered
    assert len(inspection.objects) == 3
    found = set()
    for obj in inspection.objects:
        assert len(obj.frames) >= 59  # of 60: in one image two touch
        centres = np.array([blob.centre for blob in obj.blobs])
        nearest = np.abs(centres[:, None] - made.truth[shuffled][obj.frames]).max(axis=-1).argmin(axis=1)
        assert (nearest == nearest[0]).all()  # never confused with another
        found.add(int(nearest[0]))
    assert found == {0, 1, 2}


def detected(frames: NDArray[np.uint8]) -> list[list[Blob]]:
    background = fixed_background(frames)
    return [find_blobs(find_changes(image, background, frame)) for frame, image in enumerate(frames)]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_frames_in_order_are_surely_so_and_shuffled_ones_are_not(seed: int) -> None:
    frames = scenes.three_objects(frames=48, seed=seed).clip.frames
    detections = detected(frames)
    assert order(detections) > 0.95
    shuffled = [detections[index] for index in np.random.default_rng(seed).permutation(len(detections))]
    assert abs(order(shuffled) - 0.5) < chance(len(frames)) - 0.5


def test_images_without_detections_say_nothing_about_the_order() -> None:
    assert order([[], [], []]) == 1.0


def test_rendered_solids_are_found_without_their_shadows() -> None:
    split = read_split(SAMPLE, "train")
    inspection = inspect(split.clip)
    assert [len(obj.blobs) for obj in inspection.objects] == [len(split.clip)] * 3
    for obj in inspection.objects:
        away = np.abs(np.array([blob.centre for blob in obj.blobs])[:, None] - split.positions).max(axis=-1)
        solid = int(away.sum(axis=0).argmin())
        assert away[:, solid].max() < 1.5
        sizes = split.boxes[:, solid, 2:].max(axis=-1)
        # with their shadows they would be 5 to 15 px longer
        assert np.abs(np.array([blob.size for blob in obj.blobs]) - sizes).max() < 3


def test_the_background_is_found_although_objects_hide_it_in_most_images() -> None:
    random = np.random.default_rng(1)
    background = np.array([0.5, 0.5, 0.4], np.float32)
    colours = random.uniform(0.5, 1, (100, 7, 3)).astype(np.float32)  # other colours in seven of ten images
    colours[random.permutation(100)[:30]] = background + random.normal(0, 0.005, (30, 7, 3))
    assert np.abs(most_alike(colours) - background).max() < 0.01
    assert np.abs(np.median(colours, axis=0) - background).max() > 0.01


@pytest.mark.parametrize("light", [0.7, 0.9])
def test_an_object_that_looks_like_a_shadow_is_an_object(light: float) -> None:
    images = np.full((12, 40, 40, 3), 0.8, np.float32)
    for frame, image in enumerate(images):
        image[3 * frame : 3 * frame + 6, 10:16] *= light
    background = unordered_background(to_uint8(images))
    blobs = [blobs_without_shadow(image, background, frame) for frame, image in enumerate(to_uint8(images))]
    assert [len(found) for found in blobs] == [1] * 12
    assert len(find_unordered_objects(blobs)) == 1


def test_images_without_detections_show_no_object() -> None:
    assert find_unordered_objects([[] for _ in range(5)]) == []
