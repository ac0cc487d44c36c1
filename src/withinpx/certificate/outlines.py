"""Outlines measured on a clip: the sets of objects that have no template, since they turn or deform."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from withinpx.certificate.case import Case, planted_check
from withinpx.certificate.certificate import Check, ObjectCertificate, SetMembership, frame_reasons
from withinpx.certificate.ends import FULL_SHARE
from withinpx.certificate.planting import paste_regions
from withinpx.discovery.background import difference
from withinpx.inference.observation import Feasible
from withinpx.inference.outline import EDGE, EDGE_PX, Outline
from withinpx.theory.fences import fences
from withinpx.theory.set_membership import half_width

SMALLEST_PX = 8 * EDGE_PX  # side of an object: of a smaller one, most of the outline is its blurred edge
SMALL_PX = 14 * EDGE_PX  # of a smaller one the outline must be steady: strong compression misplaces its edges
JUMPS = 1.5  # times the largest jump of its size seen, an edge may be off; so is eps of the largest residual seen
SPARE = 0.1  # of its size: by so much may the outline of a rigid object seem to vary,
BLUR_PX = 1.0  # and by so much more, since its edges are blurred
TIGHT_PX, TIGHT = 1.0, 0.1  # of the recording, or of the object's size: what people need; a template that says as much
# needs no outline

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Outlined:
    """An object whose sets could be its outlines."""

    object: int
    membership: SetMembership
    check: Check
    found: Feasible
    usual_px: float  # half of the frames' bounds are smaller, px of the network's input
    sizes: Array  # (f,): its larger side where it is seen by itself, else NaN; px of the network's input


def measure_outline(case: Case, certificate: ObjectCertificate) -> Outlined | None:
    """None if its edges cannot be seen, or no frame shows it by itself."""
    index = certificate.object
    good = frame_reasons(case.seen, index, certificate.limits) == ""
    shown = np.flatnonzero(good & case.alone[:, index])
    if not len(shown):
        return None
    noise = float(np.median(case.footage.sharp_background.threshold))
    outline = Outline(_strength(case, index, shown), noise, case.theorem_px(certificate, good, case.shifts[index]))
    if not outline.is_clear:
        return None
    found = case.find({index: outline})
    sizes = np.where(good & case.alone[:, index], found.size[:, index], np.nan)
    if not np.isfinite(sizes).any():
        return None
    outline = replace(outline, sizes=usual_sizes(sizes, BLUR_PX / case.footage.zoom))
    found = found.without(~outline.can_have(found.size[:, index]))
    return Outlined(
        index,
        SetMembership(noise, (0.0, 0.0), (0.0, 0.0), outline.reach, None, outline.strength, outline.sizes),
        _planted(case, certificate, outline, found, good),
        found,
        usual_bound(found, found.best, index, good),
        sizes,
    )


def changes_size(sizes: Array, expected: Array, blur: float) -> bool:
    """Do an object's sizes (f,) vary, over the expected ones, by more than edges are blurred? NaN is unknown."""
    relative = sizes / expected
    if not np.isfinite(relative).any():
        return False
    smaller, usual, larger = np.nanquantile(relative, (0.05, 0.5, 0.95)).tolist()
    return bool(larger - smaller > SPARE * usual + blur)


def usual_sizes(sizes: Array, blur: float) -> tuple[float, float]:
    """Between which sizes an outline is the object's alone: Tukey's fences, or as far as edges are blurred.

    Beyond them it may have merged with something else. NaN is unknown.
    """
    return fences(sizes, blur)


def moves_within(middles: Array, positions: Array, size: float, blur: float) -> bool:
    """Does the middle of an object's outline (f, 2) move against its position (f, 2)? That of one that turns does."""
    apart = (middles - positions)[np.isfinite(middles - positions).all(axis=1)]
    if not len(apart):
        return False
    spread = np.quantile(np.abs(apart - np.median(apart, axis=0)), 0.9, axis=0)
    return bool(spread.max() > max(blur, SPARE * size) / 2)


def says_enough(case: Case, outlined: Outlined) -> bool:
    """Is the object large enough for its outline, better known by it, and is that the same wherever it is planted?"""
    size = float(np.nanmedian(outlined.sizes)) * case.footage.zoom
    large = size >= SMALL_PX or (size >= SMALLEST_PX and steady(case, outlined))
    return large and outlined.check.met and outlined.usual_px < outlined.membership.reach


def steady(case: Case, outlined: Outlined) -> bool:
    """Does the outline keep its size from frame to frame?"""
    return is_steady(outlined.sizes * case.footage.zoom, *case.neighbours(outlined.object))


def is_steady(sizes: Array, before: Places, after: Places) -> bool:
    """Does the size (f,), px of the recording, never jump from frame to frame? In a strongly compressed video it does.

    An edge that a codec misplaces by a px changes the size by as much for a frame. ``before`` and ``after`` each frame
    are these (f,), -1 for none.
    """
    known = (before >= 0) & (after >= 0)
    jumps = np.abs(sizes - (sizes[before] + sizes[after]) / 2)[known]
    jumps = jumps[np.isfinite(jumps)]
    return bool(len(jumps)) and JUMPS * float(jumps.max()) <= max(EDGE_PX, EDGE * float(np.nanmedian(sizes)))


def is_tight(case: Case, size: Array | float, bound_px: Array | float) -> Mask:
    """Which bounds are as small as people need them? Not NaN. All in px of the network's input."""
    return np.asarray(bound_px <= np.maximum(TIGHT_PX * case.certificate.scale, TIGHT * np.asarray(size)))


def usual_bound(found: Feasible, positions: Array, index: int, good: NDArray[np.bool_]) -> float:
    """The median over the good frames of the half-width of an object's sets around its positions (f, n, 2)."""
    widths = half_width(found.low[good, index], found.high[good, index], positions[good, index]).max(axis=-1)
    return float(np.median(np.nan_to_num(widths, nan=np.inf)))


def _strength(case: Case, index: int, shown: NDArray[np.intp]) -> float:
    """By how much the object usually differs from the background."""
    seen, footage = case.seen, case.footage
    strengths = []
    for frame in shown:
        middle, half = (seen.centre + seen.offset)[frame, index], seen.box[frame, index] / 2
        left, top = np.floor((middle - half) * footage.zoom).clip(0).astype(int)
        right, bottom = np.ceil((middle + half) * footage.zoom).astype(int)
        part = slice(top, max(bottom, top + 1)), slice(left, max(right, left + 1))
        background = footage.sharp_background.of(slice(frame, frame + 1))[0]
        contrast = difference(footage.sharp_images[frame][part][None], background[part][None])
        strengths.append(float(np.quantile(contrast, 1 - FULL_SHARE)) if contrast.size else 0.0)
    return float(np.median(strengths))


def _planted(
    case: Case, certificate: ObjectCertificate, outline: Outline, found: Feasible, good: NDArray[np.bool_]
) -> Check:
    """Assumption 6 on planted truth: the object's own pixels, pasted elsewhere, have the same outline there.

    Only where its centre is tightly known: in the middle of a wide range it need not be.
    """
    index, zoom = certificate.object, case.footage.zoom
    low, high = found.low[:, index], found.high[:, index]
    known = good & case.alone[:, index] & is_tight(case, found.size[:, index], (high - low).max(axis=1) / 2)
    centres = np.where(known[:, None], (low + high) / 2, np.nan)[case.kept_out] * zoom
    half = case.seen.box[case.kept_out, index] / 2 * zoom
    planted = paste_regions(case.stage, centres, half)
    outcomes = [] if planted is None else [case.accepted_and_within(certificate, outline, planted)]
    what = f"its outline, what differs from the background by more than {outline.level:.3f}, is the same elsewhere:"
    return planted_check(what, "pasted", outcomes)
