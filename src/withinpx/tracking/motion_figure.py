"""Speed over time with its proved limits, a panel for each object."""

from math import ceil
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from withinpx.figures import STYLE
from withinpx.palette import REFUSED, colour_of
from withinpx.tracking.motion import Motion

Array = NDArray[np.float64]
WIDTH, PANEL, MARGIN = 7.2, 1.25, 0.75  # inches
MANY = 6  # objects; more get two columns
MISSING: Any = {"facecolor": "none", "edgecolor": REFUSED, "hatch": "////", "alpha": 0.45, "lw": 0}


def plot_motion(motion: Motion) -> Figure:
    """In mm if the scale is known. A gap is where no speed is proved."""
    columns = 1 if motion.objects <= MANY else 2
    rows = ceil(motion.objects / columns)
    unit = "px" if motion.mm_per_px is None else "mm"
    per = "s" if motion.in_seconds else "frame"
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, PANEL * rows + MARGIN), layout="constrained")
        panels = figure.subplots(rows, columns, sharex=True, squeeze=False)
        for number, axes in enumerate(panels.T.ravel()):
            if number < motion.objects:
                _plot_object(axes, motion, number, motion.mm_per_px or 1.0)
            else:
                axes.set_visible(False)
        for column in range(columns):
            shown = min(rows, motion.objects - column * rows)
            panels[shown - 1, column].set_xlabel("time (s)" if motion.in_seconds else "frame")
            panels[shown - 1, column].tick_params(labelbottom=True)
        figure.supylabel(f"speed ({unit}/{per})", fontsize=9)
        _add_legend(figure, motion)
        figure.draw_without_rendering()  # styles the ticks within this context
    return figure


def _plot_object(axes: Axes, motion: Motion, index: int, scale: float) -> None:
    """Each mean as a level over its interval, or over its middle where intervals overlap."""
    colour, edges = colour_of(index), motion.edges.ravel()
    speed, low, high = (
        np.repeat(values[:, index] * scale, 2) for values in (motion.speed, motion.speed_low, motion.speed_high)
    )
    known = np.isfinite(speed)
    axes.fill_between(edges, low, high, where=known.tolist(), color=colour, alpha=0.25, lw=0)
    axes.plot(edges, speed, color=colour, lw=1.2)
    ends = motion.since >= 0
    top = 1.05 * np.nanmax(high) if known.any() else 1.0
    axes.set_ylim(-0.03 * top, top if top > 0 else 1.0)  # an object at rest is a line, not the axis
    missing = ~known & np.repeat(ends, 2)
    axes.fill_between(edges, 0, 1, where=missing.tolist(), transform=axes.get_xaxis_transform(), **MISSING)
    axes.set_xlim(motion.times[0], motion.times[-1])
    name = {"fontsize": 8, "fontweight": "bold", "color": colour, "ha": "left", "va": "bottom"}
    axes.text(0.0, 1.0, f"object {index}", transform=axes.transAxes, **name)  # type: ignore[arg-type]


def _add_legend(figure: Figure, motion: Motion) -> None:
    frames = "consecutive frames" if motion.over == 1 else f"frames {motion.over} apart"
    handles = [
        Line2D([], [], color="0.3", lw=1.2, label=f"mean between {frames}"),
        Patch(color="0.3", alpha=0.25, lw=0, label="proved to be within"),
        Patch(**MISSING, label="refused, or identity not proved"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=3, fontsize=8, borderpad=0)
