"""From a trained network and its observations of a clip to the certificate."""

import copy
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from withinpx.certificate.assumptions import ReceptiveFields, check_object
from withinpx.certificate.calibration import Shift
from withinpx.certificate.certificate import UNEXPLAINED, Certificate, ObjectCertificate
from withinpx.inference.codes import appearances
from withinpx.inference.observation import Observations
from withinpx.model.autoencoder import Autoencoder
from withinpx.model.cnn import CNN, reach_of
from withinpx.model.receptive_field import measured_receptive_field
from withinpx.theory.bound import GATE_PX
from withinpx.theory.receptive_field import LARGEST_UNDILATED

UNEXPLAINED_SHARE = 0.1  # of the frames: so often a region that no object explains must occur to count


@dataclass(frozen=True)
class Subject:
    """What a certificate is about."""

    source: str
    scale: float  # px of the network's input per px of the recording
    followed: int  # heatmaps that follow an object; the others are unused
    look_alikes: tuple[tuple[int, int], ...] = ()  # pairs of objects that inspection cannot tell apart
    warnings: tuple[str, ...] = ()


def receptive_fields(model: Autoencoder) -> ReceptiveFields:
    """Measured in double precision on the trained weights, on a canvas that is wider than all filters reach."""
    exact, config = copy.deepcopy(model).cpu().double(), model.config
    outputs = [slice(config.objects)] + [slice(config.objects, None)] * (config.appearance > 0)  # heatmaps, and codes
    encoder = max(
        measured_receptive_field(partial(_maps, exact.encoder, own), config.colours, _canvas(exact.encoder))
        for own in outputs
    )
    decoder = measured_receptive_field(exact.decoder, model.decoder_inputs, _canvas(exact.decoder))
    return ReceptiveFields(encoder + GATE_PX, decoder)


def _canvas(cnn: CNN) -> int:
    """At least that of undilated filters."""
    reach = sum(reach_of(layer) for layer in cnn if isinstance(layer, nn.Conv2d))
    return max(LARGEST_UNDILATED, 2 * reach + 1) + 2


def _maps(cnn: nn.Module, outputs: slice, images: Tensor) -> Tensor:
    maps: Tensor = cnn(images)
    return maps[:, outputs]


def certify(
    subject: Subject,
    model: Autoencoder,
    seen: Observations,
    *,
    fields: ReceptiveFields,
    kept_out: NDArray[np.intp],
    shifts: tuple[Shift, ...],
    version: str = "",
) -> Certificate:
    """Check every assumption for every object. ``kept_out`` are the frames that training never saw."""
    scale = subject.scale
    rendered = appearances(model, seen)[: subject.followed]
    unseen = seen.only(kept_out)
    objects = []
    for index in range(subject.followed):
        look_alikes = tuple(j if i == index else i for i, j in subject.look_alikes if index in (i, j))
        found = check_object(model, fields, unseen, seen, rendered, index=index, scale=scale, look_alikes=look_alikes)
        size = (found.size.smallest / scale, found.size.largest / scale)
        x, y = np.median(shifts[index].shifts, axis=0) / scale
        objects.append(
            ObjectCertificate(index, size, found.theorem_px / scale, (float(x), float(y)), found.limits, found.checks)
        )
    return Certificate(
        source=subject.source,
        frames=len(seen),
        kept_out=len(kept_out) if len(kept_out) < len(seen) else 0,
        encoder_rf=fields.encoder,
        decoder_rf=fields.decoder,
        sigma=model.config.sigma,
        support=float(model.config.support or 0.0),
        scale=scale,
        objects=tuple(objects),
        unused=tuple(range(subject.followed, model.config.objects)),
        warnings=(*subject.warnings, *_unexplained(seen, subject.followed)),
        version=version,
    )


def unexplained_frames(seen: Observations, followed: int) -> NDArray[np.bool_]:
    """In which frames something moves that no object explains (f,); none if these are few."""
    areas = [np.prod(seen.box[seen.present[:, index], index], axis=-1) for index in range(followed)]
    smallest = min((float(np.median(area)) for area in areas if len(area)), default=np.inf)
    found = seen.unexplained[:, 0] > UNEXPLAINED * smallest
    return np.asarray(found & (found.mean() > UNEXPLAINED_SHARE))


def _unexplained(seen: Observations, followed: int) -> list[str]:
    """A warning if something moves that no object explains."""
    share = float(unexplained_frames(seen, followed).mean())
    return [f"something that no object explains moves in {share:.0%} of the frames"] if share else []
