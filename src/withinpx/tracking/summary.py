"""One figure of a result: trajectories, positions over time with their bounds, and each object."""

from collections.abc import Iterator, Sequence
from math import ceil
from textwrap import wrap
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from withinpx.data.selection import EVERYTHING, Selection
from withinpx.figures import STYLE, save_figure
from withinpx.palette import colour_of, luma, rgb
from withinpx.tracking.tracks import Tracks, bounds_text

__all__ = ["caption", "plot_summary", "save_figure"]

Pixels = NDArray[np.uint8]  # (height, width, colours)
WIDTH = 9.6  # inches
TITLE_LINES, TITLE_LETTERS = 2, 100
CELL, THUMBNAIL = 0.9, 0.8  # inches: height of an object's cell, side of its thumbnail
MANY = 6  # objects; more get narrower cells and fainter bands


def plot_summary(
    image: Pixels,
    tracks: Tracks,
    thumbnails: Sequence[Pixels],
    title: str,
    *,
    selection: Selection = EVERYTHING,
    colours: Sequence[str] | None = None,
) -> Figure:
    """``image`` is the background of the selected part of the recording; ``colours`` default to the palette's."""
    colours = colours or [colour_of(index) for index in range(tracks.objects)]
    title_lines = _title_lines(title)
    columns = 3 if len(thumbnails) <= MANY else 4
    rows = ceil(len(thumbnails) / columns)
    heights = [0.2 * len(title_lines) + 0.12, _image_height(image) + 0.6, CELL * rows + 0.05]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
        parts: Any = figure.subfigures(3, 1, height_ratios=heights, hspace=0)
        head, upper, lower = parts
        head.text(0.008, 0.5, "\n".join(title_lines), va="center", fontsize=10.5, fontweight="bold")
        grid = upper.add_gridspec(2, 2, width_ratios=[1.25, 1])
        _plot_trajectories(upper.add_subplot(grid[:, 0]), image, tracks, selection, colours)
        x_axes = upper.add_subplot(grid[0, 1])
        y_axes = upper.add_subplot(grid[1, 1], sharex=x_axes)
        _plot_over_time(x_axes, tracks, 0, colours)
        _plot_over_time(y_axes, tracks, 1, colours)
        x_axes.tick_params(labelbottom=False)
        y_axes.invert_yaxis()  # as in the image
        y_axes.set_xlabel(_times(tracks)[1])
        _add_legend(x_axes, tracks)
        upper.align_ylabels([x_axes, y_axes])
        each = tracks.one_of_each(len(thumbnails))
        for index, pixels in enumerate(thumbnails):
            left, top = index % columns / columns + 0.005, 1 - index // columns * CELL / heights[2]
            width, height = THUMBNAIL / WIDTH, THUMBNAIL / heights[2]
            axes = lower.add_axes((left, top - height, width, height), xticks=[], yticks=[])
            _plot_object(axes, pixels, caption(each, index), colours[index])
        figure.draw_without_rendering()  # styles the ticks within this context
    return figure


def caption(tracks: Tracks, index: int) -> str:
    """An object in numbers: size, bounds, frames certified, residual."""
    present, certified = tracks.present[:, index], tracks.certified[:, index]
    numbers = []
    if present.any():
        numbers.append(f"{np.median(tracks.sizes[present, index].max(axis=-1)):.0f} px")
    numbers.append(bounds_text(tracks.bounds[certified, index]))
    numbers.append(f"{certified.sum()}/{len(tracks)} frames certified")
    residual = tracks.residual_px[present, index]
    if np.isfinite(residual).any():
        numbers.append(f"residual median {np.nanmedian(residual):.2f} px")
    return f"object {index}: {', '.join(numbers)}"


def _title_lines(title: str) -> list[str]:
    clauses = [clause.replace(" ", "\xa0") for clause in title.split("; ")]
    lines = wrap("; ".join(clauses), TITLE_LETTERS)  # breaks between clauses only
    if len(lines) > TITLE_LINES:
        lines = [*lines[: TITLE_LINES - 1], lines[TITLE_LINES - 1][: TITLE_LETTERS - 1].rstrip("; ") + "…"]
    return lines


def _image_height(image: Pixels) -> float:
    """Inches of the left panel, within what fits on a page."""
    height, width = image.shape[:2]
    return float(np.clip(0.52 * WIDTH * height / width, 2.6, 6.5))


def _times(tracks: Tracks) -> tuple[NDArray[Any], str]:
    """The horizontal axis: (f,) values and a label."""
    if tracks.unordered:
        return tracks.frames, "image"
    return (tracks.times_s, "time (s)") if np.isfinite(tracks.times_s).all() else (tracks.frames, "frame")


def _lines(tracks: Tracks, index: int) -> Iterator[tuple[NDArray[np.bool_], str]]:
    """Which frames to plot how: certified positions solid, refused ones dotted and joined to their neighbours.

    Unordered images have no trajectories: a dot is a certified position, a cross a refused one.
    """
    present, certified = tracks.present[:, index], tracks.certified[:, index]
    refused = present & ~certified
    yield certified, "." if tracks.unordered else "-"
    if not tracks.unordered:
        beside = np.zeros_like(refused)
        beside[1:] |= refused[:-1]
        beside[:-1] |= refused[1:]
        refused = refused | (beside & present)
    yield refused, "x" if tracks.unordered else ":"


def _plot_trajectories(axes: Axes, image: Pixels, tracks: Tracks, selection: Selection, colours: Sequence[str]) -> None:
    """Over the background, in px of the recording."""
    height, width = image.shape[:2]
    (left, top), (right, bottom) = selection.to_recording(np.array([[0.0, 0.0], [width, height]]))
    axes.imshow(_rgb(image), extent=(left, right, bottom, top), interpolation="nearest", alpha=0.75)
    for index, colour in enumerate(colours):
        for chosen, line in _lines(tracks, index):
            x, y = np.where(chosen[:, None], tracks.positions[:, index], np.nan).T
            if not tracks.unordered:
                axes.plot(x, y, color="white", lw=3.0, alpha=0.7)
            axes.plot(x, y, line, color=colour, lw=1.6, ms=4)
        here = np.flatnonzero(tracks.present[:, index])
        if len(here):
            _plot_ends(axes, tracks, index, here, colour)
    axes.set(xlim=(left, right), ylim=(bottom, top), xlabel="x (px)", ylabel="y (px)")
    axes.grid(False)
    axes.spines[:].set_visible(False)


def _plot_ends(axes: Axes, tracks: Tracks, index: int, here: NDArray[np.intp], colour: str) -> None:
    """An open circle at the first position, a full one with the object's number at the last."""
    first, last = tracks.positions[here[[0, -1]], index]
    edge: dict[str, Any] = {"color": colour, "mew": 1.4, "clip_on": False, "zorder": 4}
    if not tracks.unordered:
        axes.plot(*first, "o", mfc="white", ms=6, **edge)
    axes.plot(*last, "o", mec="white", ms=11, **edge)
    text: dict[str, Any] = {"fontsize": 7.5, "fontweight": "bold", "zorder": 5}
    ink = "black" if luma(rgb(colour)) > 170 else "white"
    axes.text(last[0], last[1], str(index), color=ink, ha="center", va="center_baseline", **text)


def _plot_over_time(axes: Axes, tracks: Tracks, axis: int, colours: Sequence[str]) -> None:
    """Positions along one axis, and the bound around them."""
    times, _ = _times(tracks)
    opacity = 0.2 if tracks.objects <= MANY else 0.12
    for index, colour in enumerate(colours):
        position, bound = tracks.positions[:, index, axis], tracks.bounds[:, index]
        certified = tracks.certified[:, index]
        if tracks.unordered:
            at, centre, reach = (values[certified] for values in (times, position, bound))
            axes.errorbar(at, centre, reach, fmt="none", ecolor=colour, alpha=opacity, lw=1.5)
        else:
            low, high = position - bound, position + bound
            axes.fill_between(times, low, high, where=certified, color=colour, alpha=opacity, lw=0)
        for chosen, line in _lines(tracks, index):
            axes.plot(times, np.where(chosen, position, np.nan), line, color=colour, lw=1.3, ms=4)
    axes.set_ylabel("xy"[axis] + " (px)")
    axes.margins(x=0.01)


def _add_legend(axes: Axes, tracks: Tracks) -> None:
    certified: dict[str, Any] = {"lw": 0, "marker": "."} if tracks.unordered else {"lw": 1.3}
    refused: dict[str, Any] = {"lw": 0, "marker": "x", "ms": 4} if tracks.unordered else {"lw": 1.3, "ls": ":"}
    handles: list[Any] = [
        Line2D([], [], color="0.3", label="position", **certified),
        Patch(color="0.3", alpha=0.25, lw=0, label="± bound"),
        Line2D([], [], color="0.3", label="refused: no bound", **refused),
    ]
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderpad=0, fontsize=8)


def _plot_object(axes: Axes, pixels: Pixels, text: str, colour: str) -> None:
    """The object as the decoder renders it, with its numbers beside it."""
    axes.imshow(_rgb(pixels), interpolation="nearest")
    axes.spines[:].set(visible=True, color=colour, linewidth=2.5)
    axes.grid(False)
    name, numbers = text.split(": ", 1)
    beside: dict[str, Any] = {"va": "top", "transform": axes.transAxes}
    axes.text(1.1, 0.98, name, fontweight="bold", **beside)
    axes.text(1.1, 0.74, numbers.replace(", ", "\n"), fontsize=7.5, linespacing=1.3, **beside)


def _rgb(pixels: Pixels) -> Pixels:
    return np.broadcast_to(pixels, (*pixels.shape[:2], 3))
