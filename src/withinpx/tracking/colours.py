"""The colours of a detector's objects, and of the marks that stand for them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from withinpx.discovery.background import to_uint8
from withinpx.inference.rendering import GREY, render_alone, thumbnail
from withinpx.palette import RGB, colour_of, mark_colours
from withinpx.tracking.detector import Detector
from withinpx.tracking.tracks import Tracks


def object_colours(detector: Detector, tracks: Tracks) -> list[str]:
    """The mark colour of each object of the tracks, #RRGGBB; objects that look alike have the palette's colours."""
    if tracks.classes is not None:
        return [colour_of(index) for index in range(tracks.objects)]
    return detector_colours(detector)


def detector_colours(detector: Detector) -> list[str]:
    """The mark colour of each object of the certificate, from its rendering at the centre of the frame."""
    config = detector.model.config
    middle = np.tile([config.width / 2, config.height / 2], (config.objects, 1))
    rendered = render_alone(detector.model, middle, range(config.objects), detector.usual_codes)
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
