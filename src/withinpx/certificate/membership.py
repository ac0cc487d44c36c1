"""Set membership measured on a clip: templates, the largest mismatch, the centre's tolerance, and planted truth."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from withinpx.certificate.appearance import measure_appearance
from withinpx.certificate.calibration import Shift
from withinpx.certificate.case import Case, Footage, planted_check
from withinpx.certificate.centre import Centre, centre_of, may_be_coded
from withinpx.certificate.certificate import Certificate, Check, ObjectCertificate, SetMembership, frame_reasons
from withinpx.certificate.ends import FINE, MARGIN_PX
from withinpx.certificate.floor import position_floor
from withinpx.certificate.mistaken import mistaken_frames
from withinpx.certificate.outlines import (
    BLUR_PX,
    Outlined,
    changes_size,
    is_tight,
    measure_outline,
    moves_within,
    says_enough,
    steady,
    usual_bound,
)
from withinpx.certificate.planting import paste_pixels, plant_template
from withinpx.inference.feasible import Search
from withinpx.inference.observation import Feasible, Observations
from withinpx.inference.outline import Outline
from withinpx.inference.template import Template
from withinpx.model.autoencoder import Autoencoder
from withinpx.theory.fences import fences

KAPPA = 1.5  # eps is this times the largest of the smallest residuals, outliers left out, of frames that training never
# saw, and that show the object by itself

FITS = 0.9  # of the frames that show an object by itself: a template that fits fewer is not of a rigid object
VAGUE = 0.25  # of a template: one that usually leaves so large a residual is not of a rigid object

NOWHERE = Centre((np.nan, np.nan), (np.nan, np.nan))  # not measured yet

Array = NDArray[np.float64]
Templates = tuple[Template | None, ...]  # one per heatmap


@dataclass(frozen=True)
class Measured:
    """A certificate with set membership, shifts to the measured centres, and the observations with their sets."""

    certificate: Certificate
    shifts: tuple[Shift, ...]
    seen: Observations
    templates: Templates


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


def searches_of(certificate: Certificate, templates: Templates) -> list[Search | Outline | None]:
    """How the objects of a certificate are searched for, None for those without set membership; empty if all are."""
    known = {obj.object: obj.membership for obj in certificate.objects}
    searches: list[Search | Outline | None] = []
    for index, template in enumerate(templates):
        own = known.get(index)
        if own is None:
            searches.append(None)
        elif own.strength is not None:
            searches.append(Outline(own.strength, own.eps, own.reach, own.sizes or (0.0, np.inf)))
        else:
            searches.append(None if template is None else Search(template, own.reach, own.eps))
    return searches if any(searches) else []


def measure_membership(
    certificate: Certificate,
    model: Autoencoder,
    seen: Observations,
    shifts: tuple[Shift, ...],
    *,
    kept_out: NDArray[np.intp],
    footage: Footage,
    alike: bool = False,
) -> Measured:
    """Add set membership to a certificate, for all objects whose appearance can be measured.

    A moving camera's background is known at the scale of the network only. Where the frames are views of objects that
    are ``alike``, those with unusual residuals do not count: they may show two objects, and are refused.
    """
    if footage.zoom != 1 and not footage.sharp_background.is_still:
        return Measured(certificate, shifts, seen, ())
    case = Case(certificate, model, seen, shifts, kept_out, footage)
    candidates = [one for obj in certificate.objects if (one := _candidate(case, obj)) is not None]
    first = case.find({one.index: one.search for one in candidates})
    usual = {one.index: _usual_frames(one, first) for one in candidates}
    if alike:
        candidates = [replace(one, good=usual[one.index]) for one in candidates]
    measured = (_measured(case, one, first, usual[one.index]) for one in candidates)
    candidates = [one for one in measured if one is not None]
    found = case.find({one.index: one.search for one in candidates})
    known = {one.index: (_membership(case, one, found), _planted(case, one, found)) for one in candidates}
    for index, outline in _without_template(case, candidates, known, found, alike=alike).items():
        found = found.with_object(index, Feasible.nowhere(*seen.present.shape) if outline is None else outline.found)
        known.pop(index, None)
        if outline is not None:
            known[index] = outline.membership, outline.check
        candidates = [one for one in candidates if one.index != index]
    objects = [obj.with_membership(*known[obj.object]) if obj.object in known else obj for obj in certificate.objects]
    mistaken = _mistaken(case, candidates, found)
    objects = [obj.with_check(mistaken[obj.object]) if obj.object in mistaken else obj for obj in objects]
    templates: list[Template | None] = [None] * model.config.objects
    recentred = list(shifts)
    for one in candidates:
        templates[one.index], recentred[one.index] = one.search.template, one.shift
    return Measured(
        replace(certificate, objects=tuple(objects)), tuple(recentred), replace(seen, feasible=found), tuple(templates)
    )


def _mistaken(case: Case, candidates: list[_Candidate], found: Feasible) -> dict[int, Check]:
    """The objects, by heatmap, whose templates accept another object where that one is, with the failed check."""
    templates = {one.index for one in candidates}
    failed: dict[int, Check] = {}
    for other in case.certificate.objects:
        shown = (frame_reasons(case.seen, other.object, other.limits) == "") & case.alone[:, other.object]
        if other.object in templates:
            shown &= np.isfinite(found.low[:, other.object]).all(axis=1)
        frames = np.flatnonzero(shown)
        for one in candidates if len(frames) else ():
            if one.index in (other.object, *failed):
                continue
            mistaken = mistaken_frames(case, one.search, one.index, other.object, frames)
            if mistaken:
                message = (
                    f"a residual of at most {one.search.eps:.2f} does not distinguish it from object {other.object}: "
                    f"where that one is, its template fits in {mistaken} of {len(frames)} frames (none is allowed)"
                )
                failed[one.index] = Check("mismatch", mistaken / len(frames), 0.0, "share", False, message)
    return failed


def _without_template(
    case: Case,
    candidates: list[_Candidate],
    known: Mapping[int, tuple[SetMembership, Check]],
    found: Feasible,
    *,
    alike: bool,
) -> dict[int, Outlined | None]:
    """The objects whose templates say too little, or nothing, by heatmap; with the outlines that say more.

    A template that is not tight is trusted only if the outlines show that the object is rigid: where the box of an
    object that turns has its middle, a template does not tell. In a video, outlines that jump from frame to frame are
    trusted only if the object is seen to change by what its template leaves of it: otherwise a codec moves its edges.
    Objects that are ``alike`` touch, and only templates tell those apart: a rigid one keeps it.
    """
    templates = {one.index: one for one in candidates}
    others: dict[int, Outlined | None] = {}
    for obj in case.certificate.objects:
        index, one = obj.object, templates.get(obj.object)
        usual_px = np.inf
        if one is not None and known[index][1].met:
            usual_px = usual_bound(found, found.best, index, one.good) + max(one.centre.tolerance)
            if is_tight(case, obj.size[0] * case.certificate.scale, usual_px):
                continue
        outline, explained = measure_outline(case, obj), one is not None and _explains(case, one, found)
        rigid = outline is not None and not _changes(case, one, outline, found, index, explained=explained)
        kept = alike and rigid and np.isfinite(usual_px)
        if (
            outline is not None
            and says_enough(case, outline)
            and not (explained and _may_be_coded(case, one, found) and not steady(case, outline))
            and not kept
            and (outline.usual_px < usual_px or not rigid)
        ):
            others[index] = outline
        elif not rigid:
            others[index] = None
    return others


def _may_be_coded(case: Case, one: _Candidate | None, found: Feasible) -> bool:
    """Could a codec have moved the object's edges?"""
    if one is None:
        return True
    positions, zoom = found.best[case.kept_out, one.index], case.footage.zoom
    frames = case.kept_out[np.isfinite(positions).all(axis=1)]
    return not len(frames) or may_be_coded(
        case.footage.sharp_images[frames],
        case.footage.sharp_background.of(frames),
        found.best[frames, one.index] * zoom,
        np.median(case.seen.box[frames, one.index], axis=0) * zoom,
    )


def _explains(case: Case, one: _Candidate, found: Feasible) -> bool:
    """Does an object's template explain what the frames show of it?"""
    return _unexplained(case, one, found) <= VAGUE and _fits(case, one, found) >= FITS


def _changes(
    case: Case, one: _Candidate | None, outline: Outlined, found: Feasible, index: int, *, explained: bool
) -> bool:
    """Is the object seen to be other than a rigid one, whose template would explain it?"""
    blur, count = BLUR_PX / case.footage.zoom, len(case.seen)
    if one is not None and not explained:
        return True
    expected = np.ones(count) if one is None else found.size[:, index]
    middles = (outline.found.low + outline.found.high)[:, index] / 2
    middles[~np.isfinite(outline.sizes)] = np.nan
    size = float(np.nanmedian(outline.sizes))
    turns = one is not None and moves_within(middles, found.best[:, index], size, blur)
    return turns or changes_size(outline.sizes, expected, blur)


def _fits(case: Case, one: _Candidate, found: Feasible) -> float:
    """The share of the frames that show an object by itself in which its template has a feasible position."""
    fitting = np.isfinite(found.low[one.good & case.alone[:, one.index], one.index]).all(axis=1)
    return float(fitting.mean()) if len(fitting) else 0.0


def _unexplained(case: Case, one: _Candidate, found: Feasible) -> float:
    """The residual that an object's template usually leaves, over the template itself."""
    usual = torch.from_numpy(case.footage.sharp_background.images[0].mean(axis=(0, 1))).double()
    opacity, colour = (values[0, 0] for values in one.search.template.phases)
    rendered = float((colour - opacity * usual[:, None, None]).norm())
    residual = found.residual[one.good & case.alone[:, one.index], one.index]
    residual = residual[np.isfinite(residual)]
    return float(np.median(residual)) / max(rendered, 1e-12) if len(residual) else 0.0


def _candidate(case: Case, certificate: ObjectCertificate) -> _Candidate | None:
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
    search = Search(appearance.smooth, case.theorem_px(certificate, good, shift))
    return _Candidate(certificate, good, search, appearance.recorded, shift, NOWHERE)


def usual_residual(residuals: Array) -> float:
    """The largest usual one: Tukey's fence. Infinity if none is known; NaN is unknown."""
    known = residuals[np.isfinite(residuals)]
    return fences(known, 0.0)[1] if len(known) else np.inf


def _usual_frames(one: _Candidate, first: Feasible) -> NDArray[np.bool_]:
    """The good frames without those whose residuals are unusual (f,)."""
    residuals = np.where(one.good, first.residual[:, one.index], np.nan)
    return np.asarray(residuals <= usual_residual(residuals))


def _measured(case: Case, one: _Candidate, first: Feasible, usual: NDArray[np.bool_]) -> _Candidate | None:
    """The object with its centre and eps; None if it is in no frame that training never saw, or has no clear edges.

    Both are of frames with ``usual`` residuals. In the others the network may have found another object in its place,
    which eps must not allow for.
    """
    index = one.index
    shown = one.good & np.isfinite(first.residual[:, index])
    by_itself = usual & case.alone[:, index]
    known = case.kept_out[(by_itself if by_itself[case.kept_out].any() else usual)[case.kept_out]]
    centre = _centre(case, one, first, usual)
    if centre is None or not len(known):
        return None
    apart = (first.best - case.positions)[one.good & np.isfinite(first.best[:, index]).all(axis=1), index]
    shift = replace(one.shift, shifts=one.shift.shifts + np.median(apart, axis=0) + np.array(centre.middle))
    resized = float(np.abs(first.size[shown, index] - 1).max())
    reach = case.theorem_px(one.certificate, one.good, shift) + centre.furthest * (1 + resized)
    eps = KAPPA * float(first.residual[known, index].max())
    return replace(one, search=replace(one.search, reach=reach, eps=eps), shift=shift, centre=centre)


def _centre(case: Case, one: _Candidate, first: Feasible, usual: NDArray[np.bool_]) -> Centre | None:
    """The object's centre from where its template is rendered, in the ``usual`` frames that show it by itself.

    Measured at full resolution, in px of the network's input.
    """
    seen, footage, positions = case.seen, case.footage, first.best[:, one.index]
    shown = np.flatnonzero(usual & case.alone[:, one.index] & np.isfinite(positions).all(axis=1))
    if not len(shown):
        return None
    shown = case.with_room(shown, 2 * MARGIN_PX, 2 * FINE**2)  # beside others, the noise of a video is theirs too
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


def _membership(case: Case, one: _Candidate, found: Feasible) -> SetMembership:
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


def _planted(case: Case, one: _Candidate, found: Feasible) -> Check:
    """Assumption 4 on planted truth: every planted position must lie inside its feasible set."""
    index, zoom = one.index, case.footage.zoom
    inside_set = one.good & case.alone[:, index] & np.isfinite(found.low[:, index]).all(axis=1)
    positions = np.where(inside_set[:, None], found.best[:, index], np.nan) * zoom
    rendered = plant_template(case.stage, one.recorded, positions[inside_set]) if inside_set.any() else None
    pasted = paste_pixels(case.stage, one.recorded, positions[case.kept_out])
    outcomes = [
        case.accepted_and_within(one.certificate, one.search, planted)
        for planted in (rendered, pasted)
        if planted is not None
    ]
    what = f"rendered where it belongs, it leaves a residual of at most {one.search.eps:.2f};"
    return planted_check(what, "planted", outcomes)
