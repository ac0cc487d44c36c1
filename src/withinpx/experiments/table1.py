"""Table 1 and figure 6: the share of position errors within two standard deviations of the bound, by object size."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from withinpx.experiments.clevr import is_inside
from withinpx.experiments.plots import RUNS, TRUTH, figure
from withinpx.experiments.table import RunTable
from withinpx.files import writable_folder, write_atomically, write_json

BINS = (9, 12, 15, 18, 21, 24)  # px
HALF_BIN = 1.5
PAPERS: dict[str, tuple[float, ...]] = {  # table 1 of the paper, per cent: all, then by bin
    "Ours": (100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0),
    "SAM": (43.5, 83.3, 60.0, 54.5, 23.1, 0.0, 16.7),
    "CutLER": (78.4, 100.0, 100.0, 75.0, 57.1, 83.3, 37.5),
}
METHODS = {  # (method, recipe) in runs.csv: its name, and the paper's method to compare it with
    ("withinpx", "ours"): ("withinpx, our recipe", "Ours"),
    ("withinpx", "paper"): ("withinpx, the paper's recipe", "Ours"),
    ("mobilesam", ""): ("MobileSAM", "SAM"),
    ("sam", ""): ("SAM", "SAM"),
    ("cutler", ""): ("CutLER", "CutLER"),
    ("mog2", ""): ("MOG2 and contours", None),
}
COLOURS = {"Ours": RUNS, "SAM": TRUTH, "CutLER": "#e08214", None: "0.45"}


@dataclass(frozen=True)
class Line:
    """One method: errors of all sizes, then by bin."""

    name: str
    paper: str | None  # the method of the paper's table to compare it with
    inside: tuple[int, ...]
    of: tuple[int, ...]

    @property
    def percents(self) -> list[float | None]:
        return [100 * inside / of if of else None for inside, of in zip(self.inside, self.of, strict=True)]


def table_1(table: RunTable) -> list[Line]:
    """One line for each method with errors in figure 5 (c); objects that were not learned are not counted."""
    runs = table.frame()
    learned = runs[(runs.experiment == "fig5c") & runs.learned]
    lines = []
    for (method, recipe), (name, paper) in METHODS.items():
        own = learned[(learned.method == method) & (learned.recipe == recipe)]
        if len(own):
            bins = [own[(own["size"] >= size - HALF_BIN) & (own["size"] < size + HALF_BIN)] for size in BINS]
            inside = tuple(int(is_inside(errors).sum()) for errors in (own, *bins))
            lines.append(Line(name, paper, inside, tuple(map(len, (own, *bins)))))
    return lines


def write_table_1(folder: Path, lines: Sequence[Line]) -> Path:
    """``table1.md`` and ``table1.json``."""
    counts = [{"method": line.name, "inside": list(line.inside), "of": list(line.of)} for line in lines]
    content = {"bins_px": list(BINS), "half_bin_px": HALF_BIN, "methods": counts}
    write_json(writable_folder(folder) / "table1.json", content)
    path = folder / "table1.md"
    write_atomically(path, _page(lines).encode())
    return path


def _page(lines: Sequence[Line]) -> str:
    headings = ["method", "all", *(f"{size} ± {HALF_BIN:g} px" for size in BINS)]
    rows = [headings, ["---"] * len(headings)]
    for line in lines:
        cells = zip(line.percents, line.inside, line.of, strict=True)
        rows.append([line.name, *("" if share is None else f"{share:.1f} ({n} of {of})" for share, n, of in cells)])
    for name, numbers in PAPERS.items():
        missing = "" if name in {line.paper for line in lines} else " (not available here)"
        rows.append([f"*the paper's {name}*{missing}", *(f"*{number:.1f}*" for number in numbers)])
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return (
        "# Table 1: errors within two standard deviations of the bound, per cent\n\n"
        f"{table}\n\n"
        "An error is the largest of one object over a set of images; its size is the object's in the image where\n"
        "the error is largest. In brackets: how many of how many.\n"
    )


def draw_figure_6(path: Path, lines: Sequence[Line]) -> Path:
    """Table 1 as a figure; the paper's own numbers are dotted."""
    with figure(path, columns=1, width=5.2, height=3.6) as (_, (axis,)):
        for index, (line, marker) in enumerate(zip(lines, "o^vsxD", strict=False)):
            known = [(size, share) for size, share in zip(BINS, line.percents[1:], strict=True) if share is not None]
            hollow = "none" if "paper" in line.name else None
            axis.plot(
                *np.reshape(known, (-1, 2)).T, marker, ls="-", color=COLOURS[line.paper], mfc=hollow, label=line.name,
                ms=4 + 1.5 * index, zorder=3 - index / 10,  # markers overlap: the first on top, the next around it
            )  # fmt: skip
        for name, numbers in PAPERS.items():
            axis.plot(BINS, numbers[1:], ":", color=COLOURS[name], lw=1.2, label=f"the paper's {name}")
        axis.set(xlabel="object size ± 1.5 (px)", ylabel="errors within the bound, 2 s.d. (%)", ylim=(-4, 104))
        axis.set_xticks(BINS)
        axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return path
