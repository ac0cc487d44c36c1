"""Figure 4, drawn from its table: errors against the theory, the same after calibration, and the accepted share."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from withinpx.experiments.fig4 import EXPERIMENTS, N_SIGMA, Experiment, Run, runs_in
from withinpx.experiments.plots import RUNS, THEORY, TRUTH, panels
from withinpx.experiments.table import RunTable
from withinpx.experiments.theory_curves import draw_bound
from withinpx.theory.bound import SizeRange
from withinpx.theory.corollaries import (
    Curve,
    bound_vs_decoder_rf,
    bound_vs_encoder_rf,
    bound_vs_object_size,
    bound_vs_sigma,
)

SHADES = (1, 2, 3, 4)  # standard deviations
TOP = 12.0  # px
FLOOR = 1e-4  # px; the table's last decimal
TICKS = (FLOOR, 1e-3, 1e-2, 0.1, 1, 10)
HEIGHTS = (0.13, 1.0, 0.8)  # accepted share, error, calibrated error


def draw(table: RunTable, folder: Path, letters: str = "abcd") -> list[Path]:
    """``fig4a.png`` and so on, one for each letter, and ``fig4.png`` if all four are asked for."""
    runs = runs_in(table)
    asked = [EXPERIMENTS[letter] for letter in letters]
    drawn = [_draw(folder / f"fig4{each.letter}.png", [each], runs, width=4.4) for each in asked]
    return [*drawn, _draw(folder / "fig4.png", asked, runs, width=13)] if len(asked) == len(EXPERIMENTS) else drawn


def _draw(path: Path, experiments: Sequence[Experiment], runs: Sequence[Run], width: float) -> Path:
    with panels(path, HEIGHTS, len(experiments), width, height=6.2) as (fig, rows):
        for experiment, shares, errors, calibrated in zip(experiments, *rows, strict=True):
            own = [run for run in runs if run.setting.experiment == experiment.letter]
            _draw_shares(shares, experiment, own)
            _draw_errors(errors, experiment, own)
            _draw_calibrated(calibrated, experiment, own)
            shares.set_title(f"({experiment.letter})", loc="left", fontweight="bold")
            calibrated.set_xlabel(experiment.axis)
            if experiment.variable != "sigma":
                calibrated.set_xticks(experiment.values[::3])
        shares, errors, calibrated = (row[0] for row in rows)
        shares.set_ylabel("accepted", rotation=0, ha="right", va="center", fontsize=8)
        errors.set_ylabel("maximum position error (px)")
        calibrated.set_ylabel("after calibration (px)")
        fig.align_ylabels([errors, calibrated])
        _draw_legend(fig, (errors, calibrated), columns=4 if len(experiments) > 1 else 2)
    return path


def _draw_legend(fig: Figure, axes: Sequence[Axes], columns: int) -> None:
    """One for all panels, below them."""
    handles = [handle for axis in axes for handle in axis.get_legend_handles_labels()[0]]
    fig.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8, columnspacing=1.4)


def _draw_shares(axis: Axes, experiment: Experiment, runs: Sequence[Run]) -> None:
    """The share of accepted runs per setting; nothing where nothing ran."""
    by_value: dict[float, list[bool]] = {}
    for run in runs:
        by_value.setdefault(_place(run, experiment), []).append(run.accepted)
    places = list(by_value)
    width = 0.75 * float(np.min(np.diff(experiment.values)))
    axis.bar(places, np.ones(len(places)), width, color="0.9")
    axis.bar(places, [float(np.mean(each)) for each in by_value.values()], width, color=TRUTH)
    axis.set(ylim=(0, 1), yticks=(0, 1))
    axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    axis.tick_params(axis="y", labelsize=6.5)
    axis.tick_params(axis="x", length=0)
    axis.grid(visible=False)
    axis.spines["left"].set_visible(False)


def _draw_errors(axis: Axes, experiment: Experiment, runs: Sequence[Run]) -> None:
    """As the paper draws it: theory in blue, runs as red dots."""
    curve_at = _curve(experiment)
    draw_bound(axis, curve_at, _values(experiment), SHADES)
    if experiment.letter == "d":  # without the Gaussian the terms never cross: the encoder's is drawn apart
        at_four = curve_at(N_SIGMA)
        axis.axhline(at_four(experiment.values[-1]), color=THEORY, linewidth=1.8)
        axis.axvline(at_four.crossings[0], color="0.4", linestyle="--", linewidth=0.9)
    _draw_runs(axis, experiment, runs, lambda run: run.error, color=RUNS, label="runs")
    axis.set_ylim(-0.25, TOP)


def _draw_calibrated(axis: Axes, experiment: Experiment, runs: Sequence[Run]) -> None:
    """The same runs after the label-free shift, beside the bound they had before."""
    values, curve = _values(experiment), _curve(experiment)(N_SIGMA)
    bound = np.array([curve(value) for value in values])
    shown = np.where(bound > 0.1, bound, np.nan)
    axis.plot(values, shown, color=THEORY, linewidth=1.4, linestyle="-.", label="bound before calibration, 4 s.d.")
    calibrated = "runs, after calibration"
    _draw_runs(axis, experiment, runs, lambda run: max(run.calibrated, FLOOR), color=TRUTH, label=calibrated)
    axis.set(yscale="log", ylim=(FLOOR / 2, 20))
    axis.set_yticks(TICKS, [f"≤ {FLOOR:g}", *(f"{tick:g}" for tick in TICKS[1:])])
    axis.minorticks_off()


def _draw_runs(
    axis: Axes, experiment: Experiment, runs: Sequence[Run], error: Callable[[Run], float], *, color: str, label: str
) -> None:
    """A dot for each accepted run."""
    accepted = [run for run in runs if run.accepted]
    places, errors = [_place(run, experiment) for run in accepted], [error(run) for run in accepted]
    axis.scatter(places, errors, s=9, color=color, alpha=0.7, linewidth=0, zorder=3, label=label)


def _place(run: Run, experiment: Experiment) -> float:
    return float(getattr(run.setting, experiment.variable))


def _values(experiment: Experiment) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.linspace(0 if experiment.variable == "sigma" else 1, experiment.values[-1], 601)


def _curve(experiment: Experiment) -> Callable[[float], Curve]:
    """The experiment's corollary, at so many standard deviations."""
    fixed = experiment.fixed
    size = SizeRange(fixed.object_size, fixed.object_size)
    curves: dict[str, Callable[[float], Curve]] = {
        "a": lambda n: bound_vs_encoder_rf(fixed.decoder_rf, size, n * fixed.sigma),
        # the paper's axis begins below the object's size, where only the Gaussian's width leaves room
        "b": lambda n: replace(bound_vs_decoder_rf(fixed.encoder_rf, size, n * fixed.sigma), start=1),
        "c": lambda n: bound_vs_object_size(fixed.encoder_rf, fixed.decoder_rf, n * fixed.sigma),
        "d": lambda n: bound_vs_sigma(fixed.encoder_rf, fixed.decoder_rf, fixed.object_size, n),
    }
    return curves[experiment.letter]
