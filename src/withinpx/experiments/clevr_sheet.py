"""The rendered datasets on one sheet: images, and the true boxes of one of them."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from withinpx.data.clevr_folder import RenderedSplit, read_split
from withinpx.experiments.plots import grid

IMAGES = 3  # of each dataset; the last with its truth
SIDE = 1.5  # of an image, inches


def draw_datasets(path: Path, folders: Sequence[Path]) -> Path:
    """A column for each dataset with its first training images."""
    with grid(path, (1,) * IMAGES, len(folders), SIDE * len(folders), SIDE * IMAGES + 0.2) as (_, rows):
        for column, folder in enumerate(folders):
            split = read_split(folder, "train")
            for row, axes in enumerate(rows):
                _draw_image(axes[column], split, row % len(split.clip), with_truth=row == IMAGES - 1)
            rows[0][column].set_title(folder.name)
    return path


def _draw_image(axes: Axes, split: RenderedSplit, index: int, with_truth: bool) -> None:
    axes.set_axis_off()
    axes.imshow(split.clip.frames[index], extent=(0, split.clip.width, split.clip.height, 0), interpolation="nearest")
    if not with_truth:
        return
    for x, y, width, height in split.boxes[index]:
        corner = (x - width / 2, y - height / 2)
        axes.add_patch(Rectangle(corner, width, height, fill=False, edgecolor="white", linewidth=0.7))
        axes.plot(x, y, "+", color="white", markersize=4, markeredgewidth=0.7)
