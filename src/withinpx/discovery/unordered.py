"""A set of pictures in no order: nothing can be followed through it. Things are told apart by their colour."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from withinpx.discovery.background import BackgroundModel, Pictures, difference, noise_threshold, quiet_difference
from withinpx.discovery.objects import SMALLEST_AREA, Blob, MovingObject, blob_at
from withinpx.shadow import LITTLE, is_shadow

FOLLOWED = 4  # frames in a row: what is seen so often is followed
SAME_COLOUR = 0.2  # of full contrast: what one thing's colour may differ by from picture to picture
PART = 0.2  # of the largest body in a picture: what is less is no thing of its own
OFTEN_HIDDEN = 0.25  # of the pictures: a pixel that is seldom the median's may be hidden most of the time
ALIKE = 0.2  # of the pictures: no thing shows one colour at one place so often
CANDIDATES = 32  # pictures that are asked which others look like them
AT_ONCE = 4096  # pixels
STARTS = 12  # pictures whose things are tried as the first of their kind
ROUNDS = 5


def is_unordered(pieces: list[MovingObject]) -> bool:
    """Is most of what moves seen in hardly any two pictures in a row?"""
    blobs = sum(len(piece.blobs) for piece in pieces)
    followed = sum(len(piece.blobs) for piece in pieces if len(piece.blobs) >= FOLLOWED)
    return blobs > 0 and followed < 0.5 * blobs


def unordered_background(images: Pictures) -> BackgroundModel:
    """What lies behind, also where things are seen in most of the pictures: they differ, what is behind does not."""
    still = np.median(images, axis=0).astype(np.float32)
    common = np.quantile(noise_threshold(quiet_difference(images, still)), 0.5)
    unsure = (difference(images, still) > common).mean(axis=0) > OFTEN_HIDDEN
    places = np.nonzero(unsure)
    for some in np.array_split(np.arange(len(places[0])), -(-len(places[0]) // AT_ONCE) or 1):
        rows, columns = places[0][some], places[1][some]
        still[rows, columns] = most_alike(images[:, rows, columns])
    return BackgroundModel(still[None], noise_threshold(quiet_difference(images, still)))


def most_alike(colours: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of what each pixel shows (pictures, pixels, colours), the mean of those that are nearest to each other."""
    share = max(2, int(ALIKE * len(colours)))
    some = colours[:: -(-len(colours) // CANDIDATES)]
    apart = np.abs(some[:, None] - colours).max(axis=-1)  # (candidates, pictures, pixels)
    nearest = np.partition(apart, share - 1, axis=1)[:, share - 1]
    best = nearest.argmin(axis=0)
    pixels = np.arange(colours.shape[1])
    alike = nearest[best, pixels] >= apart[best, :, pixels].T
    return np.asarray((colours * alike[..., None]).sum(axis=0) / alike.sum(axis=0)[:, None], np.float32)


def find_unordered_objects(images: Pictures, backdrop: BackgroundModel) -> list[MovingObject]:
    """One mover for each thing that most pictures show, the most prominent first."""
    seen = [bodies_of(image, backdrop, frame) for frame, image in enumerate(images)]
    count = Counter(len(bodies) for bodies in seen if bodies).most_common(1)
    if not count:
        return []
    starts = [bodies for bodies in seen if len(bodies) == count[0][0]]
    tried = [_told_apart(seen, start) for start in starts[:: -(-len(starts) // STARTS)]]
    things = min(tried, key=lambda each: each[0])[1]
    return sorted((MovingObject(tuple(blobs)) for blobs in things if blobs), key=lambda mover: -mover.weight)


def _told_apart(seen: list[list[Blob]], start: list[Blob]) -> tuple[float, list[list[Blob]]]:
    """Each picture's bodies given to the thing they look like, one each; and how unlike they are."""
    colours = np.array([blob.colour for blob in start])
    for _ in range(ROUNDS):
        unlike = 0.0
        things: list[list[Blob]] = [[] for _ in start]
        for bodies in seen:
            if not bodies:
                continue
            cost = np.abs(colours[:, None] - np.array([blob.colour for blob in bodies])).max(axis=-1)
            for thing, body in zip(*linear_sum_assignment(np.minimum(cost, SAME_COLOUR)), strict=True):
                if cost[thing, body] < SAME_COLOUR:
                    things[thing].append(bodies[body])
                    unlike += cost[thing, body] - SAME_COLOUR
        colours = np.array(
            [
                np.median([blob.colour for blob in blobs], axis=0) if blobs else colour
                for blobs, colour in zip(things, colours, strict=True)
            ]
        )
    return unlike, things


def bodies_of(image: NDArray[np.float32], backdrop: BackgroundModel, frame: int) -> list[Blob]:
    """The things of a picture, each without its shadow; where nearly all would be shadow, with it."""
    behind = backdrop.images[0]
    changed = backdrop.changed(image[None])[0]
    distance = difference(image[None], behind[None])[0]
    whole, things = ndimage.label(changed, structure=np.ones((3, 3)))
    body = changed & ~is_shadow(image, behind, whole)
    share = ndimage.mean(body, whole, np.arange(things + 1))
    labels, _ = ndimage.label(np.where(share[whole] < LITTLE, changed, body), structure=np.ones((3, 3)))
    blobs = [
        blob_at(image, distance, labels == label, box, frame)
        for label, box in enumerate(ndimage.find_objects(labels), start=1)
    ]
    largest = max((blob.area for blob in blobs), default=0)
    return [blob for blob in blobs if blob.area >= max(SMALLEST_AREA, PART * largest)]
