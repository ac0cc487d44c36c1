"""One figure of what was seen before any training: the backdrop, some frames with their movers, and each mover."""

from io import BytesIO
from math import ceil
from pathlib import Path
from textwrap import shorten
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from withinpx.data.clip import Clip
from withinpx.discovery import report as table
from withinpx.discovery.inspection import Inspection
from withinpx.discovery.objects import Blob, MovingObject
from withinpx.files import writable_folder, write_atomically
from withinpx.palette import ALARM, colour_of

Pixels = NDArray[np.float32]  # (height, width, colours), from 0 to 1
WIDTH = 9.6  # inches
COLUMNS = 3  # pictures in a row
FRAMES = 5  # beside the backdrop
THUMBNAILS = 8  # of each mover
MOST_MOVERS = 12  # that get a row
LONGEST = 150  # letters on a line
ROW = 0.82  # inches, height of a mover's row
STYLE: Any = {"font.size": 9, "savefig.dpi": 200, "savefig.bbox": "tight"}
EDGE = 0.0045  # of the page's width, left of the pictures and of what is written
GROWS = 2.0  # a mover whose size varies by more is shown at its own scale each time
GREY = 0.5  # beyond the picture's border


def draw_sheet(path: Path, clip: Clip, inspection: Inspection) -> Path:
    """``inspection.png``: pictures above, a row per mover below."""
    with matplotlib.rc_context(STYLE):
        rows = min(len(inspection.objects), MOST_MOVERS)
        upper, lower = _height_of_pictures(clip), ROW * rows + 0.35
        head = 0.24 * (2 + len(table.outlooks(clip, inspection)))
        figure = Figure(figsize=(WIDTH, head + upper + lower), layout="constrained")
        parts: Any = figure.subfigures(3, 1, height_ratios=[head, upper, lower])
        _write_head(parts[0], clip, inspection, head)
        _draw_pictures(parts[1], clip, inspection)
        _draw_movers(parts[2], clip, inspection, rows)
        drawing = BytesIO()
        figure.savefig(drawing, format="png")
    write_atomically(writable_folder(path.parent) / path.name, drawing.getvalue())
    return path


def cut_out(picture: Pixels, centre: tuple[float, float], side: int) -> Pixels:
    """A square of ``side`` px around a place, grey where it reaches over the border."""
    left, top = (round(value - side / 2) for value in centre)
    around = np.pad(picture, ((side, side), (side, side), (0, 0)), constant_values=GREY)
    return np.asarray(around[top + side : top + 2 * side, left + side : left + 2 * side])


def _height_of_pictures(clip: Clip) -> float:
    """Inches that the pictures take: as wide as the page bears, but no taller than half of it."""
    rows = ceil((1 + FRAMES) / COLUMNS)
    return rows * (float(np.clip(WIDTH / COLUMNS * clip.height / clip.width, 0.7, 3.4)) + 0.32)


def _write_head(figure: Any, clip: Clip, inspection: Inspection, tall: float) -> None:
    """The title, what the background is, and how the theorem's assumptions look."""
    count = len(inspection.objects)
    title = f"{Path(clip.source).name}: {count} thing{'s' * (count != 1)} move{'s' * (count == 1)}"
    about = f"{len(clip)} frames of {clip.width}x{clip.height} px; background {table.background_text(clip, inspection)}"
    about += f"; noise {table.noise_text(inspection)}"
    line = 0.24 / tall
    figure.text(EDGE, 1 - 0.5 * line, shorten(title, 90), fontsize=10.5, fontweight="bold", va="center")
    figure.text(EDGE, 1 - 1.5 * line, shorten(about, LONGEST), fontsize=8.5, va="center", color="0.3")
    for row, each in enumerate(table.outlooks(clip, inspection)):
        y = 1 - (2.5 + row) * line
        verdict, colour = ("looks met", "0.3") if each.met else ("doubtful", ALARM)
        figure.text(EDGE, y, each.name, fontsize=8.5, va="center", fontweight="bold", color=colour)
        figure.text(0.105, y, verdict, fontsize=8.5, va="center", color=colour)
        figure.text(0.185, y, shorten(each.message, 120), fontsize=8.5, va="center", color=colour)


def _draw_pictures(figure: Any, clip: Clip, inspection: Inspection) -> None:
    """The backdrop, then frames evenly spread over the clip."""
    frames = np.unique(np.linspace(0, len(clip) - 1, min(FRAMES, len(clip))).round().astype(int)).tolist()
    cells = figure.subplots(ceil((1 + FRAMES) / COLUMNS), COLUMNS, squeeze=False).ravel()
    for axes in cells:
        axes.set_axis_off()
    behind = "the backdrop" if inspection.background.is_still else "the backdrop of the first frame"
    _show(cells[0], inspection.background.images[0], behind)
    for axes, frame in zip(cells[1:], frames, strict=False):
        _show(axes, inspection.images[frame], _label(clip, frame))
        for each, mover in enumerate(inspection.objects):
            for blob in (blob for blob in mover.blobs if blob.frame == frame):
                _outline(axes, blob, str(each), colour_of(each))
        for mover in inspection.stationary:
            for blob in (blob for blob in mover.blobs if blob.frame == frame):
                _outline(axes, blob, "", "0.75", "--")


def _label(clip: Clip, frame: int) -> str:
    """Images without times count one second each: then the frame's number says it all."""
    counted = np.array_equal(clip.times_s, np.arange(len(clip)))
    return f"frame {frame}" if counted else f"frame {frame}, {clip.times_s[frame]:.2f} s"


def _show(axes: Axes, picture: Pixels, label: str) -> None:
    height, width = picture.shape[:2]
    axes.imshow(_colour(picture), interpolation="nearest", extent=(0, width, height, 0))
    axes.set_title(label, fontsize=8, loc="left", pad=3)


def _outline(axes: Axes, blob: Blob, number: str, colour: str, line: str = "-") -> None:
    """A box around the blob, and its number on a tag at the corner with the most room."""
    left, top, right, bottom = blob.box
    for edge, width in (("white", 2.2), (colour, 1.2)):
        axes.add_patch(
            Rectangle((left, top), right - left, bottom - top, fill=False, ec=edge, lw=width, ls=line, clip_on=False)
        )
    if number:
        height = axes.get_ylim()[0]
        up = top > 0.1 * height
        axes.annotate(
            number,
            (left, top if up else bottom),
            xytext=(0, 2 if up else -2),
            textcoords="offset points",
            va="bottom" if up else "top",
            fontsize=7,
            fontweight="bold",
            color="white",
            bbox={"boxstyle": "round,pad=0.2", "fc": colour, "ec": "white", "lw": 0.6},
        )


def _draw_movers(figure: Any, clip: Clip, inspection: Inspection, rows: int) -> None:
    """A row per mover: its numbers, when it is seen, and what it looks like from first to last."""
    cells = figure.subplots(rows, 1 + THUMBNAILS, squeeze=False, width_ratios=[3.4] + [1] * THUMBNAILS)
    for each, mover in enumerate(inspection.objects[:rows]):
        _write_mover(cells[each, 0], clip, mover, each)
        _draw_thumbnails(cells[each, 1:], inspection, mover, colour_of(each))
    left_out = len(inspection.objects) - rows
    if left_out:
        figure.text(EDGE, 0.0, f"and {left_out} more that take less of the picture", fontsize=8, color="0.3", va="top")


def _write_mover(axes: Axes, clip: Clip, mover: MovingObject, each: int) -> None:
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    colour = colour_of(each)
    place: Any = {"va": "center", "transform": axes.transAxes}
    axes.text(0, 0.87, f"mover {each}", color=colour, fontweight="bold", **place)
    axes.add_patch(Rectangle((0.30, 0.79), 0.07, 0.17, fc=table.hex_colour(mover), ec="0.4", lw=0.6))
    axes.text(0.40, 0.87, table.colour_name(mover), fontsize=8, color="0.3", **place)
    numbers = f"{table.size_text(clip, mover)} px large, travels {mover.travel / clip.selection.scale:.0f} px"
    axes.text(0, 0.60, numbers, fontsize=8, **place)
    axes.text(0, 0.36, f"seen in {len(mover.blobs)} of {len(clip)} frames", fontsize=8, **place)
    axes.add_patch(Rectangle((0, 0.10), 0.88, 0.09, fc="0.92", lw=0))
    for first, last in table.seen_stretches(mover):
        start, width = (0.88 * value / len(clip) for value in (first, last + 1 - first))
        axes.add_patch(Rectangle((start, 0.10), width, 0.09, fc=colour, lw=0))


def _draw_thumbnails(cells: Any, inspection: Inspection, mover: MovingObject, colour: str) -> None:
    """What it looks like from first to last, at one scale unless that would make it too small to see."""
    chosen = np.unique(np.linspace(0, len(mover.blobs) - 1, len(cells)).round().astype(int)).tolist()
    largest = float(np.quantile([_side(blob) for blob in mover.blobs], 0.9))  # the odd blob holds two things
    grows = mover.sizes[1] > GROWS * mover.sizes[0]
    for axes in cells:
        axes.set_axis_off()
    for axes, number in zip(cells, chosen, strict=False):
        blob = mover.blobs[number]
        side = ceil(1.5 * (_side(blob) if grows else largest))
        axes.imshow(_colour(cut_out(inspection.images[blob.frame], blob.centre, side)), interpolation="nearest")
        axes.set_axis_on()
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(color=colour, linewidth=1.0)
        axes.set_xlabel(f"frame {blob.frame}", fontsize=6.5, labelpad=1.5, color="0.3")
    if grows:
        cells[0].set_title("each at its own scale", fontsize=6.5, loc="left", pad=2, color="0.3")


def _side(blob: Blob) -> int:
    left, top, right, bottom = blob.box
    return max(right - left, bottom - top)


def _colour(picture: Pixels) -> Pixels:
    return np.broadcast_to(picture, (*picture.shape[:2], 3)).clip(0, 1)
