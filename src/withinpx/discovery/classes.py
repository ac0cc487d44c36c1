"""Objects that look alike, as classes: what one of them by itself covers, and views that show one object each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from withinpx.data.clip import Clip
from withinpx.discovery.background import BackgroundModel, ByteImages, to_uint8
from withinpx.discovery.hypotheses import Hypothesis
from withinpx.discovery.identity import Detections, link, usual_step
from withinpx.discovery.inspection import ALIKE, MOST_FRAMES, Inspection
from withinpx.discovery.objects import Blob, MovingObject, appearance_distance, find_changes
from withinpx.discovery.regions import Region, find_regions, nearest_regions, only_region
from withinpx.theory.fences import fences
from withinpx.theory.identity import gaps
from withinpx.theory.touching import Silhouette

PART = 0.5  # of the smallest object's area: a smaller region is a part of one, or noise
DIFFERS = 1.0  # of appearance_distance: what is further from a class does not belong to it
SPECK_PX = 2.0  # of the network's input: what is smaller has no shape there
EDGE_PX = 0.5  # by which the side of a region may vary with its edges

Groups = tuple[tuple[int, ...], ...]  # numbers of objects, one group per class


@dataclass(frozen=True)
class Classes:
    """How regions of a frame are read: as one object, as several that touch, or as none."""

    areas: tuple[float, float]  # of a region that is one object, px of the frames it is found in
    residuals: tuple[float, ...] = ()  # of each class, the largest usual one of its template; beyond, it may be two
    silhouettes: tuple[Silhouette | None, ...] = ()  # of each class, None if it is not known
    apart: tuple[float, ...] = ()  # of each view that it was learned from, px from its region to the next one
    complete: bool = True  # is every object of the clip of one of these? Otherwise regions may hold others

    @property
    def least(self) -> float:
        """The area from which a region counts."""
        return PART * self.areas[0]

    def scaled(self, by: float) -> "Classes":
        """For frames of another size."""
        areas = self.areas[0] * by**2, self.areas[1] * by**2
        return replace(self, areas=areas, apart=tuple(by * apart for apart in self.apart))

    def find(self, image: ByteImages, background: BackgroundModel, frame: int = 0) -> list[Region]:
        """The regions of a frame that count."""
        regions = find_regions(find_changes(image, background, frame))
        return [region for region in regions if region.blob.area >= self.least]

    def is_one(self, blob: Blob) -> bool:
        """Is a region no larger than one object? Whether it is all of one is for the certificate to say."""
        return blob.area <= self.areas[1]


def groups_of(count: int, pairs: Sequence[tuple[int, int]]) -> Groups:
    """Classes of ``count`` objects: those that are joined by pairs which look alike."""
    group = list(range(count))
    for one, other in pairs:
        joined, kept = group[other], group[one]
        group = [kept if number == joined else number for number in group]
    return tuple(tuple(index for index in range(count) if group[index] == number) for number in sorted(set(group)))


def seen_together(objects: Sequence[MovingObject], pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs of objects that are seen in the same frame. What is never seen at two places may be one object."""
    frames = [set(obj.frames) for obj in objects]
    return [(i, j) for i, j in pairs if max(i, j) < len(frames) and frames[i] & frames[j]]


def without_multiples(objects: Sequence[MovingObject], groups: Groups, frames: int) -> Groups:
    """Without what is several objects of a class that move together, or a part of one behind something.

    Both have the colour of a class. The first is larger than one of its objects; the second is smaller, and seen in
    less than half of the frames.
    """
    kept = []
    for group in groups:
        own = objects[group[0]].appearance
        area, seldom = np.exp(own[-1]), len(objects[group[0]].frames) < frames / 2
        of_another = False
        for other in groups:
            if len(group) == 1 < len(other) and (
                appearance_distance(_of_area(objects[other[0]].appearance, own), own) < ALIKE
            ):
                low, high = areas_of_one([blob for index in other for blob in objects[index].blobs])
                of_another |= bool(area > high or (area < low and seldom))
        if not of_another:
            kept.append(group)
    return tuple(kept)


def visible_groups(objects: Sequence[MovingObject], groups: Groups, largest: float) -> Groups:
    """Without specks: what is smaller than a pixel or two where the largest class is scaled to ``largest`` px.

    A network that renders both cannot see them.
    """
    sizes = [max(objects[index].sizes[1] for index in group) for group in groups]
    scale = min(1.0, largest / max(sizes))
    return tuple(group for group, size in zip(groups, sizes, strict=True) if scale * size >= SPECK_PX)


def _of_area(appearance: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """An appearance with the area of another."""
    return np.append(appearance[:-1], other[-1])


def areas_of_one(blobs: Sequence[Blob]) -> tuple[float, float]:
    """Between which areas a region is one object by itself, from those of a class that the border does not cut off.

    Objects that touch make some regions larger, so the fences are those of the smaller half, and as far above.
    """
    sides = np.sqrt([blob.area for blob in blobs if not blob.cut_off] or [blob.area for blob in blobs])
    middle = float(np.median(sides))
    low, high = fences(np.concatenate([sides[sides <= middle], 2 * middle - sides[sides <= middle]]), EDGE_PX)
    return max(low, 1.0) ** 2, high**2


def as_classes(inspection: Inspection, groups: Groups) -> tuple[Inspection, Classes] | None:
    """The clip as views of one object each, with one object for each group; None if no object is seen by itself.

    Every view is a frame in which all but one detection is background. Of all detections as many are taken, evenly over
    the clip, as frames of a recording are inspected.
    """
    complete = len(inspection.objects) == sum(map(len, groups))
    groups = without_multiples(inspection.objects, groups, len(inspection.clip))
    members = [[blob for index in group for blob in inspection.objects[index].blobs] for group in groups]
    appearances = np.array([MovingObject(tuple(blobs)).appearance for blobs in members])
    ranges = [areas_of_one(blobs) for blobs in members]
    clip, background = inspection.clip, inspection.background
    for _ in range(2):  # once more without what may be two objects
        classes = Classes((min(low for low, _ in ranges), max(high for _, high in ranges)))
        found = [classes.find(image, background, frame) for frame, image in enumerate(clip.frames)]
        singles = _singles(found, classes, ranges, appearances, (clip.width, clip.height))
        own = [
            [found[frame][number].blob for frame, number, kind in singles if kind == index]
            for index in range(len(groups))
        ]
        ranges = [areas_of_one(blobs) if blobs else old for blobs, old in zip(own, ranges, strict=True)]
    chosen = _evenly(singles, MOST_FRAMES)
    if not chosen:
        return None
    still = to_uint8(background.images)[0]
    images, blobs = [], [list[Blob]() for _ in groups]
    for view, (frame, number, kind) in enumerate(chosen):
        cells = nearest_regions((clip.height, clip.width), found[frame])
        images.append(only_region(clip.frames[frame], still, cells, number))
        blobs[kind].append(replace(found[frame][number].blob, frame=view))
    shown = [tuple(own) for own in blobs if own]
    objects = tuple(MovingObject(own) for own in shown)
    views = _views(clip, np.stack(images), np.array([frame for frame, _, _ in chosen]))
    sizes = ", ".join(str(len(group)) for group in groups)
    why = f"{len(objects)} class{'es' * (len(objects) != 1)} of objects that look alike ({sizes} followed)"
    hypothesis = Hypothesis(background, objects, False, 1.0, 1.0, why)
    camera = np.zeros((len(images), 2))
    isolated = Inspection(views, background, objects, (), camera, False, (hypothesis,))
    apart = tuple(_to_next(found[frame], number) for frame, number, _ in chosen)
    return isolated, replace(classes, apart=apart, complete=complete)


def _to_next(regions: Sequence[Region], number: int) -> float:
    """How far the box of a region is from the nearest other one, px along the axis where it is further."""
    boxes = np.array([region.blob.box for region in regions], np.float64)
    away = gaps(boxes[[number]], np.delete(boxes, number, axis=0))
    return float(away.min(initial=np.inf))


def _singles(
    found: list[list[Region]],
    classes: Classes,
    ranges: Sequence[tuple[float, float]],
    appearances: NDArray[np.float64],
    size: tuple[int, int],
) -> list[tuple[int, int, int]]:
    """Regions that are one object by itself: frame, number and class. None that may hide another object."""
    places = [(frame, number) for frame, regions in enumerate(found) for number in range(len(regions))]
    hides = _hiding(found, places, classes, size)
    singles = []
    for (frame, number), hiding in zip(places, hides, strict=True):
        blob = found[frame][number].blob
        apart = appearance_distance(appearances, blob.appearance)
        kind = int(apart.argmin())
        low, high = ranges[kind]
        if apart[kind] < DIFFERS and low <= blob.area <= high and not blob.cut_off and not hiding:
            singles.append((frame, number, kind))
    return singles


def _hiding(
    found: list[list[Region]], places: Sequence[tuple[int, int]], classes: Classes, size: tuple[int, int]
) -> NDArray[np.bool_]:
    """Which regions may hold an object that was seen before and is seen nowhere else."""
    if not places:
        return np.zeros(0, np.bool_)
    regions = [found[frame][number] for frame, number in places]
    boxes = np.array([region.blob.box for region in regions], np.float64)
    several = np.array([not classes.is_one(region.blob) for region in regions])
    pixels = [region.pixels if many else np.zeros((0, 2)) for region, many in zip(regions, several, strict=True)]
    detections = Detections(
        np.array([frame for frame, _ in places]),
        np.array([region.blob.centre for region in regions]),
        np.full(len(regions), np.nan),
        boxes,
        several,
        np.zeros(len(regions), np.bool_),
        pixels,
        float(np.sqrt(classes.areas[0] * classes.areas[1])),
    )
    return link(detections, *size, usual_step(detections)).hides


def _views(clip: Clip, images: ByteImages, frames: NDArray[np.intp]) -> Clip:
    return replace(clip, frames=images, times_s=clip.times_s[frames], numbers=clip.numbers[frames], complete=False)


def _evenly(items: list[tuple[int, int, int]], most: int) -> list[tuple[int, int, int]]:
    if len(items) <= most:
        return items
    return [items[index * len(items) // most] for index in range(most)]
