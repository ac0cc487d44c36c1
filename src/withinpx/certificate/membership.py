"""Set membership measured on a clip: the largest mismatch, the centre's tolerance, planted truth, and the floor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from withinpx.inference.observation import Observations
from withinpx.inference.run import run, search
from withinpx.inference.template import PHASES, Template, make_template
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.background import BackgroundMode
from withinpx.theory.set_membership import cramer_rao

KAPPA = 1.25  # eps is this times the largest of the smallest residuals of frames that training never saw
FEWEST_PLACES = 4  # without change, for the noise to be measured

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


def searches_of(model: Autoencoder, certificate: Certificate) -> list[Search | None]:
    """How the objects of a certificate are searched for; None for those without set membership."""
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
    good = {obj.object: frame_reasons(seen, obj.object, obj.limits) == "" for obj in certificate.objects}
    centres = {index: _centre(index, own, seen, shifts, footage) for index, own in good.items()}
    shifts = tuple(_recentred(shift, centres.get(index), footage.zoom) for index, shift in enumerate(shifts))
    measured = [
        _Measurement(obj, model, seen, shifts, good[obj.object], centres[obj.object], footage, certificate.scale)
        for obj in certificate.objects
    ]
    device = next(model.parameters()).device
    for find in (lambda one: one.search, lambda one: replace(one.search, eps=one.largest_mismatch(seen, kept_out))):
        searches = [find(one) for one in measured]
        for one, own in zip(measured, searches, strict=True):
            one.search = own
        padded = [*searches, *[None] * (model.config.objects - len(searches))]
        seen = search(seen, padded, device, footage.images, footage.background)
    stage = Stage.of(footage.images, footage.background, kept_out)
    objects = tuple(one.verdict(seen, shifts, kept_out, stage, certificate.encoder_rf) for one in measured)
    return Measured(replace(certificate, objects=objects), shifts, seen)


def _centre(
    index: int, good: NDArray[np.bool_], seen: Observations, shifts: tuple[Shift, ...], footage: Footage
) -> Centre | None:
    """The object's centre around its reported positions, in the frames that show it whole and by itself."""
    alone = np.flatnonzero(good & ~overlapping(seen)[:, index])
    if not len(alone):
        return None
    positions = (seen.z + shifts_at(shifts, seen.z) + seen.offset)[alone, index]
    box = np.median(seen.box[alone, index], axis=0) * footage.zoom
    backgrounds = footage.sharp_background.of(alone)
    return centre_of(footage.sharp_images[alone], backgrounds, positions * footage.zoom, box, footage.zoom)


def _recentred(shift: Shift, centre: Centre | None, zoom: float) -> Shift:
    """The shift to the middle of where the centre can be."""
    return shift if centre is None else replace(shift, shifts=shift.shifts + np.array(centre.middle) / zoom)


class _Measurement:
    """One object's set membership while it is measured."""

    def __init__(
        self,
        certificate: ObjectCertificate,
        model: Autoencoder,
        seen: Observations,
        shifts: tuple[Shift, ...],
        good: NDArray[np.bool_],
        centre: Centre | None,
        footage: Footage,
        scale: float,
    ) -> None:
        self._certificate, self._model, self._footage, self._good, self._centre = (
            certificate,
            model,
            footage,
            good,
            centre,
        )
        self.index = certificate.object
        self._tolerance = (np.inf, np.inf) if centre is None else tuple(np.array(centre.tolerance) / footage.zoom)
        shown = good if good.any() else np.ones_like(good)
        shift = shifts_at(shifts, seen.z)[shown, self.index]
        usual = np.median(shift, axis=0)
        spread = np.abs(shift - usual).max()
        off_centre = np.abs(seen.z[shown, self.index] + shift - seen.centre[shown, self.index]).max()
        limits = certificate.limits
        reach = certificate.theorem_px * scale + limits.leakage + limits.residual + off_centre + spread
        self._typical = _typical_colour(footage.background, seen.z[shown, self.index])
        template = make_template(model, self.index, torch.tensor(self._typical))
        extra = max(self._tolerance) if centre is not None else 0.0
        self.search = Search(template, (float(usual[0]), float(usual[1])), float(reach + extra))

    def largest_mismatch(self, seen: Observations, kept_out: NDArray[np.intp]) -> float:
        """eps, from frames that training never saw and in which the object is reconstructed."""
        assert seen.feasible is not None
        residuals = seen.feasible.residual[:, self.index]
        known = kept_out[self._good[kept_out] & np.isfinite(residuals[kept_out])]
        return KAPPA * float(residuals[known].max()) if len(known) else 0.0

    def verdict(
        self,
        seen: Observations,
        shifts: tuple[Shift, ...],
        kept_out: NDArray[np.intp],
        stage: Stage,
        encoder_rf: int,
    ) -> ObjectCertificate:
        """The object's certificate with set membership and the checks that belong to it."""
        certificate, found = self._certificate, seen.feasible
        assert found is not None
        known = self._good & np.isfinite(found.best[:, self.index]).all(axis=1)
        if self._centre is None or self.search.eps == 0 or not known.any():
            return certificate
        positions = (seen.z + shifts_at(shifts, seen.z) + seen.offset)[:, self.index]
        centroid = np.median((found.best[:, self.index] - positions)[known], axis=0)
        membership = SetMembership(
            eps=self.search.eps,
            tolerance=(float(self._tolerance[0]), float(self._tolerance[1])),
            centroid=(float(centroid[0]), float(centroid[1])),
            shift=self.search.shift,
            reach=self.search.reach,
            floor=_floor(self.search.template, stage, positions[known] - np.array(self.search.shift), self._typical),
            typical=self._typical,
        )
        checks = (*certificate.checks, self._mismatch(seen, kept_out, known, stage, encoder_rf))
        return replace(certificate, membership=membership, checks=checks)

    def _mismatch(
        self,
        seen: Observations,
        kept_out: NDArray[np.intp],
        known: NDArray[np.bool_],
        stage: Stage,
        encoder_rf: int,
    ) -> Check:
        """Planted objects must lie inside their feasible sets."""
        index, found = self.index, seen.feasible
        assert found is not None
        rendered_at = (seen.z + seen.offset)[:, index]
        centroids = np.where(known[kept_out, None], found.best[kept_out, index], np.nan)
        template = self.search.template
        planted = [
            plant_template(stage, self._model, index, template, rendered_at[known]),
            paste_pixels(stage, template, rendered_at[kept_out], centroids),
        ]
        counts = [self._inside(frames, encoder_rf) if frames is not None else (0, 0, 0) for frames in planted]
        inside, outside = sum(count[0] for count in counts), sum(count[1] for count in counts)
        share = inside / max(1, inside + outside)
        message = (
            f"rendered where it belongs, it leaves a residual of at most {self.search.eps:.2f}; of "
            f"{sum(map(sum, counts))} planted positions {inside} lie inside their sets, {outside} outside"
        )
        return Check("mismatch", share, 1.0, "share", outside == 0 and counts[0][0] > 0, message)

    def _inside(self, planted: Planted, encoder_rf: int) -> tuple[int, int, int]:
        """How many planted positions lie inside their sets, outside, and are refused."""
        model, index = self._model, self.index
        searches: list[Search | None] = [None] * model.config.objects
        searches[index] = self.search
        unused = tuple(other for other in range(model.config.objects) if other != index)
        background = self._footage.background
        seen = run(
            model,
            planted.images,
            background,
            planted.backgrounds if not background.is_still else None,
            encoder_rf=encoder_rf,
            unused=unused,
            searches=searches,
        )
        found = seen.feasible
        assert found is not None
        accepted = frame_reasons(seen, index, self._certificate.limits) == ""
        accepted &= np.isfinite(found.low[:, index]).all(axis=1)
        within = (planted.positions >= found.low[:, index]) & (planted.positions <= found.high[:, index])
        inside = within.all(axis=1)
        return int((accepted & inside).sum()), int((accepted & ~inside).sum()), int((~accepted).sum())


def _typical_colour(background: BackgroundModel, z: Array) -> tuple[float, ...]:
    """The mean colour of the background where the object moves."""
    height, width = background.images.shape[1:3]
    rows, columns = (z[:, axis].astype(int).clip(0, limit - 1) for axis, limit in ((1, height), (0, width)))
    return tuple(float(value) for value in background.images[0][rows, columns].mean(axis=0))


def _floor(template: Template, stage: Stage, rendered_at: Array, typical: Sequence[float]) -> float | None:
    """The Cramer-Rao limit of the object's position, px, larger axis; None if no part of the frames is at rest."""
    half, at = PHASES // 2, template.opacity.new_tensor(typical)[:, None, None]
    rendered = (template.colour - template.opacity * at)[half - 1 : half + 2, half - 1 : half + 2]
    slopes = (rendered[1, 2] - rendered[1, 0]) * (PHASES / 2), (rendered[2, 1] - rendered[0, 1]) * (PHASES / 2)
    noise = list(_noise(template, stage, rendered_at))
    if len(noise) < FEWEST_PLACES:
        return None
    floors = []
    for slope in slopes:
        direction = slope.permute(1, 2, 0).cpu().numpy()
        length = float(np.linalg.norm(direction))
        along = [float((window * direction).sum()) / max(length, 1e-12) for window in noise]
        floors.append(cramer_rao(length, float(np.std(along))))
    return max(floors)


def _noise(template: Template, stage: Stage, rendered_at: Array) -> list[NDArray[np.float32]]:
    """Differences from the background, where the object is at other times and nothing has changed now."""
    height, width = stage.changed.shape[1:]
    found = []
    for frame, changed in enumerate(stage.changed):
        difference = to_float(stage.images[frame]) - stage.background(frame)
        for x, y in np.floor(rendered_at[:: max(1, len(rendered_at) // 8)]).astype(int):
            left, top = x + template.left, y + template.top
            rows, columns = slice(top, top + template.height), slice(left, left + template.width)
            inside = left >= 0 and top >= 0 and columns.stop <= width and rows.stop <= height
            if inside and not changed[rows, columns].any():
                found.append(difference[rows, columns])
    return found
