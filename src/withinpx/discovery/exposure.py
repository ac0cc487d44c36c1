"""The brightness of each frame: slow light, flicker and exposure steps are divided out before anything else.

A change of the light multiplies all pixels of a frame. Positions do not depend on it, so the theorem holds for the
normalised frames as for any others.
"""

import numpy as np
from numpy.typing import NDArray

from withinpx.discovery.background import SMALLEST_NOISE, BackgroundModel, ByteImages, FloatImages

GRID = 64  # rows and columns of the pixels that gains are measured at
LARGEST_GAIN = 4.0  # beyond, one of two frames is all but dark
SAME_LIGHT = 0.12  # half of the pixels differ by less from their usual value in the same light, noise included
DARK, BRIGHT = 24, 232  # levels: outside, a pixel is too dark or saturated to show the gain


def measured_gains(frames: ByteImages) -> NDArray[np.float64]:
    """The brightness of each frame relative to the whole clip: (frames, colours)."""
    pixels = _grid(frames).astype(np.float64)
    gains = np.ones((len(frames), frames.shape[-1]))
    for _ in range(2):  # the median of the first round is of frames with different light
        in_one_light = pixels / gains[:, None]
        gains *= _gains(in_one_light, np.median(in_one_light, axis=0))
    return gains


def gains_against(frames: ByteImages, background: FloatImages) -> NDArray[np.float64]:
    """The brightness of each frame relative to a background image (1, height, width, colours)."""
    return _gains(_grid(frames).astype(np.float64), usual_levels(background))


def in_light_of(background: BackgroundModel, frames: ByteImages) -> ByteImages:
    """The frames in the light of the background, if the light varies."""
    return normalised(frames, gains_against(frames, background.images)) if background.light_varies else frames


def varies(frames: ByteImages, gains: NDArray[np.float64]) -> bool:
    """Does the light change a pixel of medium brightness by more than the least noise, and all pixels alike?

    After a cut, pixels differ by many factors and not by one.
    """
    if np.abs(gains - np.median(gains, axis=0)).max() <= 2 * SMALLEST_NOISE:
        return False
    pixels = _grid(frames).astype(np.float64) / gains[:, None]
    usual = np.median(pixels, axis=0)
    ratios = pixels / np.maximum(usual, DARK)
    spread = np.median(np.abs(ratios - 1).max(axis=-1), axis=1)
    return bool(np.quantile(spread, 0.9) < SAME_LIGHT)


def normalised(frames: ByteImages, gains: NDArray[np.float64]) -> ByteImages:
    """The frames in the same light, by a table of levels for each frame and colour."""
    tables = np.arange(256) / gains[..., None]  # (frames, colours, levels)
    tables = tables.round().clip(0, 255).astype(np.uint8)
    result = np.empty_like(frames)
    for index, frame in enumerate(frames):
        for colour in range(frames.shape[-1]):
            result[index, ..., colour] = tables[index, colour][frame[..., colour]]
    return result


def grid_lines(size: tuple[int, int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of a frame (height, width) that gains are measured at."""
    rows, columns = (np.unique(np.linspace(0, side - 1, GRID).round().astype(np.intp)) for side in size)
    return rows, columns


def usual_levels(background: FloatImages) -> NDArray[np.float64]:
    """The levels of a background image (1, height, width, colours) there: (pixels, colours)."""
    return np.asarray(255 * _grid(background)[0].astype(np.float64))


def well_exposed(usual: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Of each colour the pixels that show the gain; none if they are too few."""
    good = (usual > DARK) & (usual < BRIGHT)
    return [np.flatnonzero(pixels & (pixels.mean() > 0.25)) for pixels in good.T]


def _grid(frames: ByteImages | FloatImages) -> NDArray[np.generic]:
    """Pixels spread over each frame: (frames, pixels, colours)."""
    rows, columns = grid_lines((frames.shape[1], frames.shape[2]))
    return np.asarray(frames[:, rows[:, None], columns]).reshape(len(frames), -1, frames.shape[-1])


def _gains(pixels: NDArray[np.float64], usual: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median ratio of pixels (frames, pixels, colours) to their usual value; one where too few are exposed well."""
    gains = np.ones((len(pixels), usual.shape[-1]))
    for colour, good in enumerate(well_exposed(usual)):
        if len(good):
            gains[:, colour] = np.median(pixels[:, good, colour] / usual[good, colour], axis=1)
    return gains.clip(1 / LARGEST_GAIN, LARGEST_GAIN)
