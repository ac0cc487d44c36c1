"""Figure 2: where the encoder's and the decoder's largest position errors come from, to scale."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle

from withinpx.experiments.plots import RUNS, THEORY, TRUTH, figure
from withinpx.theory.bound import decoder_term, encoder_term

ENCODER_RF, DECODER_RF, OBJECT_SIZE, SIGMA = 5, 11, 7, 0.8  # px; the decoder's side of figure 4 (d)
DELTA_G = 2 * SIGMA  # px, along either axis
FIRST, LAST = -7.5, 8.5  # px, of the panels
ARROW = -4.4  # px, the height of the arrow
GREY = "0.35"


def figure_2(folder: Path) -> Path:
    """Both terms of theorem 4.1 in an example: the object's centre, z, and the distance between them."""
    path = folder / "fig2.png"
    with figure(path, columns=2, width=8.4, height=4.6) as (_, axes):
        _draw_encoder(axes[0])
        _draw_decoder(axes[1])
        for axis in axes:
            ticks = np.arange(FIRST, LAST + 1)  # pixels' edges
            axis.set(aspect="equal", xticks=ticks, yticks=ticks, xlim=(FIRST, LAST), ylim=(LAST, FIRST))
            axis.tick_params(labelbottom=False, labelleft=False, length=0)
            for spine in axis.spines.values():
                spine.set_visible(False)
            axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, fontsize=7.5)
    return path


def _draw_encoder(axis: Axes) -> None:
    """The receptive field touches the object with its last pixel; z is in its middle."""
    error = encoder_term(ENCODER_RF, OBJECT_SIZE)
    _square(axis, 0, OBJECT_SIZE, facecolor="0.8", edgecolor=GREY, label=f"object, {OBJECT_SIZE} px")
    label = f"encoder's receptive field, {ENCODER_RF} px"
    _square(axis, error, ENCODER_RF, facecolor=f"{THEORY}25", edgecolor=THEORY, label=label)
    corner = OBJECT_SIZE / 2 - 0.5
    _square(axis, corner, 1, facecolor=RUNS, edgecolor="none", label="the pixel they share")
    _mark(axis, error, "z")
    _error(axis, error, f"$s_\\psi/2 + s_o/2 - 1$ = {error:g} px")
    axis.set_title("(a) encoder", loc="left", fontweight="bold")


def _draw_decoder(axis: Axes) -> None:
    """Every pixel of the object is within half a receptive field of the part of the Gaussian that renders it."""
    part, error = (decoder_term(DECODER_RF, OBJECT_SIZE, delta) for delta in (0.0, DELTA_G))
    grid = np.linspace(-6, 10, 401)
    along = np.exp(-((grid - error) ** 2) / (2 * SIGMA**2))
    axis.contourf(
        grid, grid, np.outer(along, along), levels=(0.01, 0.14, 0.6, 1.01), colors=("#cfe8d8", "#8fcaa6", TRUTH)
    )
    _square(axis, 0, OBJECT_SIZE, facecolor="#cccccc90", edgecolor=GREY, label=f"rendered object, {OBJECT_SIZE} px")
    label = f"decoder's reach, {DECODER_RF} px"
    _square(axis, part, DECODER_RF, facecolor=f"{THEORY}18", edgecolor=THEORY, label=label)
    axis.plot(part, part, "s", color=RUNS, markersize=5, label=f"part of the Gaussian, {DELTA_G:g} px from z", zorder=5)
    _mark(axis, error, "z, Gaussian's centre")
    _error(axis, error, f"$s_\\phi/2 - s_o/2 + \\Delta_G$ = {error:g} px")
    axis.set_title("(b) decoder", loc="left", fontweight="bold")


def _square(axis: Axes, centre: float, side: float, **style: str) -> None:
    """Centred at (centre, centre)."""
    corner = centre - side / 2
    axis.add_patch(Rectangle((corner, corner), side, side, linewidth=1.3, zorder=2, **style))  # type: ignore[arg-type]


def _mark(axis: Axes, at: float, label: str) -> None:
    axis.plot(0, 0, "+", color="black", markersize=9, label="the object's centre", zorder=5)
    axis.plot(at, at, "o", color=THEORY, markersize=5, label=label, zorder=5)


def _error(axis: Axes, error: float, text: str) -> None:
    """The position error, the distance along either axis, above the object."""
    for x in (0.0, error):
        axis.plot([x, x], [ARROW, x], color=GREY, linewidth=0.8, linestyle=":", zorder=4)
    ends: Any = {"arrowstyle": "<->", "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0}
    axis.add_patch(FancyArrowPatch((0, ARROW), (error, ARROW), color="black", zorder=6, **ends))
    axis.text(error / 2, ARROW - 0.3, text, ha="center", va="bottom", fontsize=9)
