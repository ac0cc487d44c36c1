"""The zoo: one clip per seed from a documented distribution, with exact truth."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from withinpx.data import zoo
from withinpx.data.zoo import boxes, is_good, zoo_clip, zoo_scene
from withinpx.data.zoo_pixels import ZooObject, ZooScene, render


@cache
def scenes() -> list[ZooScene]:
    return [zoo_scene(seed) for seed in range(40)]


def small(*names: str, ordered: bool = False) -> ZooScene:
    """The first small scene with these nuisances."""
    fitting = (scene for scene in map(zoo_scene, range(200)) if scene.width <= 192 and set(names) <= {*scene.nuisances})
    return next(scene for scene in fitting if not (ordered and scene.unordered))


def cleaned(scene: ZooScene) -> ZooScene:
    """The same objects without noise, coding or changes of the light."""
    return replace(scene, noise=0.0, crf=None, gains=np.ones(scene.frames))


def inside(scene: ZooScene) -> np.ndarray:
    """(frames, objects): is the object's box inside the frame?"""
    centres, sizes = boxes(scene)
    return np.asarray(((centres > sizes / 2) & (centres < [scene.width, scene.height] - sizes / 2)).all(axis=-1))


@pytest.mark.parametrize("nuisance", ["shadow", "sway", "unordered", "compressed"])
def test_the_same_seed_gives_the_same_pixels(nuisance: str) -> None:
    seed = small(nuisance).seed
    one, other = zoo_clip(seed), zoo_clip(seed)
    np.testing.assert_array_equal(one.clip.frames, other.clip.frames)
    np.testing.assert_array_equal(one.truth, other.truth)


@pytest.mark.parametrize("nuisance", ["turning", "perspective", "enters", "alike"])
def test_what_differs_from_the_background_is_centred_on_the_truth(nuisance: str) -> None:
    """One object at a time, over a plain background: its box in the frame is the true one."""
    scene = cleaned(small(nuisance))
    background = replace(scene.background, kind="plain")
    centres, sizes = boxes(scene)
    for index, obj in enumerate(scene.objects):
        plain = replace(obj, texture=np.zeros_like(obj.texture), colour=np.array([250.0, 250, 250]))
        alone = replace(scene, objects=(plain,), background=background, shadow=None, sway=None)
        frames, visible = render(alone)
        empty, _ = render(replace(alone, objects=(moved_away(plain),)))
        covered = np.abs(frames.astype(float) - empty).max(axis=-1)
        for frame in np.flatnonzero(visible[:, 0] == 1)[::7]:
            share = covered[frame] / covered[frame].max()
            for axis in range(2):
                profile = share.max(axis=axis)  # at a border, the share of the pixel that is covered
                low, high = np.flatnonzero(profile > 0.02)[[0, -1]]
                edges = np.array([low + 1 - profile[low], high + profile[high]])
                np.testing.assert_allclose(edges.mean(), centres[frame, index, axis], atol=0.5)
                np.testing.assert_allclose(np.ptp(edges), sizes[frame, index, axis], atol=1.1)


def test_a_symmetric_object_has_its_centroid_at_the_truth() -> None:
    """To a fiftieth of a pixel, at any subpixel position."""
    scene = cleaned(small(ordered=True))
    square = np.array([[-5.3, -4], [5.3, -4], [5.3, 4], [-5.3, 4]])
    rows, columns = np.mgrid[: scene.height, : scene.width] + 0.5
    white = replace(scene.objects[0], outline=square, size=10.6, colour=np.full(3, 250.0), scales=np.ones(scene.frames))
    white = replace(white, texture=np.zeros_like(white.texture), angles=np.zeros(scene.frames))
    bare = replace(scene, objects=(white,), background=replace(scene.background, kind="plain"), shadow=None, sway=None)
    frames, visible = render(bare)
    empty, _ = render(replace(bare, objects=(moved_away(white),)))
    weights = np.abs(frames.astype(float) - empty).sum(axis=-1)
    for frame in np.flatnonzero(visible[:, 0] == 1):
        centroid = [(weights[frame] * axis).sum() / weights[frame].sum() for axis in (columns, rows)]
        np.testing.assert_allclose(centroid, white.pivots[frame], atol=0.02)


def moved_away(obj: ZooObject) -> ZooObject:
    return replace(obj, pivots=np.full_like(obj.pivots, -1000.0))


def test_the_distribution_has_the_documented_ranges() -> None:
    for scene in scenes():
        _, fewest, most = zoo.LAYOUTS[scene.width, scene.height]
        assert fewest <= scene.frames <= most
        assert 1 <= len(scene.objects) <= 8
        largest = min(120 if "large" in scene.nuisances else 60, min(scene.width, scene.height) / 3)
        _, sizes = boxes(scene)
        assert sizes.max() <= largest + 1e-6
        assert all(obj.size >= 6 for obj in scene.objects)
        assert 0 <= scene.noise <= (8 if "noisy" in scene.nuisances else 4)
        assert scene.crf is None or 18 <= scene.crf <= (35 if "compressed" in scene.nuisances else 28)
        light = {"drift", "flicker", "exposure"} & {*scene.nuisances}
        assert np.abs(scene.gains - 1).max() <= (0.35 if light else 0.01)
        assert (scene.shadow is not None) == ("shadow" in scene.nuisances)
        assert (scene.sway is not None) == ("sway" in scene.nuisances)


def test_every_object_travels_and_is_often_whole_and_apart() -> None:
    for scene in scenes():
        centres, sizes = boxes(scene)
        whole = inside(scene)
        for index, obj in enumerate(scene.objects):
            assert np.ptp(centres[whole[:, index], index], axis=0).max() >= 2 * obj.size
        near = np.abs(centres[:, :, None] - centres[:, None]) < (sizes[:, :, None] + sizes[:, None]) / 2
        alone = near.all(axis=-1).sum(axis=2) == 1  # near itself only
        assert ((whole & alone).mean(axis=0) >= 0.25).all()


def test_objects_that_are_alike_are_seen_together() -> None:
    scene = small("alike")
    first, second = scene.objects[:2]
    assert np.array_equal(first.colour, second.colour)
    assert inside(scene)[:, :2].all(axis=1).mean() > 0.9


@pytest.mark.parametrize("index", range(8))
def test_objects_are_visible(index: int) -> None:
    """Three quarters of an object's pixels differ from the background by 40 levels in some colour before noise."""
    scene = replace([scene for scene in scenes() if scene.width <= 192][index], noise=0.0, crf=None)
    frames, visible = render(scene)
    empty, _ = render(replace(scene, objects=tuple(map(moved_away, scene.objects)), shadow=None))
    contrast = np.abs(frames.astype(float) - empty).max(axis=-1)
    for column, obj in enumerate(scene.objects):
        frame = int(visible[:, column].argmax())
        white = replace(obj, colour=np.full(3, 255.0), texture=np.zeros_like(obj.texture))
        alone = replace(scene, objects=(white,), gains=np.ones(scene.frames), shadow=None, sway=None)
        own = render(alone)[0][frame].min(axis=-1) == 255
        assert (contrast[frame][own] >= 40).mean() >= 0.75


def test_positions_of_unordered_images_are_independent() -> None:
    scene = small("unordered")
    steps = np.linalg.norm(np.diff(scene.objects[0].pivots, axis=0), axis=1)
    assert np.median(steps) > 0.25 * scene.height
    made = zoo_clip(scene.seed)
    assert made.unordered
    assert np.isnan(made.clip.times_s).all()


def test_good_clips_have_none_of_the_nuisances_that_break_an_assumption() -> None:
    good = [scene for scene in scenes() if is_good(scene)]
    assert 0.25 <= len(good) / len(scenes()) <= 0.55
    for scene in good:
        assert scene.noise <= 4
        assert scene.crf is None or scene.crf <= 28
        assert not scene.shadow
        assert not scene.sway
        assert all((obj.scales == 1).all() and (obj.angles == 0).all() and obj.size <= 60 for obj in scene.objects)


def test_clips_have_no_one_or_several_nuisances() -> None:
    counts = [len(scene.nuisances) for scene in scenes()]
    assert min(counts) == 0
    assert np.mean([1 <= count <= 3 for count in counts]) > 0.5


def test_an_object_that_leaves_has_no_position_out_of_view() -> None:
    made = zoo_clip(small("leaves", ordered=True).seed)
    assert (np.isnan(made.truth[..., 0]) == (made.visible == 0)).all()
    assert np.isnan(made.truth).any()
    assert (made.visible[made.apart] >= 0.95).all()


def test_the_table_of_nuisances_is_the_one_that_is_sampled() -> None:
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \| .* \| (.*) \|$", zoo.__doc__ or "", re.MULTILINE)
    assert {name: float(probability) for name, probability, _ in rows} == zoo.PROBABILITIES
    assert {name for name, _, good in rows if good != "no"} == {*zoo.HARMLESS}
