"""How the hypotheses of a clip read it: the trajectories of each, without a pixel of the footage.

python benchmarks/discovery_figures.py OUT.png CLIP [CLIP ...]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from withinpx.discovery.hypotheses import Hypothesis
from withinpx.discovery.inspection import Inspection
from withinpx.palette import mark_colours
from withinpx.tracking.track import inspect

SHOWN = 3  # hypotheses of each clip
WIDTH, HEIGHT = 3.1, 2.5  # inches of a panel


def main(out: Path, clips: list[Path]) -> None:
    """One row per clip, one panel per hypothesis, the best first."""
    figure, rows = plt.subplots(
        len(clips), SHOWN, figsize=(SHOWN * WIDTH, len(clips) * HEIGHT), squeeze=False, layout="constrained"
    )
    for axes, path in zip(rows, clips, strict=True):
        inspection = inspect(path)
        for rank, ax in enumerate(axes):
            ax.set_axis_off()
            if rank < len(inspection.hypotheses):
                draw(ax, inspection, inspection.hypotheses[rank])
        axes[0].text(-0.04, 0.5, path.stem, transform=axes[0].transAxes, rotation=90, va="center", ha="right")
    figure.savefig(out, dpi=110)


def draw(ax: Axes, inspection: Inspection, hypothesis: Hypothesis) -> None:
    """The trajectories and some boxes of each object."""
    clip = inspection.clip
    ax.set_axis_on()
    ax.set(xlim=(0, clip.width), ylim=(clip.height, 0), xticks=[], yticks=[], aspect="equal")
    colours = mark_colours([(120, 120, 120)] * len(hypothesis.objects), (255, 255, 255))
    for obj, colour in zip(hypothesis.objects, colours, strict=True):
        x, y = obj.centres.T
        style = "." if hypothesis.unordered else ".-"
        ax.plot(x, y, style, color=colour, markersize=2.5, linewidth=0.8)
        for blob in obj.blobs[:: max(1, len(obj.blobs) // 4)]:
            left, top, right, bottom = blob.box
            ax.add_patch(Rectangle((left, top), right - left, bottom - top, fill=False, color=colour, linewidth=0.8))
    score = np.round(hypothesis.score, 2)
    ax.set_title(f"score {score:g}: {hypothesis.why}", fontsize=6.5, wrap=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
