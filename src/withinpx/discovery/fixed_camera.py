"""The background of a fixed camera: the median over time, and the other colour where an object rested for long."""

from collections.abc import Iterable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from withinpx.discovery.background import (
    LEVEL,
    QUARTILE_TO_MEDIAN,
    BackgroundModel,
    ByteImages,
    FloatImages,
    noise_threshold,
    to_float,
    to_uint8,
    whole_levels,
)

MOST_FRAMES = 79  # frames, spread over the clip, from which statistics over time are computed
UNSURE_SHARE = 0.1  # of the frames: a pixel that differs from its median this often may be covered most of the time
MOST_UNSURE = 0.5  # of the frame: if more is unsure, everything moves
CLEARLY = 0.5  # a colour seen at only one end of the clip must be this much nearer to the surroundings than the median
SWAY_PX = 3  # by how much leaves, grass or water move within the background
SWAYS = 0.25  # of the changes remain when the background may move that far: then it sways

CROSS = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))

Bytes = NDArray[np.uint8]


def fixed_background(frames: ByteImages, still: FloatImages | None = None) -> BackgroundModel:
    """The background of a fixed camera. If ``still`` is given, only its noise is measured."""
    some = thinned(frames)
    median = quantile(some)
    apart = differences(some, median)
    typical = typical_noise(apart)
    image = without_resting(some, apart, median, noise_threshold(typical)) if still is None else to_uint8(still[0])
    if image is not median:
        apart = differences(some, image)
        typical = np.minimum(typical, typical_noise(apart))
    threshold = noise_threshold(typical)
    return BackgroundModel(to_float(image)[None], threshold + sway(some, apart, image, threshold))


def thinned(frames: ByteImages) -> list[Bytes]:
    """At most MOST_FRAMES of the frames, evenly spread; an odd number, so that of two colours one is the majority's."""
    if len(frames) <= MOST_FRAMES:
        return list(frames[: max(2, len(frames) - 1 + len(frames) % 2)])
    return [frames[index] for index in np.linspace(0, len(frames) - 1, MOST_FRAMES).round().astype(int)]


def quantile(images: Sequence[Bytes], share: float = 0.5) -> Bytes:
    """The lower quantile of each value over at most 255 images, bit by bit: each image is compared eight times."""
    rows = [np.ascontiguousarray(image).reshape(len(image), -1) for image in images]
    needed = len(rows) - int(share * (len(rows) - 1))  # values that must be as large
    value, larger = np.zeros_like(rows[0]), np.empty_like(rows[0])
    for bit in (128, 64, 32, 16, 8, 4, 2, 1):
        trial = value | np.uint8(bit)
        count = np.zeros_like(value)
        for row in rows:
            cv2.compare(row, trial, cv2.CMP_GE, larger)
            count -= larger  # 255 where it is, which is -1
        value = np.where(count >= needed, trial, value)
    return value.reshape(images[0].shape)


def differences(frames: Sequence[Bytes], image: Bytes) -> list[Bytes]:
    """How far each pixel of each frame is from the image, in the colour that differs most, in levels."""
    return [largest_colour(absolute_difference(frame, image)) for frame in frames]


def absolute_difference(one: Bytes, other: Bytes) -> Bytes:
    return np.asarray(cv2.absdiff(one, other), np.uint8).reshape(one.shape)


def largest_colour(image: Bytes) -> Bytes:
    """The largest of each pixel's colours: (height, width)."""
    if image.shape[-1] == 1:
        return np.ascontiguousarray(image[..., 0])
    red, green, blue = cv2.split(image)
    return np.asarray(cv2.max(cv2.max(red, green), blue), np.uint8)


def typical_noise(apart: Sequence[Bytes]) -> NDArray[np.float32]:
    """By how much each pixel differs in half of the frames: its noise, also where objects are half of the time."""
    half, quarter = (to_float(quantile(apart, share)) for share in (0.5, 0.25))
    # half a level of the quarter was lost to rounding
    return np.asarray(np.minimum(half, QUARTILE_TO_MEDIAN * (quarter + LEVEL / 2)), np.float32)


def without_resting(
    frames: Sequence[Bytes], apart: Sequence[Bytes], median: Bytes, threshold: NDArray[np.float32]
) -> Bytes:
    """The median, and where an object rested for most of the clip, the colour seen when it was away.

    ``apart`` are the frames' differences to the median.
    Which of a pixel's two colours is the background's follows from time and space: a colour seen at both ends of the
    clip but not in between is the background, and the background resembles the surely empty pixels around.
    """
    limit = threshold / LEVEL
    beyond = frames_beyond(apart, threshold)
    unsure = cv2.morphologyEx((beyond > UNSURE_SHARE * len(frames)).view(np.uint8), cv2.MORPH_OPEN, CROSS) > 0
    if not unsure.any() or unsure.mean() > MOST_UNSURE:
        return median
    hole = np.asarray(cv2.dilate(unsure.view(np.uint8), CROSS, iterations=3), np.uint8)
    usual, around = median[unsure], filled_in(median, hole)[unsure]
    pixels = np.stack([frame[unsure] for frame in frames])
    other = _mean_of_nearest(pixels, around)
    end = -(-len(frames) // 20)
    shows_other = (_apart(part, other) < _apart(part, usual) for part in (pixels[:end], pixels[-end:]))
    ends = np.sum([shown.mean(axis=0).round() for shown in shows_other], axis=0)  # that show the other colour
    nearness = np.array([0.0, CLEARLY, 1.0])[ends.astype(int)]
    off = _apart(usual, around)
    wrong = _placed((off > limit[unsure]) & (_apart(other, around) < nearness * off), unsure)
    wrong = np.asarray(cv2.morphologyEx(wrong, cv2.MORPH_OPEN, CROSS), np.uint8)
    never_uncovered = (cv2.morphologyEx(wrong, cv2.MORPH_CLOSE, CROSS, iterations=3) > 0) & unsure
    uncovered = (cv2.dilate(wrong, CROSS, iterations=2) > 0) & (_placed(ends > 0, unsure) > 0)
    image = median.copy()
    image[never_uncovered] = around[never_uncovered[unsure]]
    image[uncovered] = other[uncovered[unsure]]
    return image


def frames_beyond(apart: Iterable[Bytes], threshold: NDArray[np.float32]) -> Bytes:
    """In how many frames each pixel differs by more than the threshold, given by how many levels it differs."""
    limit = whole_levels(threshold)
    count = np.zeros_like(limit)
    for levels in apart:
        count += levels > limit
    return count


def _apart(one: Bytes, other: Bytes) -> NDArray[np.int16]:
    """In levels, in the colour that differs most; broadcasts."""
    return np.asarray(np.abs(one.astype(np.int16) - other).max(axis=-1))


def _placed(values: NDArray[np.bool_], pixels: NDArray[np.bool_]) -> Bytes:
    """A mask of the image from values at some of its pixels."""
    mask = np.zeros(pixels.shape, np.uint8)
    mask[pixels] = values
    return mask


def _mean_of_nearest(pixels: Bytes, wanted: Bytes) -> Bytes:
    """Each pixel's mean over the tenth of the frames in which it is nearest to the wanted colour."""
    count = max(2, len(pixels) // 10)
    order = np.argpartition(_apart(pixels, wanted), count - 1, axis=0)[:count]
    return np.asarray(np.take_along_axis(pixels, order[..., None], axis=0).mean(axis=0).round(), np.uint8)


def filled_in(image: Bytes, hole: Bytes) -> Bytes:
    """The image with its hole filled smoothly from the rim, from coarse to fine."""
    known = (hole == 0).astype(np.float32)
    colours = image.astype(np.float32) * known[..., None]
    levels = []
    while min(known.shape) > 2 and not known.all():
        levels.append((colours, known))
        colours, known = (cv2.pyrDown(part) for part in (colours, known))
        colours = colours.reshape(*known.shape, -1)
    filled = colours / np.maximum(known, 1e-6)[..., None]
    for colours, known in reversed(levels):
        size = known.shape[::-1]
        filled = cv2.resize(filled, size, interpolation=cv2.INTER_LINEAR).reshape(colours.shape)
        filled = colours + (1 - np.minimum(known, 1))[..., None] * filled
    return np.asarray(filled.round().clip(0, 255), np.uint8)


def sway(
    frames: Sequence[Bytes], apart: Sequence[Bytes], image: Bytes, threshold: NDArray[np.float32]
) -> NDArray[np.float32]:
    """How much more a pixel may differ where the background itself moves by a few pixels, as leaves do.

    A pixel sways if most of its changes are colours that the background has within SWAY_PX. ``apart`` are the frames'
    differences to the image.
    """
    around = np.ones((2 * SWAY_PX + 1, 2 * SWAY_PX + 1))
    low, high = (np.asarray(edge(image, around), np.uint8).reshape(image.shape) for edge in (cv2.erode, cv2.dilate))
    often, unexplained = (
        cv2.blur(frames_beyond(some, threshold).astype(np.float32), (7, 7))
        for some in (apart, (_outside(frame, low, high) for frame in frames))
    )
    sways = (often > 0.02 * len(frames)) & (unexplained < SWAYS * often)
    room = np.maximum(_outside(low, image, image), _outside(high, image, image))
    return np.where(cv2.dilate(sways.view(np.uint8), around) > 0, to_float(room), np.float32(0))


def _outside(image: Bytes, low: Bytes, high: Bytes) -> Bytes:
    """How far each pixel is outside a range, in the colour that is furthest, in levels."""
    beyond = cv2.max(cv2.subtract(image, high), cv2.subtract(low, image))
    return largest_colour(np.asarray(beyond, np.uint8).reshape(image.shape))
