"""An inspection as text and as JSON, in pixels of the recording whatever part or scale of it was inspected."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from withinpx.data.clip import Clip
from withinpx.discovery.background import LEVEL, SMALLEST_NOISE
from withinpx.discovery.hypotheses import Hypothesis
from withinpx.discovery.objects import MovingObject

if TYPE_CHECKING:
    from withinpx.discovery.inspection import Inspection

BARELY = 1.0  # of its size: an object that travels less has no two positions that do not overlap
MOST_LISTED = 5  # pairs in a sentence, hypotheses and stationary changes in the text
HUES = {20: "red", 45: "orange", 70: "yellow", 165: "green", 200: "cyan", 255: "blue", 290: "violet", 340: "pink"}
HEADINGS = ("object", "seen in frames", "size px", "travel px", "colour")


@dataclass(frozen=True)
class Assumption:
    """One of the theorem's assumptions, as far as it can be judged before training."""

    name: str
    met: bool
    message: str


def assumptions(inspection: Inspection) -> tuple[Assumption, ...]:
    """A known background, two or more positions of each object, no two objects alike."""
    objects, alike = inspection.objects, inspection.alike
    camera = background_text(inspection) if inspection.camera_moves else "the camera is fixed"
    barely = [str(index) for index, obj in enumerate(objects) if displacement_text(obj) == "barely"]
    least = min(obj.travel for obj in objects) / inspection.clip.selection.scale
    displacement = f"each object is seen at positions at least {least:.0f} px apart"
    if barely:
        which = f"object {barely[0]} travels" if len(barely) == 1 else f"objects {', '.join(barely)} each travel"
        displacement = f"{which} less than its own size"
    distinct = "no two objects look alike" if len(objects) > 1 else "there is only one object"
    if alike:
        pairs = ", ".join(f"{one} and {other}" for one, other in alike[:MOST_LISTED])
        more = f" and {len(alike) - MOST_LISTED} more pairs" if len(alike) > MOST_LISTED else ""
        distinct = f"objects {pairs}{more} look alike and may be confused"
    return (
        Assumption("background", True, f"known: {camera}"),
        Assumption("displacement", not barely, displacement),
        Assumption("distinct", not alike, distinct),
    )


def summary(inspection: Inspection) -> str:
    """One line."""
    clip, count = inspection.clip, len(inspection.objects)
    camera = "moving camera" if inspection.camera_moves else "fixed camera"
    objects = f"{count} moving object{'s' * (count != 1)} of {size_text(clip, inspection.sizes)} px"
    return f"{Path(clip.source).name}: {objects}, {'unordered images' if inspection.unordered else camera}"


def report_text(inspection: Inspection) -> str:
    """The report of the command line."""
    clip, scale = inspection.clip, inspection.clip.selection.scale
    rows = [HEADINGS, *(_cells(clip, obj, index) for index, obj in enumerate(inspection.objects))]
    checks = assumptions(inspection)
    sections = [
        [
            f"{clip.source}: {len(clip)} frames of {clip.width}x{clip.height} px"
            + (f" ({scale:g} of the recording's size)" if scale != 1 else ""),
            f"  background    {background_text(inspection)}",
            f"  sensor noise  {noise_text(inspection)}",
        ],
        ["Objects, the most prominent first", *_aligned(rows), *_notes(inspection)],
        _hypotheses_text(inspection.hypotheses),
        [
            "Assumptions of the theorem, as far as they can be judged before training",
            *_aligned([(check.name, "looks met" if check.met else "DOUBTFUL", check.message) for check in checks]),
        ],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _notes(inspection: Inspection) -> list[str]:
    """Which objects look alike, and what changes without moving, the most prominent first."""
    clip, stationary = inspection.clip, inspection.stationary
    notes = [f"  objects {one} and {other} look alike" for one, other in inspection.alike]
    for obj in stationary[:MOST_LISTED]:
        x, y = _first_seen_at(clip, obj)
        size = size_text(clip, obj.sizes)
        notes.append(f"  stationary: a change of {size} px at ({x:.0f}, {y:.0f}), seen in {len(obj.blobs)} frames")
    if len(stationary) > MOST_LISTED:
        notes.append(f"  and {len(stationary) - MOST_LISTED} more changes that stay where they are")
    return notes


def report_json(inspection: Inspection) -> dict[str, Any]:
    clip = inspection.clip
    return {
        "source": clip.source,
        "frames": len(clip),
        "width": clip.width,
        "height": clip.height,
        "scale": clip.selection.scale,
        "background": "moving camera" if inspection.camera_moves else "still",
        "unordered": inspection.unordered,
        "camera_travel_px": round(camera_travel(inspection), 2),
        "noise_levels": round(inspection.noise, 2),
        "objects": [_object_json(clip, obj, index) for index, obj in enumerate(inspection.objects)],
        "alike": [list(pair) for pair in inspection.alike],
        "stationary": [_object_json(clip, obj, index) for index, obj in enumerate(inspection.stationary)],
        "assumptions": [asdict(check) for check in assumptions(inspection)],
        "hypotheses": [_hypothesis_json(hypothesis) for hypothesis in inspection.hypotheses],
    }


def _hypotheses_text(hypotheses: Sequence[Hypothesis]) -> list[str]:
    """Ranked, as they would be tried."""
    if not hypotheses:
        return []
    rows = [
        (str(number), str(len(one.objects)), f"{one.score:.3f}", f"{one.explained:.0%} of detections", one.why)
        for number, one in enumerate(hypotheses[:MOST_LISTED])
    ]
    rest = hypotheses[MOST_LISTED:]
    more = [f"  and {len(rest)} more, of score {rest[0].score:.3f} or less"] if rest else []
    headings = ("hypothesis", "objects", "score", "explains", "how it reads the clip")
    title = "Hypotheses, the best first; track fits the first, and another if that is refused"
    return [title, *_aligned([headings, *rows]), *more]


def _hypothesis_json(hypothesis: Hypothesis) -> dict[str, Any]:
    return {
        "objects": len(hypothesis.objects),
        "unordered": hypothesis.unordered,
        "score": round(float(hypothesis.score), 4),
        "explained": round(float(hypothesis.explained), 4),
        "why": hypothesis.why,
    }


def camera_travel(inspection: Inspection) -> float:
    """The extent of the camera's path along the longer axis, px of the recording."""
    return float(np.ptp(inspection.camera, axis=0).max()) / inspection.clip.selection.scale


def background_text(inspection: Inspection) -> str:
    if inspection.camera_moves:
        return f"moving camera, by up to {camera_travel(inspection):.0f} px: one image per frame, from nearby frames"
    return "still: one image for all frames"


def noise_text(inspection: Inspection) -> str:
    less = " or less" if inspection.noise <= 1.001 * SMALLEST_NOISE / LEVEL else ""
    return f"{inspection.noise:.1f} levels of 255{less}"


def size_text(clip: Clip, sizes: tuple[float, float]) -> str:
    low, high = (f"{size / clip.selection.scale:.0f}" for size in sizes)
    return low if low == high else f"{low} to {high}"


def displacement_text(obj: MovingObject) -> str:
    """Was it seen at two positions that do not overlap?"""
    return "yes" if obj.travel >= BARELY * obj.sizes[0] else "barely"


def rgb_of(obj: MovingObject) -> NDArray[np.float64]:
    """Its median red, green and blue, from 0 to 1."""
    return np.broadcast_to(obj.appearance[:-1], (3,)).clip(0, 1)


def hex_colour(obj: MovingObject) -> str:
    return "#" + "".join(f"{round(255 * value):02X}" for value in rgb_of(obj))


def colour_name(obj: MovingObject) -> str:
    hue, lightness, saturation = colorsys.rgb_to_hls(*rgb_of(obj))
    if lightness < 0.12:
        return "black"
    if saturation < 0.15 or lightness > 0.93:
        return "white" if lightness > 0.8 else "dark grey" if lightness < 0.35 else "grey"
    if saturation < 0.6 and lightness > 0.65 and 15 < 360 * hue < 65:
        return "beige"
    name = next((name for limit, name in HUES.items() if 360 * hue < limit), "red")
    return "brown" if name == "orange" and lightness < 0.4 else f"dark {name}" if lightness < 0.25 else name


def seen_intervals(obj: MovingObject) -> list[tuple[int, int]]:
    """First and last frame of each interval in which it is seen apart from other objects."""
    frames = obj.frames
    gaps = [index for index, (one, other) in enumerate(pairwise(frames), start=1) if other > one + 1]
    return [(frames[start], frames[end - 1]) for start, end in pairwise([0, *gaps, len(frames)])]


def _cells(clip: Clip, obj: MovingObject, index: int) -> tuple[str, ...]:
    colour, travel = f"{colour_name(obj)} {hex_colour(obj)}", f"{obj.travel / clip.selection.scale:.0f}"
    return str(index), f"{len(obj.blobs)} of {len(clip)}", size_text(clip, obj.sizes), travel, colour


def _object_json(clip: Clip, obj: MovingObject, index: int) -> dict[str, Any]:
    scale = clip.selection.scale
    return {
        "object": index,
        "frames": len(obj.blobs),
        "size_px": [round(size / scale, 2) for size in obj.sizes],
        "travel_px": round(obj.travel / scale, 2),
        "colour": hex_colour(obj),
        "first_seen_at": _first_seen_at(clip, obj).round(2).tolist(),
        "displacement": displacement_text(obj),
    }


def _first_seen_at(clip: Clip, obj: MovingObject) -> NDArray[np.float64]:
    return clip.selection.to_recording(np.array(obj.blobs[0].centre))


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
