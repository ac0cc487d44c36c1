"""The style of matplotlib figures, and how they are saved."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from withinpx.files import writable_folder, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 200
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
}


def save_figure(figure: "Figure", path: Path) -> Path:
    """Write a figure atomically, in the format of the path's suffix."""
    content = BytesIO()
    figure.savefig(content, format=path.suffix[1:], dpi=DPI)
    write_atomically(writable_folder(path.parent) / path.name, content.getvalue())
    return path
