"""From an inspected clip to the network that is trained on it."""

import math
from dataclasses import dataclass

from withinpx.discovery.inspection import Inspection
from withinpx.errors import InputError
from withinpx.model.autoencoder import NetworkConfig
from withinpx.model.background import BackgroundMode
from withinpx.theory import CompactSupport, SizeRange
from withinpx.theory.bound import GATE_PX, theorem
from withinpx.theory.design import SUPPORT_SIGMAS, design
from withinpx.theory.receptive_field import LARGEST_RECEPTIVE_FIELD
from withinpx.tracking.options import LARGEST_OBJECT, SPARE, TrackOptions

GROWTH = 1.6  # an object whose size varies by more than this over its positions grows


@dataclass(frozen=True)
class Plan:
    """The network, and why it is chosen."""

    network: NetworkConfig
    followed: int  # objects that are followed, the most prominent ones; the other heatmaps are spare
    bound: float  # theorem 4.1 for the sizes seen, px of the recording; measured again after training
    why: str
    warnings: tuple[str, ...] = ()
    grows: bool = False  # does the size of an object depend on where it is?


def working_scale(inspection: Inspection, largest_object: float) -> float:
    """The scale, relative to the inspected frames, at which no object is larger than this."""
    largest = inspection.sizes[1]
    return 1.0 if largest <= largest_object else math.floor(100 * largest_object / largest) / 100


def make_plan(inspection: Inspection, options: TrackOptions) -> Plan:
    found, scale = len(inspection.objects), inspection.clip.selection.scale
    objects = found if options.objects == "auto" else options.objects
    followed = inspection.objects[:objects]
    seen = min(obj.sizes[0] for obj in followed), max(obj.sizes[1] for obj in followed)
    sizes = SizeRange(*(min(size, LARGEST_OBJECT) for size in seen))
    chosen = design(sizes, None if options.target is None else options.target * scale, options.sigma, SPARE)
    clip, support = inspection.clip, SUPPORT_SIGMAS * chosen.sigma
    shortest = min(clip.height, clip.width)
    network = NetworkConfig(
        clip.height,
        clip.width,
        _encoder_rf(options, min(chosen.encoder_rf, shortest - 1 + shortest % 2)),
        options.decoder_rf or chosen.decoder_rf,
        chosen.sigma,
        support,
        objects=objects,
        colours=clip.colours,
        channels=options.channels,
        appearance=0 if options.appearance == "auto" else options.appearance,
        background=_mode(options),
    )
    bound = theorem(network.encoder_rf + GATE_PX, network.decoder_rf, sizes, CompactSupport(support)).bound / scale
    why = f"{chosen.rationale}: a bound of about {bound:.1f} px on z, measured again after training."
    grows = not inspection.camera_moves and max(obj.growth for obj in followed) > GROWTH
    return Plan(network, min(objects, found), bound, why, tuple(_warnings(inspection, objects)), grows)


def _encoder_rf(options: TrackOptions, chosen: int) -> int:
    largest = LARGEST_RECEPTIVE_FIELD - GATE_PX
    if options.encoder_rf is not None and options.encoder_rf > largest:
        raise InputError(
            f"The encoder's receptive field is {options.encoder_rf} px: at most {largest} px can be used on a clip, "
            f"since separating foreground from background takes {GATE_PX} px more."
        )
    return options.encoder_rf or min(chosen, largest)


def _mode(options: TrackOptions) -> BackgroundMode:
    return BackgroundMode.PERSPECTIVE if options.background == "perspective" else BackgroundMode.LAYERED


def _warnings(inspection: Inspection, objects: int) -> list[str]:
    found = len(inspection.objects)
    warnings = [f"objects {i} and {j} look alike: they may be confused" for i, j in inspection.alike]
    if found > objects:
        warnings.append(f"{found} objects move and {objects} are followed (--objects): the others are left out")
    for stationary in inspection.stationary:
        x, y = stationary.blobs[0].centre
        warnings.append(f"something changes at ({x:.0f}, {y:.0f}) but never moves away: it is no object")
    return warnings
