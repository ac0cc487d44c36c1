"""What each entry of the appearance code does: a row of renderings, from its lowest to its highest value."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from withinpx.figures import STYLE
from withinpx.inference.rendering import GREY, render_alone
from withinpx.tracking.detector import Detector

STEPS = 7  # renderings in a row
SIDE = 0.9  # inches, of a rendering
FAINT = 0.1  # of the strongest difference from grey: what is fainter may be left out
MARGIN_PX = 2  # around the object


def plot_appearance(detector: Detector, shown: Sequence[NDArray[np.float64]]) -> Figure:
    """One row per object and entry; ``shown`` are the codes (f, k) that each object of the certificate showed."""
    entries = detector.model.config.appearance
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=((STEPS + 1) * SIDE, len(shown) * entries * (SIDE + 0.2)), layout="constrained")
        rows = figure.subplots(len(shown) * entries, STEPS, squeeze=False)
        for number, (obj, codes) in enumerate(zip(detector.certificate.objects, shown, strict=True)):
            images, steps = render_entries(detector, obj.object, codes)
            images = _around_object(images)
            for entry in range(entries):
                cells = rows[number * entries + entry]
                for cell, image, value in zip(cells, images[entry], steps[entry], strict=True):
                    cell.imshow(np.broadcast_to(image, (*image.shape[:2], 3)), interpolation="nearest")
                    cell.set(xticks=[], yticks=[])
                    cell.set_xlabel(f"{value:+.2f}", labelpad=2, fontsize=7)
                    cell.spines[:].set(visible=True, color="0.6", linewidth=0.6)
                cells[0].set_ylabel(f"object {obj.object}\nentry {entry}")
    return figure


def render_entries(
    detector: Detector, heatmap: int, codes: NDArray[np.float64]
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Renderings (k, steps, height, width, colours) over grey, and the value of the entry in each (k, steps)."""
    config = detector.model.config
    codes = codes if len(codes) else np.zeros((1, config.appearance))
    steps = np.linspace(codes.min(axis=0), codes.max(axis=0), STEPS, axis=-1)
    varied = np.tile(np.median(codes, axis=0), (config.appearance, STEPS, 1))
    for entry in range(config.appearance):
        varied[entry, :, entry] = steps[entry]
    flat = varied.reshape(-1, config.appearance)
    middle = np.tile([config.width / 2, config.height / 2], (len(flat), 1))
    rendered = render_alone(detector.model, middle, [heatmap] * len(flat), flat)
    images = ((rendered + GREY).clamp(0, 1) * 255).round().byte().permute(0, 2, 3, 1).cpu().numpy()
    return images.reshape(config.appearance, STEPS, *images.shape[1:]), steps


def _around_object(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The same square of all renderings (k, steps, h, w, c) that holds the object in each."""
    strength = np.abs(images / 255.0 - GREY).max(axis=(0, 1, -1))
    height, width = strength.shape
    middle = np.array([height - 1, width - 1]) / 2
    shown = np.argwhere(strength >= FAINT * strength.max())
    half = int(np.ceil(np.abs(shown - middle).max())) + MARGIN_PX
    rows, columns = (slice(max(0, int(at) - half), int(at) + half + 1) for at in middle)
    return images[:, :, rows, columns]
