"""The paper's open choices from their table: acceptance and errors of every reading, as a page and as a figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from withinpx.experiments.choices import SETTINGS
from withinpx.experiments.fig4 import NETWORK
from withinpx.experiments.plots import figure
from withinpx.experiments.reading import LIKELIEST, NONE, OTHERS, value_of, variations
from withinpx.experiments.sweep import describe_sweeps
from withinpx.experiments.table import RunTable
from withinpx.files import writable_folder, write_atomically, write_json

if TYPE_CHECKING:
    from pandas import DataFrame

Summary = dict[str, Any]

EXPLANATION = (
    "Cells: accepted runs of those trained, and the largest position error (px) of an accepted run. A run is accepted\n"
    "if at least 99.9 % of the pixels of the test quadrant are reconstructed. Readings are sorted by the number of\n"
    "settings in which a run is accepted, then by the share of accepted runs: the paper does not say how many of its\n"
    "runs were discarded. Every reading differs from the likeliest in one factor."
)


def summarise(table: RunTable) -> list[Summary]:
    """One entry per reading that has runs, the best first."""
    runs = table.frame()
    names = {(variation.factor, variation.value): variation.name for variation in variations()}
    summaries = []
    for (factor, value), own in runs.groupby(["factor", "value"], sort=False):
        cells = {name: _cell(own, name) for name in SETTINGS}
        found = [cell for cell in cells.values() if cell["runs"]]
        summaries.append(
            {
                "factor": factor,
                "value": value,
                "name": names.get((factor, value), f"{factor}: {value}"),
                "runs": len(own),
                "accepted": int(own.accepted.sum()),
                "accepted_inside": int((own.accepted & own.inside).sum()),
                "settings": len(found),
                "settings_with_accepted": sum(cell["accepted"] > 0 for cell in found),
                "precision": sorted(set(own.precision)),
                "cells": cells,
            }
        )
    return sorted(summaries, key=lambda row: (-row["settings_with_accepted"], -row["accepted"] / row["runs"]))


def write(table: RunTable, folder: Path) -> list[str]:
    """``summary.json``, ``summary.md`` and ``choices.png``; returns lines to print."""
    summaries = summarise(table)
    write_json(writable_folder(folder) / "summary.json", summaries)
    write_atomically(folder / "summary.md", page(summaries, describe_sweeps(table.path.parent)).encode())
    lines = [f"{row['name']}: {row['accepted']} of {row['runs']} accepted" for row in summaries]
    return [*lines, f"Drew {draw(summaries, folder / 'choices.png')}"]


def page(summaries: Sequence[Summary], notes: Sequence[str]) -> str:
    """The Markdown page."""
    likeliest = ", ".join(f"{factor} {value_of(factor, LIKELIEST)}" for factor in OTHERS)
    header = ["reading", "runs", "accepted", "of them inside the bound", "settings with an accepted run", *SETTINGS]
    lines = ["# The paper's open choices", "", f"The likeliest reading: {likeliest}.", "", EXPLANATION, ""]
    lines += [f"- {note}" for note in notes] + [""] * bool(notes)
    lines += [_line(header), _line(["---"] * len(header))]
    for row in summaries:
        cells = [_cell_text(row["cells"][name]) for name in SETTINGS]
        share = f"{row['settings_with_accepted']} of {row['settings']}"
        name = "**the likeliest**" if row["factor"] == NONE else row["name"]
        lines.append(_line([name, str(row["runs"]), str(row["accepted"]), str(row["accepted_inside"]), share, *cells]))
    return "\n".join(lines) + "\n"


def draw(summaries: Sequence[Summary], path: Path) -> Path:
    """The share of accepted runs of every reading at every setting."""
    with figure(path, columns=1, width=9, height=1.2 + 0.36 * len(summaries)) as (fig, (axis,)):
        shares = [[_share(row["cells"][name]) for name in SETTINGS] for row in summaries]
        image = axis.imshow(shares, cmap="Greens", vmin=0, vmax=1, aspect="auto")
        for y, row in enumerate(summaries):
            for x, name in enumerate(SETTINGS):
                cell = row["cells"][name]
                text = f"{cell['accepted']}/{cell['runs']}" if cell["runs"] else ""
                axis.text(x, y, text, ha="center", va="center", color="white" if _share(cell) > 0.6 else "black")
        axis.set_xticks(range(len(SETTINGS)), list(SETTINGS), rotation=20, ha="right")
        names = ["likeliest reading" if row["factor"] == NONE else row["name"] for row in summaries]
        axis.set_yticks(range(len(summaries)), names)
        axis.grid(visible=False)
        fig.colorbar(image, ax=axis, label="accepted", fraction=0.03)
    return path


def _cell(runs: "DataFrame", name: str) -> Summary:
    own = runs
    for column, value in zip(NETWORK, SETTINGS[name].network, strict=True):
        own = own[own[column] == value]
    accepted = own[own.accepted]
    largest = max(accepted.position_error.tolist(), default=None)
    return {"runs": len(own), "accepted": len(accepted), "largest_error": largest}


def _share(cell: Summary) -> float:
    return cell["accepted"] / cell["runs"] if cell["runs"] else float("nan")


def _cell_text(cell: Summary) -> str:
    if not cell["runs"]:
        return ""
    error = "" if cell["largest_error"] is None else f", {cell['largest_error']:g} px"
    return f"{cell['accepted']} of {cell['runs']}{error}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
