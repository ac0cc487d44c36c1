"""Regions of several objects, divided into them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.discovery.background import difference
from withinpx.discovery.classes import Classes
from withinpx.inference.feasible import Search
from withinpx.inference.observation import Pixels
from withinpx.inference.run import planes_on
from withinpx.inference.touching import Cluster, Member, at_border, cluster_of, search_clusters
from withinpx.theory.set_membership import half_width
from withinpx.tracking.detector import ROUNDING_PX, Detector
from withinpx.tracking.shown import Place, Shown
from withinpx.tracking.tracks import DECIMALS

TOUCHING = "touching"

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Part:
    """One object of a region of several, in px of the recording."""

    column: int  # the class
    box: Array  # (4,): holds its centre
    values: dict[str, Any]  # what the tracks hold of it


def divide(detector: Detector, classes: Classes, shown: Shown) -> dict[Place, list[Part]]:
    """The objects of the regions that are explained by objects at known places."""
    used = [obj.object for obj in detector.certificate.objects]
    if not shown.several or not classes.silhouettes or not detector.searches:
        return {}
    silhouettes = [own for index in used if (own := classes.silhouettes[index]) is not None]
    searches = [search for index in used if isinstance(search := detector.searches[index], Search)]
    if min(len(silhouettes), len(searches)) < len(used):  # an object of unknown shape may cover anything
        return {}
    changed = detector.background.changed(shown.images)
    strength = difference(shown.images, detector.background.images)
    clusters = [
        cluster_of(place, shown.regions[frame][number], strength[frame], changed[frame], silhouettes)
        for place in shown.several
        for frame, number in [place]
    ]
    device = next(detector.model.parameters()).device
    images, still = shown.images, detector.background.images
    if shown.sharp is not None and detector.sharp is not None:
        images, still = shown.sharp, detector.sharp
    pixels = Pixels(planes_on(device, images), planes_on(device, still))
    explained = search_clusters(clusters, searches, pixels, shown.cells, shown.zoom)
    size = shown.images.shape[1:3]
    return {
        cluster.place: [_part(detector, classes, cluster, member, size) for member in cluster.members]
        for cluster in explained
    }


def _part(detector: Detector, classes: Classes, cluster: Cluster, member: Member, size: tuple[int, int]) -> Part:
    """One object of a cluster; refused if it may be of several classes, cut off, hidden by others, or two objects."""
    to_recording, kind, found = detector.selection.to_recording, member.kind, member.found
    obj = detector.certificate.objects[kind or 0]
    known, box = obj.membership, member.box(cluster.corner)
    if kind is None or found is None or known is None:
        middle = to_recording((box[:2] + box[2:])[None] / 2)[0].round(DECIMALS)
        return Part(kind or 0, to_recording(box.reshape(2, 2)).ravel(), _values(middle, obj.size[1], TOUCHING))
    low, high = (values[0, 0] + known.middle for values in (found.low, found.high))
    position = (found.best[0, 0] + known.middle).clip(low, high)
    half = half_width(low, high, position)
    reason = "" if obj.certified else obj.failed
    if at_border(cluster, member, size):
        reason = "border"
    elif float(found.residual[0, 0]) > classes.residuals[obj.object]:
        reason = "mismatch"
    elif not member.is_shown:
        reason = TOUCHING
    values = _values(to_recording(position[None])[0].round(DECIMALS), obj.size[1], reason)
    if not reason:
        set_px, g = half / detector.scale + ROUNDING_PX, np.array(known.tolerance) / detector.scale
        floor = np.nan if known.floor is None else known.floor / detector.scale
        values |= {"bounds": float((set_px + g).max()), "set_px": float(set_px.max()), "sigma_px": floor}
    centre = np.stack([low - known.tolerance, high + known.tolerance])
    return Part(kind, to_recording(centre).ravel(), values)


def _values(position: Array, size: float, reason: str) -> dict[str, Any]:
    return {"present": True, "positions": position, "z": position, "sizes": np.full(2, size), "reasons": reason}
