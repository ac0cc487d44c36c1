"""The colours of a detector's objects, and of the marks that stand for them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from withinpx.discovery.background import to_uint8
from withinpx.inference.rendering import GREY, templates, thumbnail
from withinpx.palette import RGB, mark_colours
from withinpx.tracking.detector import Detector


def object_colours(detector: Detector) -> list[str]:
    """The mark colour of each object of the certificate, #RRGGBB, from its rendering at the centre of the frame."""
    heatmaps = detector.model.config.objects
    rendered = templates(detector.model, np.zeros((0, heatmaps, 2)), np.zeros((0, heatmaps), np.bool_))
    thumbnails = [thumbnail(rendered[obj.object]) for obj in detector.certificate.objects]
    background = to_uint8(detector.background.images[0])
    return mark_colours(own_colours(thumbnails), _mean(background.reshape(-1, background.shape[-1])))


def own_colours(thumbnails: Sequence[NDArray[np.uint8]]) -> list[RGB]:
    """The mean colour of each thumbnail's object, which is what differs from the grey around it."""
    colours = []
    for pixels in thumbnails:
        strength = np.abs(pixels - 255 * GREY).max(axis=-1)
        colours.append(_mean(pixels[strength >= 0.5 * strength.max()]))
    return colours


def _mean(pixels: NDArray[np.uint8]) -> RGB:
    red, green, blue = np.broadcast_to(pixels.mean(axis=0).round().astype(int), 3).tolist()
    return red, green, blue
