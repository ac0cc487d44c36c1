"""What a certificate's sets are measured on: a certified network and the clip that it was trained on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from withinpx.certificate.calibration import Shift, reported_centre, reported_centres
from withinpx.certificate.certificate import Certificate, Check, ObjectCertificate, frame_reasons
from withinpx.certificate.planting import Planted, PlantingStage
from withinpx.data.selection import Selection
from withinpx.discovery.background import BackgroundModel, ByteImages
from withinpx.inference.feasible import Search, boxes_of_others
from withinpx.inference.observation import Feasible, Observations
from withinpx.inference.outline import Outline
from withinpx.inference.overlap import Boxes, changed_around, overlapping
from withinpx.inference.run import Sharp, run, search
from withinpx.model.autoencoder import Autoencoder
from withinpx.theory.fences import fences

SPECKS = 1 / 20  # of an object's box: so much may change around it by noise

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Footage:
    """A clip at the scale of the network, and at full resolution."""

    images: ByteImages
    background: BackgroundModel
    sharp_images: ByteImages
    sharp_background: BackgroundModel
    zoom: float  # px of the sharp images per px of the network's input
    numbers: NDArray[np.int64] | None = None  # of the recording's frames that views are of; None if these are frames
    apart: Array | None = None  # of each view, px of the network's input from its region to the next one

    @property
    def sharp(self) -> Sharp:
        return Sharp(self.sharp_images, self.sharp_background.images, self.zoom)

    def scaled(self, images: ByteImages) -> ByteImages:
        """Sharp images at the scale of the network."""
        if self.zoom == 1:
            return images
        resize = Selection(scale=1 / self.zoom)
        return np.stack([resize.apply(image) for image in images])


@dataclass(frozen=True, eq=False)
class Case:
    """What is measured: a certified network on a clip."""

    certificate: Certificate
    model: Autoencoder
    seen: Observations
    shifts: tuple[Shift, ...]
    kept_out: NDArray[np.intp]
    footage: Footage

    @cached_property
    def positions(self) -> Array:
        """The positions that the network reports (f, n, 2), px of its input."""
        return reported_centres(self.seen, self.shifts) + self.seen.offset

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Which objects are seen by themselves (f, n): no other one is near, nor does more change there than usual.

        What changes beside an object in a few frames only is something else, which no heatmap need follow.
        """
        apart = ~overlapping(self.seen) & self.seen.present
        background, images = self.footage.background, self.footage.images
        changed = (
            background.changed(image[None], background.of(slice(frame, frame + 1)))[0]
            for frame, image in enumerate(images)
        )
        around = changed_around(self.seen, changed)
        for index in np.flatnonzero(apart.any(axis=0)):
            usual = around[apart[:, index], index]
            specks = SPECKS * float(np.median(self.seen.box[apart[:, index], index].prod(axis=-1)))
            apart[:, index] &= around[:, index] <= fences(usual, specks)[1]
        return apart

    def with_room(self, frames: NDArray[np.intp], px: float, fewest: int) -> NDArray[np.intp]:
        """Of these frames, the views whose object is at least so many px of the sharp images from the next one.

        All of them if they are no views, or if these are fewer than ``fewest``.
        """
        if self.footage.apart is None:
            return frames
        roomy = frames[self.footage.apart[frames] * self.footage.zoom >= px]
        return roomy if len(roomy) >= fewest else frames

    def neighbours(self, index: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The frame before and the one after each frame (f,), -1 if there is none.

        Of views, the ones of the frames before and after that show an object no further away than half its size.
        """
        count, numbers = len(self.seen), self.footage.numbers
        if numbers is None:
            places = np.arange(count)
            return places - 1, np.where(places + 1 < count, places + 1, -1)
        _, order = np.unique(numbers, return_inverse=True)
        apart = np.abs(self.positions[:, None, index] - self.positions[None, :, index]).max(axis=-1)
        apart = np.where(apart <= self.seen.size[:, None, index] / 2, apart, np.inf)
        found = []
        for step in (-1, 1):
            distance = np.where(order[None] == order[:, None] + step, apart, np.inf)
            found.append(np.where(np.isfinite(distance.min(axis=1)), distance.argmin(axis=1), -1))
        return found[0], found[1]

    @cached_property
    def stage(self) -> PlantingStage:
        return PlantingStage.of(self.footage.sharp_images, self.footage.sharp_background, self.kept_out)

    def others(self, index: int, frames: NDArray[np.intp]) -> list[Boxes]:
        """The boxes of all other objects in each frame, px of the sharp images."""
        return [boxes_of_others(self.seen, int(frame), index, self.footage.zoom) for frame in frames]

    def find(self, searches: Mapping[int, Search | Outline]) -> Feasible:
        """The feasible sets of these heatmaps' objects."""
        device = next(self.model.parameters()).device
        return search(self.seen, self.per_heatmap(searches), device, self.footage.sharp)

    def find_in(
        self, seen: Observations, searches: Mapping[int, Search | Outline], frames: NDArray[np.intp]
    ) -> Feasible:
        """The same by other observations, which are of these frames."""
        footage, device = self.footage, next(self.model.parameters()).device
        sharp = Sharp(footage.sharp_images[frames], footage.sharp_background.of(frames), footage.zoom)
        return search(seen, self.per_heatmap(searches), device, sharp)

    def per_heatmap(self, searches: Mapping[int, Search | Outline]) -> list[Search | Outline | None]:
        return [searches.get(index) for index in range(self.model.config.objects)]

    def _observe_planted(self, planted: Planted, index: int, own: Search | Outline) -> Observations:
        """Frames in which one object was planted."""
        footage, frames = self.footage, self.kept_out[planted.stage]
        return run(
            self.model,
            footage.scaled(planted.images),
            footage.background,
            None if footage.background.is_still else footage.background.of(frames),
            encoder_rf=self.certificate.encoder_rf,
            unused=tuple(other for other in range(self.model.config.objects) if other != index),
            searches=self.per_heatmap({index: own}),
            sharp=Sharp(planted.images, footage.sharp_background.of(frames), footage.zoom),
        )

    def accepted_and_within(
        self, certificate: ObjectCertificate, own: Search | Outline, planted: Planted
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which planted frames pass all checks, and which positions lie inside their sets."""
        index, zoom = certificate.object, self.footage.zoom
        seen = self._observe_planted(planted, index, own)
        low, high = (values[:, index] * zoom for values in (seen.sets.low, seen.sets.high))
        reasons = frame_reasons(seen, index, certificate.limits, outlined=isinstance(own, Outline))
        accepted = (reasons == "") & np.isfinite(low).all(axis=1)
        within = ((planted.positions >= low) & (planted.positions <= high)).all(axis=1)
        return np.asarray(accepted), np.asarray(within)

    def theorem_px(self, certificate: ObjectCertificate, good: NDArray[np.bool_], shift: Shift) -> float:
        """The largest that theorem 4.1 with all that is added to it can be in a frame that passes the checks."""
        limits, seen, index = certificate.limits, self.seen, certificate.object
        off_centre = np.abs(reported_centre(seen, index, shift) - seen.centre[:, index])[good].max()
        return float(certificate.theorem_px * self.certificate.scale + limits.leakage + limits.residual + off_centre)


def planted_check(what: str, kind: str, outcomes: Iterable[tuple[NDArray[np.bool_], NDArray[np.bool_]]]) -> Check:
    """Of positions planted in this way, none that is accepted may be outside its set, and one must be inside.

    ``outcomes`` are which are accepted and which are within their sets.
    """
    inside = outside = refused = 0
    for accepted, within in outcomes:
        inside += int((accepted & within).sum())
        outside += int((accepted & ~within).sum())
        refused += int((~accepted).sum())
    message = (
        f"{what} of {inside + outside + refused} {kind} positions {inside} are inside their sets, {outside} outside, "
        f"{refused} refused (none may be outside)"
    )
    share = inside / max(1, inside + outside)
    return Check("mismatch", share, 1.0, "share", outside == 0 and inside > 0, message)
