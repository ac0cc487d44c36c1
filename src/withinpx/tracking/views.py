"""A detector of classes over frames: a view of each region, its verdict, and all of them linked into tracks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from withinpx.discovery.background import ByteImages
from withinpx.discovery.classes import Classes
from withinpx.discovery.identity import Detections, link, usual_step
from withinpx.discovery.regions import Cells, Region
from withinpx.inference.isolated import IsolatedFrames, IsolatedPixels, Isolation
from withinpx.inference.observation import Observations
from withinpx.inference.outline import EDGE_PX
from withinpx.inference.run import frames_on, planes_on, run_views
from withinpx.tracking.detector import Detector
from withinpx.tracking.divided import TOUCHING, Part, divide
from withinpx.tracking.shown import Place, Shown
from withinpx.tracking.tracks import Tracks

VIEWS = 256  # that are observed together
NUMBERS = ("bounds", "theorem_px", "residual_px", "sigma_px", "set_px")  # of the tracks, one per frame and object
PAIRS = ("positions", "sizes", "z")
REFUSED = ("bounds", "theorem_px", "sigma_px")  # that a refused position does not have
PER_OBJECT = (*NUMBERS, *PAIRS, "present", "reasons", "codes")

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Found:
    """What a few frames show: one row per region, or per object of one that could be divided; px of the recording."""

    frame: NDArray[np.int64]  # (v,), index of the frame
    tracks: Tracks | None  # one row per region that may be one object, one column per class; None if there is none
    elongations: Array  # (rows, columns, 2), of the outlines
    row: NDArray[np.int64]  # (v,): of the tracks; -1 where a region is several objects
    column: NDArray[np.int64]  # (v,): the class
    box: Array  # (v, 4)
    pixels: tuple[Array, ...]  # (k, 2) of each region that is several objects, else empty
    parts: tuple[Part | None, ...]  # (v,)

    @property
    def several(self) -> NDArray[np.bool_]:
        """(v,): objects that touch, and could not be divided."""
        return (self.row < 0) & np.array([part is None for part in self.parts], np.bool_)

    def values(self, index: int, position: Array, size: float) -> dict[str, Any]:
        """What the tracks hold of an object in a region; ``position`` and ``size`` where the network says nothing."""
        row, column, part = int(self.row[index]), int(self.column[index]), self.parts[index]
        if part is not None:
            return part.values
        if row >= 0 and self.tracks is not None and self.tracks.present[row, column]:
            return {name: getattr(self.tracks, name)[row, column] for name in PER_OBJECT}
        low, high = self.box[index].reshape(2, 2)
        reason, sides = (TOUCHING, np.full(2, size)) if row < 0 else ("reconstruction", high - low)
        return {"present": True, "positions": position, "z": position, "sizes": sides, "reasons": reason}


def find(detector: Detector, images: ByteImages, *, sets: bool = True) -> Found:
    """The regions of frames (f, h, w, c) of ``Detector.watched``."""
    classes = detector.classes
    if classes is None:
        raise TypeError("a detector without classes")
    shown = Shown.by(detector, classes, images)
    views = [shown.one[start : start + VIEWS] for start in range(0, len(shown.one), VIEWS)]
    parts = [_observed(detector, shown, some, sets=sets) for some in views]
    divided = divide(detector, classes, shown) if sets else {}
    if not parts:
        return _found(detector, shown, divided)
    seen = Observations.joined(parts)
    return _found(detector, shown, divided, _verdicts(detector, classes, seen, shown), detector.elongations(seen))


def _observed(detector: Detector, shown: Shown, views: Sequence[Place], *, sets: bool) -> Observations:
    """The network over some views; only the frames that they are of are taken along."""
    device = next(detector.model.parameters()).device
    first, last = views[0][0], views[-1][0] + 1
    frame, number = (torch.tensor(values, device=device) for values in zip(*views, strict=True))
    here = shown.cells[first:last]
    own = Isolation(frame - first, number, torch.from_numpy(here).to(device))
    seen = frames_on(device, shown.images[first:last], detector.background)
    frames = IsolatedFrames(seen.images, seen.backgrounds, seen.changed, own)
    pixels = IsolatedPixels(seen.images, seen.backgrounds, own)
    if shown.sharp is not None and detector.sharp is not None:
        wide = replace(own, cells=torch.from_numpy(_enlarged(here, shown.sharp.shape[1:3])).to(device))
        pixels = IsolatedPixels(planes_on(device, shown.sharp[first:last]), planes_on(device, detector.sharp), wide)
    searches = detector.searches if sets else ()
    encoder_rf, unused = detector.certificate.encoder_rf, detector.certificate.unused
    return run_views(
        detector.model, frames, pixels, shown.zoom, encoder_rf=encoder_rf, unused=unused, searches=searches
    )


def _enlarged(cells: Cells, size: tuple[int, ...]) -> Cells:
    """Cells (f, h, w) in frames of another size."""
    rows, columns = (np.arange(length) * own // length for length, own in zip(size, cells.shape[1:], strict=True))
    return np.ascontiguousarray(cells[:, rows[:, None], columns])


def _verdicts(detector: Detector, classes: Classes, seen: Observations, shown: Shown) -> Tracks:
    """One row per view, one column per class.

    A residual must be a usual one, and an outline needs room for its edges between itself and the next region.
    """
    count, used = len(shown.one), [obj.object for obj in detector.certificate.objects]
    tracks = detector.tracks(seen, np.arange(count), np.full(count, np.nan))
    tracks = _refused(tracks, seen.sets.residual[:, used] > np.array(classes.residuals)[used], "mismatch")
    by_outline = np.array([obj.outlined for obj in detector.certificate.objects])
    if not by_outline.any():
        return tracks
    least = (EDGE_PX + 1) / shown.zoom
    room = [_room(cells, own) for cells, own in zip(shown.cells, shown.regions, strict=True)]
    close = np.array([room[frame][number] < least for frame, number in shown.one])
    return _refused(tracks, close[:, None] & by_outline, TOUCHING)


def _refused(tracks: Tracks, which: NDArray[np.bool_], reason: str) -> Tracks:
    """With these certified positions (f, n) refused."""
    refused = which & tracks.certified
    unknown: dict[str, Any] = {name: np.where(refused, np.nan, getattr(tracks, name)) for name in REFUSED}
    return replace(tracks, reasons=np.where(refused, reason, tracks.reasons), **unknown)


def _room(cells: Cells, regions: Sequence[Region]) -> list[float]:
    """How far each region is from the cells of others, px."""
    room = []
    for number, region in enumerate(regions):
        rows, columns = np.nonzero(region.mask)
        rows, columns = rows + region.box[0].start, columns + region.box[1].start
        away = 0
        while away <= EDGE_PX + 1:
            around = [
                cells[(rows + down).clip(0, cells.shape[0] - 1), (columns + right).clip(0, cells.shape[1] - 1)]
                for down, right in ((away + 1, 0), (-away - 1, 0), (0, away + 1), (0, -away - 1))
            ]
            if any((values != number).any() for values in around):
                break
            away += 1
        room.append(float(away))
    return room


def _found(
    detector: Detector,
    shown: Shown,
    divided: dict[Place, list[Part]],
    tracks: Tracks | None = None,
    elongations: Array | None = None,
) -> Found:
    row_of = {place: row for row, place in enumerate(shown.one)}
    kinds = np.zeros(0, np.int64) if tracks is None else _classes_of(tracks)
    nothing, to_recording = np.zeros((0, 2)), detector.selection.to_recording
    rows: list[tuple[int, int, int, Array, Array, Part | None]] = []
    for frame, own in enumerate(shown.regions):
        for number, region in enumerate(own):
            row = row_of.get((frame, number), -1)
            if (frame, number) in divided:
                rows += [(frame, -1, part.column, part.box, nothing, part) for part in divided[frame, number]]
                continue
            left, top, right, bottom = region.blob.box
            box = to_recording(np.array([[left, top], [right, bottom]], np.float64)).ravel()
            inside = to_recording(region.pixels) if row < 0 else nothing
            rows.append((frame, row, int(kinds[row]) if row >= 0 else 0, box, inside, None))
    frames, chosen, column = (np.array([row[place] for row in rows], np.int64) for place in range(3))
    boxes = np.array([row[3] for row in rows]).reshape(-1, 4)
    pixels, parts = tuple(row[4] for row in rows), tuple(row[5] for row in rows)
    elongations = np.zeros((0, 0, 2)) if elongations is None else elongations
    return Found(frames, tracks, elongations, chosen, column, boxes, pixels, parts)


def _classes_of(tracks: Tracks) -> NDArray[np.int64]:
    """The class of each row: one that is certified, or present, if there is any; the nearest reconstruction first."""
    rank = np.where(tracks.certified, 0.0, np.where(tracks.present, 1e3, 1e6)) + np.nan_to_num(tracks.residual_px)
    return np.asarray(rank.argmin(axis=1))


class Recorded:
    """All that was found in a recording, as it is read."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self._parts: list[Found] = []
        self._frames: list[int] = []
        self._times_s: list[float] = []

    def add(self, images: ByteImages, frames: Sequence[int], times_s: Sequence[float], *, sets: bool = True) -> None:
        found = find(self._detector, images, sets=sets)
        self._parts.append(replace(found, frame=found.frame + len(self._frames)))
        self._frames += frames
        self._times_s += times_s

    def detections(self) -> Detections:
        """Every region as a candidate for an object."""
        detector, parts = self._detector, self._parts
        positions, bounds, ones = [np.zeros((0, 2))], [np.zeros(0)], [np.zeros(0, np.bool_)]
        for part in parts:
            middle = (part.box[:, :2] + part.box[:, 2:]) / 2
            bound = np.full(len(part.row), np.nan)
            one, seen_as_one = part.row >= 0, np.zeros(len(part.row), np.bool_)
            if part.tracks is not None:
                at = part.row[one], part.column[one]
                shown = part.tracks.present[at]
                middle[one] = np.where(shown[:, None], part.tracks.positions[at], middle[one])
                bound[one] = np.where(part.tracks.certified[at], part.tracks.bounds[at], np.nan)
                seen_as_one[one] = part.tracks.certified[at] & np.isfinite(part.tracks.set_px[at])
            for index, own in enumerate(part.parts):
                if own is not None:
                    middle[index], bound[index] = own.values["positions"], own.values.get("bounds", np.nan)
                    seen_as_one[index] = not own.values["reasons"]
            positions.append(middle)
            bounds.append(bound)
            ones.append(seen_as_one)
        classes = detector.classes
        area = float(np.sqrt(classes.areas[0] * classes.areas[1])) if classes is not None else 1.0
        return Detections(
            np.concatenate([np.zeros(0, np.int64), *(part.frame for part in parts)]),
            np.concatenate(positions),
            np.concatenate(bounds),
            np.concatenate([np.zeros((0, 4)), *(part.box for part in parts)]),
            np.concatenate([np.zeros(0, np.bool_), *(part.several for part in parts)]),
            np.concatenate(ones),
            [points for part in parts for points in part.pixels],
            area / detector.scale**2,
        )

    def tracks(self, step_px: float | None = None) -> tuple[Tracks, Array]:
        """Tracks of the whole recording, and the elongations of their outlines (f, n, 2).

        ``step_px`` is what an object steps at most, measured if not given.
        """
        found, detector = self.detections(), self._detector
        step = usual_step(found) if step_px is None else step_px
        links = link(found, *detector.recording, step)
        shape = len(self._frames), max(1, links.objects)
        arrays = _empty(shape, detector.model.config.appearance)
        identity, probability = np.full(shape, np.nan), np.full(shape, np.nan)
        classes, elongations = np.zeros(shape[1], np.int64), np.full((*shape, 2), np.nan)
        source = [(part, index) for part in self._parts for index in range(len(part.row))]
        for number, own, position, proved, guess in zip(
            links.detection, links.object, links.position, links.proved, links.probability, strict=True
        ):
            part, index = source[number]
            at = int(found.frame[number]), int(own)
            identity[at], probability[at] = proved, guess
            for name, value in part.values(index, position, found.size).items():
                arrays[name][at] = value
            if links.hides[number] and not arrays["reasons"][at]:
                arrays["reasons"][at] = TOUCHING
                for name in REFUSED:
                    arrays[name][at] = np.nan
            if not part.several[index]:
                classes[own] = part.column[index]
            if part.row[index] >= 0:
                elongations[at] = part.elongations[part.row[index], part.column[index]]
        tracks = Tracks(
            frames=np.array(self._frames),
            times_s=np.array(self._times_s, np.float64),
            **arrays,
            width=detector.recording[0],
            height=detector.recording[1],
            step_px=step,
            classes=classes,
            proved=identity,
            guessed=probability,
        )
        return tracks, elongations


def _empty(shape: tuple[int, int], entries: int) -> dict[str, Any]:
    """Arrays of tracks in which no object is present."""
    arrays = {name: np.full(shape, np.nan) for name in NUMBERS}
    pairs = {name: np.full((*shape, 2), np.nan) for name in PAIRS}
    return {
        **arrays,
        **pairs,
        "present": np.zeros(shape, np.bool_),
        "reasons": np.full(shape, "absent", "<U16"),
        "codes": np.zeros((*shape, entries)),
    }
