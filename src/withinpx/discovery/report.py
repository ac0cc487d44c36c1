"""An inspection in words and numbers. All px are the recording's own, whatever part or scale of it was looked at."""

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from withinpx.data.clip import Clip
from withinpx.discovery.background import LEVEL, SMALLEST_NOISE
from withinpx.discovery.inspection import Inspection
from withinpx.discovery.objects import MovingObject

BARELY = 1.0  # of its size: a thing that travels less is at two places that overlap
MOST_PAIRS = 4  # that a sentence names
HUES = {20: "red", 45: "orange", 70: "yellow", 165: "green", 200: "cyan", 255: "blue", 290: "violet", 340: "pink"}
HEADINGS = ("mover", "frames", "size px", "travel px", "colour", "two or more places")


@dataclass(frozen=True)
class Outlook:
    """One of the theorem's assumptions, as it looks before any training."""

    name: str
    met: bool
    message: str  # a sentence with the number


def outlooks(clip: Clip, inspection: Inspection) -> tuple[Outlook, ...]:
    """A known background, two places for each, no two alike."""
    return _background(clip, inspection), _places(clip, inspection), _distinct(inspection)


def inspection_rows(clip: Clip, inspection: Inspection) -> list[str]:
    """Lines for the terminal."""
    lines = [
        f"{clip.source}: {len(clip)} frames of {clip.width}x{clip.height} px"
        + (f" ({clip.selection.scale:g} of the recording's size)" if clip.selection.scale != 1 else ""),
        f"  background    {background_text(clip, inspection)}",
        f"  sensor noise  {noise_text(inspection)}",
        "",
        *_aligned([HEADINGS, *(_cells(clip, mover, each) for each, mover in enumerate(inspection.objects))]),
        "",
    ]
    lines += [f"  movers {one} and {other} look alike" for one, other in inspection.alike]
    lines += [f"  stays in place: {text}" for text in (staying_text(clip, each) for each in inspection.stationary)]
    verdicts = [
        (each.name, "looks met" if each.met else "DOUBTFUL", each.message) for each in outlooks(clip, inspection)
    ]
    return [*lines, *([""] if lines[-1] else []), *_aligned(verdicts)]


def inspection_json(clip: Clip, inspection: Inspection) -> dict[str, Any]:
    """The same as a JSON object."""
    return {
        "source": clip.source,
        "frames": len(clip),
        "width": clip.width,
        "height": clip.height,
        "scale": clip.selection.scale,
        "background": "moving camera" if inspection.camera_moves else "still",
        "camera_travel_px": round(camera_travel(clip, inspection), 2),
        "noise_levels": round(inspection.noise, 2),
        "movers": [_mover_json(clip, mover, each) for each, mover in enumerate(inspection.objects)],
        "alike": [list(pair) for pair in inspection.alike],
        "staying": [_mover_json(clip, mover, each) for each, mover in enumerate(inspection.stationary)],
        "assumptions": [
            {"name": each.name, "met": each.met, "message": each.message} for each in outlooks(clip, inspection)
        ],
    }


def camera_travel(clip: Clip, inspection: Inspection) -> float:
    """How far the camera's view goes along an axis, px of the recording."""
    return float(np.ptp(inspection.camera, axis=0).max()) / clip.selection.scale


def background_text(clip: Clip, inspection: Inspection) -> str:
    """Still, or by how much it moves."""
    if not inspection.camera_moves:
        return "still: one picture for all frames"
    return (
        f"moving camera, by up to {camera_travel(clip, inspection):.0f} px: one picture per frame, from frames nearby"
    )


def noise_text(inspection: Inspection) -> str:
    """What a pixel of the background usually differs by."""
    floor = SMALLEST_NOISE / LEVEL
    less = " or less" if inspection.noise <= floor * 1.001 else ""
    return f"{inspection.noise:.1f} levels of 255{less}"


def size_text(clip: Clip, mover: MovingObject) -> str:
    """The range of its size, px."""
    low, high = (f"{size / clip.selection.scale:.0f}" for size in mover.sizes)
    return low if low == high else f"{low} to {high}"


def staying_text(clip: Clip, mover: MovingObject) -> str:
    """What changes but never leaves its place, and where."""
    x, y = clip.selection.to_recording(np.array(mover.blobs[0].centre))
    return f"something of {size_text(clip, mover)} px at ({x:.0f}, {y:.0f}), seen in {len(mover.blobs)} frames"


def places_text(mover: MovingObject) -> str:
    """Was it seen at two places at least, and do they lie apart?"""
    return "yes" if mover.travel >= BARELY * mover.sizes[0] else "barely"


def mover_colour(mover: MovingObject) -> NDArray[np.float64]:
    """Its usual red, green and blue, from 0 to 1."""
    return np.broadcast_to(mover.appearance[:-1], (3,)).clip(0, 1)


def hex_colour(mover: MovingObject) -> str:
    """As #RRGGBB."""
    return "#" + "".join(f"{round(255 * value):02X}" for value in mover_colour(mover))


def colour_name(mover: MovingObject) -> str:
    """Its colour in a word."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*mover_colour(mover))
    if lightness < 0.12:
        return "black"
    if saturation < 0.15 or lightness > 0.93:
        return "white" if lightness > 0.8 else "dark grey" if lightness < 0.35 else "grey"
    if saturation < 0.6 and lightness > 0.65 and 15 < 360 * hue < 65:
        return "beige"
    name = next((name for limit, name in HUES.items() if 360 * hue < limit), "red")
    return "brown" if name == "orange" and lightness < 0.4 else f"dark {name}" if lightness < 0.25 else name


def seen_stretches(mover: MovingObject) -> list[tuple[int, int]]:
    """First and last frame of every stretch in which it is seen by itself."""
    frames = mover.frames
    breaks = [0, *(number + 1 for number, (one, other) in enumerate(pairwise(frames)) if other > one + 1), len(frames)]
    return [(frames[start], frames[end - 1]) for start, end in pairwise(breaks)]


def _background(clip: Clip, inspection: Inspection) -> Outlook:
    if inspection.camera_moves:
        return Outlook("background", True, f"known: {background_text(clip, inspection)}")
    return Outlook("background", True, "known: the camera stands still")


def _places(clip: Clip, inspection: Inspection) -> Outlook:
    barely = [each for each, mover in enumerate(inspection.objects) if places_text(mover) == "barely"]
    if not barely:
        least = min(mover.travel for mover in inspection.objects) / clip.selection.scale
        return Outlook("places", True, f"each mover is seen at places that lie apart, by {least:.0f} px at least")
    which = _listed("mover", barely)
    return Outlook("places", False, f"{which} travel{'s' * (len(barely) == 1)} less than one size of its own")


def _distinct(inspection: Inspection) -> Outlook:
    if not inspection.alike:
        return Outlook(
            "distinct", True, "no two movers look alike" if len(inspection.objects) > 1 else "only one moves"
        )
    pairs = ", ".join(f"{one} and {other}" for one, other in inspection.alike[:MOST_PAIRS])
    more = len(inspection.alike) - MOST_PAIRS
    others = f" and {more} more pairs" if more > 0 else ""
    return Outlook("distinct", False, f"movers {pairs}{others} look alike and may be mixed up")


def _listed(noun: str, numbers: list[int]) -> str:
    return f"{noun}{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _cells(clip: Clip, mover: MovingObject, each: int) -> tuple[str, ...]:
    colour = f"{colour_name(mover)} {hex_colour(mover)}"
    travel = f"{mover.travel / clip.selection.scale:.0f}"
    return str(each), str(len(mover.blobs)), size_text(clip, mover), travel, colour, places_text(mover)


def _mover_json(clip: Clip, mover: MovingObject, each: int) -> dict[str, Any]:
    scale = clip.selection.scale
    x, y = clip.selection.to_recording(np.array(mover.blobs[0].centre))
    return {
        "mover": each,
        "frames": len(mover.blobs),
        "size_px": [round(size / scale, 2) for size in mover.sizes],
        "travel_px": round(mover.travel / scale, 2),
        "colour": hex_colour(mover),
        "first_seen_at": [round(float(x), 2), round(float(y), 2)],
        "places": places_text(mover),
    }


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns as wide as their widest cell."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
