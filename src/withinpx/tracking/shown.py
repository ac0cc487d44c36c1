"""Frames as a detector of classes sees them: their regions, which are one object or several, and the regions' cells."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from withinpx.discovery.background import ByteImages
from withinpx.discovery.classes import Classes
from withinpx.discovery.exposure import in_light_of
from withinpx.discovery.regions import Cells, Region, nearest_regions
from withinpx.tracking.detector import Detector

Place = tuple[int, int]  # a frame, and the number of a region in it


@dataclass(frozen=True, eq=False)
class Shown:
    """A few frames."""

    images: ByteImages  # (f, h, w, c), at the scale of the network
    sharp: ByteImages | None  # at the scale at which feasible sets are searched, if that is another
    zoom: float  # px of that per px of the network's input
    regions: Sequence[Sequence[Region]]  # of each frame
    cells: Cells  # (f, h, w): which region is nearest
    one: list[Place]  # regions no larger than one object,
    several: list[Place]  # and larger ones

    @classmethod
    def by(cls, detector: Detector, classes: Classes, images: ByteImages) -> "Shown":
        """Frames (f, h, w, c) of ``Detector.watched``."""
        sharp, zoom = None, 1.0
        if detector.sharp is None:
            images = in_light_of(detector.background, images)
        else:
            sharp = in_light_of(replace(detector.background, images=detector.sharp), images)
            images, zoom = detector.scaled(sharp), detector.sharp_scale / detector.scale
        regions = [classes.find(image, detector.background) for image in images]
        cells = [nearest_regions(image.shape[:2], own) for image, own in zip(images, regions, strict=True)]
        places: dict[bool, list[Place]] = {True: [], False: []}
        for frame, own in enumerate(regions):
            for number, region in enumerate(own):
                places[classes.is_one(region.blob)].append((frame, number))
        return cls(images, sharp, zoom, regions, np.stack(cells), places[True], places[False])
