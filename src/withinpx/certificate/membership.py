"""Set membership measured on a clip: templates, the largest mismatch, the centre's tolerance, and planted truth."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from withinpx.certificate.appearance import measure_appearance
from withinpx.certificate.calibration import Shift, reported_centre, reported_centres
from withinpx.certificate.centre import Boxes, Centre, centre_of
from withinpx.certificate.certificate import Certificate, Check, ObjectCertificate, SetMembership, frame_reasons
from withinpx.certificate.floor import position_floor
from withinpx.certificate.full_resolution import overlapping
from withinpx.certificate.planting import Planted, PlantingStage, paste_pixels, plant_template
from withinpx.data.selection import Selection
from withinpx.discovery.background import BackgroundModel, ByteImages
from withinpx.inference.feasible import NEAR_PX, Search
from withinpx.inference.observation import Feasible, Observations
from withinpx.inference.run import Sharp, run, search
from withinpx.inference.template import Template
from withinpx.model.autoencoder import Autoencoder

KAPPA = 1.5  # eps is this times the largest of the smallest residuals of frames that training never saw, and that show
# the object by itself

NOWHERE = Centre((np.nan, np.nan), (np.nan, np.nan))  # not measured yet

Array = NDArray[np.float64]
Templates = tuple[Template | None, ...]  # one per heatmap


@dataclass(frozen=True, eq=False)
class Footage:
    """A clip at the scale of the network, and at full resolution."""

    images: ByteImages
    background: BackgroundModel
    sharp_images: ByteImages
    sharp_background: BackgroundModel
    zoom: float  # px of the sharp images per px of the network's input

    @property
    def sharp(self) -> Sharp:
        return Sharp(self.sharp_images, self.sharp_background.images, self.zoom)

    def scaled(self, images: ByteImages) -> ByteImages:
        """Sharp images at the scale of the network."""
        if self.zoom == 1:
            return images
        resize = Selection(scale=1 / self.zoom)
        return np.stack([resize.apply(image) for image in images])


@dataclass(frozen=True)
class Measured:
    """A certificate with set membership, shifts to the measured centres, and the observations with their sets."""

    certificate: Certificate
    shifts: tuple[Shift, ...]
    seen: Observations
    templates: Templates


@dataclass(frozen=True, eq=False)
class _Case:
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
        """Which objects are seen by themselves: (f, n)."""
        return ~overlapping(self.seen)

    @cached_property
    def stage(self) -> PlantingStage:
        return PlantingStage.of(self.footage.sharp_images, self.footage.sharp_background, self.kept_out)

    def others(self, index: int, frames: NDArray[np.intp]) -> list[Boxes]:
        """The boxes of all other objects in each frame, px of the sharp images."""
        middle, half = self.seen.centre + self.seen.offset, self.seen.box / 2 + NEAR_PX
        corners = np.concatenate([middle - half, middle + half], axis=-1) * self.footage.zoom
        present = self.seen.present.copy()
        present[:, index] = False
        return [corners[frame, present[frame]].round().astype(int) for frame in frames]

    def searches(self, candidates: Iterable["_Candidate"]) -> list[Search | None]:
        """One per heatmap."""
        known = {one.index: one.search for one in candidates}
        return [known.get(index) for index in range(self.model.config.objects)]

    def find(self, candidates: Iterable["_Candidate"]) -> Feasible:
        device = next(self.model.parameters()).device
        return search(self.seen, self.searches(candidates), device, self.footage.sharp)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """One object while its set membership is measured."""

    certificate: ObjectCertificate
    good: NDArray[np.bool_]  # (f,): frames that pass all other checks
    search: Search
    recorded: Template  # as the frames show it, which are not smoothed
    shift: Shift  # from z to its position
    centre: Centre

    @property
    def index(self) -> int:
        return self.certificate.object


def searches_of(certificate: Certificate, templates: Templates) -> list[Search | None]:
    """How the objects of a certificate are searched for, None for those without set membership; empty if all are."""
    known = {obj.object: obj.membership for obj in certificate.objects}
    searches = [
        None if template is None or (own := known.get(index)) is None else Search(template, own.reach, own.eps)
        for index, template in enumerate(templates)
    ]
    return searches if any(searches) else []


def measure_membership(
    certificate: Certificate,
    model: Autoencoder,
    seen: Observations,
    shifts: tuple[Shift, ...],
    *,
    kept_out: NDArray[np.intp],
    footage: Footage,
) -> Measured:
    """Add set membership to a certificate, for all objects whose appearance can be measured.

    A moving camera's background is known at the scale of the network only.
    """
    if footage.zoom != 1 and not footage.sharp_background.is_still:
        return Measured(certificate, shifts, seen, ())
    case = _Case(certificate, model, seen, shifts, kept_out, footage)
    candidates = [one for obj in certificate.objects if (one := _candidate(case, obj)) is not None]
    first = case.find(candidates)
    candidates = [one for candidate in candidates if (one := _measured(case, candidate, first)) is not None]
    found = case.find(candidates)
    known = {one.index: (_membership(case, one, found), _planted(case, one, found)) for one in candidates}
    objects = [obj.with_membership(*known[obj.object]) if obj.object in known else obj for obj in certificate.objects]
    templates: list[Template | None] = [None] * model.config.objects
    recentred = list(shifts)
    for one in candidates:
        templates[one.index], recentred[one.index] = one.search.template, one.shift
    return Measured(
        replace(certificate, objects=tuple(objects)), tuple(recentred), replace(seen, feasible=found), tuple(templates)
    )


def _candidate(case: _Case, certificate: ObjectCertificate) -> _Candidate | None:
    """An object with its template, fitted to frames of the training that show it by itself; None if there are none."""
    index, footage = certificate.object, case.footage
    good = frame_reasons(case.seen, index, certificate.limits) == ""
    usable = good & case.alone[:, index]
    trained = np.setdiff1d(np.arange(len(usable)), case.kept_out)
    frames = np.intersect1d(np.flatnonzero(usable), trained if len(trained) else case.kept_out)
    if not len(frames):
        return None
    appearance = measure_appearance(
        footage.sharp_images[frames],
        footage.sharp_background.of(frames),
        case.positions[frames, index] * footage.zoom,
        np.median(case.seen.box[frames, index], axis=0) * footage.zoom,
        case.others(index, frames),
    )
    shift = case.shifts[index]
    search = Search(appearance.smooth, _theorem_px(case, certificate, good, shift))
    return _Candidate(certificate, good, search, appearance.recorded, shift, NOWHERE)


def _theorem_px(case: _Case, certificate: ObjectCertificate, good: NDArray[np.bool_], shift: Shift) -> float:
    """The largest that theorem 4.1 with all that is added to it can be in a frame that passes the object's checks."""
    limits, index = certificate.limits, certificate.object
    off_centre = np.abs(reported_centre(case.seen, index, shift) - case.seen.centre[:, index])[good].max()
    return float(certificate.theorem_px * case.certificate.scale + limits.leakage + limits.residual + off_centre)


def _measured(case: _Case, one: _Candidate, first: Feasible) -> _Candidate | None:
    """The object with its centre and eps; None if it is in no frame that training never saw, or has no clear edges."""
    index = one.index
    shown = one.good & np.isfinite(first.residual[:, index])
    by_itself = shown & case.alone[:, index]
    known = case.kept_out[(by_itself if by_itself[case.kept_out].any() else shown)[case.kept_out]]
    centre = _centre(case, one, first)
    if centre is None or not len(known):
        return None
    apart = (first.best - case.positions)[one.good & np.isfinite(first.best[:, index]).all(axis=1), index]
    shift = replace(one.shift, shifts=one.shift.shifts + np.median(apart, axis=0) + np.array(centre.middle))
    resized = float(np.abs(first.size[shown, index] - 1).max())
    reach = _theorem_px(case, one.certificate, one.good, shift) + centre.furthest * (1 + resized)
    eps = KAPPA * float(first.residual[known, index].max())
    return replace(one, search=replace(one.search, reach=reach, eps=eps), shift=shift, centre=centre)


def _centre(case: _Case, one: _Candidate, first: Feasible) -> Centre | None:
    """The object's centre from where its template is rendered, in the frames that show it whole and by itself.

    Measured at full resolution, in px of the network's input.
    """
    seen, footage, positions = case.seen, case.footage, first.best[:, one.index]
    shown = np.flatnonzero(one.good & case.alone[:, one.index] & np.isfinite(positions).all(axis=1))
    if not len(shown):
        return None
    box = np.median(seen.box[shown, one.index], axis=0) * footage.zoom
    backgrounds = footage.sharp_background.of(shown)
    centre = centre_of(
        footage.sharp_images[shown],
        backgrounds,
        positions[shown] * footage.zoom,
        box,
        footage.zoom,
        sizes=first.size[shown, one.index],
        others=case.others(one.index, shown),
    )
    return None if centre is None else centre.scaled(1 / footage.zoom)


def _membership(case: _Case, one: _Candidate, found: Feasible) -> SetMembership:
    """What is stored of an object."""
    seen_at = found.best[one.good & np.isfinite(found.best[:, one.index]).all(axis=1), one.index] * case.footage.zoom
    floor = position_floor(one.search.template, case.stage, seen_at)
    return SetMembership(
        eps=one.search.eps,
        tolerance=one.centre.tolerance,
        middle=one.centre.middle,
        reach=one.search.reach,
        floor=None if floor is None else floor / case.footage.zoom,
    )


def _planted(case: _Case, one: _Candidate, found: Feasible) -> Check:
    """Assumption 4 on planted truth: every planted position must lie inside its feasible set."""
    index, zoom = one.index, case.footage.zoom
    inside_set = one.good & case.alone[:, index] & np.isfinite(found.low[:, index]).all(axis=1)
    positions = np.where(inside_set[:, None], found.best[:, index], np.nan) * zoom
    rendered = plant_template(case.stage, one.recorded, positions[inside_set]) if inside_set.any() else None
    pasted = paste_pixels(case.stage, one.recorded, positions[case.kept_out])
    inside = outside = refused = 0
    for planted in (rendered, pasted):
        if planted is not None:
            accepted, within = _accepted_and_within(case, one, planted)
            inside += int((accepted & within).sum())
            outside += int((accepted & ~within).sum())
            refused += int((~accepted).sum())
    message = (
        f"rendered where it belongs, it leaves a residual of at most {one.search.eps:.2f}; of "
        f"{inside + outside + refused} planted positions {inside} are inside their sets, {outside} outside, "
        f"{refused} refused (none may be outside)"
    )
    share = inside / max(1, inside + outside)
    return Check("mismatch", share, 1.0, "share", outside == 0 and inside > 0, message)


def _accepted_and_within(case: _Case, one: _Candidate, planted: Planted) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which planted frames pass all checks, and which positions lie inside their sets."""
    model, footage = case.model, case.footage
    frames = case.kept_out[planted.stage]
    seen = run(
        model,
        footage.scaled(planted.images),
        footage.background,
        None if footage.background.is_still else footage.background.of(frames),
        encoder_rf=case.certificate.encoder_rf,
        unused=tuple(other for other in range(model.config.objects) if other != one.index),
        searches=case.searches([one]),
        sharp=Sharp(planted.images, footage.sharp_background.of(frames), footage.zoom),
    )
    low, high = (values[:, one.index] * footage.zoom for values in (seen.sets.low, seen.sets.high))
    accepted = (frame_reasons(seen, one.index, one.certificate.limits) == "") & np.isfinite(low).all(axis=1)
    within = ((planted.positions >= low) & (planted.positions <= high)).all(axis=1)
    return np.asarray(accepted), np.asarray(within)
