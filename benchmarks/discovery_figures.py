"""How objects are found, step by step on a generated clip, and how the hypotheses of real clips read them.

python benchmarks/discovery_figures.py FOLDER CLIP [CLIP ...]

Writes FOLDER/discovery_steps.png and a figure per clip, named after the folder that the clip is in. Figures of clips
show boxes and trajectories on empty ground: no pixel of the footage. Prints the report of each clip.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from withinpx.data.clip import Clip
from withinpx.data.zoo import zoo_clip
from withinpx.discovery.background import BackgroundModel, difference, to_float
from withinpx.discovery.fixed_camera import fixed_background, quantile, thinned
from withinpx.discovery.hypotheses import FOLLOWED, Hypothesis, ordered_hypotheses
from withinpx.discovery.inspection import Inspection
from withinpx.discovery.objects import Blob, MovingObject, find_blobs, find_changes
from withinpx.discovery.tracklets import AT_ONCE, find_tracklets
from withinpx.figures import STYLE, save_figure
from withinpx.palette import colour_of
from withinpx.tracking.track import inspect

SEED, FRAME = 2176, 59  # of the generated clip: three objects, one of which passes over the others
COLUMNS = 3  # panels side by side
WIDTH = 7.2  # inches: 720 px on a page at 100 px per inch
LETTERS = 38  # on a line of a title
LINE, GAP = 0.155, 0.07  # inches: height of a line, gap between panels
MARGIN = 0.06  # of the frame's width, around what a panel shows
PLAIN: Any = {"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1.5}  # ground of a text over grey boxes
BAR = 0.2  # of a panel's width: the scale bar is the longest round number of px below this
BOXES = 4  # of each object
OTHER = "0.75"  # grey of detections that are of no object
SAME = 0.5  # of its detections lie on an object: then it is that object

View = tuple[float, float, float, float]  # left, top, right, bottom, px
Reading = tuple[str, Hypothesis, list[Blob]]  # its name, and all detections
Numbered = dict[int, MovingObject]  # an object has one number, and one colour, in all panels of a clip


def main(folder: Path, clips: list[Path]) -> None:
    with matplotlib.rc_context({**STYLE, "font.size": 8, "axes.grid": False}):
        save_figure(draw_steps(zoo_clip(SEED).clip), folder / "discovery_steps.png")
        for path in clips:
            inspection = inspect(path)
            save_figure(draw_readings(inspection), folder / f"discovery_{path.parent.name}.png")
            tracklets = find_tracklets(detections_of(inspection.clip, inspection.background))
            print(f"{inspection}\n\n{len([one for one in tracklets if len(one.blobs) >= FOLLOWED])} tracklets\n")


def draw_steps(clip: Clip) -> Figure:
    """From a frame to objects, in six panels."""
    inspection = inspect(clip)
    background, image = inspection.background, inspection.clip.frames[FRAME]
    detections = detections_of(inspection.clip, background)
    tracklets = [one for one in find_tracklets(detections) if len(one.blobs) >= FOLLOWED]
    share = difference(image[None], background.images)[0] / background.threshold
    steps = {
        f"1. frame {FRAME} of {len(clip)}": to_float(image),
        "2. background, from all frames": background.images[0],
        "3. difference over the threshold": np.broadcast_to(share[..., None], image.shape),
        f"4. detections in the frame: {len(detections[FRAME])}": 0.7 + 0.3 * to_float(image),
        f"5. tracklets in all frames: {len(tracklets)}": np.ones(image.shape),
        f"6. objects: {len(inspection.objects)}": np.ones(image.shape),
    }
    figure, panels = empty_panels((0, 0, clip.width, clip.height), len(steps), 1)
    for panel, (title, pixels) in zip(panels, steps.items(), strict=True):
        draw_title(panel, [title], 1)
        extent = (0, clip.width, clip.height, 0)
        panel.imshow(pixels.clip(0, 1), extent=extent, interpolation="nearest", aspect="auto")
    for blob in detections[FRAME]:
        draw_box(panels[3], blob, "black")
    for number, tracklet in enumerate(tracklets):
        draw_path(panels[4], tracklet, colour_of(number))
    draw_objects(panels[5], dict(enumerate(inspection.objects)), boxes=0)
    return figure


def draw_readings(inspection: Inspection) -> Figure:
    """Hypotheses of a clip side by side, the best first."""
    known: Numbered = {}
    readings = readings_of(inspection)
    titles = [title_of(name, hypothesis) for name, hypothesis, _ in readings]
    title_lines = max(map(len, titles))
    view = view_of(inspection.clip, [obj for _, hypothesis, _ in readings for obj in hypothesis.objects])
    figure, panels = empty_panels(view, len(readings), title_lines)
    for panel, title, (_, hypothesis, detections) in zip(panels, titles, readings, strict=True):
        objects = numbered(hypothesis.objects, known)
        known = {**objects, **known}
        for blob in without(detections, hypothesis.objects):
            draw_box(panel, blob, OTHER, 0.4)
        draw_objects(panel, objects, linked=not hypothesis.unordered)
        draw_title(panel, title, title_lines)
    draw_scale(panels[0])
    return figure


def title_of(name: str, hypothesis: Hypothesis) -> list[str]:
    count = len(hypothesis.objects)
    numbers = f"score {hypothesis.score:.3f}, {hypothesis.explained:.0%} explained"
    return [f"{name}: {count} object{'s' * (count != 1)}", numbers, *wrap(hypothesis.why, LETTERS)]


def readings_of(inspection: Inspection) -> list[Reading]:
    """Hypotheses of different kinds; then what the median alone would give, if that differs; then other hypotheses."""
    clip = inspection.clip
    detections = flat(detections_of(clip, inspection.background))
    firsts: dict[str, Reading] = {}
    others: list[Reading] = []
    for rank, hypothesis in enumerate(inspection.hypotheses):
        kind, reading = re.sub(r"\d+", "", hypothesis.why), (f"hypothesis {rank}", hypothesis, detections)
        if kind in firsts:
            others.append(reading)
        firsts.setdefault(kind, reading)
    return [*firsts.values(), *by_median(inspection), *others][:COLUMNS]


def by_median(inspection: Inspection) -> list[Reading]:
    """What would be found if the background were the plain median, where that shows an object that rests."""
    clip, background = inspection.clip, inspection.background
    still = to_float(quantile(thinned(clip.frames)))[None]
    if not np.any(difference(still, background.images) > background.threshold):
        return []
    median = fixed_background(clip.frames, still)
    detections = detections_of(clip, median)
    (best, *_), _ = ordered_hypotheses(detections, median)
    return [("comparison", replace(best, why="the background is the plain median"), flat(detections))]


def detections_of(clip: Clip, background: BackgroundModel) -> list[list[Blob]]:
    return [find_blobs(find_changes(image, background, frame)) for frame, image in enumerate(clip.frames)]


def flat(detections: list[list[Blob]]) -> list[Blob]:
    return [blob for blobs in detections for blob in blobs]


def without(detections: list[Blob], objects: Sequence[MovingObject]) -> list[Blob]:
    """Detections that are of none of the objects."""
    by_frame: dict[int, list[Blob]] = {}
    for blob in (blob for obj in objects for blob in obj.blobs):
        by_frame.setdefault(blob.frame, []).append(blob)
    return [blob for blob in detections if not any(is_on(blob, own) for own in by_frame.get(blob.frame, ()))]


def is_on(one: Blob, other: Blob) -> bool:
    (x, y), (left, top, right, bottom) = one.centre, other.box
    return left <= x <= right and top <= y <= bottom


def numbered(objects: Sequence[MovingObject], known: Numbered) -> Numbered:
    """Each object with the number of the known one on which it is; a new one gets the next number."""
    result: Numbered = {}
    for obj in objects:
        free = [number for number in known if number not in result and is_same(obj, known[number])]
        result[free[0] if free else max([-1, *known, *result]) + 1] = obj
    return result


def is_same(one: MovingObject, other: MovingObject) -> bool:
    there = {blob.frame: blob for blob in other.blobs}
    return sum(blob.frame in there and is_on(blob, there[blob.frame]) for blob in one.blobs) > SAME * len(one.blobs)


def view_of(clip: Clip, objects: Sequence[MovingObject]) -> View:
    """The part of the frame in which the objects are, with a margin."""
    boxes, margin = np.array([blob.box for obj in objects for blob in obj.blobs]), MARGIN * clip.width
    left, top = np.maximum(boxes[:, :2].min(axis=0) - margin, 0)
    right, bottom = np.minimum(boxes[:, 2:].max(axis=0) + margin, (clip.width, clip.height))
    return float(left), float(top), float(right), float(bottom)


def empty_panels(view: View, count: int, title_lines: int) -> tuple[Figure, list[Axes]]:
    """Panels of one shape, three in a row, with room for titles."""
    left, top, right, bottom = view
    width = (WIDTH - (COLUMNS + 1) * GAP) / COLUMNS
    height, above = width * (bottom - top) / (right - left), LINE * title_lines + GAP
    rows = ceil(count / COLUMNS)
    total = rows * (height + above) + GAP
    figure, panels = Figure(figsize=(WIDTH, total)), []
    for index in range(count):
        row, column = divmod(index, COLUMNS)
        x, y = GAP + column * (width + GAP), total - (row + 1) * (height + above)
        axes = figure.add_axes((x / WIDTH, y / total, width / WIDTH, height / total))
        axes.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
        axes.spines[:].set(visible=True, color="0.6", linewidth=0.6)
        panels.append(axes)
    return figure, panels


def draw_title(axes: Axes, lines: Sequence[str], title_lines: int) -> None:
    """From the top down, so that titles of different lengths begin at one height; the first line is bold."""
    for number, line in enumerate(lines):
        at = 72 * LINE * (title_lines - number - 0.65)  # points
        weight = "bold" if number == 0 else "normal"
        axes.annotate(line, (0, 1), (0, at), "axes fraction", "offset points", fontsize=8, fontweight=weight)


def draw_scale(axes: Axes) -> None:
    """A bar of 10, 20, 50, ... px in the lower right corner."""
    (left, right), bottom = axes.get_xlim(), axes.get_ylim()[0]
    length = max(n for n in (5, 10, 20, 50, 100, 200) if n <= max(5, BAR * (right - left)))
    end, height = right - 0.04 * (right - left), bottom - 0.04 * (right - left)
    axes.plot([end - length, end], [height, height], color="black", linewidth=1.5, solid_capstyle="butt", zorder=4)
    axes.text(end - length / 2, height, f"{length} px", ha="center", va="bottom", fontsize=7, bbox=PLAIN)


def draw_objects(axes: Axes, objects: Numbered, linked: bool = True, boxes: int = BOXES) -> None:
    """The trajectory, some boxes and the number of each object."""
    for number, obj in objects.items():
        colour = colour_of(number)
        draw_path(axes, obj, colour, linked)
        for index in np.linspace(0, len(obj.blobs) - 1, boxes).round().astype(int):
            draw_box(axes, obj.blobs[index], colour, 1.2)
    for number, obj in objects.items():  # last, so that no line crosses a number
        tag = {"boxstyle": "circle,pad=0.15", "fc": colour_of(number), "ec": "white", "lw": 0.8}
        style: Any = {"ha": "center", "va": "center", "fontsize": 7, "fontweight": "bold", "color": "white"}
        axes.text(*obj.blobs[-1].centre, str(number), bbox=tag, zorder=5, **style)


def draw_path(axes: Axes, obj: MovingObject, colour: str, linked: bool = True) -> None:
    """Broken where it is not seen for longer than a tracklet lasts without a detection."""
    gaps = np.flatnonzero(np.diff(obj.frames) > AT_ONCE) + 1
    for x, y in (part.T for part in np.split(obj.centres, gaps)):
        axes.plot(x, y, ".-" if linked else ".", color=colour, markersize=3, linewidth=0.9)


def draw_box(axes: Axes, blob: Blob, colour: str, width: float = 0.6) -> None:
    left, top, right, bottom = blob.box
    axes.add_patch(Rectangle((left, top), right - left, bottom - top, fill=False, color=colour, linewidth=width))


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
