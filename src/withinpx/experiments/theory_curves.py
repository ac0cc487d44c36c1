"""Figures 3 and 7: the theory alone."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from withinpx.experiments.plots import THEORY, figure
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

ENCODER_RF, DECODER_RF, OBJECT_SIZE, SIGMA = 9, 25, 9, 0.8  # figure 4 a to c
SIGMA_DECODER_RF, SIGMA_OBJECT_SIZE = 11, 7  # figure 4 d
SIZES = SizeRange(6, 10)  # figure 5
SHADES = (1, 2)  # standard deviations
ERROR = "maximum position error (px)"


def figure_3(folder: Path) -> Path:
    """The bound against each of its four variables, the others as in figure 4."""
    nine = SizeRange(OBJECT_SIZE, OBJECT_SIZE)
    path = folder / "fig3.png"
    with figure(path, columns=4, width=13, height=3.1) as (_, axes):
        draw_bound(axes[0], lambda n: bound_vs_encoder_rf(DECODER_RF, nine, n * SIGMA), np.linspace(1, 31, 601))
        draw_bound(axes[1], lambda n: bound_vs_decoder_rf(ENCODER_RF, nine, n * SIGMA), np.linspace(9, 31, 601))
        draw_bound(axes[2], lambda n: bound_vs_object_size(ENCODER_RF, DECODER_RF, n * SIGMA), np.linspace(1, 25, 601))
        draw_bound(
            axes[3],
            lambda n: bound_vs_sigma(ENCODER_RF, SIGMA_DECODER_RF, SIGMA_OBJECT_SIZE, n),
            np.linspace(0, 5, 601),
        )
        encoder_limit = bound_vs_sigma(ENCODER_RF, SIGMA_DECODER_RF, SIGMA_OBJECT_SIZE, 2)
        axes[3].axhline(encoder_limit(5), color=THEORY, linewidth=1.8)
        axes[3].axvline(encoder_limit.crossings[0], color="0.4", linestyle="--", linewidth=0.9)
        labels = (
            "encoder receptive field (px)",
            "decoder receptive field (px)",
            "object size (px)",
            "Gaussian s.d. (px)",
        )
        for axis, letter, label in zip(axes, "abcd", labels, strict=True):
            axis.set(xlabel=label, ylim=(0, 11))
            axis.set_title(f"({letter})", loc="left", fontweight="bold")
        axes[0].set_ylabel(ERROR)
        axes[0].legend(loc="lower right", fontsize=7.5)
    return path


def figure_7(folder: Path) -> Path:
    """The bound for a range of object sizes: exact, and as the paper prints it."""
    path = folder / "fig7.png"
    with figure(path, columns=2, width=8, height=3.4) as (_, axes):
        draw_bound(axes[0], lambda n: bound_vs_encoder_rf(DECODER_RF, SIZES, n * SIGMA), np.linspace(1, 31, 601))
        draw_bound(axes[1], lambda n: bound_vs_decoder_rf(ENCODER_RF, SIZES, n * SIGMA), np.linspace(10, 31, 601))
        encoder_rf, decoder_rf = np.linspace(1, 31, 601), np.linspace(10, 31, 601)
        at_two = 2 * SIGMA
        draw_printed(axes[0], printed_bound_vs_encoder_rf(DECODER_RF, SIZES, at_two), encoder_rf)
        draw_printed(axes[1], printed_bound_vs_decoder_rf(ENCODER_RF, SIZES, at_two), decoder_rf)
        for axis, letter, name in zip(axes, "ab", ("encoder", "decoder"), strict=True):
            axis.set(xlabel=f"{name} receptive field (px)", ylim=(0, 14))
            axis.set_title(
                f"({letter}) objects of {SIZES.smallest:g} to {SIZES.largest:g} px", loc="left", fontweight="bold"
            )
        axes[0].set_ylabel(ERROR)
        axes[0].legend(loc="lower right", fontsize=7.5)
    return path


def draw_bound(
    axis: Axes,
    curve_at: Callable[[float], Curve],
    values: NDArray[np.float64],
    shades: tuple[int, ...] = SHADES,
) -> None:
    """The bound without the Gaussian as a line, what 1, 2, ... standard deviations add shaded, crossings dashed."""
    mean = curve_at(0)
    line = np.array([mean(value) for value in values])
    below = line
    for fainter, n in enumerate(shades):
        curve = curve_at(n)
        above = np.array([curve(value) for value in values])
        label = f"decoder, within {n} s.d."
        alpha = 0.55 * (1 - fainter / len(shades))
        axis.fill_between(values, below, above, color=THEORY, alpha=alpha, linewidth=0, label=label)
        below = above
    axis.plot(values, line, color=THEORY, linewidth=1.8, label="bound for $\\Delta_G = 0$")
    for crossing in mean.crossings:
        axis.axvline(crossing, color="0.4", linestyle="--", linewidth=0.9)


def draw_printed(axis: Axes, curve: Curve, values: NDArray[np.float64]) -> None:
    """The paper's own piecewise form, for comparison."""
    label = "as printed, 2 s.d."
    axis.plot(values, [curve(value) for value in values], color="0.25", linewidth=1, linestyle=":", label=label)


FIGURES = {"fig3": figure_3, "fig7": figure_7}
