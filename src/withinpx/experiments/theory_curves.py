"""Figures 3 and 7: the bound as a curve."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from withinpx.experiments.fig4 import PANELS, Setting
from withinpx.experiments.plots import THEORY, draw_bound, figure
from withinpx.experiments.sweep import Panel
from withinpx.theory.bound import SizeRange
from withinpx.theory.corollaries import (
    Curve,
    bound_vs_decoder_rf,
    bound_vs_encoder_rf,
    bound_vs_object_size,
    bound_vs_sigma,
    printed_bound_vs_decoder_rf,
    printed_bound_vs_encoder_rf,
)

ENCODER_RF, DECODER_RF, SIGMA = 9, 25, 0.8  # of figures 4 and 5
SIZES = SizeRange(6, 10)  # figure 5
SHADES = (1, 2)  # standard deviations
ERROR = "maximum position error (px)"


def figure_3(folder: Path) -> Path:
    """The bound against each of its four variables, the others as in figure 4."""
    path = folder / "fig3.png"
    with figure(path, columns=4, width=13, height=3.1) as (_, axes):
        for axis, panel, first in zip(axes, PANELS.values(), (1, 9, 1, 0), strict=True):
            draw_panel_bound(axis, panel, np.linspace(first, panel.values[-1], 601), SHADES)
            axis.set(xlabel=panel.axis, ylim=(0, 11))
            axis.set_title(f"({panel.name})", loc="left", fontweight="bold")
        axes[0].set_ylabel(ERROR)
        axes[0].legend(loc="lower right", fontsize=7.5)
    return path


def figure_7(folder: Path) -> Path:
    """The bound for a range of object sizes: exact, and as the paper prints it."""
    path = folder / "fig7.png"
    with figure(path, columns=2, width=8, height=3.4) as (_, axes):
        for axis, letter, name, first, exact, printed, other_rf in (
            (axes[0], "a", "encoder", 1, bound_vs_encoder_rf, printed_bound_vs_encoder_rf, DECODER_RF),
            (axes[1], "b", "decoder", 10, bound_vs_decoder_rf, printed_bound_vs_decoder_rf, ENCODER_RF),
        ):
            values = np.linspace(first, 31, 601)
            _draw_curve(axis, lambda n, exact=exact, rf=other_rf: exact(rf, SIZES, n * SIGMA), values, SHADES)  # type: ignore[misc]
            curve = printed(other_rf, SIZES, 2 * SIGMA)
            axis.plot(values, [curve(x) for x in values], color="0.25", lw=1, ls=":", label="as printed, 2 s.d.")
            axis.set(xlabel=f"{name} receptive field (px)", ylim=(0, 14))
            title = f"({letter}) objects of {SIZES.smallest:g} to {SIZES.largest:g} px"
            axis.set_title(title, loc="left", fontweight="bold")
        axes[0].set_ylabel(ERROR)
        axes[0].legend(loc="lower right", fontsize=7.5)
    return path


def draw_panel_bound(axis: Axes, panel: Panel[Setting], values: NDArray[np.float64], shades: Sequence[int]) -> None:
    """The theory of a panel of figure 4."""
    curve_at = panel_curve(panel)
    _draw_curve(axis, curve_at, values, shades)
    if panel.variable == "sigma":  # without the Gaussian the two terms never cross: draw the encoder's separately
        widest = curve_at(shades[-1])
        axis.axhline(widest(values[-1]), color=THEORY, linewidth=1.8)
        _draw_crossings(axis, widest)


def panel_curve(panel: Panel[Setting]) -> Callable[[float], Curve]:
    """The corollary of a panel of figure 4, at so many standard deviations."""
    fixed = panel.fixed
    size = SizeRange(fixed.object_size, fixed.object_size)
    curves: dict[str, Callable[[float], Curve]] = {
        "encoder_rf": lambda n: bound_vs_encoder_rf(fixed.decoder_rf, size, n * fixed.sigma),
        # the paper's axis begins below the object's size, where the decoder's term is the Gaussian's alone
        "decoder_rf": lambda n: replace(bound_vs_decoder_rf(fixed.encoder_rf, size, n * fixed.sigma), start=1),
        "object_size": lambda n: bound_vs_object_size(fixed.encoder_rf, fixed.decoder_rf, n * fixed.sigma),
        "sigma": lambda n: bound_vs_sigma(fixed.encoder_rf, fixed.decoder_rf, fixed.object_size, n),
    }
    return curves[panel.variable]


def _draw_curve(
    axis: Axes, curve_at: Callable[[float], Curve], values: NDArray[np.float64], shades: Sequence[int]
) -> None:
    draw_bound(axis, curve_at, values, shades)
    _draw_crossings(axis, curve_at(0))


def _draw_crossings(axis: Axes, curve: Curve) -> None:
    for crossing in curve.crossings:
        axis.axvline(crossing, color="0.4", linestyle="--", linewidth=0.9)


FIGURES = {"fig3": figure_3, "fig7": figure_7}
