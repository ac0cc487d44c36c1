"""One training on what was seen in a clip, and what can be certified of it."""

import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from withinpx import __version__
from withinpx.certificate.assumptions import check_object
from withinpx.certificate.certificate import Certificate, ObjectCertificate, reasons
from withinpx.certificate.recorded import Recorded
from withinpx.certificate.shift import Shift, fitted_shifts
from withinpx.data.selection import Selection
from withinpx.discovery.background import to_uint8
from withinpx.discovery.inspection import Inspection
from withinpx.discovery.objects import MovingObject
from withinpx.inference.observation import Observations, reconstruct, windows_around
from withinpx.model.autoencoder import Autoencoder, new_network
from withinpx.model.background import BackgroundMode, LayeredBackground
from withinpx.model.field import masked
from withinpx.model.receptive_field import measured_receptive_field
from withinpx.model.windows import crop_images
from withinpx.theory.bound import GATE_PX
from withinpx.tracking.detector import Detector, frames_of
from withinpx.tracking.plan import Plan
from withinpx.training.clip_engine import clip_engine
from withinpx.training.device import denormals_as_zero
from withinpx.training.fit import FitSettings, learn, to_device
from withinpx.training.recipe import CLIP

ATTEMPTS = "attempts"  # the folder of those that are under way
KEEP_OUT = 5  # one frame in this many is kept out of training
STEPS = 320  # of training on a video, where a frame is much like the one before
STEPS_OF_A_SET = 960  # on pictures in no order, of which each is another
SHORT_GAP = 5  # frames: a mover missing for no longer than this is merged with another or covered, not gone
UNSEEN = 0.5  # a thing that nobody draws counts if it is this much of the smallest object's area


@dataclass(frozen=True)
class Job:
    """What is to be learned."""

    inspection: Inspection
    plan: Plan
    selection: Selection  # of the recording, with the scale that is worked at
    recording: tuple[int, int]  # width and height of the recording's pictures, px
    source: str
    recorded: Recorded | None = None  # the frames before they were scaled down, if they were


@dataclass(frozen=True)
class Attempt:
    """A trained detector and what it made of the frames that were looked at."""

    detector: Detector
    seen: Observations
    kept_out: NDArray[np.intp]
    seed: int = 0

    @property
    def merit(self) -> tuple[float, ...]:
        """The better of two attempts has more: objects certified, then positions, then smaller residuals."""
        certificate = self.detector.certificate
        certified = sum(each.certified for each in certificate.objects)
        positions = (reasons(self.seen, certificate) == "").mean()
        residual = np.nanmedian(self.seen.residual) if self.seen.present.any() else np.inf
        return float(certified), float(positions), -float(residual)


def attempt(job: Job, seed: int, settings: FitSettings) -> Attempt:
    """Train and certify."""
    with denormals_as_zero():
        return _attempt(job, seed, settings)


def _attempt(job: Job, seed: int, settings: FitSettings) -> Attempt:
    inspection, plan = job.inspection, job.plan
    model = to_device(new_network(plan.network, seed), settings.device)
    images, backdrop = inspection.images, inspection.background
    everything = np.arange(len(images))
    kept_out = everything[everything % KEEP_OUT == KEEP_OUT // 2] if len(images) >= 2 * KEEP_OUT else everything
    trained = np.setdiff1d(everything, kept_out) if len(images) >= 2 * KEEP_OUT else everything
    if isinstance(model.background, LayeredBackground):
        model.background.still.copy_(torch.from_numpy(backdrop.images[0]).permute(2, 0, 1))
    frames = frames_of(to_uint8(images[trained]), backdrop.of(trained), backdrop, settings.device)
    movers = inspection.objects[: plan.followed]
    present = torch.from_numpy(presence(movers, len(images), plan.network.objects)[trained]).to(settings.device)
    shown, behind = (frames.images / 255).contiguous(), frames.backgrounds.contiguous()
    engine = clip_engine(model, shown, frames.changed, behind, present)
    centres = torch.from_numpy(known_centres(movers, len(images), plan.network.objects)[trained]).to(settings.device)
    recipe = replace(CLIP, batch_size=min(CLIP.batch_size, len(trained)))
    steps = STEPS_OF_A_SET if inspection.unordered else STEPS
    recipe = replace(recipe, epochs=max(1, steps // max(1, len(trained) // recipe.batch_size)))
    learn(engine, len(trained), centres, recipe, seed=seed, settings=settings)
    return replace(certified_attempt(job, model, kept_out), seed=seed)


def certified_attempt(job: Job, model: Autoencoder, kept_out: NDArray[np.intp]) -> Attempt:
    """Look at all frames with a trained network, and say what can be promised."""
    plan, backdrop = job.plan, job.inspection.background
    unused = tuple(range(plan.followed, plan.network.objects))
    nothing = Certificate(job.source, 0, 0, 0, 0, 0.0, 0.0, job.selection.scale, (), unused)
    shift = tuple(Shift.everywhere(np.zeros(2)) for _ in range(plan.network.objects))
    camera_moves = job.inspection.camera_moves
    bare = Detector(model, backdrop, job.selection, job.recording, shift, nothing, camera_moves)
    seen = bare.observe(to_uint8(job.inspection.images), backdrop.images)
    shift = shifts_of(job, seen)
    certificate = certify(job, model, seen, kept_out, shift)
    return Attempt(replace(bare, shift=shift, certificate=certificate), seen, kept_out)


def shifts_of(job: Job, seen: Observations) -> tuple[Shift, ...]:
    """From z to the middles of the bodies: as they were recorded or found, where that is sharper than what is drawn."""
    inspection, network, recorded = job.inspection, job.plan.network, job.recorded
    if inspection.unordered:
        found = known_centres(inspection.objects[: job.plan.followed], len(seen), network.objects)
        return fitted_shifts(seen, found.astype(np.float64) - seen.offset, varies=True)
    varies = network.background is BackgroundMode.PERSPECTIVE
    if recorded is None and varies:  # what a decoder draws that knows where it draws is less sharp than what it saw
        recorded = Recorded(to_uint8(inspection.images), inspection.background.images, 1.0)
    return fitted_shifts(seen, seen.body if recorded is None else recorded.bodies(seen) - seen.offset, varies)


def certify(
    job: Job, model: Autoencoder, seen: Observations, kept_out: NDArray[np.intp], shift: tuple[Shift, ...]
) -> Certificate:
    """The certificate of a trained network on the frames that were looked at."""
    plan, scale = job.plan, job.selection.scale
    stamps = drawings(model, seen)
    objects = []
    for each in range(plan.followed):
        twins = tuple(j if i == each else i for i, j in job.inspection.alike if each in (i, j))
        some = seen.only(kept_out)
        found = check_object(model, some, seen, stamps[: plan.followed], each=each, scale=scale, twins=twins)
        x, y = np.median(shift[each].steps, axis=0) / scale
        size = (found.size.smallest / scale, found.size.largest / scale)
        objects.append(
            ObjectCertificate(each, size, found.bound / scale, (float(x), float(y)), found.limits, found.checks)
        )
    exact = copy.deepcopy(model).cpu().double()
    encoder_rf = measured_receptive_field(exact.encoder, model.config.colours) + GATE_PX
    decoder_rf = measured_receptive_field(exact.decoder, model.config.objects + model.background.input_maps)
    return Certificate(
        source=job.source,
        frames=len(seen),
        kept_out=len(kept_out) if len(kept_out) < len(seen) else 0,
        encoder_rf=encoder_rf,
        decoder_rf=decoder_rf,
        sigma=model.config.sigma,
        support=float(model.config.support or 0.0),
        scale=scale,
        objects=tuple(objects),
        unused=tuple(range(plan.followed, plan.network.objects)),
        warnings=(*plan.warnings, *unseen_things(seen, plan.followed)),
        version=__version__,
    )


def unseen_things(seen: Observations, movers: int) -> list[str]:
    """A warning if something moves that nobody draws."""
    areas = [np.prod(seen.box[seen.present[:, each], each], axis=-1) for each in range(movers)]
    smallest = min((float(np.median(each)) for each in areas if len(each)), default=np.inf)
    often = float((seen.unexplained[:, 0] > UNSEEN * smallest).mean())
    return [f"something that nobody follows is seen in {often:.0%} of the frames"] if often > 0.1 else []


@torch.no_grad()
def drawings(model: Autoencoder, seen: Observations) -> Tensor:
    """What each heatmap draws alone, as a difference from mid grey: (n, c, h, w)."""
    config, device = model.config, next(model.parameters()).device
    places = torch.zeros(config.objects, config.objects, 2, device=device)
    present = torch.eye(config.objects, dtype=torch.bool, device=device)
    for each in range(config.objects):
        there = seen.present[:, each]
        where = seen.z[there, each] if there.any() else np.array([[config.width / 2, config.height / 2]])
        middle = np.array([config.width / 2, config.height / 2])
        nearest = where[int(np.abs(where - middle).max(axis=1).argmin())]
        places[each] = torch.tensor(nearest, dtype=torch.float32, device=device)
    grey = torch.full((1, config.colours, config.height, config.width), 0.5, device=device)
    drawn = reconstruct(model, places, present, grey) - reconstruct(model, places, torch.zeros_like(present), grey)
    windows = windows_around(places.diagonal(dim1=0, dim2=1).T, model)
    return masked(crop_images(drawn, windows), windows, (config.height, config.width))


def known_centres(movers: tuple[MovingObject, ...], frames: int, objects: int) -> NDArray[np.float32]:
    """Where each mover's blob is (frames, objects, 2); not a number where it is not seen by itself."""
    centres = np.full((frames, objects, 2), np.nan, np.float32)
    for each, mover in enumerate(movers):
        for blob in mover.blobs:
            centres[blob.frame, each] = blob.centre
    return centres


def presence(movers: tuple[MovingObject, ...], frames: int, objects: int) -> NDArray[np.bool_]:
    """Which movers are in which frame, as far as can be told: gone is what is missing for long."""
    present = np.zeros((frames, objects), dtype=bool)
    for each, mover in enumerate(movers):
        seen = np.array(mover.frames)
        present[seen, each] = True
        for before, after in pairwise(seen.tolist()):
            if after - before <= SHORT_GAP + 1:
                present[before:after, each] = True
    return present


def thumbnails(attempt: Attempt, side: int = 3) -> list[NDArray[np.uint8]]:
    """What each heatmap draws, cut out, for a page or a figure."""
    drawn = drawings(attempt.detector.model, attempt.seen) + 0.5
    pictures = []
    for each in attempt.detector.certificate.objects:
        picture = drawn[each.object]
        changed = (picture - 0.5).abs().amax(dim=0)
        rows, columns = (changed >= 0.1 * changed.amax()).nonzero(as_tuple=True)
        top, bottom = int(rows.min()), int(rows.max())
        left, right = int(columns.min()), int(columns.max())
        box = picture[:, max(0, top - side) : bottom + side + 1, max(0, left - side) : right + side + 1]
        pictures.append((box.clamp(0, 1).permute(1, 2, 0).cpu().numpy() * 255).round().astype(np.uint8))
    return pictures


def folder_of(out: Path, seed: int) -> Path:
    """Where an attempt keeps its log and its checkpoints."""
    return out / ATTEMPTS / f"seed-{seed}"
