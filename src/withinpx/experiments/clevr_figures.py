"""Figures 5, 6 and 9, drawn from the table of runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from withinpx.experiments.clevr import ASKED, EXPERIMENTS, N_SIGMA, WITHINPX, Error, Experiment, Setting
from withinpx.experiments.clevr_table import BINS, METHODS, PAPERS, Line
from withinpx.experiments.plots import RUNS, THEORY, TRUTH, figure, panels
from withinpx.theory.bound import SizeRange

SHADES = (1, 2)  # standard deviations, as the paper shades them
TOP = 20.0  # px; what is farther off is drawn at the upper edge
LOWEST = 0.02  # px, where errors are drawn on a logarithmic scale
SAMPLE = "shapes_sample.png"


@dataclass(frozen=True)
class Look:
    """How the errors of a method are drawn."""

    method: str
    recipe: str
    style: dict[str, Any]
    calibrated: bool = False

    def of(self, error: Error) -> float | None:
        """What of an error is drawn, px; nothing if it is another method's."""
        if (error.method, error.recipe) != (self.method, self.recipe) or not error.learned:
            return None
        return error.calibrated if self.calibrated else error.position


_DOT: dict[str, Any] = {"s": 14, "linewidth": 0.8, "zorder": 3}
PAPERS_DOTS = Look(WITHINPX, "paper", {**_DOT, "facecolor": "none", "edgecolor": RUNS, "label": "paper's recipe"})
OUR_DOTS = Look(WITHINPX, "ours", {**_DOT, "color": RUNS, "alpha": 0.8, "label": "our recipe"})
CALIBRATED = Look(WITHINPX, "ours", {**_DOT, "color": "#7a3fb0", "label": "our recipe, calibrated"}, calibrated=True)
OTHERS = (
    Look("mobilesam", "", {**_DOT, "color": TRUTH, "marker": "^", "label": "MobileSAM"}),
    Look("sam", "", {**_DOT, "color": TRUTH, "marker": "v", "label": "SAM"}),
    Look("cutler", "", {**_DOT, "color": "#e08214", "marker": "s", "label": "CutLER"}),
    Look("mog2", "", {**_DOT, "color": "0.45", "marker": "x", "label": "MOG2 and contours"}),
)


def draw(what: str, errors: Sequence[Error], lines: Sequence[Line], folder: Path) -> list[Path]:
    """What was asked for: figures of panels, or figure 6."""
    if what == "fig6":
        return [draw_figure_6(lines, folder / "fig6.png")]
    if what == "table1":
        return []
    sample = folder / SAMPLE if what == "fig9" and (folder / SAMPLE).exists() else None
    return [_draw(folder / f"{what}.png", [EXPERIMENTS[name] for name in ASKED[what]], errors, sample)]


def _draw(path: Path, experiments: Sequence[Experiment], errors: Sequence[Error], sample: Path | None) -> Path:
    columns = len(experiments) + (sample is not None)
    with panels(path, (1.0, 0.75), columns, width=3.3 * columns + 0.6, height=5.6) as (fig, rows):
        if sample is not None:
            _draw_sample(rows[0][0], rows[1][0], sample)
        for experiment, upper, lower in zip(experiments, *(row[-len(experiments) :] for row in rows), strict=True):
            own = [each for each in errors if _belongs(each, experiment)]
            _draw_theory(upper, experiment)
            _draw_theory(lower, experiment, line_only=True)
            for look in (PAPERS_DOTS, OUR_DOTS, *OTHERS):
                _draw_errors(upper, experiment, own, look, top=TOP)
            for look in (OUR_DOTS, CALIBRATED, *OTHERS):
                _draw_errors(lower, experiment, own, look, lowest=LOWEST)
            upper.set(ylim=(-0.4, TOP + 0.6))
            lower.set(yscale="log", ylim=(LOWEST / 1.3, 60), xlabel=experiment.axis)
            letter = f"({experiment.name[-1]})"
            title = f"{letter} {experiment.fixed.dataset}" if experiment.variable != "dataset" else letter
            upper.set_title(title, loc="left", fontsize=9, fontweight="bold")
        first = -len(experiments)
        rows[0][first].set_ylabel("maximum position error (px)")
        rows[1][first].set_ylabel("the same, and calibrated (px)")
        fig.align_ylabels([rows[0][first], rows[1][first]])
        _draw_legend(fig, [axis for row in rows for axis in row[-len(experiments) :]], 5 if columns > 2 else 3)
    return path


def draw_figure_6(lines: Sequence[Line], path: Path) -> Path:
    """Table 1 as a picture: ours as lines, the paper's own numbers dashed."""
    colours = {"Ours": RUNS, "SAM": TRUTH, "CutLER": "#e08214", None: "0.45"}
    with figure(path, columns=1, width=5.2, height=3.6) as (_, (axis,)):
        for number, (line, marker) in enumerate(zip(lines, "o^vsxD", strict=False)):
            known = [(middle, share.percent) for middle, share in zip(BINS, line.shares[1:], strict=True)]
            places, percents = zip(*[(x, y) for x, y in known if y is not None], strict=True)
            hollow = "none" if "paper" in line.name else None
            axis.plot(
                places, percents, marker, ls="-", color=colours[line.paper], mfc=hollow, label=line.name,
                ms=4 + 1.5 * number, zorder=3 - number / 10,  # many share a place: the first on top, the next around it
            )  # fmt: skip
        for name, numbers in PAPERS.items():
            axis.plot(BINS, numbers[1:], ":", color=colours[name], lw=1.2, label=f"the paper's {name}")
        axis.set(xlabel="object size ± 1.5 (px)", ylabel="errors within the bound, 2 s.d. (%)", ylim=(-4, 104))
        axis.set_xticks(BINS)
        axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return path


def _belongs(error: Error, experiment: Experiment) -> bool:
    """A panel shows its own runs, and other detectors on its dataset wherever they were measured."""
    if error.method == WITHINPX:
        return error.setting.experiment == experiment.name
    return experiment.variable == "dataset" or error.setting.dataset == experiment.fixed.dataset


def _draw_theory(axis: Axes, experiment: Experiment, *, line_only: bool = False) -> None:
    """The bound without the Gaussian as a line, what 1 and 2 standard deviations add shaded."""
    places = _places(experiment)

    def bounds(n_sigma: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([_bound(experiment, place, n_sigma) for place in places])

    if line_only:
        axis.plot(places, bounds(N_SIGMA), color=THEORY, lw=1.4, ls="-.", label="bound at 2 s.d.")
        return
    below = line = bounds(0)
    for n in SHADES:
        above = bounds(n)
        axis.fill_between(places, below, above, color=THEORY, alpha=0.5 / n, lw=0, label=f"decoder, within {n} s.d.")
        below = above
    axis.plot(places, line, color=THEORY, lw=1.8, label="bound for $\\Delta_G = 0$")


def _places(experiment: Experiment) -> np.ndarray[Any, np.dtype[np.float64]]:
    if experiment.variable == "dataset":
        return np.linspace(6, 27, 300)
    first = 0 if experiment.variable == "sigma" else experiment.values[0]
    return np.linspace(first, experiment.values[-1], 300)


def _bound(experiment: Experiment, place: float, n_sigma: float) -> float:
    if experiment.variable == "dataset":
        return max(0.0, experiment.fixed.bound(n_sigma, SizeRange(place, place)))
    setting: Setting = replace(experiment.fixed, **{experiment.variable: place})  # type: ignore[arg-type]
    return max(0.0, setting.bound(n_sigma))


def _draw_errors(
    axis: Axes, experiment: Experiment, errors: Sequence[Error], look: Look, *, lowest: float = 0.0, top: float = 1e9
) -> None:
    shown = [(_place(each, experiment), value) for each in errors if (value := look.of(each)) is not None]
    if shown:
        places, values = zip(*shown, strict=True)
        axis.scatter(places, np.clip(values, lowest, top), **look.style)


def _place(error: Error, experiment: Experiment) -> float:
    """By the object's size, or by what is varied; others than ours stand beside the last value."""
    if experiment.variable == "dataset":
        return error.size
    if error.method == WITHINPX:
        return float(getattr(error.setting, experiment.variable))
    step = experiment.values[-1] - experiment.values[-2]
    order = [method for method, _ in METHODS].index(error.method)
    return float(experiment.values[-1] + step * (0.4 + 0.5 * order))


def _draw_sample(upper: Axes, lower: Axes, sample: Path) -> None:
    with Image.open(sample) as picture:
        upper.imshow(np.asarray(picture), interpolation="nearest")
    upper.set_title("(a)", loc="left", fontsize=9, fontweight="bold")
    for axis in (upper, lower):
        axis.set_axis_off()


def _draw_legend(fig: Figure, axes: Sequence[Axes], columns: int) -> None:
    """One for all panels, below them; every label once."""
    labelled = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    fig.legend(
        labelled.values(), labelled.keys(), loc="outside lower center", ncols=columns, fontsize=8, columnspacing=1.4
    )
