"""Figures 5 and 9 from the table of runs, and a summary in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from withinpx.experiments.clevr import FIGURES, N_SIGMA, PANELS, RUN, WITHINPX, Setting, is_inside
from withinpx.experiments.plots import RUNS, THEORY, TRUTH, draw_bound, draw_legend, grid
from withinpx.experiments.sweep import Panel
from withinpx.experiments.table import RunTable
from withinpx.experiments.table1 import METHODS

if TYPE_CHECKING:
    from pandas import DataFrame, Series

SHADES = (1, 2)  # standard deviations, as in the paper
TOP = 20.0  # px; larger errors are plotted at the upper edge
LOWEST = 0.02  # px, on the logarithmic scale


def summarise(table: RunTable, panels: Sequence[str]) -> list[str]:
    """One line for each panel and recipe, and one for each other detector."""
    runs = table.frame()
    ours = dict(list(runs[runs.method == WITHINPX].groupby(["experiment", "recipe"])))
    keys = [(panel, recipe) for panel in panels for recipe in ("ours", "paper") if (panel, recipe) in ours]
    lines = [_summary(", ".join(key), ours[key]) for key in keys]
    for method in sorted({*runs.method} - {WITHINPX}):
        own = runs[runs.method == method]
        kept = own[own.learned]
        lines.append(
            f"{method}: {len(kept)} of {len(own)} errors within 35 px, {is_inside(kept).sum()} inside the bound at "
            f"2 s.d., the largest {_largest(kept.position_error)} px"
        )
    return lines


def _summary(name: str, own: "DataFrame") -> str:
    learned = own[own.learned]
    whole = own.groupby(list(RUN)).learned.all()
    return (
        f"{name}: {len(learned)} of {len(own)} objects learned, all of them in {whole.sum()} of {len(whole)} runs; "
        f"{is_inside(learned).sum()} of {len(learned)} errors inside the bound at 2 s.d., the largest "
        f"{_largest(learned.position_error)} px; calibrated, median {learned.calibrated_median.median():.2f} px, the "
        f"largest {_largest(learned.calibrated_error)} px"
    )


def _largest(errors: "Series") -> str:
    return f"{errors.max():.2f}" if errors.notna().any() else "none"


@dataclass(frozen=True)
class Markers:
    """How the errors of a method are plotted."""

    method: str
    recipe: str
    style: dict[str, Any]
    column: str = "position_error"


_DOT: dict[str, Any] = {"s": 14, "linewidth": 0.8, "zorder": 3}
PAPERS_RECIPE = Markers(WITHINPX, "paper", {"facecolor": "none", "edgecolor": RUNS, "label": "paper's recipe"})
OUR_RECIPE = Markers(WITHINPX, "ours", {"color": RUNS, "alpha": 0.8, "label": "our recipe"})
CALIBRATED = Markers(WITHINPX, "ours", {"color": "#7a3fb0", "label": "our recipe, calibrated"}, "calibrated_error")
OTHERS = (
    Markers("mobilesam", "", {"color": TRUTH, "marker": "^", "label": "MobileSAM"}),
    Markers("sam", "", {"color": TRUTH, "marker": "v", "label": "SAM"}),
    Markers("cutler", "", {"color": "#e08214", "marker": "s", "label": "CutLER"}),
    Markers("mog2", "", {"color": "0.45", "marker": "x", "label": "MOG2 and contours"}),
)


def draw(table: RunTable, name: str, folder: Path) -> Path:
    """Figure 5 or 9, or one of their panels."""
    path, runs, panels = folder / f"{name}.png", table.frame(), [PANELS[panel] for panel in FIGURES[name]]
    with grid(path, (1.0, 0.75), len(panels), width=3.3 * len(panels) + 0.6, height=5.6) as (fig, rows):
        for panel, upper, lower in zip(panels, *rows, strict=True):
            own = runs[_belongs(runs, panel) & runs.learned]
            x, bound_at = _x_values(panel), _bound(panel)
            draw_bound(upper, bound_at, x, SHADES, alpha=0.5)
            lower.plot(x, list(map(bound_at(N_SIGMA), x)), color=THEORY, lw=1.4, ls="-.", label="bound at 2 s.d.")
            for markers in (PAPERS_RECIPE, OUR_RECIPE, *OTHERS):
                _draw_errors(upper, panel, own, markers, highest=TOP)
            for markers in (OUR_RECIPE, CALIBRATED, *OTHERS):
                _draw_errors(lower, panel, own, markers, lowest=LOWEST)
            upper.set(ylim=(-0.4, TOP + 0.6))
            lower.set(yscale="log", ylim=(LOWEST / 1.3, 60), xlabel=panel.axis)
            title = f"({panel.name[-1]})" + (f" {panel.fixed.dataset}" if panel.variable != "dataset" else "")
            upper.set_title(title, loc="left", fontsize=9, fontweight="bold")
        (upper, *_), (lower, *_) = rows
        upper.set_ylabel("maximum position error (px)")
        lower.set_ylabel("the same, and calibrated (px)")
        fig.align_ylabels([upper, lower])
        draw_legend(fig, [axis for row in rows for axis in row], 5 if len(panels) > 2 else 3)
    return path


def _belongs(runs: "DataFrame", panel: Panel[Setting]) -> "Series":
    """A panel shows its own runs, and other detectors on its dataset, whichever panel they were measured for."""
    others = runs.method != WITHINPX
    if panel.variable != "dataset":
        others &= runs.dataset == panel.fixed.dataset
    return others | ((runs.method == WITHINPX) & (runs.experiment == panel.name))


def _x_values(panel: Panel[Setting]) -> NDArray[np.float64]:
    if panel.variable == "dataset":
        return np.linspace(6, 27, 300)
    return np.linspace(0 if panel.variable == "sigma" else panel.values[0], panel.values[-1], 300)


def _bound(panel: Panel[Setting]) -> Any:
    """The bound at so many standard deviations, as a function of the horizontal axis."""

    def bound(n_sigma: float, x: float) -> float:
        if panel.variable == "dataset":
            return max(0.0, panel.fixed.bound(n_sigma, size=x))
        return max(0.0, replace(panel.fixed, **{panel.variable: x}).bound(n_sigma))  # type: ignore[arg-type]

    return lambda n_sigma: lambda x: bound(n_sigma, x)


def _draw_errors(
    axis: Axes, panel: Panel[Setting], own: "DataFrame", markers: Markers, *, lowest: float = 0.0, highest: float = 1e9
) -> None:
    """By what is varied, or by the object's size; other detectors are plotted beside the last value."""
    shown = own[(own.method == markers.method) & (own.recipe == markers.recipe)].dropna(subset=markers.column)
    if not len(shown):
        return
    if panel.variable == "dataset":
        x = shown["size"]
    elif markers.method == WITHINPX:
        x = shown[panel.variable]
    else:
        column = [method for method, _ in METHODS].index(markers.method)
        step = panel.values[-1] - panel.values[-2]
        x = np.full(len(shown), panel.values[-1] + step * (0.4 + 0.5 * column))
    axis.scatter(x, shown[markers.column].clip(lowest, highest), **_DOT, **markers.style)
