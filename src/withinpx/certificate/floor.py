"""The Cramer-Rao limit of an object's position: what no unbiased estimate can beat, whatever the method."""

import numpy as np
from numpy.typing import NDArray

from withinpx.certificate.appearance import smoothed_image
from withinpx.certificate.planting import PlantingStage
from withinpx.discovery.background import to_float
from withinpx.inference.template import KERNEL_PX, NODES, Template
from withinpx.theory.set_membership import cramer_rao

FEWEST_WINDOWS = 4  # without change, for the noise to be measured
NOISE_POSITIONS = 8  # of an object, at which its noise is measured

Array = NDArray[np.float64]


def position_floor(template: Template, stage: PlantingStage, positions: Array) -> float | None:
    """A standard deviation in px of the frames, larger axis; None if no part of the frames is at rest."""
    windows = windows_at_rest(template, stage, positions)
    if len(windows) < FEWEST_WINDOWS:
        return None
    background = np.mean([background for _, background in windows], axis=0)
    middle, step = np.full(2, 0.5), np.eye(2) / NODES
    floors = []
    for by in step:
        after, before = (
            colour - opacity[..., None] * background
            for opacity, colour in map(template.render, (middle + by, middle - by))
        )
        slope = (after - before) * (NODES / 2 / template.pool)
        length = float(np.linalg.norm(slope))
        along = [float((difference * slope).sum()) / max(length, 1e-12) for difference, _ in windows]
        floors.append(cramer_rao(length, float(np.std(along))))
    return max(floors)


def windows_at_rest(template: Template, stage: PlantingStage, positions: Array) -> list[tuple[Array, Array]]:
    """Differences from the background, and it, where the object is at other times and nothing changed."""
    height, width = stage.changed.shape[1:]
    pool, size = template.pool, np.array([template.width, template.height])
    found = []
    for position in positions[:: max(1, len(positions) // NOISE_POSITIONS)]:
        left, top = ((np.floor(position / pool) - template.half - KERNEL_PX) * pool).astype(int)
        right, bottom = (left, top) + (size + 2 * KERNEL_PX) * pool
        if left < 0 or top < 0 or right > width or bottom > height:
            continue
        part = (slice(top, bottom), slice(left, right))
        for frame in np.flatnonzero(~stage.changed[:, part[0], part[1]].any(axis=(1, 2))):
            background = stage.background(int(frame))[part]
            difference = to_float(stage.images[frame][part]) - background
            found.append((smoothed_image(difference, pool), smoothed_image(background, pool)))
    return found
