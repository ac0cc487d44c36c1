"""Figure 4 in numbers: one line per setting, as JSON and as a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from withinpx.experiments.fig4 import N_SIGMA, Run, Setting, runs_in
from withinpx.experiments.table import RunTable
from withinpx.files import writable_folder, write_atomically, write_json

Summary = dict[str, Any]

HEADINGS = {
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
WORDS = (
    "The bound is the smaller of the encoder's term and the decoder's term plus 4 sigma. Runs inside 1 to 4 s.d. are\n"
    "counted where the decoder's term alone is below the encoder's: on the decoder's side of the dashed line."
)
PLACE = {"encoder_rf": "encoder", "decoder_rf": "decoder", "object_size": "object", "sigma": "sigma"}


def summarise(table: RunTable) -> list[Summary]:
    """Counts and extremes of each setting; errors are those of accepted runs."""
    groups: dict[Setting, list[Run]] = {}
    for run in runs_in(table):
        groups.setdefault(run.setting, []).append(run)
    return [_summary(setting, runs) for setting, runs in groups.items()]


def write_summary(folder: Path, summaries: Sequence[Summary], about: Sequence[str] = ()) -> None:
    """``summary.json`` and ``summary.md``; ``about`` says how the runs were made."""
    writable_folder(folder)
    write_json(folder / "summary.json", list(summaries))
    write_atomically(folder / "summary.md", _page(summaries, about).encode())


def total(summaries: Sequence[Summary]) -> str:
    """All settings in one sentence."""
    runs, accepted, inside = (sum(each[name] for each in summaries) for name in ("runs", "accepted", "inside_bound"))
    return (
        f"{runs} runs of {len(summaries)} settings: {accepted} accepted, {runs - accepted} discarded, "
        f"{inside} of the accepted inside the bound, {accepted - inside} outside."
    )


def moved_after(table: RunTable) -> str | None:
    """What the epochs after learning changed, in a table of runs that went on to the last one."""
    if "learned_at" not in table.columns:
        return None
    accepted = [(row, run) for row, run in zip(table.rows, runs_in(table), strict=True) if run.accepted]
    moved = [abs(run.error - float(row["error_then"])) for row, run in accepted if row["learned_at"]]
    return (
        f"Of {len(accepted)} accepted runs {len(moved)} had learned before the last epoch: their error changed by at "
        f"most {max(moved, default=0.0):.4f} px after that."
    )


def _summary(setting: Setting, runs: Sequence[Run]) -> Summary:
    accepted = [run for run in runs if run.accepted]
    width_matters = setting.bound_decoder_mean < setting.bound_encoder
    return {
        **{name: value for name, value in setting.columns(0).items() if name != "seed"},
        "runs": len(runs),
        "accepted": len(accepted),
        "accepted_at_first": sum(run.start == "random" for run in accepted) if runs[0].start else None,
        "largest_error": max((run.error for run in accepted), default=None),
        "bound": round(setting.bound(), 4),
        "limiting": "encoder" if setting.bound() == setting.bound_encoder else "decoder",
        "inside_bound": sum(run.inside() for run in accepted),
        **{
            f"inside_{n}_sd": sum(run.inside(n) for run in accepted) if width_matters else None
            for n in range(1, N_SIGMA + 1)
        },
        "largest_calibrated_error": max((run.calibrated for run in accepted), default=None),
    }


def _page(summaries: Sequence[Summary], about: Sequence[str]) -> str:
    lines = ["# Figure 4, setting by setting", "", total(summaries), ""]
    lines += [f"- {each}" for each in about] + [""] * bool(about)
    lines.append(WORDS)
    for letter in sorted({each["experiment"] for each in summaries}):
        own = [each for each in summaries if each["experiment"] == letter]
        lines += ["", f"## ({letter})", "", *_markdown(own)]
    return "\n".join(lines) + "\n"


def _markdown(summaries: Sequence[Summary]) -> list[str]:
    columns = PLACE | HEADINGS
    rows = [list(columns.values()), ["---"] * len(columns)]
    rows += [[_cell(each[name]) for name in columns] for each in summaries]
    return ["| " + " | ".join(row) + " |" for row in rows]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
