"""The contact sheet of an inspection: the background, some frames with their objects, and each object over time."""

from io import BytesIO
from math import ceil
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from withinpx.data.clip import Clip
from withinpx.discovery import report
from withinpx.discovery.background import Images, to_float
from withinpx.discovery.inspection import Inspection
from withinpx.discovery.objects import Blob, MovingObject
from withinpx.files import writable_folder, write_atomically
from withinpx.palette import ALARM

WIDTH = 9.6  # inches
COLUMNS = 3  # images in a row
FRAMES = 5  # beside the background
THUMBNAILS = 8  # of each object
MOST_OBJECTS = 12  # that get a row
LONGEST, LONGEST_TITLE = 150, 90  # letters on a line
HEADER = 1.2  # inches, height of its five lines
ROW = 0.82  # inches, height of an object's row
LEFT = 0.0045  # of the page's width, left of images and text
GROWTH = 2.0  # an object whose size varies by more than this factor is shown at its own scale each time
OUTSIDE = 0.5  # grey beyond the frame's border
SOFT = "0.3"  # colour of text that matters less


def save_contact_sheet(path: Path, inspection: Inspection) -> Path:
    """Write the contact sheet as a PNG, atomically."""
    content = BytesIO()
    draw_contact_sheet(inspection).savefig(content, format="png", dpi=200, bbox_inches="tight")
    write_atomically(writable_folder(path.parent) / path.name, content.getvalue())
    return path


def draw_contact_sheet(inspection: Inspection) -> Figure:
    """A header with the assumptions, the background and some frames, and one row per object."""
    clip, rows = inspection.clip, min(len(inspection.objects), MOST_OBJECTS)
    colours = inspection.colours
    image_height = float(np.clip(WIDTH / COLUMNS * clip.height / clip.width, 0.7, 3.4)) + 0.32
    heights = [HEADER, ceil((1 + FRAMES) / COLUMNS) * image_height, ROW * rows + 0.35]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    parts: Any = figure.subfigures(3, 1, height_ratios=heights)
    _draw_header(parts[0], inspection)
    _draw_frames(parts[1], inspection, colours)
    cells = parts[2].subplots(rows, 1 + THUMBNAILS, squeeze=False, width_ratios=[3.4] + [1] * THUMBNAILS)
    for index, (axes, obj) in enumerate(zip(cells, inspection.objects, strict=False)):
        _describe_object(axes[0], clip, obj, index, colours[index])
        _draw_thumbnails(axes[1:], clip, obj, colours[index])
    if len(inspection.objects) > rows:
        more = f"and {len(inspection.objects) - rows} more that are less prominent"
        parts[2].text(LEFT, 0.0, more, fontsize=8, color=SOFT, va="top")
    return figure


def _draw_header(figure: Any, inspection: Inspection) -> None:
    """The title, the background, and a line per assumption, red where it is doubtful."""
    clip, checks = inspection.clip, report.assumptions(inspection)
    background = f"background {report.background_text(inspection)}; noise {report.noise_text(inspection)}"
    dashed = "; dashed boxes change without moving" if inspection.stationary else ""
    lines = [
        (f"{len(clip)} frames of {clip.width}x{clip.height} px; {background}{dashed}", SOFT),
        *((f"{check.name} looks met; {check.message}", SOFT) for check in checks if check.met),
        *((f"{check.name} is doubtful; {check.message}", ALARM) for check in checks if not check.met),
    ]
    height = 1 / (1 + len(lines))
    title = shorten(report.summary(inspection), LONGEST_TITLE)
    figure.text(LEFT, 1 - 0.5 * height, title, fontsize=10.5, fontweight="bold", va="center", parse_math=False)
    for row, (text, colour) in enumerate(lines, start=1):
        y = 1 - (row + 0.5) * height
        figure.text(LEFT, y, shorten(text, LONGEST), fontsize=8.5, color=colour, va="center")


def _draw_frames(figure: Any, inspection: Inspection, colours: list[str]) -> None:
    """The background, then frames evenly spread over the clip."""
    clip = inspection.clip
    cells = figure.subplots(ceil((1 + FRAMES) / COLUMNS), COLUMNS, squeeze=False).ravel()
    for axes in cells:
        axes.set_axis_off()
    title = "background" if inspection.background.is_still else "background of the first frame"
    _show(cells[0], inspection.background.images[0], title)
    marks = [(obj, str(index), colours[index], "-") for index, obj in enumerate(inspection.objects)]
    marks += [(obj, "", "0.75", "--") for obj in inspection.stationary]
    for axes, frame in zip(cells[1:], _spread(len(clip), FRAMES), strict=False):
        time_s = clip.times_s[frame]
        time = "" if np.isnan(time_s) else f", {time_s:.2f} s"
        _show(axes, clip.frames[frame], f"frame {clip.numbers[frame]}{time}")
        for obj, number, colour, line in marks:
            for blob in (blob for blob in obj.blobs if blob.frame == frame):
                _outline(axes, blob, number, colour, line)


def _show(axes: Axes, image: Images, title: str) -> None:
    height, width = image.shape[:2]
    axes.imshow(_rgb(image), interpolation="nearest", extent=(0, width, height, 0))
    axes.set_title(title, fontsize=8, loc="left", pad=3)


def _outline(axes: Axes, blob: Blob, number: str, colour: str, line: str) -> None:
    """The blob's box, and its number on a tag above, or below where there is no room above."""
    left, top, right, bottom = blob.box
    for edge, width in (("white", 2.2), (colour, 1.2)):
        axes.add_patch(
            Rectangle((left, top), right - left, bottom - top, fill=False, ec=edge, lw=width, ls=line, clip_on=False)
        )
    if number:
        above = top > 0.1 * axes.get_ylim()[0]
        axes.annotate(
            number,
            (left, top if above else bottom),
            xytext=(0, 2 if above else -2),
            textcoords="offset points",
            va="bottom" if above else "top",
            fontsize=7,
            fontweight="bold",
            color="white",
            bbox={"boxstyle": "round,pad=0.2", "fc": colour, "ec": "white", "lw": 0.6},
        )


def _describe_object(axes: Axes, clip: Clip, obj: MovingObject, index: int, colour: str) -> None:
    """Its colour, size and travel, and a bar of the frames in which it is seen."""
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    style: Any = {"va": "center", "fontsize": 8}
    axes.text(0, 0.87, f"object {index}", va="center", fontsize=9, fontweight="bold", color=colour)
    axes.add_patch(Rectangle((0.30, 0.79), 0.07, 0.17, fc=report.hex_colour(obj), ec="0.4", lw=0.6))
    axes.text(0.40, 0.87, report.colour_name(obj), color=SOFT, **style)
    travel = f"travels {obj.travel / clip.selection.scale:.0f} px"
    axes.text(0, 0.60, f"{report.size_text(clip, obj.sizes)} px, {travel}", **style)
    axes.text(0, 0.36, f"seen in {len(obj.blobs)} of {len(clip)} frames", **style)
    axes.add_patch(Rectangle((0, 0.10), 0.88, 0.09, fc="0.92", lw=0))
    for first, last in report.seen_intervals(obj):
        start, width = (0.88 * value / len(clip) for value in (first, last + 1 - first))
        axes.add_patch(Rectangle((start, 0.10), width, 0.09, fc=colour, lw=0))


def _draw_thumbnails(cells: Any, clip: Clip, obj: MovingObject, colour: str) -> None:
    """The object from first to last, at one scale unless it would become too small to see."""
    largest = float(np.quantile([_side(blob) for blob in obj.blobs], 0.9))  # some blobs hold two objects
    grows = obj.sizes[1] > GROWTH * obj.sizes[0]
    for axes in cells:
        axes.set_axis_off()
    for axes, index in zip(cells, _spread(len(obj.blobs), len(cells)), strict=False):
        blob = obj.blobs[index]
        side = ceil(1.5 * (_side(blob) if grows else largest))
        axes.imshow(_rgb(cut_out(clip.frames[blob.frame], blob.centre, side)), interpolation="nearest")
        axes.set_axis_on()
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(color=colour, linewidth=1.0)
        axes.set_xlabel(f"frame {clip.numbers[blob.frame]}", fontsize=6.5, labelpad=1.5, color=SOFT)
    if grows:
        cells[0].set_title("each at its own scale", fontsize=6.5, loc="left", pad=2, color=SOFT)


def cut_out(image: Images, centre: tuple[float, float], side: int) -> NDArray[np.float32]:
    """A square of ``side`` px around a position (x, y), grey beyond the frame's border."""
    left, top = (round(value - side / 2) for value in centre)
    around = np.pad(to_float(image), ((side, side), (side, side), (0, 0)), constant_values=OUTSIDE)
    return np.asarray(around[top + side : top + 2 * side, left + side : left + 2 * side])


def _spread(count: int, most: int) -> list[int]:
    """At most so many indices, evenly spread from first to last."""
    chosen: list[int] = np.unique(np.linspace(0, count - 1, most).round().astype(int)).tolist()
    return chosen


def _side(blob: Blob) -> int:
    left, top, right, bottom = blob.box
    return max(right - left, bottom - top)


def _rgb(image: Images) -> NDArray[np.float32]:
    return np.broadcast_to(to_float(image), (*image.shape[:2], 3)).clip(0, 1)
