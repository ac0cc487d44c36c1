"""Objects in one region: each is in its feasible set, whichever lies on top; what no object explains is not divided."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.inference.rendered import BOX, GREY, SIDE, blob, frames_with, observed, smooth
from withinpx.discovery.background import BackgroundModel, difference
from withinpx.discovery.objects import find_changes
from withinpx.discovery.regions import find_regions, nearest_regions
from withinpx.inference.feasible import Search
from withinpx.inference.observation import Feasible, Observations, Pixels
from withinpx.inference.touching import Cluster, at_border, cluster_of, measure_silhouette, search_clusters
from withinpx.theory.touching import Silhouette

THRESHOLD = 0.06
EPS = 0.08  # of a rendering over an even background, rounded to bytes
TEMPLATE = blob(colours=1)
TEMPLATE = replace(TEMPLATE, colour=0.9 * TEMPLATE.opacity[..., None])  # one colour, unlike the background
SEARCH = Search(smooth(TEMPLATE), 8.0, EPS)

Array = NDArray[np.float64]


def background() -> BackgroundModel:
    images = np.full((1, SIDE, SIDE, 1), GREY, np.float32)
    return BackgroundModel(images, np.full((SIDE, SIDE), THRESHOLD, np.float32))


def as_images(pixels: Pixels) -> NDArray[np.uint8]:
    return np.ascontiguousarray(pixels.images.permute(0, 2, 3, 1).numpy())


def single_views(count: int = 120, seed: int = 0) -> tuple[NDArray[np.uint8], Observations]:
    """Views of one object each, at any fraction of a pixel, with its feasible sets."""
    positions = np.random.default_rng(seed).uniform(20, SIDE - 20, (count, 2))
    sets = Feasible.nowhere(count, 1)
    for values in (sets.best, sets.low, sets.high):
        values[:, 0] = positions
    return as_images(frames_with([(TEMPLATE, positions)])), replace(observed(positions[:, None]), feasible=sets)


@pytest.fixture(scope="module")
def silhouette() -> Silhouette:
    images, seen = single_views()
    own = measure_silhouette(images, background(), seen, 0, np.arange(0, 120, 5))
    assert own is not None
    return own


def clusters_of(images: NDArray[np.uint8], own: Silhouette) -> tuple[list[Cluster], NDArray[np.int32]]:
    still, clusters, cells = background(), [], []
    changed, strength = still.changed(images), difference(images, still.images)
    for frame, image in enumerate(images):
        regions = find_regions(find_changes(image, still, 0))
        cells.append(nearest_regions(image.shape[:2], regions))
        clusters += [
            cluster_of((frame, number), region, strength[frame], changed[frame], [own])
            for number, region in enumerate(regions)
        ]
    return clusters, np.stack(cells)


def pairs(count: int, apart: tuple[float, float], seed: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    first = random.uniform(24, SIDE - 24, (count, 2))
    angle, distance = random.uniform(0, 2 * np.pi, count), random.uniform(*apart, count)
    return first, first + distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_a_silhouette_holds_what_an_object_always_and_ever_changes(silhouette: Silhouette) -> None:
    assert 20 < silhouette.sure.sum() < BOX**2 < silhouette.possible.sum() <= silhouette.faint.sum() < 4 * BOX**2
    assert (silhouette.possible | ~silhouette.sure).all()
    images, seen = single_views(seed=1)  # of other fractions of a pixel
    changed = background().changed(images)
    for mask, (x, y) in zip(changed, np.floor(seen.sets.best[:, 0]).astype(int), strict=True):
        reach = silhouette.reach
        around = mask[y - reach : y + reach + 1, x - reach : x + reach + 1]
        assert (around | ~silhouette.sure).all()
        assert (silhouette.faint | ~around).all()


def test_views_of_two_objects_have_no_silhouette() -> None:
    images, seen = single_views()
    kept_out = np.arange(0, 120, 5)
    double = np.isin(np.arange(120), kept_out)[:, None, None, None]
    mixed = np.where(double, np.maximum(images, np.roll(images, 6, axis=2)), images)
    assert measure_silhouette(mixed, background(), seen, 0, kept_out) is None
    assert measure_silhouette(images[:6], background(), seen.only(np.arange(6)), 0, np.arange(0)) is None


@pytest.mark.parametrize("apart", [(5.0, 7.0), (7.0, 9.0), (9.0, 11.0)])
def test_each_of_two_objects_that_touch_is_in_its_set(silhouette: Silhouette, apart: tuple[float, float]) -> None:
    first, second = pairs(40, apart, seed=7)
    pixels = frames_with([(TEMPLATE, first), (TEMPLATE, second)])
    clusters, cells = clusters_of(as_images(pixels), silhouette)
    found = search_clusters(clusters, [SEARCH], pixels, cells, 1.0)
    assert len(found) >= 0.9 * len(clusters)
    widths = []
    for cluster in found:
        truth = np.stack([first[cluster.place[0]], second[cluster.place[0]]])
        for member in cluster.members:
            assert member.found is not None
            low, high = member.found.low[0, 0], member.found.high[0, 0]
            assert ((truth >= low) & (truth <= high)).all(axis=1).any()
            widths.append(float((high - low).max()))
    assert np.median(widths) < 1.5
    complete = [cluster for cluster in found if len(cluster.members) == 2]
    assert len(complete) >= 0.9 * len(found)
    if apart[0] >= 9:  # px: nearer, more than half of one is hidden by the other
        assert np.mean([member.is_shown for cluster in complete for member in cluster.members]) > 0.8


def test_a_place_that_reaches_beyond_the_frame_is_at_the_border(silhouette: Silhouette) -> None:
    first, second = np.array([[12.0, 30.0]]), np.array([[20.0, 30.0]])
    pixels = frames_with([(TEMPLATE, first), (TEMPLATE, second)])
    clusters, cells = clusters_of(as_images(pixels), silhouette)
    (cluster,) = search_clusters(clusters, [SEARCH], pixels, cells, 1.0)
    assert not any(at_border(cluster, member, (SIDE, SIDE)) for member in cluster.members)
    assert any(at_border(cluster, member, (SIDE, 24)) for member in cluster.members)


def test_what_no_object_explains_is_not_divided(silhouette: Silhouette) -> None:
    images = np.full((1, SIDE, SIDE, 1), round(255 * GREY), np.uint8)
    images[0, 20:50, 30:33] = 230  # a bar, thinner than any object
    clusters, cells = clusters_of(images, silhouette)
    pixels = frames_with([(TEMPLATE, np.array([[30.0, 30.0]]))])
    assert search_clusters(clusters, [SEARCH], pixels, cells, 1.0) == []


def test_a_larger_thing_is_divided_into_objects_that_nothing_shows(silhouette: Silhouette) -> None:
    """Many objects could cover a square of another grey; no pixel of it is one object's alone."""
    images = np.full((1, SIDE, SIDE, 1), round(255 * GREY), np.uint8)
    images[0, 20:45, 20:45] = 200
    clusters, cells = clusters_of(images, silhouette)
    shown = frames_with([(TEMPLATE, np.array([[30.0, 30.0]]))])
    pixels = replace(shown, images=torch.from_numpy(images).permute(0, 3, 1, 2))
    found = search_clusters(clusters, [SEARCH], pixels, cells, 1.0)
    assert found
    assert not any(member.is_shown for cluster in found for member in cluster.members)


def test_of_three_in_a_row_each_end_is_known_and_no_set_is_wrong(silhouette: Silhouette) -> None:
    middle = np.array([[32.3, 31.7]])
    truth = np.concatenate([middle - np.array([7.2, 0]), middle, middle + np.array([7.4, 0.5])])
    pixels = frames_with([(TEMPLATE, place[None]) for place in truth])
    clusters, cells = clusters_of(as_images(pixels), silhouette)
    (cluster,) = search_clusters(clusters, [SEARCH], pixels, cells, 1.0)
    hits = []
    for member in cluster.members:
        assert member.found is not None
        inside = ((truth >= member.found.low[0, 0]) & (truth <= member.found.high[0, 0])).all(axis=1)
        assert inside.any()
        hits += np.flatnonzero(inside).tolist()
    assert {0, 2} <= set(hits)
