"""Table 1: which share of the position errors lies within two standard deviations of the bound, by object size."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from withinpx.experiments.clevr import Error
from withinpx.files import writable_folder, write_atomically, write_json

BINS = (9, 12, 15, 18, 21, 24)  # px
HALF_BIN = 1.5
PAPERS: dict[str, tuple[float, ...]] = {  # table 1 of the paper, per cent: all, then by bin
    "Ours": (100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0),
    "SAM": (43.5, 83.3, 60.0, 54.5, 23.1, 0.0, 16.7),
    "CutLER": (78.4, 100.0, 100.0, 75.0, 57.1, 83.3, 37.5),
}
METHODS = {  # (method, recipe) of the table of runs: its name, and the paper's nearest
    ("withinpx", "ours"): ("withinpx, our recipe", "Ours"),
    ("withinpx", "paper"): ("withinpx, the paper's recipe", "Ours"),
    ("mobilesam", ""): ("MobileSAM", "SAM"),
    ("sam", ""): ("SAM", "SAM"),
    ("cutler", ""): ("CutLER", "CutLER"),
    ("mog2", ""): ("MOG2 and contours", None),
}


@dataclass(frozen=True)
class Share:
    """Of some errors, how many lie within their bound."""

    inside: int
    of: int

    @property
    def percent(self) -> float | None:
        """None where there is no error to count."""
        return 100 * self.inside / self.of if self.of else None


@dataclass(frozen=True)
class Line:
    """One method: all sizes, then bin by bin."""

    name: str
    paper: str | None  # the method of the paper's table that it stands beside
    shares: tuple[Share, ...]


def table_1(errors: Sequence[Error]) -> list[Line]:
    """One line for each method that has errors in figure 5 (c); what was not learned is not counted."""
    lines = []
    for (method, recipe), (name, paper) in METHODS.items():
        own = [each for each in errors if (each.method, each.recipe) == (method, recipe) and _counts(each)]
        if own:
            by_bin = [[each for each in own if _lies_in(each, middle)] for middle in BINS]
            lines.append(Line(name, paper, tuple(_share(some) for some in (own, *by_bin))))
    return lines


def write_table_1(folder: Path, lines: Sequence[Line]) -> Path:
    """``table1.md`` for people and ``table1.json`` for programs."""
    counts = [
        {"method": line.name, "inside": [each.inside for each in line.shares], "of": [each.of for each in line.shares]}
        for line in lines
    ]
    write_json(
        writable_folder(folder) / "table1.json", {"bins_px": list(BINS), "half_bin_px": HALF_BIN, "methods": counts}
    )
    path = folder / "table1.md"
    write_atomically(path, _page(lines).encode())
    return path


def _page(lines: Sequence[Line]) -> str:
    heads = ["method", "all", *(f"{middle} ± {HALF_BIN:g} px" for middle in BINS)]
    rows = [heads, ["---"] * len(heads)]
    named = {line.paper for line in lines}
    for line in lines:
        rows.append([line.name, *(_cell(share) for share in line.shares)])
    for name, numbers in PAPERS.items():
        missing = "" if name in named else " (not available here)"
        rows.append([f"*the paper's {name}*{missing}", *(f"*{number:.1f}*" for number in numbers)])
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return (
        "# Table 1: errors within two standard deviations of the bound, per cent\n\n"
        f"{table}\n\n"
        "An error is the largest of one object over a set of pictures; its size is the object's in the picture where\n"
        "the error is largest. In brackets: how many of how many.\n"
    )


def _cell(share: Share) -> str:
    return "" if share.percent is None else f"{share.percent:.1f} ({share.inside} of {share.of})"


def _counts(error: Error) -> bool:
    return error.setting.experiment == "fig5c" and error.learned


def _lies_in(error: Error, middle: float) -> bool:
    return middle - HALF_BIN <= error.size < middle + HALF_BIN


def _share(errors: Sequence[Error]) -> Share:
    return Share(sum(each.inside for each in errors), len(errors))
