"""The style of our figures: the theory in blue, runs as red dots."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

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
    """A row of panels, saved as ``path``."""
    with grid(path, (1,), columns, width, height) as (fig, (row,)):
        yield fig, row


@contextmanager
def grid(
    path: Path, heights: tuple[float, ...], columns: int, width: float, height: float
) -> Iterator[tuple[Figure, list[list[Axes]]]]:
    """Rows of panels of these relative heights, saved as ``path``; panels of a column share their x axis."""
    with plt.rc_context(STYLE):
        fig, axes = plt.subplots(
            len(heights), columns, figsize=(width, height), squeeze=False, sharex="col", height_ratios=heights
        )
        try:
            yield fig, [list(row) for row in axes]
            image = BytesIO()
            fig.savefig(image, format=path.suffix[1:])
            write_atomically(writable_folder(path.parent) / path.name, image.getvalue())
        finally:
            plt.close(fig)


def draw_bound(
    axis: Axes,
    bound_at: Callable[[float], Callable[[float], float]],
    values: NDArray[np.float64],
    shades: Sequence[int],
    alpha: float = 0.55,
) -> None:
    """The bound without the Gaussian as a line; what 1, 2, ... standard deviations add to it is shaded.

    ``bound_at`` is the bound as a function of the horizontal axis, at so many standard deviations.
    """
    line, *bounds = ([bound_at(n)(value) for value in values] for n in (0, *shades))
    for index, (n, lower, upper) in enumerate(zip(shades, [line, *bounds], bounds, strict=False)):
        faded = alpha * (1 - index / len(shades))
        label = f"decoder, within {n} s.d."
        axis.fill_between(values, lower, upper, color=THEORY, alpha=faded, linewidth=0, label=label)
    axis.plot(values, line, color=THEORY, linewidth=1.8, label="bound for $\\Delta_G = 0$")


def draw_legend(fig: Figure, axes: Sequence[Axes], columns: int) -> None:
    """One legend for all panels, below them, with every label once."""
    labelled = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    fig.legend(
        labelled.values(), labelled.keys(), loc="outside lower center", ncols=columns, fontsize=8, columnspacing=1.4
    )
