"""Unordered images of one scene: nothing can be followed from one to the next, so objects are matched by colour."""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from withinpx.discovery.background import (
    BLOCK,
    BackgroundModel,
    ByteImages,
    FloatImages,
    Images,
    by_rows,
    difference,
    noise_threshold,
    quiet_difference,
    share_beyond,
    temporal_median,
    to_float,
)
from withinpx.discovery.objects import (
    SMALLEST_AREA,
    STANDS_OUT,
    Blob,
    Mask,
    MovingObject,
    View,
    appearance_distance,
    connected_regions,
    measured_blob,
    pieces,
)
from withinpx.shadow import shadow

FULLEST = 0.9  # quantile: images with so many detections show every object
MOST_IMAGES = 0.5  # of the images: an object is seen in more
OFTEN_HIDDEN = 0.25  # of the images: a pixel that differs from its median this often may be hidden most of the time
ALIKE = 0.2  # of the images: no object shows one colour at one position so often
APART = 0.1  # of the pixels of a region: larger pieces that only a shadow connects are objects of their own
MOST_PIXELS = 0.9  # quantile: every pixel may have the noise that this share of the pixels stays below
CANDIDATES = 32  # images whose colours are tried as the background's
STARTS = 12  # images whose objects are tried as the initial ones
ROUNDS = 5


def order(detections: list[list[Blob]], seed: int = 0) -> float:
    """How surely frames are in order: 0.5 if the next frame is no nearer than a random one, 1 if it always is.

    The share of detections, by area, that lie nearer to one of the same appearance in the next frame than in a random
    one.
    """
    seen = [frame for frame, blobs in enumerate(detections) if blobs]
    random = np.random.default_rng(seed)
    nearer, weights = [], []
    for frame in seen[:-1]:
        if not detections[frame + 1]:
            continue
        to_next = _nearest(detections[frame], detections[frame + 1])
        for other in random.choice(seen, 4):
            if abs(int(other) - frame) > 1:
                to_other = _nearest(detections[frame], detections[int(other)])
                nearer.append((to_next < to_other).astype(float) + 0.5 * (to_next == to_other))
                weights.append([blob.area for blob in detections[frame]])
    return float(np.average(np.concatenate(nearer), weights=np.concatenate(weights))) if nearer else 1.0


def chance(frames: int) -> float:
    """The order that unordered images seldom reach: two standard errors above one half."""
    return 0.5 + 1 / float(np.sqrt(frames))


def _nearest(blobs: list[Blob], others: list[Blob]) -> NDArray[np.float64]:
    """The distance of each blob to the nearest of the others that looks like it; infinite if none does."""
    centres, other_centres = (np.array([blob.centre for blob in some]) for some in (blobs, others))
    looks, other_looks = (np.array([blob.appearance for blob in some]) for some in (blobs, others))
    away = np.hypot(*np.moveaxis(centres[:, None] - other_centres, -1, 0))
    return np.asarray(np.where(appearance_distance(looks[:, None], other_looks) < 1, away, np.inf).min(axis=1))


def unordered_background(frames: Images, still: FloatImages | None = None) -> BackgroundModel:
    """The background, even where objects cover it in most images: they differ from each other, it does not.

    If ``still`` is given, only its noise is measured.
    """
    if still is None:
        still = temporal_median(frames)
        common = np.median(noise_threshold(quiet_difference(frames, still), MOST_PIXELS))
        unsure = share_beyond(frames, still, np.full(still.shape[1:3], common)) > OFTEN_HIDDEN
        if unsure.any():
            still[0, unsure] = by_rows(most_alike, frames[:, unsure], block=BLOCK // CANDIDATES)
    return BackgroundModel(still, noise_threshold(quiet_difference(frames, still), MOST_PIXELS))


def most_alike(pixels: Images) -> NDArray[np.float32]:
    """Of the colours that each pixel shows (images, pixels, colours), the mean of those nearest to each other."""
    colours = to_float(pixels)
    share = max(2, int(ALIKE * len(colours)))
    candidates = colours[:: -(-len(colours) // CANDIDATES)]
    apart = difference(candidates[:, None], colours)  # (candidates, images, pixels)
    radius = np.partition(apart, share - 1, axis=1)[:, share - 1]
    best = radius.argmin(axis=0)
    index = np.arange(colours.shape[1])
    alike = radius[best, index] >= apart[best, :, index].T
    return np.asarray((colours * alike[..., None]).sum(axis=0) / alike.sum(axis=0)[:, None], np.float32)


def find_unordered_objects(images: list[list[Blob]], count: int | None = None) -> list[MovingObject]:
    """The objects that most images show, the most prominent first, from the detections of each image.

    What is seen at two positions in one image is two objects, so the fullest images show how many there are unless
    ``count`` says so; what does not come back in most of the others is none.
    """
    counts = [len(blobs) for blobs in images]
    most = int(np.quantile(counts, FULLEST)) if count is None else min(count, max(counts))
    full = [blobs for blobs in images if blobs and (len(blobs) == most if count is None else len(blobs) >= most)]
    starts = [sorted(blobs, key=lambda blob: -blob.area)[:most] for blobs in full]
    if not starts:
        return []
    tried = [_matched(images, start) for start in starts[:: -(-len(starts) // STARTS)]]
    _, objects = min(tried, key=lambda result: result[0])
    least = MOST_IMAGES * len(images) if count is None else 1
    found = [MovingObject(tuple(blobs)) for blobs in objects if len(blobs) >= least]
    return sorted(found, key=lambda obj: -obj.weight)


def _matched(images: list[list[Blob]], start: list[Blob]) -> tuple[float, list[list[Blob]]]:
    """The blobs of each image assigned to objects by appearance, starting with some; and the total cost."""
    looks = np.array([_look(blob) for blob in start])
    for _ in range(ROUNDS):
        total = 0.0
        objects: list[list[Blob]] = [[] for _ in start]
        for blobs in filter(None, images):
            cost = appearance_distance(looks[:, None], np.array([_look(blob) for blob in blobs]))
            for index, blob in zip(*linear_sum_assignment(np.minimum(cost, 1)), strict=True):
                if cost[index, blob] < 1:
                    objects[index].append(blobs[blob])
                    total += cost[index, blob] - 1
        for index, assigned in enumerate(objects):
            if assigned:
                looks[index] = np.median([_look(blob) for blob in assigned], axis=0)
    return total, objects


def _look(blob: Blob) -> NDArray[np.float64]:
    """Its appearance, with half the weight on its area: sizes vary over an image, as distances from the camera do."""
    return np.append(blob.colour, 0.5 * np.log(blob.area))


def blobs_without_shadow(image: ByteImages, background: BackgroundModel, frame: int) -> list[Blob]:
    """The objects of an image, each without its shadow."""
    still = background.images[0]
    view = View.of(image, background, frame)
    blobs = []
    changed = background.changed(image[None])[0]
    for box, region in connected_regions(changed, changed):
        lit = region & ~_in_shadow(to_float(image[box]), still[box], region)
        masks = [part & lit for part in pieces(region, lit, APART)]
        blobs += [measured_blob(view, mask, box) for mask in masks if np.count_nonzero(mask) >= SMALLEST_AREA]
    return [blob for blob in blobs if blob.strength > STANDS_OUT]


def _in_shadow(image: FloatImages, background: FloatImages, region: Mask) -> Mask:
    """Which pixels are more shadow than object; outside the region there is neither."""
    shown, empty = (
        torch.from_numpy(np.ascontiguousarray(np.moveaxis(pixels, -1, 0)))
        for pixels in (np.where(region[..., None], image, background), background)
    )
    return np.asarray(shadow(shown, empty, torch.from_numpy(region).float()) > 0.5)
