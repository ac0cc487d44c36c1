"""How our figures look: the theory in blue, runs as red dots, dashed lines where one term takes over from the other."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from withinpx.files import writable_folder, write_atomically

THEORY = "#1f5fa8"
RUNS = "#c8352b"
TRUTH = "#2e8b57"
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.dpi": 200,
    "savefig.bbox": "tight",
    "figure.constrained_layout.use": True,
}


@contextmanager
def figure(path: Path, columns: int, width: float, height: float) -> Iterator[tuple[Figure, list[Axes]]]:
    """A row of panels that becomes the file ``path``."""
    with panels(path, (1,), columns, width, height) as (fig, (row,)):
        yield fig, row


@contextmanager
def panels(
    path: Path, heights: tuple[float, ...], columns: int, width: float, height: float
) -> Iterator[tuple[Figure, list[list[Axes]]]]:
    """Rows of panels, of these relative heights, that become the file ``path``; panels in a column share their x."""
    with plt.rc_context(STYLE):
        fig, axes = plt.subplots(
            len(heights), columns, figsize=(width, height), squeeze=False, sharex="col", height_ratios=heights
        )
        try:
            yield fig, [list(row) for row in axes]
            drawing = BytesIO()
            fig.savefig(drawing, format=path.suffix[1:])
            write_atomically(writable_folder(path.parent) / path.name, drawing.getvalue())
        finally:
            plt.close(fig)


def bound_box(x: float, y: float, bound: float, label: str | None = None) -> Rectangle:
    """All that is within ``bound`` of (x, y) along both axes."""
    return Rectangle(
        (x - bound, y - bound),
        2 * bound,
        2 * bound,
        edgecolor=THEORY,
        facecolor=f"{THEORY}30",
        linewidth=1.6,
        label=label,
    )
