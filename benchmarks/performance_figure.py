"""Draw docs/performance.png: the pixels that encoder and decoder compute in one frame, layer by layer.

python benchmarks/performance_figure.py docs/performance.png
"""

import sys
from pathlib import Path

import numpy as np
import torch
from matplotlib import pyplot
from matplotlib.patches import Rectangle

from withinpx.data.scenes import three_objects
from withinpx.discovery.fixed_camera import fixed_background
from withinpx.model.windows import changed_boxes, joined
from withinpx.theory.receptive_field import dilations_for, filters_for

ENCODER, DECODER, SUPPORT = 11, 17, 3.2  # receptive fields and the Gaussian's support, px, of a detector of this clip
FRAME = 20
BLUE, RED = "#1f5fa8", "#c4302b"


def main(path: Path) -> None:
    """Two panels: foreground through the encoder, Gaussians through the decoder."""
    made = three_objects(seed=2)
    images = made.clip.frames
    changed = fixed_background(images).changed(images)[FRAME]
    boxes = joined(changed_boxes(torch.from_numpy(changed)), 2 * (ENCODER // 2))
    foreground = [(left, top, right - left, bottom - top) for top, left, bottom, right in boxes]
    side = 2 * SUPPORT
    gaussians = [(x - SUPPORT, y - SUPPORT, side, side) for x, y in made.truth[FRAME]]
    figure, axes = pyplot.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained")
    for axis, title, inputs, field, colour in (
        (axes[0], "encoder: the foreground, and its halo", foreground, ENCODER, BLUE),
        (axes[1], "decoder: a Gaussian, and what it renders", gaussians, DECODER, RED),
    ):
        axis.imshow(images[FRAME], extent=(0, made.clip.width, made.clip.height, 0), alpha=0.85)
        filters = zip(filters_for(field), dilations_for(field), strict=True)
        reaches = np.cumsum([0, *(dilation * (size // 2) for size, dilation in filters)])
        for reach in reaches:
            for left, top, width, height in inputs:
                corner, sides = (left - reach, top - reach), (width + 2 * reach, height + 2 * reach)
                axis.add_patch(Rectangle(corner, *sides, fill=False, edgecolor=colour, linewidth=1.1))
        area = sum((width + 2 * reaches[-1]) * (height + 2 * reaches[-1]) for _, _, width, height in inputs)
        share = area / (made.clip.width * made.clip.height)
        axis.set_title(f"{title}\nlast layer: {share:.0%} of the frame", fontsize=9)
        axis.set(xticks=[], yticks=[], xlim=(0, made.clip.width), ylim=(made.clip.height, 0))
    figure.savefig(path, dpi=170)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
