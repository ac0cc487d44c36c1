"""Time to render a dragged object in the studio, PNG included, beside a dense decoder.

    pip install "withinpx[studio]"
    python benchmarks/studio_drawing.py

The demo's network serves for larger frames too: it is exactly equivariant.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
import tyro

from timing import median_seconds
from withinpx.discovery.background import BackgroundModel
from withinpx.model.autoencoder import new_network
from withinpx.studio.app import DEMO
from withinpx.studio.rendering import Loaded, Position, Renderer
from withinpx.studio.runs import OUT
from withinpx.tracking.detector import Detector

SIZES = ((320, 240), (640, 480), (1920, 1080))


def resized(detector: Detector, width: int, height: int) -> Detector:
    """The same weights for frames of another size, with a grey background."""
    model = new_network(replace(detector.model.config, width=width, height=height), 0)
    weights = {name: value for name, value in detector.model.state_dict().items() if name != "background.still"}
    model.load_state_dict(weights, strict=False)
    image = np.random.default_rng(0).uniform(0.4, 0.6, (1, height, width, 3)).astype(np.float32)
    background = BackgroundModel(image, np.zeros((height, width), np.float32))
    return replace(detector, model=model.eval(), background=background, recording=(width, height))


@torch.no_grad()
def decode_densely(detector: Detector) -> None:
    config = detector.model.config
    middle = torch.tensor([config.width / 2, config.height / 2])
    detector.model.decode(middle.expand(1, config.objects, 2))


def render(renderer: Renderer, folder: Path, positions: Sequence[Position]) -> None:
    renderer.image(folder, positions).result()


def main(times: int = 30) -> None:
    """Print the milliseconds per rendering."""
    known = Detector.load(DEMO / OUT)
    objects = len(known.certificate.objects)
    print(f"{objects} objects; dense on {torch.get_num_threads()} threads, ours on one")
    for width, height in SIZES:
        detector = resized(known, width, height)
        dense = median_seconds(partial(decode_densely, detector), max(3, times // 10))
        renderer = Renderer()
        folder = DEMO / OUT / f"{width}"
        renderer._loaded[folder] = Loaded(folder, detector)  # it was never written to the disk
        positions: list[Position] = [(width / 2 + 20 * index, height / 2) for index in range(objects)]
        ours = median_seconds(partial(render, renderer, folder, positions), times)
        renderer.close()
        print(f"{width}x{height}: {1000 * ours:.0f} ms, dense {1000 * dense:.0f} ms ({dense / ours:.1f} times)")


if __name__ == "__main__":
    tyro.cli(main)
