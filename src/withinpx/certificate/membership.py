"""Set membership measured on a clip: the largest mismatch, the centre's tolerance, planted truth, and the floor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from withinpx.certificate.calibration import Shift, shifts_at
from withinpx.certificate.centre import Centre, centre_of
from withinpx.certificate.certificate import Certificate, Check, ObjectCertificate, SetMembership, frame_reasons
from withinpx.certificate.full_resolution import overlapping
from withinpx.certificate.planting import Planted, Stage, paste_pixels, plant_template
from withinpx.discovery.background import BackgroundModel, ByteImages, to_float
from withinpx.inference.feasible import Search
from withinpx.inference.observation import Feasible, Observations
from withinpx.inference.run import run, search
from withinpx.inference.template import PHASES, Template, make_template
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import BackgroundMode
from withinpx.theory.set_membership import cramer_rao

KAPPA = 1.25  # eps is this times the largest of the smallest residuals of frames that training never saw
FEWEST_WINDOWS = 4  # without change, for the noise to be measured
NOISE_POSITIONS = 8  # of an object, at which its noise is measured

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Footage:
    """A clip at the scale of the network, and at full resolution."""

    images: ByteImages
    background: BackgroundModel
    sharp_images: ByteImages
    sharp_background: BackgroundModel
    zoom: float  # px of the sharp images per px of the network's input


@dataclass(frozen=True)
class Measured:
    """A certificate with set membership, shifts to the measured centres, and the observations with their sets."""

    certificate: Certificate
    shifts: tuple[Shift, ...]
    seen: Observations


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
        """The reported positions (f, n, 2), px of the network's input."""
        return self.seen.z + shifts_at(self.shifts, self.seen.z) + self.seen.offset

    @cached_property
    def stage(self) -> Stage:
        return Stage.of(self.footage.images, self.footage.background, self.kept_out)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """One object while its set membership is measured."""

    certificate: ObjectCertificate
    good: NDArray[np.bool_]  # (f,): frames that pass all other checks
    centre: Centre | None  # None if its edges cannot be measured
    typical: tuple[float, ...]
    search: Search

    @property
    def index(self) -> int:
        return self.certificate.object


def searches_of(model: Autoencoder, certificate: Certificate) -> list[Search | None]:
    """How the objects of a certificate are searched for, None for those without set membership; empty if all are."""
    found: list[Search | None] = [None] * model.config.objects
    for obj in certificate.objects:
        known = obj.membership
        if known is not None:
            template = make_template(model, obj.object, torch.tensor(known.typical))
            found[obj.object] = Search(template, known.shift, known.reach, known.eps)
    return found if any(found) else []


def measure_membership(
    certificate: Certificate,
    model: Autoencoder,
    seen: Observations,
    shifts: tuple[Shift, ...],
    *,
    kept_out: NDArray[np.intp],
    footage: Footage,
) -> Measured:
    """Add set membership to the certificate of a layered network; others render by position, not by one template."""
    if model.config.background is not BackgroundMode.LAYERED:
        return Measured(certificate, shifts, seen)
    case = _Case(certificate, model, seen, shifts, kept_out, footage)
    good = {obj.object: frame_reasons(seen, obj.object, obj.limits) == "" for obj in certificate.objects}
    centres = {index: _centre(case, index, own) for index, own in good.items()}
    case = replace(case, shifts=tuple(_recentred(shift, centres.get(index)) for index, shift in enumerate(shifts)))
    candidates = [_candidate(case, obj, good[obj.object], centres[obj.object]) for obj in certificate.objects]
    residuals = _find(case, candidates).residual
    candidates = [
        replace(one, search=replace(one.search, eps=_largest_mismatch(one, residuals, kept_out))) for one in candidates
    ]
    found = _find(case, candidates)
    objects = []
    for one in candidates:
        known = _membership(case, one, found)
        certified = one.certificate
        objects.append(certified if known is None else certified.with_membership(known, _planted(case, one, found)))
    searched = {obj.object for obj in objects if obj.membership is not None}
    for values in (found.residual, found.best, found.low, found.high):
        values[:, [index for index in range(model.config.objects) if index not in searched]] = np.nan
    return Measured(replace(certificate, objects=tuple(objects)), case.shifts, replace(seen, feasible=found))


def _find(case: _Case, candidates: Sequence[_Candidate]) -> Feasible:
    searches: list[Search | None] = [None] * case.model.config.objects
    for one in candidates:
        searches[one.index] = one.search
    device = next(case.model.parameters()).device
    return search(case.seen, searches, device, case.footage.images, case.footage.background)


def _centre(case: _Case, index: int, good: NDArray[np.bool_]) -> Centre | None:
    """The object's centre around its reported positions, in the frames that show it whole and by itself.

    Measured at full resolution, in px of the network's input.
    """
    seen, footage = case.seen, case.footage
    alone = np.flatnonzero(good & ~overlapping(seen)[:, index])
    if not len(alone):
        return None
    box = np.median(seen.box[alone, index], axis=0) * footage.zoom
    positions = case.positions[alone, index] * footage.zoom
    backgrounds = footage.sharp_background.of(alone)
    centre = centre_of(footage.sharp_images[alone], backgrounds, positions, box, footage.zoom)
    return None if centre is None else centre.scaled(1 / footage.zoom)


def _recentred(shift: Shift, centre: Centre | None) -> Shift:
    """The shift to the measured centre."""
    return shift if centre is None else replace(shift, shifts=shift.shifts + np.array(centre.middle))


def _candidate(
    case: _Case, certificate: ObjectCertificate, good: NDArray[np.bool_], centre: Centre | None
) -> _Candidate:
    """An object with its template; it is searched for wherever the theorem allows in a frame that passes its checks."""
    index, limits, seen = certificate.object, certificate.limits, case.seen
    shown = good if good.any() else np.ones_like(good)
    shift = shifts_at(case.shifts, seen.z)[shown, index]
    usual = np.median(shift, axis=0)
    off_centre = np.abs(seen.z[shown, index] + shift - seen.centre[shown, index]).max()
    theorem = certificate.theorem_px * case.certificate.scale + limits.leakage + limits.residual + off_centre
    tolerance = 0.0 if centre is None else max(centre.tolerance)
    reach = float(theorem + np.abs(shift - usual).max() + tolerance)
    typical = _typical_colour(case.footage.background, seen.z[shown, index])
    template = make_template(case.model, index, torch.tensor(typical))
    return _Candidate(certificate, good, centre, typical, Search(template, (float(usual[0]), float(usual[1])), reach))


def _largest_mismatch(one: _Candidate, residuals: Array, kept_out: NDArray[np.intp]) -> float:
    """eps, from frames that training never saw and in which the object passes its checks; 0 if there are none."""
    known = residuals[kept_out[one.good[kept_out]], one.index]
    known = known[np.isfinite(known)]
    return KAPPA * float(known.max()) if len(known) else 0.0


def _membership(case: _Case, one: _Candidate, found: Feasible) -> SetMembership | None:
    """What is stored of an object; None if its centre, its mismatch or its rendering could not be measured."""
    index = one.index
    known = one.good & np.isfinite(found.best[:, index]).all(axis=1)
    if one.centre is None or not one.search.eps or not known.any():
        return None
    centroid = np.median((found.best - case.positions)[known, index], axis=0)
    rendered_at = case.positions[known, index] - np.array(one.search.shift)
    return SetMembership(
        eps=one.search.eps,
        tolerance=one.centre.tolerance,
        centroid=(float(centroid[0]), float(centroid[1])),
        shift=one.search.shift,
        reach=one.search.reach,
        floor=_floor(one.search.template, case.stage, rendered_at, one.typical),
        typical=one.typical,
    )


def _planted(case: _Case, one: _Candidate, found: Feasible) -> Check:
    """Assumption 4 on planted truth: every planted position must lie inside its feasible set."""
    index, template, kept_out = one.index, one.search.template, case.kept_out
    rendered_at = (case.seen.z + case.seen.offset)[:, index]
    known = one.good & np.isfinite(found.low[:, index]).all(axis=1)
    centroids = np.where(known[kept_out, None], found.best[kept_out, index], np.nan)
    rendered = plant_template(case.stage, case.model, index, template, rendered_at[one.good])
    pasted = paste_pixels(case.stage, template, rendered_at[kept_out], centroids)
    inside = outside = refused = 0
    for planted in (rendered, *([] if pasted is None else [pasted])):
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
    model, background = case.model, case.footage.background
    searches: list[Search | None] = [None] * model.config.objects
    searches[one.index] = one.search
    seen = run(
        model,
        planted.images,
        background,
        None if background.is_still else planted.backgrounds,
        encoder_rf=case.certificate.encoder_rf,
        unused=tuple(other for other in range(model.config.objects) if other != one.index),
        searches=searches,
    )
    low, high = (values[:, one.index] for values in (seen.sets.low, seen.sets.high))
    accepted = (frame_reasons(seen, one.index, one.certificate.limits) == "") & np.isfinite(low).all(axis=1)
    within = ((planted.positions >= low) & (planted.positions <= high)).all(axis=1)
    return np.asarray(accepted), np.asarray(within)


def _typical_colour(background: BackgroundModel, z: Array) -> tuple[float, ...]:
    """The mean colour of the background where the object moves."""
    height, width = background.images.shape[1:3]
    rows, columns = (z[:, axis].astype(int).clip(0, limit - 1) for axis, limit in ((1, height), (0, width)))
    return tuple(float(value) for value in background.images[0][rows, columns].mean(axis=0))


def _floor(template: Template, stage: Stage, rendered_at: Array, typical: Sequence[float]) -> float | None:
    """The Cramer-Rao limit of the object's position, px, larger axis; None if no part of the frames is at rest."""
    noise = _noise_windows(template, stage, rendered_at)
    if len(noise) < FEWEST_WINDOWS:
        return None
    half, background = PHASES // 2, template.opacity.new_tensor(typical)[:, None, None]
    rendered = template.colour - template.opacity * background
    floors = []
    for after, before in (((half, half + 1), (half, half - 1)), ((half + 1, half), (half - 1, half))):
        slope = ((rendered[after] - rendered[before]) * (PHASES / 2)).permute(1, 2, 0).cpu().numpy()
        length = float(np.linalg.norm(slope))
        along = [float((window * slope).sum()) / max(length, 1e-12) for window in noise]
        floors.append(cramer_rao(length, float(np.std(along))))
    return max(floors)


def _noise_windows(template: Template, stage: Stage, rendered_at: Array) -> list[NDArray[np.float32]]:
    """Differences from the background where the object is at other times and nothing has changed now."""
    height, width = stage.changed.shape[1:]
    chosen = rendered_at[:: max(1, len(rendered_at) // NOISE_POSITIONS)]
    found = []
    for frame, changed in enumerate(stage.changed):
        difference = to_float(stage.images[frame]) - stage.background(frame)
        for x, y in np.floor(chosen).astype(int):
            left, top = x + template.left, y + template.top
            rows, columns = slice(top, top + template.height), slice(left, left + template.width)
            inside = left >= 0 and top >= 0 and columns.stop <= width and rows.stop <= height
            if inside and not changed[rows, columns].any():
                found.append(difference[rows, columns])
    return found
