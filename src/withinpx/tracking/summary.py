"""One figure of what was found: the ways the objects went, their positions over time, and what each one looks like."""

from collections.abc import Sequence
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from withinpx.data.selection import EVERYTHING, Selection
from withinpx.files import writable_folder, write_atomically
from withinpx.palette import colour_of
from withinpx.tracking.tracks import Tracks, bound_text

Pixels = NDArray[np.uint8]  # (height, width, colours)
WIDTH = 9.6  # inches
THUMBNAILS = 3  # in a row
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.dpi": 200,
    "savefig.bbox": "tight",
}


def draw_summary(
    path: Path,
    background: Pixels,
    tracks: Tracks,
    drawn_objects: Sequence[Pixels],
    title: str,
    *,
    selection: Selection = EVERYTHING,
) -> Path:
    """``summary.png``. The background is the part of the recording that was kept; a thumbnail per object."""
    with matplotlib.rc_context(STYLE):
        rows = ceil(len(drawn_objects) / THUMBNAILS)
        tall = _height_of_picture(background)
        figure = Figure(figsize=(WIDTH, tall + 0.5 + 1.15 * rows), layout="constrained")
        figure.suptitle(title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        parts: Any = figure.subfigures(2, 1, height_ratios=[tall + 0.5, 1.15 * max(rows, 0.01)])
        upper, lower = parts
        grid = upper.add_gridspec(2, 2, width_ratios=[1.25, 1])
        _draw_ways(upper.add_subplot(grid[:, 0]), background, tracks, selection)
        across = upper.add_subplot(grid[0, 1])
        down = upper.add_subplot(grid[1, 1], sharex=across)
        _draw_over_time(across, tracks, 0)
        _draw_over_time(down, tracks, 1)
        across.tick_params(labelbottom=False)
        _add_legend(across, tracks)
        _draw_thumbnails(lower, tracks, drawn_objects)
        drawing = BytesIO()
        figure.savefig(drawing, format="png")
    write_atomically(writable_folder(path.parent) / path.name, drawing.getvalue())
    return path


def caption(tracks: Tracks, each: int) -> str:
    """An object in numbers: size, bound, how often certified, and how far the reconstruction lies off."""
    present, certified = tracks.present[:, each], tracks.certified[:, each] & tracks.present[:, each]
    said = []
    if present.any():
        said.append(f"{np.median(tracks.sizes[present, each].max(axis=-1)):.0f} px")
    said.append(bound_text(float(tracks.bound_px[certified, each].max())) if certified.any() else "no bound")
    said.append(f"{certified.sum()}/{len(tracks)} frames certified")
    residual = tracks.residual_px[present, each]
    if np.isfinite(residual).any():
        said.append(f"residual median {np.nanmedian(residual):.2f} px")
    return f"object {each}: {', '.join(said)}"


def _height_of_picture(background: Pixels) -> float:
    """Inches that the left panel takes, within what a page bears."""
    height, width = background.shape[:2]
    return float(np.clip(0.52 * WIDTH * height / width, 2.6, 6.5))


def _draw_ways(axes: Axes, background: Pixels, tracks: Tracks, selection: Selection) -> None:
    """The background, in the recording's own pixels, and where each object went."""
    height, width = background.shape[:2]
    (left, top), (right, bottom) = selection.to_recording(np.array([[0.0, 0.0], [width, height]]))
    axes.imshow(_colour(background), extent=(left, right, bottom, top), interpolation="nearest", alpha=0.75)
    for each in range(tracks.objects):
        x, y = tracks.positions[:, each].T
        for chosen, line in _lines(tracks, each):
            if not tracks.unordered:
                axes.plot(*(np.where(chosen, value, np.nan) for value in (x, y)), color="white", lw=3.0, alpha=0.7)
            axes.plot(*(np.where(chosen, value, np.nan) for value in (x, y)), line, color=colour_of(each), lw=1.6, ms=4)
        here = np.flatnonzero(tracks.present[:, each])
        if len(here):
            _draw_ends(axes, each, x[here[[0, -1]]], y[here[[0, -1]]])
    axes.set(xlim=(left, right), ylim=(bottom, top), xlabel="x (px)", ylabel="y (px)")
    axes.grid(False)
    axes.spines[:].set_visible(False)


def _draw_ends(axes: Axes, each: int, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """An open circle where the object is first seen, a full one, with its number, where it is last seen."""
    edge: dict[str, Any] = {"color": colour_of(each), "ms": 6, "mew": 1.4, "clip_on": False, "zorder": 4}
    axes.plot(x[0], y[0], "o", mfc="white", **edge)
    axes.plot(x[1], y[1], "o", **{**edge, "ms": 11, "mec": "white"})
    number: dict[str, Any] = {"color": "white", "fontsize": 7.5, "fontweight": "bold", "zorder": 5}
    axes.text(x[1], y[1], str(each), ha="center", va="center_baseline", **number)


def _lines(tracks: Tracks, each: int) -> list[tuple[NDArray[np.bool_], str]]:
    """Which frames to draw solid (certified) and which dotted (refused), joined where one follows the other.

    Pictures in no order have no ways: a dot is a certified position, a cross a refused one.
    """
    present = tracks.present[:, each]
    certified = present & tracks.certified[:, each]
    refused = present & ~certified
    if tracks.unordered:
        return [(certified, "."), (refused, "x")]
    beside = np.zeros_like(refused)
    beside[1:] |= refused[:-1]
    beside[:-1] |= refused[1:]
    return [(certified, "-"), (refused | (beside & present), ":")]


def _draw_over_time(axes: Axes, tracks: Tracks, axis: int) -> None:
    """Calibrated positions as lines; all that is within the bound of z as bands."""
    for each in range(tracks.objects):
        colour, place = colour_of(each), tracks.positions[:, each, axis]
        chosen = tracks.present[:, each] & tracks.certified[:, each] & np.isfinite(tracks.bound_px[:, each])
        z, bound = tracks.z[:, each, axis], tracks.bound_px[:, each]
        if tracks.unordered:
            axes.errorbar(
                tracks.times_s[chosen], z[chosen], bound[chosen], fmt="none", ecolor=colour, alpha=0.2, lw=1.5
            )
        else:
            axes.fill_between(tracks.times_s, z - bound, z + bound, where=chosen, color=colour, alpha=0.2, lw=0)
        for shown, line in _lines(tracks, each):
            axes.plot(tracks.times_s, np.where(shown, place, np.nan), line, color=colour, lw=1.3, ms=4)
    axes.set_ylabel(("x (px)", "y (px)")[axis])
    axes.margins(x=0.01)
    if axis == 1:
        axes.invert_yaxis()  # as in the picture
        axes.set_xlabel("picture" if tracks.unordered else "time (s)")


def _add_legend(axes: Axes, tracks: Tracks) -> None:
    looks: list[dict[str, Any]] = [{"lw": 1.3}, {"lw": 1.3, "ls": ":"}]
    if tracks.unordered:
        looks = [{"lw": 0, "marker": "."}, {"lw": 0, "marker": "x", "ms": 4}]
    handles: list[Any] = [
        Line2D([], [], color="0.3", label="position", **looks[0]),
        matplotlib.patches.Patch(color="0.3", alpha=0.25, lw=0, label="z ± bound"),
        Line2D([], [], color="0.3", label="refused", **looks[1]),
    ]
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderpad=0, fontsize=8)


def _draw_thumbnails(figure: Any, tracks: Tracks, drawn_objects: Sequence[Pixels]) -> None:
    """What each heatmap draws, with its numbers beside it."""
    if not drawn_objects:
        return
    rows = ceil(len(drawn_objects) / THUMBNAILS)
    cells = figure.subplots(rows, 2 * THUMBNAILS, squeeze=False, width_ratios=[1, 2.1] * THUMBNAILS).ravel()
    for axes in cells:
        axes.set_axis_off()
    for each, pixels in enumerate(drawn_objects):
        picture, text = cells[2 * each : 2 * each + 2]
        picture.imshow(_colour(pixels), interpolation="nearest")
        picture.set_axis_on()
        picture.set(xticks=[], yticks=[])
        picture.spines[:].set(visible=True, color=colour_of(each), linewidth=1.6)
        picture.grid(False)
        name, numbers = caption(tracks, each).split(": ", 1)
        place: Any = {"va": "top", "transform": text.transAxes}
        text.text(0, 0.94, name, color=colour_of(each), fontweight="bold", **place)
        text.text(0, 0.74, numbers.replace(", ", "\n"), fontsize=8, linespacing=1.35, **place)


def _colour(pixels: Pixels) -> Pixels:
    return np.broadcast_to(pixels, (*pixels.shape[:2], 3))
