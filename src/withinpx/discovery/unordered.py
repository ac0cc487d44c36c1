"""Unordered images of one scene: nothing can be followed from one to the next, so objects are matched by colour."""

from collections import Counter

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from withinpx.discovery.background import (
    BLOCK,
    BackgroundModel,
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
from withinpx.discovery.objects import Blob, Mask, MovingObject, connected_regions, measured_blob
from withinpx.shadow import shadow

FOLLOWED = 4  # frames: a tracklet of so many was followed
SAME_COLOUR = 0.2  # of full contrast: how far one object's colour may vary between images
PART = 0.2  # of the largest blob of an image: less is no object
OFTEN_HIDDEN = 0.25  # of the images: a pixel that differs from its median this often may be hidden most of the time
ALIKE = 0.2  # of the images: no object shows one colour at one position so often
CANDIDATES = 32  # images whose colours are tried as the background's
STARTS = 12  # images whose objects are tried as the initial ones
ROUNDS = 5


def is_unordered(tracklets: list[MovingObject]) -> bool:
    """Are most blobs seen in hardly any two consecutive images?"""
    lengths = [len(tracklet.blobs) for tracklet in tracklets]
    return sum(length for length in lengths if length >= FOLLOWED) < 0.5 * sum(lengths)


def unordered_background(frames: Images, still: FloatImages | None = None) -> BackgroundModel:
    """The background, even where objects cover it in most images: they differ from each other, it does not.

    If ``still`` is given, only its noise is measured.
    """
    if still is None:
        still = temporal_median(frames)
        common = np.median(noise_threshold(quiet_difference(frames, still)))
        unsure = share_beyond(frames, still, np.full(still.shape[1:3], common)) > OFTEN_HIDDEN
        if unsure.any():
            still[0, unsure] = by_rows(most_alike, frames[:, unsure], block=BLOCK // CANDIDATES)
    return BackgroundModel(still, noise_threshold(quiet_difference(frames, still)))


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


def find_unordered_objects(frames: Images, background: BackgroundModel) -> list[MovingObject]:
    """The objects that most images show, the most prominent first."""
    images = [blobs_without_shadow(image, background, frame) for frame, image in enumerate(frames)]
    counts = Counter(len(blobs) for blobs in images if blobs).most_common(1)
    if not counts:
        return []
    starts = [blobs for blobs in images if len(blobs) == counts[0][0]]
    tried = [_matched(images, start) for start in starts[:: -(-len(starts) // STARTS)]]
    _, objects = min(tried, key=lambda result: result[0])
    return sorted((MovingObject(tuple(blobs)) for blobs in objects if blobs), key=lambda obj: -obj.weight)


def _matched(images: list[list[Blob]], start: list[Blob]) -> tuple[float, list[list[Blob]]]:
    """The blobs of each image assigned to objects by colour, starting with the colours of some; and the total cost."""
    colours = np.array([blob.colour for blob in start])
    for _ in range(ROUNDS):
        total = 0.0
        objects: list[list[Blob]] = [[] for _ in start]
        for blobs in filter(None, images):
            cost = np.abs(colours[:, None] - np.array([blob.colour for blob in blobs])).max(axis=-1)
            for index, blob in zip(*linear_sum_assignment(np.minimum(cost, SAME_COLOUR)), strict=True):
                if cost[index, blob] < SAME_COLOUR:
                    objects[index].append(blobs[blob])
                    total += cost[index, blob] - SAME_COLOUR
        for index, assigned in enumerate(objects):
            if assigned:
                colours[index] = np.median([blob.colour for blob in assigned], axis=0)
    return total, objects


def blobs_without_shadow(image: Images, background: BackgroundModel, frame: int) -> list[Blob]:
    """The objects of an image, each without its shadow."""
    still = background.images[0]
    contrast = difference(image, still)
    lit = np.zeros(contrast.shape, np.bool_)
    for box, region in connected_regions(background.changed(image[None])[0]):
        lit[box] |= region & ~_in_shadow(to_float(image[box]), still[box], region)
    blobs = [measured_blob(image[box], contrast[box], mask, box, frame) for box, mask in connected_regions(lit)]
    largest = max((blob.area for blob in blobs), default=0)
    return [blob for blob in blobs if blob.area >= PART * largest]


def _in_shadow(image: FloatImages, background: FloatImages, region: Mask) -> Mask:
    """Which pixels are more shadow than object; outside the region there is neither."""
    shown, empty = (
        torch.from_numpy(np.ascontiguousarray(np.moveaxis(pixels, -1, 0)))
        for pixels in (np.where(region[..., None], image, background), background)
    )
    return np.asarray(shadow(shown, empty, torch.from_numpy(region).float()) > 0.5)
