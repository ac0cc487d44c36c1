"""One training on an inspected clip, and its certificate."""

import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from withinpx import __version__
from withinpx.certificate.calibration import Shift, fit_shifts
from withinpx.certificate.case import Footage
from withinpx.certificate.certificate import Certificate
from withinpx.certificate.certify import Subject, certify, receptive_fields
from withinpx.certificate.full_resolution import object_centres
from withinpx.certificate.membership import Measured, measure_membership, usual_residual
from withinpx.discovery.classes import Classes
from withinpx.discovery.inspection import Inspection
from withinpx.discovery.objects import MovingObject
from withinpx.inference.codes import shown_codes
from withinpx.inference.observation import Observations
from withinpx.inference.run import frames_on, run
from withinpx.inference.template import FLAT
from withinpx.inference.touching import measure_silhouette
from withinpx.model.autoencoder import Autoencoder, new_network
from withinpx.model.background import BackgroundMode, LayeredBackground
from withinpx.tracking.detector import Detector
from withinpx.tracking.plan import Plan
from withinpx.training.clip_engine import clip_engine
from withinpx.training.device import denormals_as_zero
from withinpx.training.fit import FitSettings, learn, to_device
from withinpx.training.recipe import CLIP

ATTEMPTS = "attempts"  # folder for the logs and checkpoints of unfinished attempts
KEEP_OUT = 5  # one frame in this many is kept out of training
STEPS = 320  # of a first training on a video, where a frame is much like the one before
UNORDERED_STEPS = 960  # of a first training on unordered images, which all differ
USUAL_CHANGE = 0.02  # of a frame's pixels change in the clips that the recipe was chosen for
SHORT_GAP = 5  # frames: an object missing for no longer than this is occluded or merged with another, not gone


@dataclass(frozen=True)
class Setup:
    """What a training starts from."""

    inspection: Inspection  # at the scale of the network's input
    plan: Plan
    original: Inspection | None = None  # at full resolution, if the clip was scaled down
    classes: Classes | None = None  # if the clip is of views of one object each (discovery/classes.py)


@dataclass(frozen=True)
class Attempt:
    """A trained detector and its observations of the inspected frames."""

    detector: Detector
    seen: Observations


def attempt(
    setup: Setup, seed: int, settings: FitSettings, *, earlier: Autoencoder | None = None, length: int = 1
) -> Attempt:
    """Train and certify a new network, or a copy of an earlier one; ``length`` times the usual number of steps."""
    with denormals_as_zero():
        count = len(setup.inspection.clip)
        frames = np.arange(count)
        kept_out = frames[frames % KEEP_OUT == KEEP_OUT // 2] if count >= 2 * KEEP_OUT else frames
        trained = np.setdiff1d(frames, kept_out) if count >= 2 * KEEP_OUT else frames
        model = train(setup, trained, seed, settings, earlier=earlier, length=length)
        return certified_attempt(setup, model, kept_out)


def train(
    setup: Setup,
    trained: NDArray[np.intp],
    seed: int,
    settings: FitSettings,
    *,
    earlier: Autoencoder | None = None,
    length: int = 1,
) -> Autoencoder:
    """A new network, or a copy of an earlier one, trained on these frames."""
    inspection, plan, device = setup.inspection, setup.plan, settings.device
    model = to_device(new_network(plan.network, seed) if earlier is None else copy.deepcopy(earlier), device)
    background, count, heatmaps = inspection.background, len(inspection.clip), plan.network.objects
    if isinstance(model.background, LayeredBackground):
        model.background.still.copy_(torch.from_numpy(background.images[0]).permute(2, 0, 1))
    frames = frames_on(device, inspection.clip.frames[trained], background, background.of(trained))
    followed = inspection.objects[: plan.followed]
    present = torch.from_numpy(presence(followed, count, heatmaps)[trained]).to(device)
    centres = torch.from_numpy(blob_centres(followed, count, heatmaps)[trained]).to(device)
    images, backgrounds = (frames.images / 255).contiguous(), frames.backgrounds.contiguous()
    stills = backgrounds.expand(len(images), -1, -1, -1)
    changes = torch.stack([((image - still) ** 2).sum(dim=0) for image, still in zip(images, stills, strict=True)])
    weights = error_weights(followed, changes * frames.changed, trained)
    engine = clip_engine(model, images, frames.changed, backgrounds, present, weights=weights)
    batch = min(CLIP.batch_size, len(trained))
    steps = length * (UNORDERED_STEPS if inspection.unordered else STEPS)
    changed = max(float(frames.changed.float().mean()), 1e-6)
    engine.loss_weight = USUAL_CHANGE / changed
    if earlier is None:
        model.encoder.start_empty(changed, outputs=heatmaps)  # codes must say something from the start
        model.decoder.start_empty(changed, model.decoder.fan_in**-0.5)  # colours are small, unlike values of heatmaps
    epochs = max(1, steps // max(1, len(trained) // batch))
    recipe = replace(CLIP, batch_size=batch, epochs=epochs)
    learned = earlier is not None
    return learn(engine, len(trained), centres, recipe, seed=seed, settings=settings, trained=learned)


def certified_attempt(setup: Setup, model: Autoencoder, kept_out: NDArray[np.intp]) -> Attempt:
    """Observe all inspected frames with a trained network, calibrate and certify."""
    inspection, plan, clip = setup.inspection, setup.plan, setup.inspection.clip
    fields = receptive_fields(model)
    unused = tuple(range(plan.followed, plan.network.objects))
    single = setup.classes is not None
    seen = run(model, clip.frames, inspection.background, encoder_rf=fields.encoder, unused=unused, single=single)
    shifts = calibrate(setup, seen)
    subject = Subject(
        Path(clip.source).name, clip.selection.scale, plan.followed, tuple(inspection.alike), plan.warnings
    )
    certificate = certify(subject, model, seen, fields=fields, kept_out=kept_out, shifts=shifts, version=__version__)
    footage = _footage(setup.original or inspection, inspection)
    if setup.classes is not None:
        footage = replace(footage, numbers=clip.numbers, apart=np.array(setup.classes.apart))
    measured = measure_membership(
        certificate, model, seen, shifts, kept_out=kept_out, footage=footage, alike=setup.classes is not None
    )
    sharp = None if inspection.camera_moves else setup.original
    detector = Detector(
        model,
        inspection.background,
        clip.selection,
        clip.size,
        measured.shifts,
        measured.certificate,
        measured.templates,
        None if sharp is None else sharp.background.images,
        (sharp or inspection).clip.selection.scale,
        inspection.camera_moves,
        inspection.unordered,
        shown_codes(seen),
        None if setup.classes is None else measured_classes(setup.classes, inspection, measured, kept_out),
    )
    return Attempt(replace(detector, certificate=_with_bounds(detector, measured.seen)), measured.seen)


def _with_bounds(detector: Detector, seen: Observations) -> Certificate:
    """The certificate with the usual bound of each object's positions."""
    tracks = detector.tracks(seen, np.arange(len(seen)), np.full(len(seen), np.nan))
    objects = [
        replace(obj, bound_px=float(np.median(bounds[certified])) if certified.any() else None)
        for obj, bounds, certified in zip(
            detector.certificate.objects, tracks.bounds.T, tracks.certified.T, strict=True
        )
    ]
    return replace(detector.certificate, objects=tuple(objects))


def measured_classes(
    classes: Classes, inspection: Inspection, measured: Measured, kept_out: NDArray[np.intp]
) -> Classes:
    """With what is measured on views of one object each; silhouettes only if no other object can be in a region."""
    images, background = inspection.clip.frames, inspection.background
    silhouettes = tuple(
        None
        if template is None or template.size != FLAT or not classes.complete
        else measure_silhouette(images, background, measured.seen, index, kept_out)
        for index, template in enumerate(measured.templates)
    )
    return replace(classes, residuals=_usual_residuals(measured.seen), silhouettes=silhouettes)


def _usual_residuals(seen: Observations) -> tuple[float, ...]:
    """The largest usual residual of each heatmap's template; infinity where there is no template.

    Of two objects that always overlap, one view may show both. It is accepted by eps if it was among those that eps is
    measured on, but it is unusual.
    """
    return tuple(map(usual_residual, seen.sets.residual.T))


def _footage(sharp: Inspection, scaled: Inspection) -> Footage:
    zoom = sharp.clip.selection.scale / scaled.clip.selection.scale
    return Footage(scaled.clip.frames, scaled.background, sharp.clip.frames, sharp.background, zoom)


def calibrate(setup: Setup, seen: Observations) -> tuple[Shift, ...]:
    """The shift from z to the object's centre, measured where the object is seen sharpest."""
    inspection, network = setup.inspection, setup.plan.network
    if inspection.unordered:
        found = blob_centres(inspection.objects[: setup.plan.followed], len(seen), network.objects)
        return fit_shifts(seen, found.astype(np.float64) - seen.offset, varies=True)
    varies = network.background is BackgroundMode.PERSPECTIVE
    if setup.original is None and not varies:
        return fit_shifts(seen, seen.body, varies)
    sharp = setup.original or inspection
    zoom = sharp.clip.selection.scale / inspection.clip.selection.scale
    return fit_shifts(
        seen, object_centres(seen, sharp.clip.frames, sharp.background.images, zoom) - seen.offset, varies
    )


def blob_centres(objects: tuple[MovingObject, ...], frames: int, heatmaps: int) -> NDArray[np.float32]:
    """Where each object's blob is (frames, heatmaps, 2); NaN where it is not seen by itself."""
    centres = np.full((frames, heatmaps, 2), np.nan, np.float32)
    for index, obj in enumerate(objects):
        for blob in obj.blobs:
            centres[blob.frame, index] = blob.centre
    return centres


def error_weights(
    objects: tuple[MovingObject, ...], changes: Float[Tensor, "f h w"], frames: NDArray[np.intp]
) -> Float[Tensor, "f 1 h w"]:
    """Weights of the changed pixels with which small and faint objects count more; 1 elsewhere.

    ``changes`` are the changed pixels' squared differences from the background, in these ``frames`` of the clip. By the
    plain mean square, a decoder that renders nothing of a small object beside a large one is nearly as good as one that
    renders both. Objects count by the root of what they change: if all counted alike, large ones, which take longest to
    learn, would not be learned.
    """
    rows = {int(frame): row for row, frame in enumerate(frames)}
    boxes = [[(rows[blob.frame], *blob.box) for blob in obj.blobs if blob.frame in rows] for obj in objects]
    energies = [
        float(np.median([float(changes[row, top:bottom, left:right].sum()) for row, left, top, right, bottom in own]))
        if own
        else 0.0
        for own in boxes
    ]
    weights = torch.ones_like(changes)
    roots = np.sqrt(energies)
    usual = float(roots @ roots / roots.sum()) if roots.sum() > 0 else 0.0  # all objects together count as before
    for root, own in sorted(zip(roots.tolist(), boxes, strict=True), reverse=True):  # of boxes that overlap, the last
        for row, left, top, right, bottom in own if root > 0 else ():
            weights[row, top:bottom, left:right] = usual / root
    return torch.where(changes > 0, weights, 1.0).unsqueeze(1)


def presence(objects: tuple[MovingObject, ...], frames: int, heatmaps: int) -> NDArray[np.bool_]:
    """Which objects are in which frame, as far as inspection can tell; short gaps count as present."""
    present = np.zeros((frames, heatmaps), dtype=bool)
    for index, obj in enumerate(objects):
        present[obj.frames, index] = True
        for before, after in pairwise(obj.frames):
            if after - before <= SHORT_GAP + 1:
                present[before:after, index] = True
    return present
