"""From what was seen in a clip to the network that will follow it."""

import math
from dataclasses import dataclass, replace

from withinpx.data.selection import Selection
from withinpx.discovery.inspection import Inspection
from withinpx.errors import InputError
from withinpx.model.autoencoder import NetworkConfig
from withinpx.model.background import BackgroundMode
from withinpx.theory import CompactSupport, SizeRange
from withinpx.theory.bound import GATE_PX, theorem
from withinpx.theory.design import SUPPORT_SIGMAS, design, odd_at_least
from withinpx.theory.receptive_field import LARGEST_RECEPTIVE_FIELD

LARGEST_OBJECT = 25.0  # px that the network's pictures show of the largest thing; larger ones are worked on scaled down
SPARE = 2.0  # px that the decoder is wider than the largest thing seen
PERSPECTIVE = 1.6  # a thing whose size varies by more than this looks different from place to place


@dataclass(frozen=True)
class Wishes:
    """What a person may fix; None leaves the choice to the plan."""

    objects: int | None = None
    background: str = "auto"  # auto, layered, perspective, nearby
    encoder_rf: int | None = None
    decoder_rf: int | None = None
    sigma: float | None = None
    target: float | None = None  # px of the recording
    channels: int = 32


@dataclass(frozen=True)
class Plan:
    """The network, and why."""

    network: NetworkConfig
    followed: int  # that are followed, the most prominent ones; the other heatmaps are spare
    bound: float  # what the theorem says of the sizes seen, px of the recording; what holds is measured after training
    why: str
    warnings: tuple[str, ...] = ()


def working_scale(inspection: Inspection) -> float:
    """The scale, relative to the pictures looked at, at which the largest thing is small enough to be drawn."""
    largest = inspection.sizes[1]
    return 1.0 if largest <= LARGEST_OBJECT else math.floor(100 * LARGEST_OBJECT / largest) / 100


def scaled(selection: Selection, by: float) -> Selection:
    """The same part of the recording, smaller."""
    return replace(selection, scale=selection.scale * by)


def make_plan(inspection: Inspection, wishes: Wishes, scale: float) -> Plan:
    """The network for what was seen, at pictures of ``scale`` of the recording."""
    seen = len(inspection.objects)
    objects = seen if wishes.objects is None else wishes.objects
    if objects < 1:
        raise InputError(f"The number of objects is {objects}: give one at least, or auto.")
    followed = inspection.objects[:objects]
    sizes = SizeRange(min(each.sizes[0] for each in followed), max(each.sizes[1] for each in followed) + SPARE)
    if odd_at_least(sizes.largest) > LARGEST_RECEPTIVE_FIELD:
        sizes = SizeRange(min(sizes.smallest, LARGEST_RECEPTIVE_FIELD), LARGEST_RECEPTIVE_FIELD)
    chosen = design(sizes, None if wishes.target is None else wishes.target * scale, wishes.sigma)
    height, width, colours = inspection.images.shape[1:]
    network = NetworkConfig(
        height,
        width,
        _encoder_rf(wishes, min(chosen.encoder_rf, odd_below(min(height, width)))),
        wishes.decoder_rf or chosen.decoder_rf,
        chosen.sigma,
        SUPPORT_SIGMAS * chosen.sigma,
        objects=objects,
        colours=colours,
        channels=wishes.channels,
        background=_mode(inspection, wishes, objects),
    )
    reach = CompactSupport(SUPPORT_SIGMAS * chosen.sigma)
    bound = theorem(network.encoder_rf + GATE_PX, network.decoder_rf, sizes, reach).bound / scale
    why = f"{chosen.made_so}: a bound of about {bound:.1f} px, to be measured after training."
    return Plan(network, min(objects, seen), bound, why, tuple(_warnings(inspection, objects)))


def _encoder_rf(wishes: Wishes, chosen: int) -> int:
    largest = LARGEST_RECEPTIVE_FIELD - GATE_PX
    if wishes.encoder_rf is not None and wishes.encoder_rf > largest:
        raise InputError(
            f"The encoder's receptive field is {wishes.encoder_rf} px: at most {largest} px can be used on a clip, "
            f"since telling the background apart takes {GATE_PX} px more."
        )
    return wishes.encoder_rf or min(chosen, largest)


def odd_below(length: int) -> int:
    """The largest odd whole number that is no larger."""
    return length - 1 + length % 2


def _mode(inspection: Inspection, wishes: Wishes, objects: int) -> BackgroundMode:
    if wishes.background in ("layered", "perspective"):
        return BackgroundMode(wishes.background)
    growing = max(mover.sizes[1] / mover.sizes[0] for mover in inspection.objects[:objects])
    fixed = wishes.background == "auto" and not inspection.camera_moves
    return BackgroundMode.PERSPECTIVE if fixed and growing > PERSPECTIVE else BackgroundMode.LAYERED


def _warnings(inspection: Inspection, objects: int) -> list[str]:
    seen = len(inspection.objects)
    said = [f"movers {i} and {j} look alike: they may be mixed up" for i, j in inspection.alike]
    if seen > objects:
        said.append(f"{seen} things move and {objects} are followed (--objects): the others are left out")
    for each in inspection.stationary:
        x, y = each.blobs[0].centre
        said.append(f"something changes at ({x:.0f}, {y:.0f}) but never leaves its place: it is no object")
    return said
