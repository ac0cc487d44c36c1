"""How long the studio takes to draw a dragged object: the whole answer, PNG included, and a dense decoder beside it.

    pip install "withinpx[studio]"
    python benchmarks/studio_drawing.py

The shipped demo's network is made a detector of larger pictures: it is exactly equivariant, so the same weights do.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
import tyro

from timing import median_seconds
from withinpx.discovery.background import BackgroundModel
from withinpx.model.autoencoder import new_network
from withinpx.studio.app import DEMO
from withinpx.studio.drawing import Drawer
from withinpx.studio.runs import OUT
from withinpx.tracking.detector import Detector, load_clip_detector

SIZES = ((320, 240), (640, 480), (1920, 1080))


def resized(detector: Detector, width: int, height: int) -> Detector:
    """The same weights for pictures of another size, over a grey ground."""
    model = new_network(replace(detector.model.config, width=width, height=height), 0)
    weights = {name: value for name, value in detector.model.state_dict().items() if name != "background.still"}
    model.load_state_dict(weights, strict=False)
    ground = np.random.default_rng(0).uniform(0.4, 0.6, (1, height, width, 3)).astype(np.float32)
    backdrop = BackgroundModel(ground, np.zeros((height, width), np.float32))
    return replace(detector, model=model.eval(), background=backdrop, recording=(width, height))


@torch.no_grad()
def dense(detector: Detector) -> None:
    """The decoder over the whole picture."""
    config = detector.model.config
    middle = torch.tensor([config.width / 2, config.height / 2])
    detector.model.decode(middle.expand(1, config.objects, 2))


def main(times: int = 30) -> None:
    """Print the milliseconds of one drawing."""
    known, _ = load_clip_detector(DEMO / OUT)
    print(f"{len(known.certificate.objects)} objects; dense on {torch.get_num_threads()} threads, ours on one")
    for width, height in SIZES:
        detector = resized(known, width, height)
        at_once = median_seconds(partial(dense, detector), max(3, times // 10))
        drawer = Drawer()
        folder = DEMO / OUT / f"{width}"
        drawer._loaded[folder] = detector  # it never was on the disk
        places = [(width / 2 + 20 * each, height / 2) for each in range(len(known.certificate.objects))]
        ours = median_seconds(partial(drawer.draw, folder, places), times)
        drawer.close()
        print(f"{width}x{height}: {1000 * ours:.0f} ms, dense {1000 * at_once:.0f} ms ({at_once / ours:.1f} times)")


if __name__ == "__main__":
    tyro.cli(main)
