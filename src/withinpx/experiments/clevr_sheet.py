"""The rendered datasets on one sheet: pictures, and the truth over one of them."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from withinpx.data.clevr_folder import RenderedSplit, read_split
from withinpx.experiments.plots import panels

SHOWN = 3  # pictures of each dataset; the last with its truth
PANEL = 1.5  # inches


def draw_datasets(path: Path, folders: Sequence[Path]) -> Path:
    """A column for each dataset, its first training pictures from top to bottom."""
    with panels(path, (1,) * SHOWN, len(folders), PANEL * len(folders), PANEL * SHOWN + 0.2) as (_, rows):
        for column, folder in enumerate(folders):
            made = read_split(folder, "train")
            for number, axes in enumerate(row[column] for row in rows):
                _show(axes, made, number % len(made.clip), with_truth=number == SHOWN - 1)
            rows[0][column].set_title(folder.name)
    return path


def _show(axes: Axes, made: RenderedSplit, number: int, with_truth: bool) -> None:
    axes.set_axis_off()
    axes.imshow(made.clip.frames[number], extent=(0, made.clip.width, made.clip.height, 0), interpolation="nearest")
    if not with_truth:
        return
    for x, y, width, height in made.boxes[number]:
        corner = (x - width / 2, y - height / 2)
        axes.add_patch(Rectangle(corner, width, height, fill=False, edgecolor="white", linewidth=0.7))
        axes.plot(x, y, "+", color="white", markersize=4, markeredgewidth=0.7)
