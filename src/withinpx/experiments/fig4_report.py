"""Figure 4 from its table: one summary per setting (JSON and Markdown), and the figure."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from pandas import Series

from withinpx.experiments import fig4_distribution
from withinpx.experiments.fig4 import N_SIGMA, PANELS, Setting, is_inside
from withinpx.experiments.plots import RUNS, THEORY, TRUTH, draw_legend, grid
from withinpx.experiments.sweep import Panel, describe_sweeps
from withinpx.experiments.table import RunTable
from withinpx.experiments.theory_curves import draw_panel_bound, panel_curve
from withinpx.files import writable_folder, write_atomically, write_json

if TYPE_CHECKING:
    from pandas import DataFrame

Summary = dict[str, Any]

SHADES = (1, 2, 3, 4)  # standard deviations
TOP = 12.0  # px
FLOOR = 1e-4  # px; the table's last decimal
TICKS = (FLOOR, 1e-3, 1e-2, 0.1, 1, 10)
STARTS: dict[str, dict[str, Any]] = {  # the last start of a run: its mark, and how far beside its value that is
    "random": {"label": "first start", "marker": "o", "s": 9, "linewidth": 0, "alpha": 0.75, "offset": 0.0},
    "aside": {"label": "restart beside the object", "marker": "^", "s": 13, "linewidth": 0.7, "offset": 0.2},
    "centre": {"label": "restart at its centre", "marker": "x", "s": 13, "linewidth": 0.8, "offset": -0.2},
}
HEIGHTS = (0.13, 1.0, 0.8)  # accepted share, error, calibrated error
HEADINGS = {
    "encoder_rf": "encoder",
    "decoder_rf": "decoder",
    "object_size": "object",
    "sigma": "sigma",
    "runs": "runs",
    "accepted": "accepted",
    "accepted_at_first": "of them begun at random",
    "largest_error": "largest error (px)",
    "bound": "bound at 4 s.d. (px)",
    "limiting": "limited by",
    "inside_bound": "inside the bound",
    "inside_1_sd": "1 s.d.",
    "inside_2_sd": "2 s.d.",
    "inside_3_sd": "3 s.d.",
    "inside_4_sd": "4 s.d.",
    "largest_calibrated_error": "largest calibrated error (px)",
}
EXPLANATION = (
    "The bound is the smaller of the encoder's term and the decoder's term plus 4 sigma. Runs inside 1 to 4 s.d. are\n"
    "counted where the decoder's term alone is below the encoder's: on the decoder's side of the dashed line."
)


def summarise(table: RunTable) -> list[Summary]:
    """Counts and maxima of each setting; errors are those of accepted runs."""
    groups = table.frame().groupby([field.name for field in fields(Setting)], sort=False)
    return [
        _summary(Setting(name, int(e), int(d), int(size), float(s)), runs) for (name, e, d, size, s), runs in groups
    ]


def write_summary(folder: Path, table: RunTable) -> list[Summary]:
    """``summary.json`` and ``summary.md``."""
    summaries = summarise(table)
    changes = change_after_learning(table)
    notes = describe_sweeps(table.path.parent) + ([changes] if changes else [])
    write_json(writable_folder(folder) / "summary.json", summaries)
    write_json(folder / "distribution.json", fig4_distribution.as_json(table.frame()))
    page = [_page(summaries, notes), *fig4_distribution.describe(table.frame()), ""]
    write_atomically(folder / "summary.md", "\n".join(page).encode())
    return summaries


def total(summaries: Sequence[Summary]) -> str:
    runs, accepted, inside = (sum(row[name] for row in summaries) for name in ("runs", "accepted", "inside_bound"))
    return (
        f"{runs} runs of {len(summaries)} settings: {accepted} accepted, {runs - accepted} discarded, "
        f"{inside} of the accepted inside the bound, {accepted - inside} outside."
    )


def change_after_learning(table: RunTable) -> str | None:
    """What the epochs after learning changed, in a table of runs that went on to the last one."""
    if "learned_at" not in table.columns:
        return None
    accepted = [run for run in table.runs() if run["accepted"]]
    learned = [run for run in accepted if run["accepted_then"] == "True"]
    changes = [abs(run["position_error"] - float(run["error_then"])) for run in learned]
    abandoned = sum(run["accepted_then"] == "False" for run in accepted)
    later = f" {abandoned} more would have been abandoned or discarded before it." if abandoned else ""
    return (
        f"Of {len(accepted)} accepted runs {len(changes)} had learned before the last epoch: their error changed by at "
        f"most {max(changes, default=0.0):.4f} px after that.{later}"
    )


def _summary(setting: Setting, runs: "DataFrame") -> Summary:
    accepted = runs[runs.accepted]
    inside = {n: int(is_inside(accepted, n).sum()) for n in range(1, N_SIGMA + 1)}
    decoder_limits = setting.bound_decoder_mean < setting.bound_encoder
    at_first = int((accepted.start == "random").sum()) if "start" in runs else None
    return {
        **asdict(setting),
        "runs": len(runs),
        "accepted": len(accepted),
        "accepted_at_first": at_first,
        "largest_error": max(accepted.position_error.tolist(), default=None),
        "bound": round(setting.bound(), 4),
        "limiting": "encoder" if setting.bound() == setting.bound_encoder else "decoder",
        "inside_bound": inside[N_SIGMA],
        **{f"inside_{n}_sd": count if decoder_limits else None for n, count in inside.items()},
        "largest_calibrated_error": max(accepted.calibrated_error.tolist(), default=None),
    }


def _page(summaries: Sequence[Summary], notes: Sequence[str]) -> str:
    lines = ["# Figure 4, setting by setting", "", total(summaries), ""]
    lines += [f"- {note}" for note in notes] + [""] * bool(notes)
    lines.append(EXPLANATION)
    for letter in sorted({summary["experiment"] for summary in summaries}):
        rows = [list(HEADINGS.values()), ["---"] * len(HEADINGS)]
        rows += [[_cell(row[name]) for name in HEADINGS] for row in summaries if row["experiment"] == letter]
        lines += ["", f"## ({letter})", "", *("| " + " | ".join(row) + " |" for row in rows)]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def draw(table: RunTable, folder: Path, letters: Sequence[str] = tuple(PANELS)) -> list[Path]:
    """``fig4a.png`` and so on, one for each letter, and ``fig4.png`` with all four panels if all are wanted."""
    runs = table.frame()
    panels = [PANELS[letter] for letter in letters]
    paths = [_draw(folder / f"fig4{panel.name}.png", [panel], runs, width=4.4) for panel in panels]
    return [*paths, _draw(folder / "fig4.png", panels, runs, width=13)] if len(panels) == len(PANELS) else paths


def _draw(path: Path, panels: Sequence[Panel[Setting]], runs: "DataFrame", width: float) -> Path:
    with grid(path, HEIGHTS, len(panels), width, height=6.2) as (fig, rows):
        for panel, shares, errors, calibrated in zip(panels, *rows, strict=True):
            own = runs[runs.experiment == panel.name]
            _draw_shares(shares, panel, own)
            _draw_errors(errors, panel, own[own.accepted])
            _draw_calibrated(calibrated, panel, own[own.accepted])
            shares.set_title(f"({panel.name})", loc="left", fontweight="bold")
            calibrated.set_xlabel(panel.axis)
            if panel.variable != "sigma":
                calibrated.set_xticks(panel.values[::3])
        shares, errors, calibrated = (row[0] for row in rows)
        shares.set_ylabel("accepted", rotation=0, ha="right", va="center", fontsize=8)
        errors.set_ylabel("maximum position error (px)")
        calibrated.set_ylabel("after calibration (px)")
        fig.align_ylabels([errors, calibrated])
        draw_legend(fig, [axis for row in reversed(rows) for axis in row], columns=5 if len(panels) > 1 else 2)
    return path


def _draw_shares(axis: Axes, panel: Panel[Setting], runs: "DataFrame") -> None:
    """The share of accepted runs per setting, and that of accepted first starts; no bar where nothing was trained."""
    first = runs.accepted & (_starts(runs) == "random")
    shares, at_first = (values.groupby(runs[panel.variable]).mean() for values in (runs.accepted, first))
    width = 0.75 * _step(panel)
    axis.bar(shares.index, np.ones(len(shares)), width, color="0.92", label="discarded")
    axis.bar(shares.index, shares, width, color="#a9d3ba", label="accepted after restarts")
    axis.bar(at_first.index, at_first, width, color=TRUTH, label="accepted at the first start")
    axis.set(ylim=(0, 1), yticks=(0, 1))
    axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    axis.tick_params(axis="y", labelsize=6.5)
    axis.tick_params(axis="x", length=0)
    axis.grid(visible=False)
    axis.spines["left"].set_visible(False)


def _draw_errors(axis: Axes, panel: Panel[Setting], accepted: "DataFrame") -> None:
    """As in the paper: theory in blue, runs as red dots."""
    draw_panel_bound(axis, panel, _values(panel), SHADES)
    _draw_runs(axis, panel, accepted, accepted.position_error, RUNS)
    axis.set_ylim(-0.25, TOP)


def _draw_calibrated(axis: Axes, panel: Panel[Setting], accepted: "DataFrame") -> None:
    """The same runs after the label-free shift, with the bound before calibration."""
    values, curve = _values(panel), panel_curve(panel)(N_SIGMA)
    bound = np.array([curve(value) for value in values])
    shown = np.where(bound > 0.1, bound, np.nan)
    axis.plot(values, shown, color=THEORY, linewidth=1.4, linestyle="-.", label="bound before calibration, 4 s.d.")
    errors = accepted.calibrated_error.clip(lower=FLOOR)
    _draw_runs(axis, panel, accepted, errors, TRUTH)
    axis.set(yscale="log", ylim=(FLOOR / 2, 20))
    axis.set_yticks(TICKS, [f"≤ {FLOOR:g}", *(f"{tick:g}" for tick in TICKS[1:])])
    axis.minorticks_off()


def _draw_runs(axis: Axes, panel: Panel[Setting], runs: "DataFrame", errors: Any, color: str) -> None:
    """One mark per run, by its last start; restarts stand a little beside their value, so that none hides another."""
    for start, style in STARTS.items():
        own = _starts(runs) == start
        if not own.any():
            continue
        mark = {name: value for name, value in style.items() if name not in ("label", "offset")}
        filled = start != "aside"
        mark |= {"color": color} if filled else {"facecolor": "none", "edgecolor": color}
        x = runs[panel.variable][own] + style["offset"] * _step(panel)
        axis.scatter(x, errors[own], zorder=3, label=style["label"], **mark)


def _starts(runs: "DataFrame") -> "Series":
    """Every run's last start; tables of other experiments have none but the first."""
    starts = runs["start"] if "start" in runs else Series("random", runs.index)
    return starts.where(starts.isin(list(STARTS)), "random")


def _step(panel: Panel[Setting]) -> float:
    return float(np.min(np.diff(panel.values)))


def _values(panel: Panel[Setting]) -> Any:
    return np.linspace(0 if panel.variable == "sigma" else 1, panel.values[-1], 601)
